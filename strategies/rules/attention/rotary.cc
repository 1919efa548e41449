#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/strategy_check.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// Rotary position embedding: x * cos + rotated(x) * sin, where the rotation swaps halves (or
/// neighbours) of the last dimension, which therefore stays whole. Source: mindspore
/// ops_info/rotary_position_embedding_info.cc.
namespace drydock::strategies {
namespace {

/// Where the element that is added to element `d` of `dim` comes from, and with which sign.
struct Partner {
  std::size_t index = 0;
  double sign = 1;
};

/// @param interleaved  pairs (0, 1), (2, 3), ... instead of (0, half), (1, half + 1), ...
Partner PartnerOf(std::size_t d, std::size_t dim, bool interleaved) {
  if (interleaved) {
    return d % 2 == 0 ? Partner{.index = d + 1, .sign = -1} : Partner{.index = d - 1, .sign = 1};
  }
  const std::size_t half = dim / 2;
  return d < half ? Partner{.index = d + half, .sign = -1} : Partner{.index = d - half, .sign = 1};
}

/// x * cos + rotated(x) * sin for cos and sin of x's shape.
NdArray Rotate(const NdArray& x, const NdArray& cos, const NdArray& sin, bool interleaved) {
  const auto dim = static_cast<std::size_t>(x.shape.back());
  NdArray y = x;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    const Partner partner = PartnerOf(i % dim, dim, interleaved);
    y.data[i] = x.data[i] * cos.data[i] +
                partner.sign * x.data[i / dim * dim + partner.index] * sin.data[i];
  }
  return y;
}

/// Transposed of Rotate: what dy gives x.
NdArray RotateBack(const NdArray& dy, const NdArray& cos, const NdArray& sin, bool interleaved) {
  const auto dim = static_cast<std::size_t>(dy.shape.back());
  NdArray dx = FilledArray(dy.shape, 0.0);
  for (std::size_t i = 0; i < dy.data.size(); ++i) {
    const Partner partner = PartnerOf(i % dim, dim, interleaved);
    dx.data[i] += dy.data[i] * cos.data[i];
    dx.data[i / dim * dim + partner.index] += partner.sign * dy.data[i] * sin.data[i];
  }
  return dx;
}

Status CheckEven(const OpView& op, const Shape& x) {
  if (!x.empty() && x.back() % 2 == 0) {
    return {};
  }
  return FailOp(op, "shape-mismatch",
                "'" + std::string(op.op) + "' rotates pairs of the last dimension of " +
                    TupleText(x) + ", whose extent is not even");
}

// ---- RotaryPositionEmbedding: x, cos, sin -> y --------------------------------------------------

Result<bool> IsInterleaved(const AttrMap& attrs) {
  DRYDOCK_TRY(const std::int64_t mode, IntAttr(attrs, "mode", 0));
  return mode == 1;
}

Result<std::vector<TensorType>> InferRotary(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  const Shape& x = op.inputs[0].shape;
  DRYDOCK_RETURN_IF_ERROR(CheckEven(op, x));
  for (const std::size_t i : {1U, 2U}) {
    DRYDOCK_TRY(const Shape wide, BroadcastShapes(op, x, op.inputs[i].shape));
    if (wide != x || op.inputs[i].shape.empty() || op.inputs[i].shape.back() != x.back()) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "' of a tensor of shape " + TupleText(x) +
                        " cannot take cos or sin of shape " + TupleText(op.inputs[i].shape));
    }
  }
  return std::vector<TensorType>{op.inputs[0]};
}

Result<ShardRule> ShardRotary(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(ShardRule rule, ShardBroadcast(op, strategy));
  rule.uncut.push_back({.axis = rule.axis_count - 1, .what = "the rotated dimension"});
  return rule;
}

Result<std::vector<ValueId>> GradientOfRotary(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const Node& node = context.node;
  DRYDOCK_TRY(gradients[0],
              context.Emit("RotaryPositionEmbeddingGrad",
                           {OutputGradient(context), node.inputs[1], node.inputs[2]}, node.attrs));
  return gradients;
}

