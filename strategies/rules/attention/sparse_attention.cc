#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Block-sparse attention with a fixed pattern: MatmulDDS (scores of local and global blocks) and
/// DSDMatmul (their product with the values), on tensors in blocks of 16 x 16. Batch and heads may
/// be cut. There is no reference execution: which blocks the kernels compute is not published.
/// Source: mindspore ops_info/dsd_matmul_info.cc; shapes: mindspore
/// python/mindspore/ops/operations/_inner_ops.py.
namespace drydock::strategies {
namespace {

constexpr std::int64_t kBlock = 16;

/// Dimensions on the axes given, then whole dimensions up to `rank`.
TensorAxes Leading(std::initializer_list<AxisIndex> axes, std::size_t rank) {
  TensorAxes result = {};
  for (const AxisIndex axis : axes) {
    result.push_back({axis});
  }
  result.resize(rank);
  return result;
}

// ---- MatmulDDS ----------------------------------------------------------------------------------

/// q, k [heads * size / 16, bs * seq / 16, 16, 16], masks -> probabilities of seven dimensions.
Result<std::vector<TensorType>> InferMatmulDds(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 4, 4));
  for (std::size_t i = 0; i < 4; ++i) {
    DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, i, 4, 4));
  }
  DRYDOCK_TRY(const std::int64_t heads, IntAttr(*op.attrs, "heads", 0));
  const Shape& q = op.inputs[0].shape;
  const Shape& mask = op.inputs[2].shape;
  const std::int64_t sequence = mask[0] * mask[3];
  const std::int64_t batch = sequence > 0 ? q[1] * q[2] / sequence : 0;
  const std::int64_t block = batch > 0 ? mask[1] * mask[2] / batch : 0;
  if (heads < 1 || block < kBlock) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' with " + std::to_string(heads) +
                      " heads cannot use q of shape " + TupleText(q) +
                      " with a local mask of shape " + TupleText(mask));
  }
  const DType dtype = op.inputs[0].dtype;
  const std::int64_t rows = block / kBlock;
  const Shape local = {batch, heads, sequence / block, rows, rows, kBlock, kBlock};
  Shape global = local;
  global[3] = sequence / 4 / kBlock;
  return std::vector<TensorType>{{.shape = local, .dtype = dtype},
                                 {.shape = global, .dtype = dtype}};
}

/// D = [h, b]; heads and batch lie inside dimensions 0 and 1 of q and k.
Result<ShardRule> ShardMatmulDds(const OpView& /*op*/, const Strategy& /*strategy*/) {
  return ShardRule{
      .axis_count = 2,
      .inputs = {Leading({0, 1}, 4), Leading({0, 1}, 4), {{}, {1}, {}, {}}, Leading({1}, 4)},
      .outputs = {Leading({1, 0}, 7), Leading({1, 0}, 7)}};
}

/// Attributes bs and heads become those of the slice.
Result<std::vector<ValueId>> LocalizeMatmulDds(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  const std::vector<std::int64_t>& q = context.sharding.strategy[0];
  DRYDOCK_TRY(const std::int64_t heads, IntAttr(attrs, "heads", 1));
  DRYDOCK_TRY(const std::int64_t batch, IntAttr(attrs, "bs", 1));
  if (heads % q[0] != 0 || batch % q[1] != 0) {
    return FailOp(context.global, "strategy-heads",
                  "'" + std::string(context.global.op) + "' cuts " + std::to_string(heads) +
                      " heads into " + std::to_string(q[0]) + " and a batch of " +
                      std::to_string(batch) + " into " + std::to_string(q[1]));
  }
  attrs["heads"] = heads / q[0];
  attrs["bs"] = batch / q[1];
  return EmitLocal(context, std::move(attrs));
}

Result<Strategy> DefaultMatmulDds(const OpView& op, std::int64_t /*device_count*/) {
  return WholeStrategy(op);
}

Result<std::vector<ValueId>> GradientOfMatmulDds(const GradientContext& context) {
  const Node& node = context.node;
  std::vector<ValueId> inputs = {node.inputs[0], node.inputs[1], node.outputs[0], node.outputs[1]};
  for (std::size_t i = 0; i < 2; ++i) {
    ValueId gradient = context.output_gradients[i];
    if (gradient == kNoValue) {
      DRYDOCK_TRY(gradient, EmitZeros(context, node.outputs[i]));
    }
    inputs.push_back(gradient);
  }
  DRYDOCK_TRY(const std::vector<ValueId> of_inputs,
              EmitAll(context, "MatmulDDSGrad", std::move(inputs)));
  return std::vector<ValueId>{of_inputs[0], of_inputs[1], kNoValue, kNoValue};
}

