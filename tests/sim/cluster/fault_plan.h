#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sim/cluster/worker_core.h"

namespace drydock::sim {

/// A worker's process.
struct FaultWorker {
  std::unique_ptr<WorkerCore> core = {};
  std::uint64_t life = 0;  ///< Counts processes, so that events of an earlier one are ignored.
  std::array<std::optional<std::size_t>, 2> connections = {};
  bool dead = true;
};

/// A connection as both sides see it.
struct FaultConnection {
  std::size_t worker = 0;
  Channel channel = Channel::kHeartbeat;
  std::uint64_t scheduler_life = 0;
  bool worker_open = false;
  bool scheduler_open = false;
  TimePoint last_to_scheduler = {};
  TimePoint last_to_worker = {};
};

/// True while it has neither died nor left nor given up.
inline bool Works(const FaultWorker& worker) {
  return !worker.dead && worker.core->state() != WorkerState::kLeft &&
         worker.core->state() != WorkerState::kFailed;
}

/// A process that can be made to stand still. Time in which it did not run does not pass for it, as
/// in the TCP shell.
class FreezableProcess {
 public:
  [[nodiscard]] bool frozen() const { return frozen_; }
  /// What its clock shows, and when it shows `own`.
  [[nodiscard]] TimePoint OwnTime(TimePoint now) const { return now - frozen_time_; }
  [[nodiscard]] TimePoint RealTime(TimePoint own) const { return AddSaturated(own, frozen_time_); }
  /// Something reaches it; while it stands still, later and in order.
  void Reach(std::function<void()> event) {
    if (frozen_) {
      waiting_.push_back(std::move(event));
    } else {
      event();
    }
  }
  void Freeze() { frozen_ = true; }
  void Thaw(Duration length) {
    frozen_ = false;
    frozen_time_ += length;
    for (const auto& event : std::exchange(waiting_, {})) {
      event();
    }
  }
  /// Nothing reaches it any more.
  void Die() {
    frozen_ = false;
    waiting_.clear();
  }

 private:
  bool frozen_ = false;
  Duration frozen_time_ = {};
  std::vector<std::function<void()>> waiting_;
};

/// What may go wrong, drawn from the seed.
struct FaultPlan {
  bool recovery = false;
  bool numeric_ids = true;
  std::uint32_t workers = 1;
  std::uint32_t lose_percent = 0;    ///< Frames that vanish.
  std::uint32_t repeat_percent = 0;  ///< Requests that arrive twice.
  std::uint32_t cut_percent = 0;     ///< Frames whose connection breaks.
  std::uint32_t late_percent = 0;    ///< Frames that take longer than any time-out.
  std::uint32_t deaths = 0;          ///< Worker processes that die.
  std::uint32_t restarts = 0;        ///< Deaths of the scheduler.
  std::uint32_t freezes = 0;    ///< Times that the scheduler's process does not run for a while.
  std::uint32_t intruders = 0;  ///< Processes too many, with another id for a taken rank.
};

/// A plan; some of them let nothing go wrong.
inline FaultPlan DrawFaultPlan(std::mt19937_64& random) {
  const auto below = [&random](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  FaultPlan plan;
  plan.recovery = below(2) == 0;
  plan.numeric_ids = below(2) == 0;
  plan.workers = 1 + below(5);
  const auto maybe = [&below](std::uint32_t bound) { return below(3) == 0 ? below(bound) : 0; };
  plan.lose_percent = maybe(15);
  plan.repeat_percent = maybe(30);
  plan.cut_percent = maybe(10);
  plan.late_percent = maybe(10);
  plan.deaths = maybe(3);
  plan.restarts = maybe(3);
  plan.freezes = maybe(3);
  plan.intruders = maybe(3);
  return plan;
}

/// Id of worker `w`. Intruders come behind the workers; numeric ones are called "00", "01", ...:
/// other ids for ranks that have a worker.
inline std::string FaultNodeId(const FaultPlan& plan, std::size_t w) {
  const bool intrudes = w >= plan.workers;
  const std::string number = std::to_string(intrudes ? w - plan.workers : w);
  if (plan.numeric_ids) {
    return intrudes ? "0" + number : number;
  }
  return (intrudes ? "extra" : "w") + number;
}

}  // namespace drydock::sim
