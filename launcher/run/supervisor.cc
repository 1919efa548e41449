#include "launcher/run/supervisor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <set>

#include <sys/wait.h>

#include "launcher/exit_code.h"
#include "launcher/run/job_summary.h"
#include "launcher/run/network.h"
#include "sim/tracer/child_process.h"

namespace drydock::launcher {
namespace {

/// How often logs are looked at where the system does not tell of changes.
constexpr Duration kLogPause = std::chrono::milliseconds(200);
/// A job that is over earlier never asks the system to tell, and looks more often.
constexpr Duration kWatchDelay = std::chrono::seconds(1);
constexpr Duration kEarlyLogPause = std::chrono::milliseconds(50);
/// How long a cluster that is done may take to say so. Source: docs/robustness.md R-27
constexpr Duration kWindUpTime = std::chrono::seconds(5);
/// How long other nodes are given to hear of a failure. Source: docs/robustness.md R-21
constexpr Duration kTellTime = std::chrono::seconds(7);
/// The same where launchers agree: they hear of it at once.
constexpr Duration kAgentTellTime = std::chrono::milliseconds(1500);

ProcessEnd EndOf(int status) {
  return WIFSIGNALED(status) ? ProcessEnd{.signalled = true, .value = WTERMSIG(status)}
                             : ProcessEnd{.signalled = false, .value = WEXITSTATUS(status)};
}

/// Name of a running program, for people.
std::string ProgramOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return PrintableText(name);
}

int MillisecondsUntil(TimePoint until) {
  if (until == kNever) {
    return -1;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - MonotonicNow()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

}  // namespace

TimePoint MonotonicNow() {
  return TimePoint(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

Supervisor::Supervisor(const MsrunOptions& options, const Context& context, SignalPipe& signals,
                       Cluster& cluster, JobWatch& watch)
    : options_(options),
      context_(context),
      signals_(signals),
      cluster_(cluster),
      watch_(watch),
      start_(MonotonicNow()) {
  if (cluster_.Forming() || cluster_.waits_for_others()) {
    show_at_ = start_ + kFirstNotice;
  }
}

void Supervisor::Started(std::size_t index, std::int64_t pid) {
  index_of_pid_[pid] = index;
  watch_.OnStarted(index, pid);
}

void Supervisor::SignalRanks(int number) {
  for (const RankRecord& rank : watch_.ranks()) {
    if (rank.end == RankEnd::kRunning) {
      // Not reaped yet, so the number cannot belong to somebody else's group.
      ::kill(-static_cast<pid_t>(rank.pid), number);
    }
  }
}

void Supervisor::Obey(JobWatch::Order order) {
  switch (order) {
    case JobWatch::Order::kNone:
      return;
    case JobWatch::Order::kTerminate:
      if (watch_.cause()) {
        TellOthers();
      }
      SignalRanks(SIGTERM);
      SignalRanks(SIGCONT);  // a stopped rank must be able to end
      return;
    case JobWatch::Order::kKill:
      SignalRanks(SIGKILL);
      return;
    case JobWatch::Order::kGiveUp:
      gave_up_ = true;
      return;
  }
}

/// Collects every child that has ended; those that are no ranks of ours were left behind by some.
void Supervisor::Reap() {
  while (true) {
    siginfo_t ended = {};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) {
      return;
    }
    const pid_t pid = ended.si_pid;
    const auto found = index_of_pid_.find(pid);
    const bool is_well = ended.si_code == CLD_EXITED && ended.si_status == 0;
    if (found != index_of_pid_.end() && (!is_well || watch_.stopping())) {
      // What is left of the group goes with its leader, whose zombie reserves the number.
      ::kill(-pid, SIGKILL);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (found == index_of_pid_.end()) {
      continue;
    }
    const std::size_t index = found->second;
    index_of_pid_.erase(found);
    watch_.OnEnded(index, EndOf(status), MonotonicNow());
  }
}

void Supervisor::TakeSignals() {
  for (const int number : signals_.Take()) {
    switch (number) {
      case SIGCHLD:
        Reap();
        break;
      case SIGKILL:
        watch_.OnLauncherKilled(MonotonicNow());
        ++stop_signals_;
        break;
      case SIGTSTP:
        SignalRanks(SIGSTOP);
        ::kill(::getpid(), SIGSTOP);
        break;
      case SIGCONT:
        SignalRanks(SIGCONT);
        break;
      case SIGQUIT:
        SignalRanks(SIGQUIT);  // for dumps of their stacks
        [[fallthrough]];
      default:
        ++stop_signals_;
        watch_.OnStopSignal(number, MonotonicNow());
        break;
    }
  }
}

void Supervisor::TakeNews() {
  for (const ClusterNews& news : cluster_.Take()) {
    switch (news.kind) {
      case ClusterNews::Kind::kRegistered:
        watch_.OnRegistered(news.id, MonotonicNow());
        break;
      case ClusterNews::Kind::kFormed:
        watch_.OnFormed();
        break;
      case ClusterNews::Kind::kRefused:
        context_.log.Warning(news.error->message);
        break;
      case ClusterNews::Kind::kFailed:
        watch_.OnCause(*news.error, MonotonicNow());
        break;
      case ClusterNews::Kind::kContradicts:
        watch_.OnContradiction(*news.error, MonotonicNow());
        break;
    }
  }
}

/// One line that says who is missing: redrawn on a terminal, else now and then.
void Supervisor::ShowForming() {
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  const auto state = cluster_.Forming();
  const bool joins = cluster_.waits_for_others();
  if ((!state && !joins) || options_.quiet || watch_.stopping() || watch_.formed()) {
    if (line_open_) {
      std::cerr << "\r\x1b[K" << std::flush;
      line_open_ = false;
    }
    return;
  }
  const TimePoint now = MonotonicNow();
  const bool due = now >= show_at_;
  if (!due && (!terminal || shown_ == state)) {
    return;
  }
  if (due) {
    show_at_ = now + kNoticePause;
  }
  shown_ = state;
  const std::int64_t left =
      options_.cluster_time_out_s < 0
          ? -1
          : std::max<std::int64_t>(
                0, options_.cluster_time_out_s -
                       std::chrono::duration_cast<std::chrono::seconds>(now - start_).count());
  const std::string text =
      "msrun: " +
      (state ? FormingText(state->present, state->expected, state->missing, left)
             : JoiningText(HostAndPort(options_.master_addr, options_.master_port), left));
  std::cerr << (terminal ? "\r\x1b[K" + text : text + "\n") << std::flush;
  line_open_ = terminal;
}

void Supervisor::Step(TimePoint until) {
  until = std::min(until, watch_.NextDeadline());
  if (!watch_.formed() && !watch_.stopping()) {
    until = std::min(until, show_at_);
  }
  std::vector<pollfd> watched = {{.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
  for (const int fd : cluster_.fds()) {
    watched.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  }
  for (const auto& tail : tails_) {
    watched.push_back({.fd = tail->fd(), .events = POLLIN, .revents = 0});
    if (tail->waits_for_console()) {
      watched.push_back({.fd = tail->console(), .events = POLLOUT, .revents = 0});
    }
    until = std::min(until, NextLook(*tail, watch_logs_at_ != kNever));
  }
  ::poll(watched.data(), watched.size(), MillisecondsUntil(until));
  TakeNews();  // before the signals: who registered and then ended did register
  TakeSignals();
  FollowLogs();
  ShowForming();
}

void Supervisor::Follow(std::unique_ptr<LogTail> tail) {
  tails_.push_back(std::move(tail));
  watch_logs_at_ = MonotonicNow() + kWatchDelay;
}

void Supervisor::FollowToo(const std::string& path, std::string tag) {
  if (!tails_.empty()) {
    tails_.front()->Add(path, std::move(tag));
  }
}

/// When logs must be looked at though nothing happens.
TimePoint Supervisor::NextLook(const LogTail& tail, bool is_early) {
  return tail.fd() >= 0 ? kNever : MonotonicNow() + (is_early ? kEarlyLogPause : kLogPause);
}

void Supervisor::FollowLogs() {
  const bool due = MonotonicNow() >= watch_logs_at_;
  if (due) {
    watch_logs_at_ = kNever;
  }
  for (const auto& tail : tails_) {
    if (due) {
      tail->Watch();
    }
    tail->fd() < 0 ? tail->MarkAll() : tail->TakeChanges();
    tail->Pump();
  }
}

void Supervisor::WatchRanks() {
  while ((!watch_.all_ended() || watch_.in_doubt(MonotonicNow())) && !gave_up_) {
    Obey(watch_.NextOrder(MonotonicNow()));
    RestartRanks();
    Step(kNever);
  }
}

void Supervisor::RestartRanks() {
  const TimePoint now = MonotonicNow();
  for (const std::string& notice : watch_.TakeNotices(now)) {
    context_.log.Warning(notice);
  }
  while (const auto index = watch_.NextRestart(now)) {
    const auto started = restart_(*index, watch_.ranks()[*index].restarts + 1);
    if (!started) {
      return watch_.OnCause(started.error(), now);
    }
    index_of_pid_[started->pid] = *index;
    watch_.OnRestarted(*index, started->pid, started->log_path);
  }
}

Status Supervisor::WaitForAgreement() {
  while (!watch_.formed() && !watch_.stopping()) {
    Step(kNever);
  }
  return watch_.cause() ? Status(tl::unexpected(*watch_.cause())) : Status();
}

/// The other nodes hear of our failure once.
void Supervisor::TellOthers() {
  if (told_) {
    return;
  }
  told_ = true;
  std::vector<std::string> ids;
  for (const RankRecord& rank : watch_.ranks()) {
    if (!rank.cluster_id.empty() && rank.end != RankEnd::kOk) {
      ids.push_back(rank.cluster_id);
    }
  }
  cluster_.TellFailure(ids, watch_.cause()->message);
}

void Supervisor::WindUp() {
  if (watch_.stopping()) {
    TellOthers();
  } else {
    cluster_.Leave();
  }
  const TimePoint begin = MonotonicNow();
  const int signals_before = stop_signals_;
  while (!cluster_.finished() && stop_signals_ == signals_before) {
    // Ranks of other nodes may go on for long after ours; a failed job is over soon.
    TimePoint until = kNever;
    if (watch_.stopping()) {
      until = begin + (cluster_.agrees() ? kAgentTellTime : kTellTime);
    } else if (IsSingleNode(options_)) {
      until = begin + kWindUpTime;
    }
    if (MonotonicNow() >= until) {
      break;
    }
    // Closing connections are no news: a failed job looks at them now and then.
    Step(watch_.stopping() ? std::min(until, MonotonicNow() + kLogPause) : until);
  }
  FlushConsole();
}

void Supervisor::FlushConsole() {
  const int signals_before = stop_signals_;
  for (const auto& tail : tails_) {
    tail->Close();
    tail->Pump();
    while (tail->waits_for_console() && stop_signals_ == signals_before) {
      pollfd watched[] = {{.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                          {.fd = tail->console(), .events = POLLOUT, .revents = 0}};
      ::poll(watched, 2, -1);
      TakeSignals();
      tail->Pump();
    }
  }
}

void Supervisor::WaitForHelpers() {
  const std::set<pid_t> helpers = sim::Children();
  if (helpers.empty() || watch_.stopping()) {
    return;
  }
  context_.log.Warning(
      std::to_string(helpers.size()) + " processes that ranks left behind (first: " +
      std::to_string(*helpers.begin()) + " '" + ProgramOf(*helpers.begin()) + "') have " +
      std::to_string(options_.grace_s) + " s (--grace) to end by themselves");
  const TimePoint until = AddSaturated(MonotonicNow(), std::chrono::seconds(options_.grace_s));
  while (!sim::Children().empty() && !watch_.stopping() && MonotonicNow() < until) {
    Step(until);
  }
  FlushConsole();
}

int Supervisor::EndLeftovers() {
  Reap();
  WaitForHelpers();
  std::set<pid_t> kept;
  for (const auto& [pid, index] : index_of_pid_) {
    kept.insert(static_cast<pid_t>(pid));  // those that cannot be killed
  }
  return sim::EndOrphans(kept);
}

}  // namespace drydock::launcher
