#pragma once

#include <vector>

#include "strategies/passes/schedule/pipeline_schedule.h"

namespace drydock::strategies {

/// A message as one of its two stages sees it.
struct StageMessage {
  bool sends = false;
  PipelineTask task = {};  ///< Of this stage: what gives the message, or what wants it.
};

/// Per stage its messages in an order that nobody waits forever in: the same for all stages. See
/// pipeline_messages.cc.
///
/// @param orders  of all stages, proven by CheckPipeline
[[nodiscard]] std::vector<std::vector<StageMessage>> MessageOrders(
    PipelineScheduler scheduler, const PipelineShape& shape,
    const std::vector<std::vector<PipelineTask>>& orders);

}  // namespace drydock::strategies
