#include "strategies/passes/schedule/pipeline_schedule.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

/// Schedules of pipelines, as functions of their sizes.
///
///   1f1b      warm up with as many forwards as there are stages behind, then one backward per
///             forward, then what is left; with several chunks forwards go in rounds of as many
///             micro batches as there are stages, the last chunk of a round before the next round
///   gpipe     all forwards, chunk by chunk, then all backwards
///   seqpipe   micro batches in cycles; in each cycle chunk by chunk, a micro batch part by part;
///             backward takes the oldest micro batch and of that what came last
///   zero_bubble_v   chunk 0 runs from the first stage to the last, chunk 1 back; every stage does
///             what is ready, backward first, and starts no forward while it holds twice as many
///             activations as there are stages
///
/// Example, 1f1b, 2 stages, 3 micro batches: stage 0 does F0 F1 B0 F2 B1 B2, stage 1 F0 B0 F1 B1 F2
/// B2.
///
/// Whatever the schedule, what it needs must come: all stages are run against each other, each task
/// as soon as those in front of it are done and what it reads has been made. If that ends early,
/// the stages wait for each other.
///
/// Source: mindspore/ccsrc/frontend/parallel/pipeline_transformer/pipeline_scheduler.cc,
/// gpipe_interleave_scheduler.cc, seqpipe_scheduler.cc (MakeExecuteOrder); graph_util/
/// pipeline_split_utils.cc (ReorderForForward, ReorderForBackward)
namespace drydock::strategies {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"1f1b",   "gpipe",       "seqpipe",
                                                    "seqvpp", "seqsmartvpp", "zero_bubble_v"};

using Order = std::vector<PipelineTask>;

PipelineTask TaskOf(bool backward, std::int64_t micro, std::int64_t chunk,
                    std::int64_t sequence = 0) {
  return {.backward = backward,
          .micro = static_cast<std::int32_t>(micro),
          .chunk = static_cast<std::int32_t>(chunk),
          .sequence = static_cast<std::int32_t>(sequence)};
}

/// Forward or backward tasks of all micro batches in the rounds of interleaved 1F1B.
Order InRounds(const PipelineShape& shape, bool backward) {
  const std::int64_t more = shape.micros % shape.stages;
  Order tasks;
  for (std::int64_t begin = 0; begin < shape.micros;) {
    const std::int64_t end = std::min(shape.micros, begin + shape.stages + (begin == 0 ? more : 0));
    for (std::int64_t c = 0; c < shape.chunks; ++c) {
      for (std::int64_t micro = begin; micro < end; ++micro) {
        tasks.push_back(TaskOf(backward, micro, backward ? shape.chunks - 1 - c : c));
      }
    }
    begin = end;
  }
  return tasks;
}

/// `warm_up` forwards, then one backward behind each forward, then the other backwards.
Order Alternate(const Order& forward, const Order& backward, std::int64_t warm_up) {
  Order order;
  std::size_t done = 0;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    order.push_back(forward[i]);
    if (static_cast<std::int64_t>(i) >= warm_up) {
      order.push_back(backward[done++]);
    }
  }
  order.insert(order.end(), backward.begin() + static_cast<std::ptrdiff_t>(done), backward.end());
  return order;
}

Order OneForwardOneBackward(const PipelineShape& shape, std::int64_t stage) {
  const std::int64_t behind = shape.stages - stage - 1;
  const std::int64_t rounds = (shape.stages + shape.micros % shape.stages) * (shape.chunks - 1);
  const bool wide = shape.chunks > 1 && !shape.less_memory;
  return Alternate(InRounds(shape, false), InRounds(shape, true),
                   rounds + (wide ? 2 * behind : behind));
}

Order AllThenAll(const PipelineShape& shape) {
  Order order;
  for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
    for (std::int64_t micro = 0; micro < shape.micros; ++micro) {
      order.push_back(TaskOf(false, micro, chunk));
    }
  }
  for (std::int64_t chunk = shape.chunks; chunk-- > 0;) {
    for (std::int64_t micro = 0; micro < shape.micros; ++micro) {
      order.push_back(TaskOf(true, micro, chunk));
    }
  }
  return order;
}

