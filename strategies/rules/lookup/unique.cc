#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Unique: different elements in the order they first come in, and for every element the position
/// of its like. How many there are is known only when it runs; shapes and memory are those of the
/// most there can be, as many as the input has.
namespace drydock::strategies {
namespace {

Result<std::vector<TensorType>> InferUnique(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, 1));
  const DType positions = op.inputs[0].dtype == DType::kInt64 ? DType::kInt64 : DType::kInt32;
  return std::vector<TensorType>{op.inputs[0], {.shape = op.inputs[0].shape, .dtype = positions}};
}

/// Never cut.
Result<ShardRule> ShardUnique(const OpView& /*op*/, const Strategy& /*strategy*/) {
  return ShardRule{.inputs = {TensorAxes(1)}, .outputs = {TensorAxes(1), TensorAxes(1)}};
}

Result<std::vector<ValueId>> GradientOfUnique(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  DRYDOCK_TRY(
      const ValueId gradient,
      context.Emit("Gather", {OutputGradient(context), context.node.outputs[1]}, {{"axis", 0}}));
  return std::vector<ValueId>{gradient};
}

/// The rest of the result is 0.
Result<std::vector<NdArray>> EvaluateUnique(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  NdArray y{.shape = x.shape};
  NdArray index{.shape = x.shape};
  for (const double value : x.data) {
    const auto found = std::ranges::find(y.data, value);
    index.data.push_back(static_cast<double>(found - y.data.begin()));
    if (found == y.data.end()) {
      y.data.push_back(value);
    }
  }
  y.data.resize(x.data.size(), 0.0);
  return std::vector<NdArray>{std::move(y), std::move(index)};
}

DRYDOCK_OP(Unique, .family = "linalg", .signature = "Unique()(x)", .infer = InferUnique,
           .shard = ShardUnique, .default_strategy = DefaultWhole, .gradient = GradientOfUnique,
           .evaluate = EvaluateUnique, .flops = FlopsPerInput<1>, .example = "()((8))");

}  // namespace
}  // namespace drydock::strategies
