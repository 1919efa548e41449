#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/optional_operand.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

/// Fused feed-forward network for inference: activation(x w1 + b1) w2 + b2, per expert if experts
/// are given. Only the hidden dimension f may be cut; the sum over it is completed by an AllReduce,
/// to which b2 is added once. Source: mindspore ops_info/f_f_n_info.cc.
namespace drydock::strategies {
namespace {

// Positions of the optional operands in the call, behind x, weight1 and weight2.
constexpr std::size_t kTokens = 3;  ///< Rows of each expert.
constexpr std::size_t kBias1 = 4;
constexpr std::size_t kBias2 = 5;
constexpr std::size_t kFirstQuant = 6;  ///< scale, offset, deq_scale1, deq_scale2, antiquant_...

/// Quantisation operands that follow f: deq_scale1, antiquant_scale1, antiquant_offset1.
bool FollowsHidden(std::size_t operand) {
  const std::size_t quant = operand - kFirstQuant;
  return operand >= kFirstQuant && (quant == 2 || quant == 4 || quant == 6);
}

tl::unexpected<Error> FailWeights(const OpView& op) {
  return FailOp(op, "shape-mismatch",
                "'" + std::string(op.op) + "' of x " + TupleText(op.inputs[0].shape) +
                    " cannot use weights of shape " + TupleText(op.inputs[1].shape) + " and " +
                    TupleText(op.inputs[2].shape),
                "weights are (h, f) and (f, h), with experts (e, h, f) and (e, f, h)");
}

Result<std::vector<TensorType>> InferFfn(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 14));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 2, 3));
  const Shape& x = op.inputs[0].shape;
  const Shape& w1 = op.inputs[1].shape;
  const Shape& w2 = op.inputs[2].shape;
  const bool fits = w1.size() == w2.size() && w1[w1.size() - 2] == x.back() &&
                    w2[w2.size() - 2] == w1.back() && (w1.size() == 2 || w1[0] == w2[0]);
  if (!fits) {
    return FailWeights(op);
  }
  Shape shape = x;
  shape.back() = w2.back();
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// The last dimension on axis 0, everything else whole.
TensorAxes LastOnHidden(std::size_t rank) {
  TensorAxes axes(rank);
  if (rank > 0) {
    axes.back() = {0};
  }
  return axes;
}

Result<ShardRule> ShardFfn(const OpView& op, const Strategy& /*strategy*/) {
  ShardRule rule{.axis_count = 1,
                 .outputs = {TensorAxes(op.outputs[0].shape.size())},
                 .communication = {{.axes = {0}}}};
  for (const TensorType& input : op.inputs) {
    rule.inputs.emplace_back(input.shape.size());
  }
  rule.inputs[1] = LastOnHidden(op.inputs[1].shape.size());
  rule.inputs[2][op.inputs[2].shape.size() - 2] = {0};
  for (std::size_t operand = kBias1; operand < kFirstQuant + 8; ++operand) {
    const std::ptrdiff_t index = PresentIndex(op, operand);
    if (index >= 0 && (operand == kBias1 || FollowsHidden(operand))) {
      rule.inputs[static_cast<std::size_t>(index)] =
          LastOnHidden(op.inputs[static_cast<std::size_t>(index)].shape.size());
    }
  }
  return rule;
}

Result<std::vector<ValueId>> LocalizeFfn(const LocalizeContext& context) {
  NodeSpec spec = context.spec;
  if (kBias2 < spec.inputs.size()) {
    DRYDOCK_TRY(spec.inputs[kBias2], EmitOnlyOnFirst(context, spec.inputs[kBias2], 0));
  }
  DRYDOCK_TRY(const NodeId id, context.builder.AddNode(std::move(spec)));
  Node& node = context.builder.mutable_graph().nodes[ToIndex(id)];
  node.in_strategy = context.sharding.strategy;
  return node.outputs;
}

// ---- Evaluation ---------------------------------------------------------------------------------

Result<NdArray> Activated(const AttrMap& attrs, const NdArray& x) {
  static constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
      {"fastgelu", "FastGeLU"}, {"gelu", "GeLU"}, {"relu", "ReLU"}, {"silu", "SiLU"}};
  DRYDOCK_TRY(const std::string name, TextAttr(attrs, "activation", "fastgelu"));
  for (const auto& [activation, op] : kOperators) {
    if (activation == name) {
      const NdArray inputs[] = {x};
      const TensorType types[] = {{.shape = x.shape, .dtype = DType::kFloat64}};
      DRYDOCK_TRY(
          std::vector<NdArray> out,
          FindOp(op)->evaluate(
              {.inputs = inputs, .input_types = types, .output_types = types, .attrs = attrs}));
      return std::move(out.front());
    }
  }
  return Fail(ErrorCode::kUnsupported, "activation '" + name + "' has no reference execution",
              "use 'fastgelu', 'gelu', 'relu' or 'silu'");
}

