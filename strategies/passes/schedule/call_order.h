#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "strategies/passes/schedule/pipeline_schedule.h"

namespace drydock::strategies {

/// A place in the work of a stage whose micro batches call one graph per part: what a call reads
/// from another stage, the call, what it sends. `index` counts forward and backward calls each for
/// themselves, in the order in which they run.
struct CallSpot {
  enum class What : std::uint8_t { kReceive, kCall, kSend };
  What what = What::kCall;
  bool backward = false;
  std::size_t index = 0;
  friend bool operator==(const CallSpot&, const CallSpot&) = default;
};

/// What orders the calls of a stage and its messages.
struct CallOrder {
  std::vector<PipelineTask> forward = {};   ///< Forward calls, in order.
  std::vector<PipelineTask> backward = {};  ///< Backward calls, in order.
  std::vector<CallSpot> calls = {};         ///< All of them, in order.
  /// The second not before the first; a spot that does not exist in a stage is its call.
  std::vector<std::pair<CallSpot, CallSpot>> edges = {};
  /// Between a forward call and its backward call lie others.
  bool apart = true;
  bool copies = true;  ///< Weights that a forward call and its backward call read are copied.
  /// Pieces of the batch wait for the backward call of the micro batch before.
  bool pieces_wait = false;
};

/// The control edges of an interleaved 1F1B or gpipe schedule. See call_order.cc.
/// @pre `scheduler` is k1F1B or kGPipe
[[nodiscard]] CallOrder OrderOfCalls(PipelineScheduler scheduler, const PipelineShape& shape,
                                     std::int64_t stage);

}  // namespace drydock::strategies
