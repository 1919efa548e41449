#include <vector>

#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"

/// The overflow flag of an Ascend device: eight whole numbers, all zero as long as each result was
/// finite. The two kernels read and clear it; they get the eight numbers as a constant.
/// Source: mindspore/python/mindspore/ops/operations/math_ops.py, nn/wrap/loss_scale.py.
namespace drydock::strategies {
namespace {

/// No result overflows in a dry run.
Result<std::vector<NdArray>> EvaluateNothingOverflowed(const EvaluateContext& context) {
  return std::vector<NdArray>{MapArray(context.inputs[0], [](double) { return 0.0; })};
}

DRYDOCK_OP(NPUGetFloatStatusV2, .family = "train", .signature = "NPUGetFloatStatusV2()(addr)",
           .kind = OpKind::kTransparent, .infer = InferSame, .shard = ShardElementwise,
           .gradient = GradientNotNeeded, .evaluate = EvaluateNothingOverflowed, .flops = NoFlops,
           .cost = CostFamily::kFree, .example = "()(int32(8))");
DRYDOCK_OP(NPUClearFloatStatusV2, .family = "train", .signature = "NPUClearFloatStatusV2()(addr)",
           .kind = OpKind::kTransparent, .infer = InferSame, .shard = ShardElementwise,
           .gradient = GradientNotNeeded, .evaluate = EvaluateNothingOverflowed, .flops = NoFlops,
           .cost = CostFamily::kFree, .example = "()(int32(8))");

}  // namespace
}  // namespace drydock::strategies