/// Backward for a list of forwards: the oldest micro batch, of it what came last.
class OldestFirst {
 public:
  void Push(const PipelineTask& task) {
    queue_.push_back(task.micro);
    stacks_[task.micro].push_back(task);
  }
  [[nodiscard]] bool Empty() const { return queue_.empty(); }
  PipelineTask Pop() {
    std::vector<PipelineTask>& stack = stacks_[queue_.front()];
    queue_.pop_front();
    PipelineTask task = stack.back();
    stack.pop_back();
    task.backward = true;
    return task;
  }

 private:
  std::deque<std::int32_t> queue_ = {};
  std::map<std::int32_t, std::vector<PipelineTask>> stacks_ = {};
};

Order BySequences(const PipelineShape& shape, std::int64_t stage, std::int64_t cycle_length,
                  std::int64_t bias) {
  const std::vector<std::int64_t> cycles = CyclesOfMicroBatches(shape.micros, cycle_length);
  Order forward;
  std::int64_t begin = 0;
  for (const std::int64_t cycle : cycles) {
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      for (std::int64_t micro = begin; micro < begin + cycle; ++micro) {
        for (std::int64_t part = 0; part < shape.sequences; ++part) {
          forward.push_back(TaskOf(false, micro, chunk, part));
        }
      }
    }
    begin += cycle;
  }
  const std::int64_t warm_up =
      std::min(std::ssize(forward) - 1, (shape.stages - 1 - stage) * bias +
                                            (shape.chunks - 1) * cycles.front() * shape.sequences +
                                            shape.sequences - 1);
  Order order;
  OldestFirst waiting;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    order.push_back(forward[i]);
    waiting.Push(forward[i]);
    if (static_cast<std::int64_t>(i) >= warm_up) {
      order.push_back(waiting.Pop());
    }
  }
  while (!waiting.Empty()) {
    order.push_back(waiting.Pop());
  }
  return order;
}

/// All stages at once, one task each at a time.
class VShape {
 public:
  explicit VShape(const PipelineShape& shape)
      : shape_(shape), orders_(static_cast<std::size_t>(shape.stages)), held_(orders_.size(), 0) {
    for (std::int64_t micro = 0; micro < shape.micros; ++micro) {
      made_[TaskAt(false, micro, 0)] = -1;
    }
  }

  std::vector<Order> Run() && {
    const std::int64_t all = 4 * shape_.micros * shape_.stages;
    std::int64_t done = 0;
    for (std::int64_t time = 0; done < all; ++time) {
      for (std::int64_t stage = 0; stage < shape_.stages; ++stage) {
        done += Work(stage, time) ? 1 : 0;
      }
    }
    return std::move(orders_);
  }

 private:
  /// (backward, micro, position along the flow)
  using Key = std::tuple<bool, std::int64_t, std::int64_t>;
  static Key TaskAt(bool backward, std::int64_t micro, std::int64_t position) {
    return {backward, micro, position};
  }

  [[nodiscard]] bool Ready(const Key& key, std::int64_t time) const {
    const auto found = made_.find(key);
    return found != made_.end() && found->second < time;
  }

  bool Work(std::int64_t stage, std::int64_t time) {
    for (const bool backward : {true, false}) {
      const bool full = !backward && held_[static_cast<std::size_t>(stage)] >= 2 * shape_.stages;
      for (std::int64_t micro = 0; micro < shape_.micros && !full; ++micro) {
        for (const std::int64_t chunk : {1, 0}) {
          const std::int64_t position =
              FlowPosition(PipelineScheduler::kZeroBubbleV, shape_, stage, chunk);
          const Key key = TaskAt(backward, micro, position);
          if (Ready(key, time)) {
            Do(stage, chunk, key, time);
            return true;
          }
        }
      }
    }
    return false;
  }

