#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "strategies/layout/layout_steps.h"
#include "strategies/layout/redistribution.h"

namespace drydock::strategies {

/// A redistribution step before it is written out as primitives; shapes follow from the sequence.
struct PlanOp {
  enum class Kind : std::uint8_t {
    kConcat,    ///< Joins the tensors of the ranks along `digits` on dimension `axis`.
    kSlice,     ///< Keeps part number `index` of `parts` of dimension `axis`.
    kExchange,  ///< Cuts `axis` into `parts` for the ranks along `digits`, joins on `concat_axis`.
    kMove,      ///< Cuts `axis` into `parts` and joins them on `concat_axis`, on the same rank.
    kReshape,   ///< To `shape`.
  };
  Kind kind = Kind::kReshape;
  std::int64_t axis = 0;
  std::int64_t concat_axis = 0;
  std::int64_t parts = 0;
  std::vector<RankDigit> digits = {};  ///< Largest stride first; kConcat has one.
  RankExpr index = {};
  Shape shape = {};
};

/// A whole redistribution, as inferred ("raw").
struct RedistributionPlan {
  bool expandable = true;  ///< False: the tensor is made whole on every rank in between.
  Shape start = {};        ///< Local shape before the first operation.
  std::vector<LayoutStep> steps = {};
  /// What the cost model takes as the elements of each step: the local tensor when the inference
  /// that produced the step began. (One could read the cost model as if it were the tensor in
  /// front of the step; the executed vectors show otherwise.)
  std::vector<std::int64_t> step_elements = {};
  std::vector<PlanOp> ops = {};        ///< The steps and the Reshapes between and around them.
  std::int64_t reshaped_elements = 0;  ///< What a Reshape moves, as the cost model counts it.
};

/// @error kInvalidArgument  device or element counts differ, or a layout is invalid
[[nodiscard]] Result<RedistributionPlan> PlanRedistribution(const TensorLayout& from,
                                                            const TensorLayout& to,
                                                            const RedistributionOptions& options);

/// The cheapest plan that the search finds by elements sent; nullopt if nothing below `limit` was
/// found. The layouts are valid and go together (PlanRedistribution has succeeded).
[[nodiscard]] std::optional<RedistributionPlan> PlanCheapest(const TensorLayout& from,
                                                             const TensorLayout& to,
                                                             std::int64_t limit);

/// Joins runs of Reshapes and drops those that change nothing.
[[nodiscard]] std::vector<PlanOp> WithoutIdleReshapes(std::vector<PlanOp> ops, const Shape& start);

/// The operation that views the local tensor as `shape`.
[[nodiscard]] PlanOp ReshapeTo(Shape shape);

/// Local shape after `op` on a tensor of shape `input`.
[[nodiscard]] Shape ShapeAfter(const PlanOp& op, const Shape& input);

/// Communication first, slicing last, neighbours merged; the same effect in fewer operators.
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/tensor_transform.cc.
[[nodiscard]] std::vector<PlanOp> OptimizePlan(std::vector<PlanOp> ops, const Shape& start);

}  // namespace drydock::strategies