Result<std::vector<TensorType>> InferMatmulDdsGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 6, 6));
  return std::vector<TensorType>{op.inputs[0], op.inputs[1]};
}

/// Two products of the local and global blocks with rows of `size` = heads' width.
double MatmulDdsFlops(const OpView& op) {
  return 2 * (Elements(op.outputs[0]) + Elements(op.outputs[1])) *
         static_cast<double>(op.inputs[0].shape[0] * kBlock) /
         static_cast<double>(op.outputs[0].shape[1]);
}

DRYDOCK_OP(
    MatmulDDS, .family = "matmul",
    .signature = "MatmulDDS(bs, heads)(q, k, local_mask, global_mask)", .infer = InferMatmulDds,
    .shard = ShardMatmulDds, .default_strategy = DefaultMatmulDds, .localize = LocalizeMatmulDds,
    .gradient = GradientOfMatmulDds, .flops = MatmulDdsFlops, .cost = CostFamily::kMatMul,
    .work = WorkKind::kProduct,
    .example =
        "(bs=2, heads=2)((8, 64, 16, 16), (8, 64, 16, 16), (32, 4, 16, 16), (2, 32, 16, 16))");

DRYDOCK_OP(MatmulDDSGrad, .family = "gradient",
           .signature =
               "MatmulDDSGrad()(q, k, local_prob, global_prob, local_prob_grad, "
               "global_prob_grad)",
           .infer = InferMatmulDdsGrad, .gradient = GradientNotNeeded, .flops = NoFlops);

// ---- DSDMatmul ----------------------------------------------------------------------------------

/// w1, w2 [b, h, ...], v [b * seq / 16, h * size / 16, 16, 16] -> [b, h, size / 16, seq / 16, 16,
/// 16].
Result<std::vector<TensorType>> InferDsdMatmul(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 7, 7));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 7, 7));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 2, 4, 4));
  const Shape& w = op.inputs[0].shape;
  const Shape& v = op.inputs[2].shape;
  if (w[0] < 1 || w[1] < 1 || v[0] % w[0] != 0 || v[1] % w[1] != 0) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' cannot multiply blocks of shape " + TupleText(w) +
                      " with values of shape " + TupleText(v));
  }
  return std::vector<TensorType>{{.shape = {w[0], w[1], v[1] / w[1], v[0] / w[0], kBlock, kBlock},
                                  .dtype = op.inputs[0].dtype}};
}

Result<ShardRule> ShardDsdMatmul(const OpView& /*op*/, const Strategy& /*strategy*/) {
  return ShardRule{.axis_count = 2,
                   .inputs = {Leading({0, 1}, 7), Leading({0, 1}, 7), Leading({0, 1}, 4)},
                   .outputs = {Leading({0, 1}, 6)}};
}

Result<std::vector<ValueId>> GradientOfDsdMatmul(const GradientContext& context) {
  const Node& node = context.node;
  return EmitAll(context, "DSDGrad",
                 {node.inputs[0], node.inputs[1], node.inputs[2], OutputGradient(context)});
}

Result<std::vector<TensorType>> InferDsdGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 4, 4));
  return std::vector<TensorType>(op.inputs.begin(), op.inputs.begin() + 3);
}

double DsdMatmulFlops(const OpView& op) {
  return 2 * (Elements(op.inputs[0]) + Elements(op.inputs[1])) *
         static_cast<double>(op.outputs[0].shape[2] * kBlock);
}

DRYDOCK_OP(DSDMatmul, .family = "matmul", .signature = "DSDMatmul()(w1, w2, v)",
           .infer = InferDsdMatmul, .shard = ShardDsdMatmul, .default_strategy = DefaultBatchAll,
           .gradient = GradientOfDsdMatmul, .flops = DsdMatmulFlops, .cost = CostFamily::kMatMul,
           .work = WorkKind::kProduct,
           .example = "()((2, 2, 4, 4, 4, 16, 16), (2, 2, 4, 8, 4, 16, 16), (32, 8, 16, 16))");

DRYDOCK_OP(DSDGrad, .family = "gradient", .signature = "DSDGrad()(w1_gm, w2_gm, v_gm, d_a_gm)",
           .infer = InferDsdGrad, .gradient = GradientNotNeeded, .flops = NoFlops);

}  // namespace
}  // namespace drydock::strategies