  void Do(std::int64_t stage, std::int64_t chunk, const Key& key, std::int64_t time) {
    const auto [backward, micro, position] = key;
    orders_[static_cast<std::size_t>(stage)].push_back(TaskOf(backward, micro, chunk));
    held_[static_cast<std::size_t>(stage)] += backward ? -1 : 1;
    made_.erase(key);
    const std::int64_t last = 2 * shape_.stages - 1;
    if (!backward) {
      made_[position == last ? TaskAt(true, micro, last) : TaskAt(false, micro, position + 1)] =
          time;
    } else if (position > 0) {
      made_[TaskAt(true, micro, position - 1)] = time;
    }
  }

  const PipelineShape& shape_;
  std::vector<Order> orders_;
  std::vector<std::int64_t> held_;         ///< Per stage: forwards without their backward.
  std::map<Key, std::int64_t> made_ = {};  ///< What can be done, and since when.
};

std::string TaskText(const PipelineTask& task) {
  return std::string(task.backward ? "backward" : "forward") + " of micro batch " +
         std::to_string(task.micro) + ", chunk " + std::to_string(task.chunk);
}

/// Runs the orders of all stages against each other.
class PipelineRun {
 public:
  PipelineRun(PipelineScheduler scheduler, const PipelineShape& shape,
              const std::vector<Order>& orders)
      : scheduler_(scheduler), shape_(shape), orders_(orders), next_(orders.size(), 0) {}

  Status Run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < orders_.size(); ++stage) {
        while (next_[stage] < orders_[stage].size() && Ready(stage, orders_[stage][next_[stage]])) {
          done_.insert({KeyOf(stage, orders_[stage][next_[stage]]), true});
          ++next_[stage];
          moved = true;
        }
      }
    }
    for (std::size_t stage = 0; stage < orders_.size(); ++stage) {
      if (next_[stage] < orders_[stage].size()) {
        return FailInput("pipeline:deadlock",
                         "stages wait for each other: stage " + std::to_string(stage) +
                             " comes no further than to " + TaskText(orders_[stage][next_[stage]]),
                         "use the scheduler '1f1b'");
      }
    }
    return {};
  }

 private:
  /// (backward, micro, sequence, position along the flow)
  using Key = std::tuple<bool, std::int32_t, std::int32_t, std::int64_t>;

  [[nodiscard]] Key KeyOf(std::size_t stage, const PipelineTask& task) const {
    return {task.backward, task.micro, task.sequence,
            FlowPosition(scheduler_, shape_, static_cast<std::int64_t>(stage), task.chunk)};
  }

  [[nodiscard]] bool Ready(std::size_t stage, const PipelineTask& task) const {
    auto [backward, micro, sequence, position] = KeyOf(stage, task);
    const std::int64_t last = shape_.stages * shape_.chunks - 1;
    if (!backward) {
      return position == 0 || done_.contains({false, micro, sequence, position - 1});
    }
    return done_.contains({false, micro, sequence, position}) &&
           (position == last || done_.contains({true, micro, sequence, position + 1}));
  }

  PipelineScheduler scheduler_;
  const PipelineShape& shape_;
  const std::vector<Order>& orders_;
  std::vector<std::size_t> next_;
  std::map<Key, bool> done_ = {};
};

