#include "launcher/run/job_watch.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "launcher/exit_code.h"
#include "sim/tracer/run_script.h"

namespace drydock::launcher {
namespace {

/// Ranks that got SIGQUIT have this long to write down where they are before they are ended.
constexpr Duration kDumpTime = std::chrono::milliseconds(100);
/// What the shell makes of a signal that ended its command: 128 + number.
constexpr int kShellSignal = 128;

/// A rank that ended so may have got the signal that is on its way to us: who stops a job of Slurm
/// or Open MPI signals all of its processes at once.
bool MayBeStopped(const ProcessEnd& end) {
  const int number = end.signalled ? end.value : end.value - kShellSignal;
  return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

Error RankError(const std::string& who, const ProcessEnd& end, const std::string& log_path) {
  const std::string text = who + " ended with " + EndText(end);
  const std::string output =
      log_path.empty() ? "its output is above" : "its output is in " + log_path;
  if (!end.signalled) {
    return FailCommand(FailureCode::kRankFailed, text, output).value();
  }
  return FailCommand(FailureCode::kRankSignalled, text,
                     end.value == SIGKILL ? "probably out of memory; " + output : output)
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
    for (RankRecord& rank : ranks_) {
      if (rank.end == RankEnd::kRestarting) {
        rank.end = rank.how.signalled ? RankEnd::kSignalled : RankEnd::kFailed;
        rank.restart_at = kNever;
      }
    }
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
  if (cause_) {
    return;
  }
  if (rules_.ends_with_first_failure || rank.serves ||
      (rank.how.signalled && !rules_.bears_signals)) {
    first_failed_ = first_failed_.value_or(index);
    return Begin(late_cause_ ? *late_cause_ : RankError(Who(index), rank.how, rank.log_path), now);
  }
  if (!late_cause_) {
    first_failed_ = index;
    late_cause_ = RankError(Who(index), rank.how, rank.log_path);
  }
}

/// Where only processes are left that serve the others, they have nothing to do any more.
void JobWatch::EndServices(TimePoint now) {
  const bool is_busy = std::ranges::any_of(ranks_, [](const RankRecord& rank) {
    return !rank.serves && (rank.end == RankEnd::kRunning || rank.end == RankEnd::kRestarting);
  });
  const bool any_serve = std::ranges::any_of(
      ranks_, [](const RankRecord& rank) { return rank.serves && rank.end == RankEnd::kRunning; });
  if (!cause_ && !services_end_ && !is_busy && any_serve &&
      std::ranges::any_of(ranks_, [](const RankRecord& rank) { return !rank.serves; })) {
    services_end_ = true;
    due_ = Order::kTerminate;
    due_at_ = now;
  }
}

void JobWatch::OnEnded(std::size_t index, ProcessEnd end, TimePoint now) {
  RankRecord& rank = ranks_[index];
  const bool was_well = !cause_;
  rank.how = end;
  if (!end.signalled && end.value == 0) {
    rank.end = RankEnd::kOk;
    if (!first_ok_) {
      first_ok_ = index;
      early_end_at_ = AddSaturated(now, kEarlyEndNotice);
    }
    CheckRegistrations(now);
  } else if (services_end_ && rank.serves) {
    rank.end = RankEnd::kOk;  // told to end, however it did that
  } else if (cause_ && end.signalled) {
    rank.end = RankEnd::kEndedByUs;
  } else if (MayRestart(rank)) {
    PlanRestart(index, now);
  } else {
    rank.end = end.signalled ? RankEnd::kSignalled : RankEnd::kFailed;
    BlameRank(index, now);
  }
  EndServices(now);
  if (late_cause_ && !cause_ && all_ended()) {
    Begin(*late_cause_, now);
  }
  if (was_well && cause_ && MayBeStopped(end)) {
    doubt_until_ = due_at_ = AddSaturated(now, kSameMoment);
  }
}

bool JobWatch::MayRestart(const RankRecord& rank) const {
  return !cause_ && rank.restarts < rules_.max_restarts;
}

void JobWatch::PlanRestart(std::size_t index, TimePoint now) {
  RankRecord& rank = ranks_[index];
  // 1, 2, 4, ... seconds; more than 9 hours are no use to anybody.
  const Duration pause =
      kRestartPause * (std::int64_t{1} << std::min<std::int64_t>(rank.restarts, 15));
  rank.end = RankEnd::kRestarting;
  rank.restart_at = AddSaturated(now, pause);
  notices_.push_back(
      Who(index) + " ended with " + EndText(rank.how) + "; it is started again in " +
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(pause).count()) + " s (" +
      std::to_string(rank.restarts + 1) + " of " + std::to_string(rules_.max_restarts) +
      "); its output is in " + rank.log_path);
}

std::optional<std::size_t> JobWatch::NextRestart(TimePoint now) const {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].end == RankEnd::kRestarting && ranks_[i].restart_at <= now) {
      return i;
    }
  }
  return std::nullopt;
}

void JobWatch::OnRestarted(std::size_t index, std::int64_t pid, std::string log_path) {
  RankRecord& rank = ranks_[index];
  ++rank.restarts;
  rank.restart_at = kNever;
  rank.log_path = std::move(log_path);
  OnStarted(index, pid);
}

std::vector<std::string> JobWatch::TakeNotices(TimePoint now) {
  if (now >= early_end_at_) {
    early_end_at_ = kNever;
    const auto running = std::ranges::count_if(
        ranks_, [](const RankRecord& rank) { return rank.end == RankEnd::kRunning; });
    if (!cause_ && running > 0) {
      notices_.push_back(
          Who(*first_ok_) + " ended well " +
          std::to_string(
              std::chrono::duration_cast<std::chrono::seconds>(kEarlyEndNotice).count()) +
          " s ago, and " + std::to_string(running) + " ranks of this node still run");
    }
  }
  return std::exchange(notices_, {});
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
      Begin(
          FailCommand(FailureCode::kExitBeforeJoin, Who(i) + " ended before it joined the cluster",
                      "its output is in " + ranks_[i].log_path +
                          "; a script that does not use MindSpore needs --rendezvous=launcher")
              .value(),
          now);
      return;
    }
  }
}

void JobWatch::OnStopSignal(int number, TimePoint now) {
  if (in_doubt(now)) {
    cause_.reset();
    first_failed_.reset();
  }
  doubt_until_ = TimePoint::min();
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

void JobWatch::OnLauncherKilled(TimePoint now) {
  launcher_died_ = true;
  Begin(sim::StoppedBySignal(SIGKILL, "msrun was killed; all its ranks were ended"), now);
  due_ = Order::kKill;
  due_at_ = now;
}

void JobWatch::OnCause(Error cause, TimePoint now) {
  Begin(std::move(cause), now);
}

void JobWatch::OnContradiction(Error cause, TimePoint now) {
  if (cause_ && sim::StopSignalOf(*cause_)) {
    return;
  }
  if (!cause_) {
    return Begin(std::move(cause), now);
  }
  cause_ = std::move(cause);
  first_failed_.reset();
  doubt_until_ = TimePoint::min();
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
  TimePoint next = due_ == Order::kNone ? kNever : due_at_;
  if (!all_ended() && !cause_) {
    next = std::min(next, early_end_at_);
  }
  for (const RankRecord& rank : ranks_) {
    next = std::min(next, rank.restart_at);
  }
  return next;
}

bool JobWatch::all_ended() const {
  return std::ranges::none_of(ranks_, [](const RankRecord& rank) {
    return rank.end == RankEnd::kRunning || rank.end == RankEnd::kRestarting;
  });
}

}  // namespace drydock::launcher