template <NdArray (*F)(const NdArray&, const NdArray&, const NdArray&, bool)>
Result<std::vector<NdArray>> EvaluateRotary(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool interleaved, IsInterleaved(context.attrs));
  const NdArray& x = context.inputs[0];
  return std::vector<NdArray>{F(x, BroadcastArray(context.inputs[1], x.shape),
                                BroadcastArray(context.inputs[2], x.shape), interleaved)};
}

DRYDOCK_OP(RotaryPositionEmbedding, .family = "attention",
           .signature = "RotaryPositionEmbedding()(x, cos, sin, #mode=0)", .infer = InferRotary,
           .shard = ShardRotary, .default_strategy = DefaultBatchAll, .gradient = GradientOfRotary,
           .evaluate = EvaluateRotary<Rotate>, .flops = FlopsPerInput<6>,
           .example = "()((4, 8, 6), (1, 8, 6), (1, 8, 6))");
DRYDOCK_OP(RotaryPositionEmbeddingGrad, .family = "gradient",
           .signature = "RotaryPositionEmbeddingGrad()(dy, cos, sin, #mode=0)", .infer = InferFirst,
           .gradient = GradientNotNeeded, .evaluate = EvaluateRotary<RotateBack>,
           .flops = FlopsPerInput<6>);

// ---- ApplyRotaryPosEmb: query, key, cos, sin, position_ids -> both, rotated
//
// Three dimensions: query (b, s, heads * dim), tables (positions, dim), position_ids (b) or (b, s)
// in order of the tokens: each token's row of the tables. Two dimensions: query (tokens, heads *
// dim), in query or key, which the original does not cut; without a position for each token they
// count from 0. Four dimensions: query (b, s, heads, dim), tables (b, s or 1, 1, dim). Inference
// only.

bool IsFourDim(const OpView& op) {
  return op.inputs[0].shape.size() == 4;
}

/// Tokens of all sequences behind each other, in query or key.
bool HasFlatTokens(const OpView& op) {
  return op.inputs[0].shape.size() == 2 ||
         (op.inputs[0].shape.size() == 3 && op.inputs[1].shape.size() == 2);
}

Result<std::vector<TensorType>> InferApplyRotary(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 5, 5));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 4));
  const std::size_t rank = op.inputs[0].shape.size();
  // The original asks nothing of the shapes: flattened tokens meet keys that are not.
  const bool flat = HasFlatTokens(op);
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, flat ? 2 : rank, flat ? 3 : rank));
  for (const std::size_t i : {2U, 3U}) {
    DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, i, rank == 4 ? 4 : 2, rank == 4 ? 4 : 2));
    DRYDOCK_RETURN_IF_ERROR(CheckEven(op, op.inputs[i].shape));
  }
  const std::int64_t dim = op.inputs[2].shape.back();
  for (const std::size_t i : {0U, 1U}) {
    const Shape& x = op.inputs[i].shape;
    if (dim < 1 || x.back() % dim != 0 || (!flat && x[0] != op.inputs[0].shape[0])) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "' cannot rotate heads of " + std::to_string(dim) +
                        " in a tensor of shape " + TupleText(x));
    }
  }
  return std::vector<TensorType>{op.inputs[0], op.inputs[1]};
}

