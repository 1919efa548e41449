#include "tests/proof/random_job_shape.h"

namespace drydock::strategies {

JobShape DrawShape(Drawn& drawn) {
  JobShape shape{.world = drawn.AnyOf<std::int64_t>({4, 8, 12, 16})};
  std::vector<std::int64_t> stages = {1, 2, 2, 4};
  if (shape.world == 12) {
    stages.push_back(3);
  }
  shape.stages = drawn.AnyOf(stages);
  shape.micros = shape.stages == 1 ? drawn.AnyOf<std::int64_t>({1, 2, 4})
                                   : shape.stages * drawn.AnyOf<std::int64_t>({1, 2});
  if (shape.stages > 1 && drawn.Chance(4)) {
    ++shape.micros;
  }
  if (shape.stages > 1 && drawn.Chance(4)) {
    shape.parts = 2;
    shape.scheduler = drawn.AnyOf<std::string>(
        {"1f1b", "gpipe", "seqpipe", "seqvpp", "seqsmartvpp", "zero_bubble_v"});
  }
  if (shape.stages > 1 && shape.parts == 1 && drawn.Chance(3)) {
    shape.scheduler = drawn.AnyOf<std::string>({"gpipe", "seqpipe", "seqsmartvpp"});
  }
  shape.accumulators = shape.micros > 1;
  shape.recompute = drawn.Chance(3);
  shape.clip = drawn.Chance(3);
  shape.momentum = drawn.Chance(2);
  shape.decay = drawn.Chance(3);
  shape.half = drawn.Chance(3);
  shape.loss_scale = drawn.Chance(shape.half ? 2 : 3) ? 1024.0 : 1.0;
  return shape;
}

JobConfig DrawConfig(Drawn& drawn, const JobShape& shape) {
  JobConfig config{.world_size = shape.world,
                   .mode = ParallelMode::kSemiAutoParallel,
                   .pipeline_stages = shape.stages,
                   .pipeline_scheduler = shape.scheduler,
                   .pipeline_interleave = shape.parts > 1,
                   .enable_alltoall = drawn.Chance(3),
                   .any_device_count = true};
  if (!drawn.Chance(3)) {
    config.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  }
  if (drawn.Chance(2)) {
    config.enable_parallel_optimizer = true;
    config.optimizer_sharding = {.shard_size = drawn.Chance(3) ? 2 : -1,
                                 .threshold_kb = drawn.Chance(4) ? 1 : 0,
                                 .level = drawn.Uniform(1, 3)};
  }
  // Fused, what the ranks of a stage exchange on behalf of several of its parts, or once more for
  // the backward pass, waits for messages that come later: a limit (docs/differences.md).
  const bool waits = shape.stages > 1 && (shape.parts > 1 || config.optimizer_sharding.level == 3);
  config.fusion = {.all_reduce = drawn.Chance(3),
                   .all_gather = drawn.Chance(3) && !waits,
                   .reduce_scatter = drawn.Chance(3) && !waits};
  return config;
}

std::string HowText(const JobShape& shape, const JobConfig& config) {
  std::string text = std::to_string(shape.world) + " ranks, " + std::to_string(shape.stages) +
                     " stages, " + std::to_string(shape.micros) + " micro batches";
  text += shape.parts > 1 ? ", interleaved" : "";
  text += shape.stages > 1 ? ", " + shape.scheduler : "";
  text += shape.accumulators ? ", accumulators" : "";
  text += shape.recompute ? ", recompute" : "";
  text += shape.clip ? ", clip" : "";
  text += shape.decay ? ", decay" : "";
  text += shape.half ? ", half" : "";
  text += shape.loss_scale > 1 ? ", loss scale" : "";
  text += config.enable_parallel_optimizer
              ? ", sharded optimizer level " + std::to_string(config.optimizer_sharding.level) +
                    " size " + std::to_string(config.optimizer_sharding.shard_size) +
                    " threshold " + std::to_string(config.optimizer_sharding.threshold_kb)
              : "";
  text += config.fusion.all_reduce || config.fusion.all_gather || config.fusion.reduce_scatter
              ? ", fusion"
              : "";
  text += config.dataset.kind == DatasetStrategy::Kind::kFullBatch ? ", full batch" : "";
  return text;
}

}  // namespace drydock::strategies
