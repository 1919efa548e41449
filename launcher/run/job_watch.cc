#include "launcher/run/job_watch.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "launcher/exit_code.h"
#include "sim/tracer/run_script.h"

namespace drydock::launcher {
namespace {

/// Ranks that got SIGQUIT have this long to write down where they are before they are ended.
constexpr Duration kDumpTime = std::chrono::milliseconds(100);

Error RankError(const std::string& who, const ProcessEnd& end, const std::string& log_path) {
  const std::string text = who + " ended with " + EndText(end);
  if (!end.signalled) {
    return FailCommand("RANK_FAILED", text, "its output is in " + log_path).value();
  }
  return FailCommand("RANK_SIGNALLED", text,
                     end.value == SIGKILL ? "probably out of memory; its output is in " + log_path
                                          : "its output is in " + log_path)
      .value();
}

}  // namespace

std::string EndText(const ProcessEnd& end) {
  if (!end.signalled) {
    return "exit status " + std::to_string(end.value);
  }
  const char* const name = ::sigabbrev_np(end.value);
  return std::string("signal ") + (name == nullptr ? "" : std::string(name) + " ") + "(" +
         std::to_string(end.value) + ")";
}

JobWatch::JobWatch(WatchRules rules, std::vector<RankRecord> ranks)
    : rules_(std::move(rules)), ranks_(std::move(ranks)) {}

std::string JobWatch::Who(std::size_t index) const {
  const RankRecord& rank = ranks_[index];
  return rank.name + " (" + rules_.host_name + ", pid " + std::to_string(rank.pid) + ")";
}

void JobWatch::Begin(Error cause, TimePoint now) {
  if (!cause_) {
    cause_ = std::move(cause);
    due_ = Order::kTerminate;
    due_at_ = now;
  }
}

void JobWatch::OnStarted(std::size_t index, std::int64_t pid) {
  ranks_[index].pid = pid;
  ranks_[index].end = RankEnd::kRunning;
}

void JobWatch::OnRegistered(const std::string& cluster_id, TimePoint now) {
  any_registered_ = true;
  for (RankRecord& rank : ranks_) {
    if (rank.cluster_id == cluster_id) {
      rank.registered = true;
    }
  }
  CheckRegistrations(now);
}

void JobWatch::BlameRank(std::size_t index, TimePoint now) {
  const RankRecord& rank = ranks_[index];
  if (!cause_) {
    first_failed_ = index;
    Begin(RankError(Who(index), rank.how, rank.log_path), now);
  }
}

void JobWatch::OnEnded(std::size_t index, ProcessEnd end, TimePoint now) {
  RankRecord& rank = ranks_[index];
  rank.how = end;
  if (!end.signalled && end.value == 0) {
    rank.end = RankEnd::kOk;
    CheckRegistrations(now);
  } else if (cause_ && end.signalled) {
    rank.end = RankEnd::kEndedByUs;
  } else {
    rank.end = end.signalled ? RankEnd::kSignalled : RankEnd::kFailed;
    BlameRank(index, now);
  }
}

/// A rank that is gone without having registered makes the job impossible, once it is clear that
/// ranks of this job register at all.
void JobWatch::CheckRegistrations(TimePoint now) {
  if (!rules_.sees_registrations || formed_ || cause_ ||
      (rules_.may_not_register && !any_registered_)) {
    return;
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    // Without a known id a rank cannot be told from others: only when all are gone it is clear.
    const bool absent = ranks_[i].cluster_id.empty() ? all_ended() : !ranks_[i].registered;
    if (ranks_[i].end == RankEnd::kOk && absent) {
      ranks_[i].end = RankEnd::kNeverRegistered;
      first_failed_ = i;
      Begin(FailCommand("EXIT_BEFORE_JOIN", Who(i) + " ended before it joined the cluster",
                        "its output is in " + ranks_[i].log_path +
                            "; a script that does not use MindSpore needs --rendezvous=launcher")
                .value(),
            now);
      return;
    }
  }
}

void JobWatch::OnStopSignal(int number, TimePoint now) {
  if (cause_) {
    if (due_ == Order::kKill) {
      due_at_ = now;
    }
    return;
  }
  Begin(sim::StoppedBySignal(number, "stopped by signal " + std::string(::sigabbrev_np(number))),
        now);
  if (number == SIGQUIT) {
    due_at_ = AddSaturated(now, kDumpTime);
  }
}

void JobWatch::OnCause(Error cause, TimePoint now) {
  Begin(std::move(cause), now);
}

JobWatch::Order JobWatch::NextOrder(TimePoint now) {
  if (due_ == Order::kNone || now < due_at_) {
    return Order::kNone;
  }
  const Order order = due_;
  switch (order) {
    case Order::kTerminate:
      due_ = Order::kKill;
      due_at_ = AddSaturated(now, rules_.grace);
      break;
    case Order::kKill:
      due_ = Order::kGiveUp;
      due_at_ = AddSaturated(now, kKillTime);
      break;
    case Order::kGiveUp:
    case Order::kNone:
      due_ = Order::kNone;
      due_at_ = kNever;
      break;
  }
  return order;
}

TimePoint JobWatch::NextDeadline() const {
  return due_ == Order::kNone ? kNever : due_at_;
}

bool JobWatch::all_ended() const {
  return std::ranges::none_of(ranks_,
                              [](const RankRecord& rank) { return rank.end == RankEnd::kRunning; });
}

}  // namespace drydock::launcher
