#include "strategies/passes/schedule/pipeline_messages.h"

#include <algorithm>
#include <map>
#include <tuple>

/// The order of messages in a pipeline.
///
/// Two stages that both send before they receive wait for each other. So all messages of a step get
/// one order, by the time at which they are made if a forward pass takes one unit and a backward
/// pass two, and every stage starts its own in that order. A message is made by a task that comes
/// behind earlier messages only, so the earliest one that is not through can always go on.
///
/// Example, gpipe on 2 stages: F0 and F1 of stage 0 end at 1 and 2, so stage 1 receives both before
/// it sends the gradient of 0 at 5.
namespace drydock::strategies {
namespace {

/// (backward, micro, sequence, position along the flow)
using Key = std::tuple<bool, std::int32_t, std::int32_t, std::int64_t>;

class Timeline {
 public:
  Timeline(PipelineScheduler scheduler, const PipelineShape& shape,
           const std::vector<std::vector<PipelineTask>>& orders)
      : scheduler_(scheduler), shape_(shape), orders_(orders) {}

  std::vector<std::vector<StageMessage>> Run() && {
    PlaceTasks();
    std::vector<std::tuple<std::int64_t, Key>> messages;
    for (const auto& [key, end] : ends_) {
      if (StageOf(Next(key)) != StageOf(std::get<3>(key)) && Exists(Next(key))) {
        messages.emplace_back(end, key);
      }
    }
    std::ranges::sort(messages);
    std::vector<std::vector<StageMessage>> lists(orders_.size());
    for (const auto& [time, key] : messages) {
      const std::int64_t from = std::get<3>(key);
      lists[StageOf(from)].push_back({.sends = true, .task = TaskAt(key, from)});
      lists[StageOf(Next(key))].push_back({.task = TaskAt(key, Next(key))});
    }
    return lists;
  }

 private:
  [[nodiscard]] std::int64_t Last() const { return shape_.stages * shape_.chunks - 1; }
  [[nodiscard]] bool Exists(std::int64_t position) const {
    return position >= 0 && position <= Last();
  }
  static std::int64_t Next(const Key& key) {
    return std::get<3>(key) + (std::get<0>(key) ? -1 : 1);
  }

  [[nodiscard]] std::size_t StageOf(std::int64_t position) const {
    const std::int64_t within = (position + shape_.stages) % shape_.stages;
    const bool back =
        scheduler_ == PipelineScheduler::kZeroBubbleV && position / shape_.stages == 1;
    return static_cast<std::size_t>(back ? shape_.stages - 1 - within : within);
  }

  [[nodiscard]] PipelineTask TaskAt(const Key& key, std::int64_t position) const {
    return {.backward = std::get<0>(key),
            .micro = std::get<1>(key),
            .chunk = static_cast<std::int32_t>(position / shape_.stages),
            .sequence = std::get<2>(key)};
  }

  /// When what a task reads is there; -1 if it is not.
  [[nodiscard]] std::int64_t ReadyAt(const Key& key) const {
    const auto [backward, micro, sequence, position] = key;
    std::int64_t ready = 0;
    for (const Key& wanted : {Key{false, micro, sequence, backward ? position : position - 1},
                              Key{true, micro, sequence, position + 1}}) {
      const bool needed = Exists(std::get<3>(wanted)) && (backward || !std::get<0>(wanted));
      if (!needed) {
        continue;
      }
      const auto found = ends_.find(wanted);
      if (found == ends_.end()) {
        return -1;
      }
      ready = std::max(ready, found->second);
    }
    return ready;
  }

  void PlaceTasks() {
    constexpr std::int64_t kBackwardTime = 2;
    std::vector<std::size_t> next(orders_.size(), 0);
    std::vector<std::int64_t> free(orders_.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < orders_.size(); ++stage) {
        while (next[stage] < orders_[stage].size()) {
          const PipelineTask& task = orders_[stage][next[stage]];
          const Key key{
              task.backward, task.micro, task.sequence,
              FlowPosition(scheduler_, shape_, static_cast<std::int64_t>(stage), task.chunk)};
          const std::int64_t ready = ReadyAt(key);
          if (ready < 0) {
            break;
          }
          free[stage] = std::max(free[stage], ready) + (task.backward ? kBackwardTime : 1);
          ends_[key] = free[stage];
          ++next[stage];
          moved = true;
        }
      }
    }
  }

  PipelineScheduler scheduler_;
  const PipelineShape& shape_;
  const std::vector<std::vector<PipelineTask>>& orders_;
  std::map<Key, std::int64_t> ends_ = {};
};

}  // namespace

std::vector<std::vector<StageMessage>> MessageOrders(
    PipelineScheduler scheduler, const PipelineShape& shape,
    const std::vector<std::vector<PipelineTask>>& orders) {
  return Timeline(scheduler, shape, orders).Run();
}

}  // namespace drydock::strategies
