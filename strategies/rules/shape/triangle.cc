#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Lower and upper triangle of the last two dimensions. Each rank shifts the diagonal by the place
/// of its slice. Source: mindspore ops_info/tril_info.cc, Tril and Triu.
namespace drydock::strategies {
namespace {

Result<std::vector<TensorType>> InferTriangle(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(IntAttr(*op.attrs, "diagonal", 0));
  return std::vector<TensorType>{op.inputs[0]};
}

/// The reference counts at most six dimensions.
Result<ShardRule> ShardTriangle(const OpView& op, const Strategy& strategy) {
  constexpr std::size_t kMostDims = 6;
  if (op.inputs[0].shape.size() > kMostDims) {
    return FailOp(op, "strategy-rank",
                  "'" + std::string(op.op) + "' of more than 6 dimensions cannot be cut");
  }
  return ShardElementwise(op, strategy);
}

/// Row i and column j of a slice that begins at (r, c) are (r + i, c + j) of the tensor, so
/// j - i <= diagonal there means j - i <= diagonal + r - c here.
Result<std::vector<ValueId>> LocalizeTriangle(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  DRYDOCK_TRY(const std::int64_t diagonal, IntAttr(attrs, "diagonal", 0));
  const std::vector<RankExpr> begin = SliceBegin(context.sharding.inputs[0]);
  const RankExpr& row = begin[begin.size() - 2];
  const RankExpr& column = begin[begin.size() - 1];
  const RankExpr shifted = Plus(Plus(row, Times(column, -1)), RankExpr{.constant = diagonal});
  attrs["diagonal"] = shifted.terms.empty() ? Attr(shifted.constant) : Attr(shifted);
  return EmitLocal(context, std::move(attrs));
}

Result<std::vector<ValueId>> GradientOfTriangle(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(context.node.op, {OutputGradient(context)}, context.node.attrs));
  return std::vector<ValueId>{gradient};
}

template <bool Lower>
Result<std::vector<NdArray>> EvaluateTriangle(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::int64_t diagonal, IntAttr(context.attrs, "diagonal", 0));
  NdArray out = context.inputs[0];
  std::size_t n = 0;
  ForEachElement(out.shape, [&](std::span<const std::int64_t> index) {
    const std::int64_t distance = index[index.size() - 1] - index[index.size() - 2];
    const bool kept = Lower ? distance <= diagonal : distance >= diagonal;
    out.data[n] = kept ? out.data[n] : 0.0;
    ++n;
  });
  return std::vector<NdArray>{out};
}

#define DRYDOCK_TRIANGLE(id, arguments, is_lower)                                                  \
  DRYDOCK_OP(id, .family = "shape", .signature = #id arguments, .infer = InferTriangle,            \
             .shard = ShardTriangle, .localize = LocalizeTriangle, .gradient = GradientOfTriangle, \
             .evaluate = EvaluateTriangle<is_lower>, .flops = NoFlops, .cost = CostFamily::kCast,  \
             .accepts_layout = true)

DRYDOCK_TRIANGLE(Tril, "(diagonal=0)(x)", true);
DRYDOCK_TRIANGLE(Triu, "()(input, #diagonal=0)", false);

}  // namespace
}  // namespace drydock::strategies
