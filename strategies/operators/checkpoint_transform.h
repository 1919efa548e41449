#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "strategies/layout/redistribution.h"
#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

/// A redistribution operator as checkpoint tools exchange it: ("Reshape", shape),
/// ("AllConcat", ranks ++ {axis}), ("StridedSlice", begin ++ end ++ strides).
///
/// Source: mindspore python/mindspore/parallel/_parallel_serialization.py.
struct TransformOp {
  std::string name = {};
  std::vector<std::int64_t> args = {};
  friend bool operator==(const TransformOp&, const TransformOp&) = default;
};

/// The operators of one rank in that form, as inferred without AlltoAll and without optimization.
/// @param position  of the rank in its stage; `stage_begin` is the stage's first rank
/// @error kInvalidArgument  as InferRedistribution, or the position lies outside the devices
[[nodiscard]] Result<std::vector<TransformOp>> TransformOps(const TensorLayout& from,
                                                            const TensorLayout& to,
                                                            std::int64_t position,
                                                            std::int64_t stage_begin);

/// Operators of every rank that `position` depends on, itself included, by rank; optimized lists.
/// @error kInvalidArgument  as TransformOps
[[nodiscard]] Result<std::map<std::int64_t, std::vector<TransformOp>>> ReshardOps(
    const TensorLayout& from, const TensorLayout& to, std::int64_t position,
    std::int64_t stage_begin);

/// The same without optimization.
/// @error kInvalidArgument  as TransformOps
[[nodiscard]] Result<std::map<std::int64_t, std::vector<TransformOp>>> TransformOpsOfAll(
    const TensorLayout& from, const TensorLayout& to, std::int64_t position,
    std::int64_t stage_begin);

/// Positions whose data the result of `position` depends on, itself included, ascending.
[[nodiscard]] std::vector<std::int64_t> PositionsReadBy(const std::vector<RedistributionOp>& ops,
                                                        std::int64_t position);

/// Both layouts on the same number of devices: the smaller matrix gets the quotient in front, that
/// is, copies of its ranks.
/// @error kInvalidArgument  the larger number of devices is not a multiple of the smaller
[[nodiscard]] Status AlignDeviceCounts(TensorLayout* from, TensorLayout* to);

/// The layout of a parameter's stored rows under the parallel optimizer, as a plain layout:
/// dimension 0 becomes (parts of the layout, parts of the optimizer); the tensor is reshaped
/// accordingly.
///
/// Example: device matrix {2, 2, 2}, map {2, 1, -1}, shape {16, 16, 16}, step 1, size 2 -> map
/// {2, 0, 1, -1}, shape {2, 8, 16, 16}.
/// @param step, size  `opt_weight_shard_step` and `opt_weight_shard_size`; size 0 or 1 changes
/// nothing
/// @error kInvalidArgument  no free device axes have that step and size
[[nodiscard]] Result<TensorLayout> OptimizerShardLayout(const TensorLayout& layout,
                                                        std::int64_t step, std::int64_t size);

/// One parameter of a strategy checkpoint; the shape of `layout` is not used.
struct StoredLayout {
  TensorLayout layout = {};
  std::vector<std::int64_t> stages = {};  ///< Stages that hold the parameter, ascending.
};
using StoredLayouts = std::map<std::string, StoredLayout>;

/// Ranks of the source job whose checkpoints `rank` of the destination job needs, descending.
///
/// An empty `source` is a checkpoint of one device: {0}.
/// @error kInvalidArgument  `target` is empty, rank is negative, or a parameter's layouts do not
/// fit
[[nodiscard]] Result<std::vector<std::int64_t>> RanksForTransform(std::int64_t rank,
                                                                  const StoredLayouts& source,
                                                                  const StoredLayouts& target);

}  // namespace drydock::strategies
