#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/optional_operand.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"

/// Routing of tokens to experts. The routers cut their groups of tokens; everything else is whole
/// on every rank. Inference only: no gradients. Source: mindspore
/// ops_info/moe_init_routing_info.cc.
namespace drydock::strategies {
namespace {

Result<std::int64_t> PositiveAttr(const OpView& op, std::string_view name) {
  DRYDOCK_TRY(const std::int64_t value, IntAttr(*op.attrs, name, 0));
  if (value < 1) {
    return FailOp(
        op, "attribute",
        "'" + std::string(op.op) + "' needs attribute '" + std::string(name) + "', at least 1");
  }
  return value;
}

/// Indices 0 .. count - 1, those with smaller keys first, equal ones by position.
template <typename Key>
std::vector<std::size_t> OrderBy(std::size_t count, Key key) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, key);
  return order;
}

// ---- MoeComputeExpertTokens: tokens of experts 0 .. e -------------------------------------------

Result<std::vector<TensorType>> InferExpertTokens(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 0));
  DRYDOCK_TRY(const std::int64_t experts, PositiveAttr(op, "num_expert"));
  return std::vector<TensorType>{{.shape = {experts}, .dtype = DType::kInt32}};
}

Result<std::vector<NdArray>> EvaluateExpertTokens(const EvaluateContext& context) {
  NdArray out{.shape = context.output_types[0].shape};
  for (std::int64_t e = 0; e < out.shape[0]; ++e) {
    out.data.push_back(static_cast<double>(std::ranges::count_if(
        context.inputs[0].data, [e](double x) { return x <= static_cast<double>(e); })));
  }
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(MoeComputeExpertTokens, .family = "moe",
           .signature = "MoeComputeExpertTokens()(sorted_experts, #num_expert)",
           .infer = InferExpertTokens, .shard = ShardWhole, .default_strategy = DefaultWhole,
           .gradient = GradientNotNeeded, .evaluate = EvaluateExpertTokens,
           .flops = FlopsPerInput<1>, .example = "(num_expert=3)(int32(6))");

// ---- MoeGatingTopKSoftmax: x [n, e] -> largest k of softmax(x), their experts, row numbers ------

Result<std::vector<TensorType>> InferGating(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const std::int64_t k, PositiveAttr(op, "k"));
  const Shape& x = op.inputs[0].shape;
  if (k > x[1] || (op.inputs.size() > 1 && op.inputs[1].shape != Shape{x[0]})) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of shape " + TupleText(x) +
                      " takes k of at most the number of experts and one flag for each row");
  }
  const Shape shape = {x[0], k};
  return std::vector<TensorType>{{.shape = shape, .dtype = op.inputs[0].dtype},
                                 {.shape = shape, .dtype = DType::kInt32},
                                 {.shape = shape, .dtype = DType::kInt32}};
}

/// Finished rows go to expert e, which does not exist; row number = choice * n + row.
Result<std::vector<NdArray>> EvaluateGating(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  const auto experts = static_cast<std::size_t>(x.shape[1]);
  const Shape& shape = context.output_types[0].shape;
  std::vector<NdArray> out(3, NdArray{.shape = shape});
  for (std::size_t row = 0; row < static_cast<std::size_t>(x.shape[0]); ++row) {
    const double* values = x.data.data() + row * experts;
    const double largest = *std::max_element(values, values + experts);
    double sum = 0;
    for (std::size_t e = 0; e < experts; ++e) {
      sum += std::exp(values[e] - largest);
    }
    const auto order = OrderBy(experts, [values](std::size_t e) { return -values[e]; });
    const bool finished = context.inputs.size() > 1 && context.inputs[1].data[row] != 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape[1]); ++i) {
      out[0].data.push_back(std::exp(values[order[i]] - largest) / sum);
      out[1].data.push_back(static_cast<double>(finished ? experts : order[i]));
      out[2].data.push_back(static_cast<double>(i * static_cast<std::size_t>(x.shape[0]) + row));
    }
  }
  return out;
}

DRYDOCK_OP(MoeGatingTopKSoftmax, .family = "moe",
           .signature = "MoeGatingTopKSoftmax()(x, ?finished, #k=1)", .infer = InferGating,
           .shard = ShardWhole, .default_strategy = DefaultWhole, .gradient = NoBackward,
           .evaluate = EvaluateGating, .flops = FlopsPerInput<5>,
           .example = "(k=2)((4, 6), bool(4))");

// ---- MoeInitRouting: rows repeated and sorted by expert -----------------------------------------

Result<std::vector<TensorType>> InferInitRouting(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 2));
  DRYDOCK_TRY(const std::int64_t active, PositiveAttr(op, "active_num"));
  const Shape& x = op.inputs[0].shape;
  const Shape& rows = op.inputs[1].shape;
  if (rows.size() != 2 || rows[0] != x[0] || op.inputs[2].shape != rows) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' of x " + TupleText(x) +
                      " takes row and expert numbers of shape (n, k), but they have shape " +
                      TupleText(rows) + " and " + TupleText(op.inputs[2].shape));
  }
  const std::int64_t copies = rows[0] * rows[1];
  return std::vector<TensorType>{
      {.shape = {std::min(x[0], active) * rows[1], x[1]}, .dtype = op.inputs[0].dtype},
      {.shape = {copies}, .dtype = DType::kInt32},
      {.shape = {copies}, .dtype = DType::kInt32}};
}

