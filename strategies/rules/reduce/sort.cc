#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Sorting along one dimension, which stays whole. Results: values and where they were. Source:
/// mindspore ops_info/topk_info.cc.
namespace drydock::strategies {
namespace {

/// Which dimension is ranked and how; mint operators call the dimension `dim`.
struct Ranking {
  std::size_t dim = 0;
  bool descending = false;
  std::int64_t count = 0;  ///< Elements of the dimension in the result.
};

Result<std::size_t> RankedDim(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(*op.attrs, "axis", -1));
  DRYDOCK_TRY(const std::int64_t dim, IntAttr(*op.attrs, "dim", axis));
  return NormalisedAxis(op, dim, op.inputs[0].shape.size());
}

Result<Ranking> SortRanking(const OpView& op) {
  Ranking ranking = {};
  DRYDOCK_TRY(ranking.dim, RankedDim(op));
  DRYDOCK_TRY(ranking.descending, BoolAttr(*op.attrs, "descending", false));
  ranking.count = op.inputs[0].shape[ranking.dim];
  return ranking;
}

Result<Ranking> TopRanking(const OpView& op) {
  Ranking ranking = {};
  DRYDOCK_TRY(ranking.dim, RankedDim(op));
  DRYDOCK_TRY(ranking.descending, BoolAttr(*op.attrs, "largest", true));
  DRYDOCK_TRY(ranking.count, IntAttr(*op.attrs, "k", -1));
  const std::int64_t extent = op.inputs[0].shape[ranking.dim];
  if (ranking.count < 0 || ranking.count > extent) {
    return FailOp(op, "k",
                  "k of '" + std::string(op.op) + "' is " + std::to_string(ranking.count) +
                      ", but dimension " + std::to_string(ranking.dim) + " of its input has " +
                      std::to_string(extent) + " elements");
  }
  return ranking;
}

using RankingFn = Result<Ranking> (*)(const OpView&);

template <RankingFn RankingOf, DType IndexType>
Result<std::vector<TensorType>> InferRanked(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const Ranking ranking, RankingOf(op));
  TensorType values = op.inputs[0];
  values.shape[ranking.dim] = ranking.count;
  return std::vector<TensorType>{values, {.shape = values.shape, .dtype = IndexType}};
}

Result<ShardRule> ShardRanked(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::size_t dim, RankedDim(op));
  return AxisLocalRule(op, std::span(&dim, 1), "the dimension '" + std::string(op.op) + "' ranks");
}

Result<Strategy> DefaultTop(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const std::size_t dim, RankedDim(op));
  return BatchStrategy(op, device_count, {dim != 0});
}

/// Gradients of the values go back to where the values were; positions have none.
Result<std::vector<ValueId>> PutBackRanked(const GradientContext& context, ValueId index) {
  OpViewStorage storage = {};
  DRYDOCK_TRY(const std::size_t dim,
              RankedDim(ViewOf(context.builder.graph(), context.node, storage)));
  return EmitPutBack(context, index, OutputGradient(context), dim);
}

Result<std::vector<ValueId>> GradientFromIndices(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  return PutBackRanked(context, context.node.outputs[1]);
}

/// The reference keeps the input and sorts again.
Result<std::vector<ValueId>> GradientFromInput(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  DRYDOCK_TRY(const std::vector<ValueId> sorted,
              EmitAll(context, context.node.op, {context.node.inputs[0]}, context.node.attrs));
  return PutBackRanked(context, sorted[1]);
}

/// Order of one row: equal elements keep their order.
std::vector<std::size_t> OrderOf(const std::vector<double>& row, bool descending) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return descending ? row[a] > row[b] : row[a] < row[b];
  });
  return order;
}

template <RankingFn RankingOf>
Result<std::vector<NdArray>> EvaluateRanked(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const Ranking ranking, RankingOf(op));
  const NdArray& x = context.inputs[0];
  NdArray values = FilledArray(context.output_types[0].shape, 0.0);
  NdArray indices = values;
  Shape rows = x.shape;
  rows[ranking.dim] = 1;
  ForEachElement(rows, [&](std::span<const std::int64_t> index) {
    std::vector<std::int64_t> at(index.begin(), index.end());
    std::vector<double> row = {};
    for (at[ranking.dim] = 0; at[ranking.dim] < x.shape[ranking.dim]; ++at[ranking.dim]) {
      row.push_back(x.data[OffsetOf(x.shape, at)]);
    }
    const std::vector<std::size_t> order = OrderOf(row, ranking.descending);
    for (std::size_t i = 0; i < static_cast<std::size_t>(ranking.count); ++i) {
      at[ranking.dim] = static_cast<std::int64_t>(i);
      const std::size_t offset = OffsetOf(values.shape, at);
      values.data[offset] = row[order[i]];
      indices.data[offset] = static_cast<double>(order[i]);
    }
  });
  return std::vector<NdArray>{std::move(values), std::move(indices)};
}

/// N log2(L): comparisons of sorting rows of L elements.
double SortFlops(const OpView& op) {
  const Result<Ranking> ranking = SortRanking(op);
  const double extent =
      ranking ? static_cast<double>(std::max<std::int64_t>(ranking->count, 2)) : 2;
  return Elements(op.inputs[0]) * std::log2(extent);
}

double TopFlops(const OpView& op) {
  const Result<Ranking> ranking = TopRanking(op);
  const double count = ranking ? static_cast<double>(std::max<std::int64_t>(ranking->count, 2)) : 2;
  return Elements(op.inputs[0]) * std::log2(count);
}

DRYDOCK_OP(Sort, .family = "axis_local", .signature = "Sort(axis=-1, descending=False)(x)",
           .infer = InferRanked<SortRanking, DType::kInt32>, .shard = ShardRanked,
           .gradient = GradientFromInput, .values = "-", .evaluate = EvaluateRanked<SortRanking>,
           .flops = SortFlops, .cost = CostFamily::kSoftmax, .accepts_layout = true);

DRYDOCK_OP(SortExt, .family = "axis_local",
           .signature = "SortExt()(input, #dim=-1, #descending=False, #stable=False)",
           .infer = InferRanked<SortRanking, DType::kInt64>, .shard = ShardRanked,
           .gradient = GradientFromIndices, .evaluate = EvaluateRanked<SortRanking>,
           .flops = SortFlops, .cost = CostFamily::kSoftmax, .accepts_layout = true);

DRYDOCK_OP(TopkExt, .family = "axis_local",
           .signature = "TopkExt()(input, #k, #dim=-1, #largest=True, #sorted=True)",
           .infer = InferRanked<TopRanking, DType::kInt64>, .shard = ShardRanked,
           .default_strategy = DefaultTop, .gradient = GradientFromIndices,
           .evaluate = EvaluateRanked<TopRanking>, .flops = TopFlops, .cost = CostFamily::kSoftmax,
           .example = "(k=2)((4, 6))");

}  // namespace
}  // namespace drydock::strategies