/// Element `index` of dimension 0.
NdArray Row(const NdArray& array, std::size_t index) {
  const std::size_t size = array.data.size() / static_cast<std::size_t>(array.shape[0]);
  const auto begin = array.data.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {.shape = Shape(array.shape.begin() + 1, array.shape.end()),
          .data = std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(size))};
}

struct Layer {
  NdArray w1 = {};
  NdArray w2 = {};
  const NdArray* b1 = nullptr;
  const NdArray* b2 = nullptr;
};

NdArray WithBias(NdArray x, const NdArray* bias) {
  return bias == nullptr ? std::move(x) : MapArrays(x, *bias, x.shape, SumOf);
}

Result<NdArray> RunLayer(const AttrMap& attrs, const NdArray& x, const Layer& layer) {
  DRYDOCK_TRY(const NdArray hidden,
              Activated(attrs, WithBias(MatMulArrays(x, layer.w1), layer.b1)));
  return WithBias(MatMulArrays(hidden, layer.w2), layer.b2);
}

/// Rows of each expert; one entry with all rows where there are no experts.
std::vector<std::int64_t> RowsOfExperts(const EvaluateContext& context, std::int64_t rows) {
  if (context.inputs[1].shape.size() == 2) {
    return {rows};
  }
  const NdArray* tokens = OptionalArray(context, kTokens);
  std::vector<std::int64_t> counts = {};
  for (const double count : tokens == nullptr ? std::vector<double>() : tokens->data) {
    counts.push_back(static_cast<std::int64_t>(count));
  }
  return counts;
}

Result<std::vector<NdArray>> EvaluateFfn(const EvaluateContext& context) {
  for (std::size_t operand = kFirstQuant; operand < kFirstQuant + 8; ++operand) {
    if (PresentIndex(context.View(), operand) >= 0) {
      return Fail(ErrorCode::kUnsupported, "a quantised feed-forward has no reference execution");
    }
  }
  const std::int64_t width = context.inputs[0].shape.back();
  const auto rows = static_cast<std::int64_t>(context.inputs[0].data.size()) / width;
  const NdArray x = ReshapeArray(context.inputs[0], {rows, width});
  const std::vector<std::int64_t> counts = RowsOfExperts(context, rows);
  const bool experts = context.inputs[1].shape.size() == 3;
  NdArray out = FilledArray({rows, context.output_types[0].shape.back()}, 0.0);
  std::int64_t begin = 0;
  for (std::size_t e = 0; e < counts.size() && begin < rows; ++e) {
    const std::int64_t end = std::min(begin + std::max<std::int64_t>(counts[e], 0), rows);
    const NdArray* biases[] = {OptionalArray(context, kBias1), OptionalArray(context, kBias2)};
    NdArray own[2] = {};
    for (std::size_t i = 0; experts && i < 2; ++i) {
      if (biases[i] != nullptr && biases[i]->shape.size() == 2) {
        own[i] = Row(*biases[i], e);
        biases[i] = &own[i];
      }
    }
    const Layer layer{.w1 = experts ? Row(context.inputs[1], e) : context.inputs[1],
                      .w2 = experts ? Row(context.inputs[2], e) : context.inputs[2],
                      .b1 = biases[0],
                      .b2 = biases[1]};
    const NdArray part = SliceArray(x, {{.begin = begin, .end = end}, {.begin = 0, .end = width}});
    DRYDOCK_TRY(const NdArray result, RunLayer(context.attrs, part, layer));
    std::ranges::copy(result.data, out.data.begin() + begin * out.shape[1]);
    begin = end;
  }
  return std::vector<NdArray>{ReshapeArray(std::move(out), context.output_types[0].shape)};
}

/// 4 * T * H * F.
double FfnFlops(const OpView& op) {
  return 4 * Elements(op.inputs[0]) * static_cast<double>(op.inputs[1].shape.back());
}

#define DRYDOCK_FFN(id, call)                                                                   \
  DRYDOCK_OP(id, .family = "matmul", .signature = call, .infer = InferFfn, .shard = ShardFfn,   \
             .default_strategy = DefaultWhole, .localize = LocalizeFfn, .gradient = NoBackward, \
             .evaluate = EvaluateFfn, .flops = FfnFlops, .cost = CostFamily::kMatMul,           \
             .work = WorkKind::kProduct, .example = "()((4, 6), (6, 8), (8, 6))")

DRYDOCK_FFN(FFN,
            "FFN(activation='fastgelu', inner_precise=0)(x, weight1, weight2, ?expert_tokens, "
            "?bias1, ?bias2, ?scale, ?offset, ?deq_scale1, ?deq_scale2, ?antiquant_scale1, "
            "?antiquant_scale2, ?antiquant_offset1, ?antiquant_offset2)");
DRYDOCK_FFN(FFNExt,
            "FFNExt()(x, weight1, weight2, ?expertTokens, ?bias1, ?bias2, ?scale, ?offset, "
            "?deqScale1, ?deqScale2, ?antiquant_scale1, ?antiquant_scale2, ?antiquant_offset1, "
            "?antiquant_offset2, #activation='fastgelu', #inner_precise=0)");

}  // namespace
}  // namespace drydock::strategies