Result<std::vector<NdArray>> EvaluateInitRouting(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  const std::vector<double>& rows = context.inputs[1].data;
  const std::vector<double>& experts = context.inputs[2].data;
  const auto width = static_cast<std::size_t>(x.shape[1]);
  const auto tokens = static_cast<std::size_t>(x.shape[0]);
  const auto order = OrderBy(experts.size(), [&](std::size_t i) { return experts[i]; });
  NdArray expanded{.shape = context.output_types[0].shape};
  NdArray place = FilledArray(context.output_types[1].shape, 0.0);
  NdArray sorted{.shape = context.output_types[2].shape};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[order[i]]);
    place.data[row % place.data.size()] = static_cast<double>(i);
    sorted.data.push_back(experts[order[i]]);
    if (i < static_cast<std::size_t>(expanded.shape[0])) {
      const auto begin = x.data.begin() + static_cast<std::ptrdiff_t>(row % tokens * width);
      expanded.data.insert(expanded.data.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
    }
  }
  return std::vector<NdArray>{std::move(expanded), std::move(place), std::move(sorted)};
}

DRYDOCK_OP(MoeInitRouting, .family = "moe",
           .signature = "MoeInitRouting()(x, row_idx, expert_idx, #active_num)",
           .infer = InferInitRouting, .shard = ShardWhole, .default_strategy = DefaultWhole,
           .gradient = NoBackward, .evaluate = EvaluateInitRouting, .flops = NoFlops,
           .example = "(active_num=4)((4, 6), int32(4, 2), int32(4, 2))");

// ---- MoeFinalizeRouting: sum of the experts' answers, weighted, back in token order -------------

Result<std::vector<TensorType>> InferFinalize(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 7));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 2, 2));
  const Shape& x = op.inputs[0].shape;
  const Shape& skip = op.inputs[1].shape;
  if (x[1] != skip[1] || skip[0] < 1 || x[0] % skip[0] != 0) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' cannot bring " + TupleText(x) + " back to " +
                      TupleText(skip));
  }
  return std::vector<TensorType>{op.inputs[1]};
}

/// y[i] = x1[i] + x2[i] + sum over k of scales[i][k] * (x[row of (i, k)] + bias[expert of (i, k)]).
Result<std::vector<NdArray>> EvaluateFinalize(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  NdArray out = context.inputs[1];
  const auto tokens = static_cast<std::size_t>(out.shape[0]);
  const auto width = static_cast<std::size_t>(out.shape[1]);
  const std::size_t choices = static_cast<std::size_t>(x.shape[0]) / tokens;
  const NdArray* second = OptionalArray(context, 2);
  const NdArray* bias = OptionalArray(context, 3);
  const NdArray* scales = OptionalArray(context, 4);
  const NdArray* rows = OptionalArray(context, 5);
  const NdArray* experts = OptionalArray(context, 6);
  for (std::size_t n = 0; n < out.data.size(); ++n) {
    const std::size_t i = n / width;
    out.data[n] += second == nullptr ? 0 : second->data[n];
    for (std::size_t k = 0; k < choices; ++k) {
      const std::size_t copy = k * tokens + i;
      const auto row = rows == nullptr ? copy : static_cast<std::size_t>(rows->data[copy]);
      double value = row * width < x.data.size() ? x.data[row * width + n % width] : 0;
      if (bias != nullptr && experts != nullptr) {
        const auto expert = static_cast<std::size_t>(experts->data[i * choices + k]);
        value += bias->data[expert * width + n % width];
      }
      out.data[n] += value * (scales == nullptr ? 1 : scales->data[i * choices + k]);
    }
  }
  return std::vector<NdArray>{std::move(out)};
}

DRYDOCK_OP(MoeFinalizeRouting, .family = "moe",
           .signature =
               "MoeFinalizeRouting()(expanded_x, x1, ?x2, ?bias, ?scales, "
               "?expanded_row_idx, ?expanded_expert_idx)",
           .infer = InferFinalize, .shard = ShardWhole, .default_strategy = DefaultWhole,
           .gradient = NoBackward, .evaluate = EvaluateFinalize, .flops = FlopsPerInput<2>,
           .example = "()((8, 6), (4, 6), (4, 6), (3, 6), (4, 2), int32(8), int32(4, 2))");

// ---- TopKRouter, TopPRouter: expert numbers [g, n, k] -> slots of experts, slots of tokens ------

