#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drydock::strategies {

/// Order in which a stage of a pipeline works through micro batches.
enum class PipelineScheduler : std::uint8_t {
  k1F1B,         ///< As few activations as possible: one backward behind each forward.
  kGPipe,        ///< All forwards, then all backwards.
  kSeqPipe,      ///< 1F1B over parts of a sequence.
  kSeqVpp,       ///< The same in cycles that fit a sequence of parts to the stages.
  kSeqSmartVpp,  ///< SeqPipe with the shortest warm-up.
  kZeroBubbleV,  ///< Two chunks per stage, the second going back: a V.
};

/// "1f1b", "gpipe", "seqpipe", "seqvpp", "seqsmartvpp", "zero_bubble_v".
/// @error kInvalidArgument  none of them
[[nodiscard]] Result<PipelineScheduler> ParsePipelineScheduler(std::string_view text);

/// True for seqpipe, seqvpp and seqsmartvpp.
[[nodiscard]] bool IsBySequences(PipelineScheduler scheduler);

/// A scheduler is asked for with several parts per stage; with one there are 1F1B and, for parts of
/// a sequence, seqpipe. The schedule of zero bubbles says its parts itself.
/// Source: mindspore/ccsrc/pipeline/jit/ps/pass.cc (PipelineParallelScheduler)
[[nodiscard]] PipelineScheduler SchedulerInForce(PipelineScheduler asked, bool interleaves);

/// How much there is to do.
struct PipelineShape {
  std::int64_t stages = 1;
  std::int64_t micros = 1;
  std::int64_t chunks = 1;     ///< Parts of the network per stage.
  std::int64_t sequences = 1;  ///< Parts of a sequence per micro batch.
  bool less_memory = false;    ///< ENABLE_LESS_MEM_VPP: interleaved 1F1B with a short warm-up.
};

/// One piece of work: a pass of a micro batch through a chunk.
struct PipelineTask {
  bool backward = false;
  std::int32_t micro = 0;
  std::int32_t chunk = 0;
  std::int32_t sequence = 0;
  friend bool operator==(const PipelineTask&, const PipelineTask&) = default;
};

/// Everything that a stage does in a step, in order. See pipeline_schedule.cc.
/// @error kInvalidArgument  fewer micro batches than the scheduler needs
[[nodiscard]] Result<std::vector<PipelineTask>> PipelineOrder(PipelineScheduler scheduler,
                                                              const PipelineShape& shape,
                                                              std::int64_t stage);

/// The forward passes of a stage in their order, then its backward passes; the same in all stages.
/// @pre `scheduler` is k1F1B or kGPipe
[[nodiscard]] std::vector<PipelineTask> PassesInOrder(PipelineScheduler scheduler,
                                                      const PipelineShape& shape);

/// Micro batches per cycle of seqpipe and its relatives: `length` each, what is left over one by
/// one to the first ones.
[[nodiscard]] std::vector<std::int64_t> CyclesOfMicroBatches(std::int64_t micros,
                                                             std::int64_t length);

/// The orders of all stages.
/// @error kInvalidArgument  as PipelineOrder and CheckPipeline
[[nodiscard]] Result<std::vector<std::vector<PipelineTask>>> ProvenOrders(
    PipelineScheduler scheduler, const PipelineShape& shape);

/// Place of a chunk of a stage along the flow of data, from 0 on.
[[nodiscard]] std::int64_t FlowPosition(PipelineScheduler scheduler, const PipelineShape& shape,
                                        std::int64_t stage, std::int64_t chunk);

/// Whether all stages together come to their end: nothing waits for what stands behind it.
/// @error kInvalidArgument  they do not; names the stages and what they wait for
[[nodiscard]] Status CheckPipeline(PipelineScheduler scheduler, const PipelineShape& shape,
                                   const std::vector<std::vector<PipelineTask>>& orders);

}  // namespace drydock::strategies
