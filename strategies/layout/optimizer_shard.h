#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

/// How the parallel optimizer divides a parameter among its replicas.
///
/// Source: mindspore ccsrc/frontend/parallel/parallel_optimizer.
struct OptimizerShard {
  Shape slice_shape = {};          ///< What each rank stores, elements.
  GroupPattern gather_group = {};  ///< AllGather that restores the parameter's slice.
  /// Ranks that hold the same rows after sharding; no digits if the gather group has all replicas.
  GroupPattern mirror_group = {};
  RankExpr row_begin = {};   ///< First own row inside the parameter's slice.
  TensorLayout layout = {};  ///< Of what each rank stores: rows cut further over the gather group.
  std::int64_t size = -1;    ///< `opt_weight_shard_size` of the strategy checkpoint.
  std::int64_t step = 0;     ///< `opt_weight_shard_step`: distance of neighbouring replicas.
  friend bool operator==(const OptimizerShard&, const OptimizerShard&) = default;
};

/// Shards a parameter of this layout; nullopt if it stays as it is: no replicas, rows that cannot
/// be divided, replicas that cannot.
///
/// @param layout  valid layout of the parameter
/// @param shard_size  `optimizer_weight_shard_size`: ranks that share one parameter, -1 = all
/// @error kInvalidArgument  shard_size is neither -1 nor positive
/// @error kUnsupported  blocks of replicas of that size do not follow the device matrix
[[nodiscard]] Result<std::optional<OptimizerShard>> ShardForOptimizer(const TensorLayout& layout,
                                                                      std::int64_t shard_size);

}  // namespace drydock::strategies