Result<std::vector<TensorType>> InferRouter(const OpView& op) {
  const bool by_probability = op.attrs->contains("threshold");
  const std::size_t inputs = by_probability ? 2 : 1;
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, inputs, inputs));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectIndices(op, 0));
  DRYDOCK_TRY(const std::int64_t capacity, PositiveAttr(op, "capacity"));
  DRYDOCK_TRY(const std::int64_t experts, PositiveAttr(op, "expert_num"));
  if (by_probability && op.inputs[1].shape != op.inputs[0].shape) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' takes one probability for each choice");
  }
  const DType dtype = op.inputs[0].dtype;
  return std::vector<TensorType>{
      {.shape = {op.inputs[0].shape[0], experts, capacity}, .dtype = dtype},
      {.shape = op.inputs[0].shape, .dtype = dtype}};
}

Result<ShardRule> ShardRouter(const OpView& op, const Strategy& /*strategy*/) {
  const TensorAxes axes = AxesInOrder(3);
  ShardRule rule{.axis_count = 3, .outputs = {{{0}, {}, {}}, axes}};
  rule.inputs.assign(op.inputs.size(), axes);
  rule.uncut = {{.axis = 1, .what = "the tokens of a group"},
                {.axis = 2, .what = "the choices of a token"}};
  return rule;
}

Result<Strategy> DefaultRouter(const OpView& op, std::int64_t device_count) {
  return BatchStrategy(op, device_count, std::vector<bool>(op.inputs.size(), true));
}

/// What a router looks at.
struct Choices {
  const NdArray* experts = nullptr;
  const NdArray* probabilities = nullptr;  ///< Only with a threshold.
  double threshold = 0;
  [[nodiscard]] std::size_t tokens() const { return static_cast<std::size_t>(experts->shape[1]); }
  [[nodiscard]] std::size_t each() const { return static_cast<std::size_t>(experts->shape[2]); }
};

/// Choices that count: with a threshold those before the summed probability reaches it.
bool IsWanted(const Choices& choices, std::size_t begin, std::size_t k) {
  double before = 0;
  for (std::size_t i = 0; choices.probabilities != nullptr && i < k; ++i) {
    before += choices.probabilities->data[begin + i];
  }
  return choices.probabilities == nullptr || k == 0 || before < choices.threshold;
}

/// Tokens are numbered from 1 and slots of an expert from 1; 0 is the slot of padding and of what
/// was dropped. Drop type 0 serves token after token, 1 all first choices before all second ones.
Result<std::vector<NdArray>> EvaluateRouter(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::int64_t drop_type, IntAttr(context.attrs, "drop_type", 0));
  Choices choices{.experts = &context.inputs[0]};
  if (context.inputs.size() > 1) {
    choices.probabilities = &context.inputs[1];
    DRYDOCK_TRY(choices.threshold, FloatAttr(context.attrs, "threshold", 0.0));
  }
  NdArray dispatch = FilledArray(context.output_types[0].shape, 0.0);
  NdArray combine = FilledArray(context.output_types[1].shape, 0.0);
  const auto experts = static_cast<std::size_t>(dispatch.shape[1]);
  const auto capacity = static_cast<std::size_t>(dispatch.shape[2]);
  const std::size_t in_group = choices.tokens() * choices.each();
  for (std::size_t group = 0; group < static_cast<std::size_t>(dispatch.shape[0]); ++group) {
    std::vector<std::size_t> used(experts, 0);
    for (std::size_t step = 0; step < in_group; ++step) {
      const std::size_t token = drop_type == 0 ? step / choices.each() : step % choices.tokens();
      const std::size_t k = drop_type == 0 ? step % choices.each() : step / choices.tokens();
      const std::size_t begin = group * in_group + token * choices.each();
      const auto expert = static_cast<std::size_t>(choices.experts->data[begin + k]);
      if (expert >= experts) {
        continue;
      }
      combine.data[begin + k] = static_cast<double>(expert * (capacity + 1));
      if (used[expert] < capacity && IsWanted(choices, begin, k)) {
        dispatch.data[(group * experts + expert) * capacity + used[expert]] =
            static_cast<double>(token + 1);
        combine.data[begin + k] += static_cast<double>(++used[expert]);
      }
    }
  }
  return std::vector<NdArray>{std::move(dispatch), std::move(combine)};
}

DRYDOCK_OP(TopKRouter, .family = "moe",
           .signature = "TopKRouter()(input, #capacity, #expert_num, #drop_type=0)",
           .infer = InferRouter, .shard = ShardRouter, .default_strategy = DefaultRouter,
           .gradient = GradientNotNeeded, .evaluate = EvaluateRouter, .flops = FlopsPerInput<1>,
           .example = "(capacity=3, expert_num=4)(int32(2, 4, 2))");

DRYDOCK_OP(TopPRouter, .family = "moe",
           .signature =
               "TopPRouter()(input, #capacity, #expert_num, #drop_type=0, #threshold=0.0, "
               "router_prob)",
           .infer = InferRouter, .shard = ShardRouter, .default_strategy = DefaultRouter,
           .gradient = NoBackward, .evaluate = EvaluateRouter, .flops = FlopsPerInput<1>,
           .example = "(capacity=3, expert_num=4, threshold=0.5)(int32(2, 4, 2), (2, 4, 2))");

}  // namespace
}  // namespace drydock::strategies