/// Axes [h, b]; in three dimensions a cut of position_ids must equal that of the batch.
Result<ShardRule> ShardApplyRotary(const OpView& op, const Strategy& strategy) {
  if (IsFourDim(op)) {
    const TensorAxes x = {{1}, {}, {0}, {}};
    const DimAxes table = op.inputs[2].shape[0] == 1 ? DimAxes{} : DimAxes{1};
    const TensorAxes whole(4);
    const TensorAxes ids(op.inputs[4].shape.size());
    return ShardRule{.axis_count = 2,
                     .inputs = {x, x, {table, {}, {}, {}}, {table, {}, {}, {}}, ids},
                     .outputs = {x, x},
                     .strategy_entries = {x, x, whole, whole, ids}};  // tables follow the batch
  }
  if (HasFlatTokens(op)) {
    ShardRule rule;
    for (const TensorType& type : op.inputs) {
      rule.inputs.emplace_back(type.shape.size());
    }
    rule.outputs = {rule.inputs[0], rule.inputs[1]};
    return rule;
  }
  const std::int64_t dim = op.inputs[2].shape.back();
  for (std::size_t i = 0; i < std::min<std::size_t>(strategy.size(), 2); ++i) {
    const std::int64_t cut = strategy[i].empty() ? 1 : strategy[i].back();
    if (cut > 1 && op.inputs[i].shape.back() / dim % cut != 0) {
      return FailOp(op, "strategy-heads",
                    CutText(op, i, op.inputs[i].shape.size() - 1, cut) + ", but there are " +
                        std::to_string(op.inputs[i].shape.back() / dim) + " heads");
    }
  }
  const TensorAxes x = {{1}, {}, {0}};
  TensorAxes ids(op.inputs[4].shape.size());
  if (!ids.empty() && op.inputs[4].shape[0] == op.inputs[0].shape[0]) {
    ids[0] = {1};
  }
  return ShardRule{
      .axis_count = 2, .inputs = {x, x, {{}, {}}, {{}, {}}, std::move(ids)}, .outputs = {x, x}};
}

/// Tables in the shape of x, of the given head dimension.
NdArray TableFor(const EvaluateContext& context, std::size_t table, const Shape& x) {
  const NdArray& rows = context.inputs[table];
  if (x.size() == 4) {
    return BroadcastArray(rows, x);
  }
  const NdArray& ids = context.inputs[4];
  const std::int64_t dim = rows.shape.back();
  NdArray wide = FilledArray(x, 0.0);
  const auto count = static_cast<std::int64_t>(ids.data.size());
  if (x.size() == 2) {
    ForEachElement(x, [&](std::span<const std::int64_t> at) {
      const std::int64_t position =
          count == x[0] ? static_cast<std::int64_t>(ids.data[static_cast<std::size_t>(at[0])])
                        : at[0];
      const std::int64_t row = position % rows.shape[0];
      wide.data[OffsetOf(x, at)] = rows.data[static_cast<std::size_t>(row * dim + at[1] % dim)];
    });
    return wide;
  }
  ForEachElement(x, [&](std::span<const std::int64_t> at) {
    const std::int64_t token = at[0] * x[1] + at[1];
    const std::int64_t id = count == x[0] * x[1] ? token : std::min(at[0], count - 1);
    const auto row = static_cast<std::int64_t>(ids.data[static_cast<std::size_t>(id)]);
    wide.data[OffsetOf(x, at)] = rows.data[static_cast<std::size_t>(row * dim + at[2] % dim)];
  });
  return wide;
}

/// Heads as lines of their own: the rotation works on the last dimension.
NdArray RotateHeads(const EvaluateContext& context, std::size_t operand, bool interleaved) {
  const NdArray& x = context.inputs[operand];
  const std::int64_t dim = context.inputs[2].shape.back();
  const Shape lines = {static_cast<std::int64_t>(x.data.size()) / dim, dim};
  NdArray y = Rotate(ReshapeArray(x, lines), ReshapeArray(TableFor(context, 2, x.shape), lines),
                     ReshapeArray(TableFor(context, 3, x.shape), lines), interleaved);
  return ReshapeArray(std::move(y), x.shape);
}

Result<std::vector<NdArray>> EvaluateApplyRotary(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::int64_t format, IntAttr(context.attrs, "cos_format", 0));
  const bool interleaved = format == 1 || format == 3;
  return std::vector<NdArray>{RotateHeads(context, 0, interleaved),
                              RotateHeads(context, 1, interleaved)};
}

DRYDOCK_OP(ApplyRotaryPosEmb, .family = "attention",
           .signature = "ApplyRotaryPosEmb(cos_format=0)(query, key, cos, sin, position_ids)",
           .infer = InferApplyRotary, .shard = ShardApplyRotary, .default_strategy = DefaultWhole,
           .gradient = NoBackward, .evaluate = EvaluateApplyRotary, .flops = FlopsPerInput<12>,
           .example = "()((4, 8, 6), (4, 8, 6), (8, 6), (8, 6), int32(4))");

}  // namespace
}  // namespace drydock::strategies
