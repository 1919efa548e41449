#pragma once

#include <cstdint>

namespace drydock::strategies {

/// How a sharded optimizer divides weights among the ranks that hold the same slice of them, if
/// JobConfig::enable_parallel_optimizer is on: what `parallel_optimizer_config` and
/// `AutoParallel.hsdp` say.
///
/// Example: hsdp(shard_size=2, threshold=0, optimizer_level="level3") -> 2, 0, 3.
/// Source: mindspore/python/mindspore/parallel/_auto_parallel_context.py
struct OptimizerSharding {
  std::int64_t shard_size = -1;    ///< Ranks that share one slice; -1 = all that hold it.
  std::int64_t threshold_kb = 64;  ///< Smaller whole parameters stay as they are.
  /// 1: weights and states; 2: accumulated gradients, too; 3: weights are gathered once more for
  /// the backward pass.
  std::int64_t level = 1;
  friend bool operator==(const OptimizerSharding&, const OptimizerSharding&) = default;
};

}  // namespace drydock::strategies
