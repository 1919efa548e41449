#pragma once

#include <cstdint>
#include <vector>

#include "strategies/passes/schedule/call_order.h"
#include "strategies/passes/schedule/pipeline_schedule.h"

namespace drydock::strategies {

/// Whether stages whose messages go by these edges never wait for each other. Elsewhere the
/// original may hang: with an odd number of stages, for instance, under seqsmartvpp.
[[nodiscard]] bool SequenceCallsMeet(PipelineScheduler scheduler, const PipelineShape& shape);

/// The control edges of seqpipe, seqvpp and seqsmartvpp. See sequence_calls.cc.
///
/// @param tasks  all of the stage, in the scheduler's order
/// @pre `scheduler` is kSeqPipe, kSeqVpp or kSeqSmartVpp; a micro batch is one part of a sequence
[[nodiscard]] CallOrder OrderOfSequenceCalls(PipelineScheduler scheduler,
                                             const PipelineShape& shape, std::int64_t stage,
                                             const std::vector<PipelineTask>& tasks);

}  // namespace drydock::strategies
