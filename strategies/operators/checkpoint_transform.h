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

/// Operators of every rank that `position` depends on, itself included, by rank; optimized lists.
/// @param position  of the rank in its stage; `stage_begin` is the stage's first rank
/// @error kInvalidArgument  as InferRedistribution, or the position lies outside the devices
[[nodiscard]] Result<std::map<std::int64_t, std::vector<TransformOp>>> ReshardOps(
    const TensorLayout& from, const TensorLayout& to, std::int64_t position,
    std::int64_t stage_begin);

/// The same without AlltoAll and without optimization.
/// @error kInvalidArgument  as ReshardOps
[[nodiscard]] Result<std::map<std::int64_t, std::vector<TransformOp>>> TransformOpsOfAll(
    const TensorLayout& from, const TensorLayout& to, std::int64_t position,
    std::int64_t stage_begin);

/// Positions whose data the result of `position` depends on, itself included, ascending.
[[nodiscard]] std::vector<std::int64_t> PositionsReadBy(const std::vector<RedistributionOp>& ops,
                                                        std::int64_t position);

}  // namespace drydock::strategies
