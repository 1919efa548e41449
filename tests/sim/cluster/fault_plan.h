#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace drydock::sim {

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
  std::uint32_t intruders = 0;       ///< Processes too many, with another id for a taken rank.
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