Status CheckShape(PipelineScheduler scheduler, const PipelineShape& shape) {
  if (!IsBySequences(scheduler) && shape.micros < shape.stages) {
    return FailInput("pipeline:micro-batches",
                     std::to_string(shape.micros) + " micro batches are too few for " +
                         std::to_string(shape.stages) + " pipeline stages",
                     "cut the batch into at least " + std::to_string(shape.stages) +
                         " micro batches, or use fewer stages");
  }
  const bool two_parts =
      scheduler == PipelineScheduler::kSeqVpp || scheduler == PipelineScheduler::kSeqSmartVpp;
  if (two_parts && (shape.chunks < 2 || shape.stages < shape.sequences ||
                    shape.micros * shape.sequences < shape.stages)) {
    return FailInput("pipeline:seqvpp",
                     "seqvpp needs two parts of the network per stage, no more parts of a sequence "
                     "than stages, and at least as many parts of all micro batches as stages",
                     "use the scheduler 'seqpipe'");
  }
  if (scheduler == PipelineScheduler::kZeroBubbleV && shape.chunks != 2) {
    return FailInput("pipeline:zero-bubble",
                     "zero_bubble_v needs two parts of the network per stage, but there are " +
                         std::to_string(shape.chunks),
                     "give the cells pipeline_segment 0 on the way there and 1 on the way back");
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> CyclesOfMicroBatches(std::int64_t micros, std::int64_t length) {
  const std::int64_t count = std::max<std::int64_t>(1, micros / length);
  std::vector<std::int64_t> cycles(static_cast<std::size_t>(count), std::min(micros, length));
  for (std::int64_t i = 0; count * length + i < micros; ++i) {
    ++cycles[static_cast<std::size_t>(i % count)];
  }
  return cycles;
}

Result<PipelineScheduler> ParsePipelineScheduler(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) {
    return FailInput("pipeline:scheduler",
                     "pipeline scheduler '" + std::string(text) + "' is not known",
                     "use 1f1b, gpipe, seqpipe, seqvpp, seqsmartvpp or zero_bubble_v");
  }
  return static_cast<PipelineScheduler>(found - kNames.begin());
}

bool IsBySequences(PipelineScheduler scheduler) {
  return scheduler == PipelineScheduler::kSeqPipe || scheduler == PipelineScheduler::kSeqVpp ||
         scheduler == PipelineScheduler::kSeqSmartVpp;
}

PipelineScheduler SchedulerInForce(PipelineScheduler asked, bool interleaves) {
  if (interleaves || asked == PipelineScheduler::kZeroBubbleV) {
    return asked;
  }
  return IsBySequences(asked) ? PipelineScheduler::kSeqPipe : PipelineScheduler::k1F1B;
}

Result<std::vector<PipelineTask>> PipelineOrder(PipelineScheduler scheduler,
                                                const PipelineShape& shape, std::int64_t stage) {
  DRYDOCK_RETURN_IF_ERROR(CheckShape(scheduler, shape));
  switch (scheduler) {
    case PipelineScheduler::k1F1B:
      return OneForwardOneBackward(shape, stage);
    case PipelineScheduler::kGPipe:
      return AllThenAll(shape);
    case PipelineScheduler::kSeqPipe:
      return BySequences(shape, stage, shape.stages, shape.chunks == 1 ? 1 : 2);
    case PipelineScheduler::kSeqVpp:
      return BySequences(shape, stage, shape.stages / shape.sequences, 2);
    case PipelineScheduler::kSeqSmartVpp:
      return BySequences(shape, stage, shape.stages, 1);
    case PipelineScheduler::kZeroBubbleV:
      break;
  }
  return std::move(VShape(shape).Run()[static_cast<std::size_t>(stage)]);
}

std::vector<PipelineTask> PassesInOrder(PipelineScheduler scheduler, const PipelineShape& shape) {
  if (scheduler == PipelineScheduler::kGPipe) {
    return AllThenAll(shape);
  }
  std::vector<PipelineTask> passes = InRounds(shape, false);
  std::ranges::copy(InRounds(shape, true), std::back_inserter(passes));
  return passes;
}

Result<std::vector<std::vector<PipelineTask>>> ProvenOrders(PipelineScheduler scheduler,
                                                            const PipelineShape& shape) {
  std::vector<std::vector<PipelineTask>> orders;
  for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
    DRYDOCK_TRY(orders.emplace_back(), PipelineOrder(scheduler, shape, stage));
  }
  DRYDOCK_RETURN_IF_ERROR(CheckPipeline(scheduler, shape, orders));
  return orders;
}

std::int64_t FlowPosition(PipelineScheduler scheduler, const PipelineShape& shape,
                          std::int64_t stage, std::int64_t chunk) {
  const bool back = scheduler == PipelineScheduler::kZeroBubbleV && chunk == 1;
  return chunk * shape.stages + (back ? shape.stages - 1 - stage : stage);
}

Status CheckPipeline(PipelineScheduler scheduler, const PipelineShape& shape,
                     const std::vector<std::vector<PipelineTask>>& orders) {
  return PipelineRun(scheduler, shape, orders).Run();
}

}  // namespace drydock::strategies
