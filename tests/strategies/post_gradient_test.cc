#include <string>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"
#include "strategies/program/collectives.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/sharded_run.h"

/// Operators between the gradients and the update, on slices. Where the reference completes what
/// they combine, all ranks together must compute what one device computes, updated weights and
/// states included; elsewhere nothing is exchanged.
namespace drydock::strategies {
namespace {

using checks::RandomArray;

/// Adds what stands between gradient and update of w (8, 4); the step that is subtracted from w.
using PostFn = Result<ValueId> (*)(GraphBuilder& builder, ValueId w, ValueId gradient);

Result<ValueId> Emit(GraphBuilder& builder, std::string_view op, std::vector<ValueId> inputs,
                     AttrMap attrs = {}) {
  return builder.Emit({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)});
}

/// loss = sum of (x . w)^2 with w cut by `strategy` on 8 ranks.
RandomStep StepWith(PostFn post, const Strategy& strategy) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {16, 8}});
  const ValueId w = *builder.AddParameter("w", {.shape = {8, 4}}, {});
  const NodeId product = *builder.AddNode({.op = "MatMul", .inputs = {x, w}});
  builder.mutable_graph().nodes[ToIndex(product)].in_strategy = strategy;
  const ValueId squares = *Emit(builder, "Square", {builder.graph().at(product).outputs[0]});
  const ValueId loss = *Emit(builder, "ReduceSum", {squares});
  const ValueId gradient = *Emit(builder, "_Gradient", {loss, w});
  std::mt19937_64 random(7);
  RandomStep step;
  step.data = {.inputs = {RandomArray({16, 8}, random, -1, 1)},
               .parameters = {RandomArray({8, 4}, random, 0.5, 1)}};
  const Result<ValueId> made = post(builder, w, gradient);
  EXPECT_TRUE(made.has_value()) << FormatError(made.error());
  (void)*builder.AddNode(
      {.op = "AssignSub", .inputs = {w, made.value_or(gradient)}, .phase = Phase::kOptimizer});
  builder.SetOutputs({loss});
  for (std::size_t i = 1; i < builder.graph().parameters.size(); ++i) {
    const Value& state = builder.graph().at(builder.graph().parameters[i].value);
    step.data.parameters.push_back(RandomArray(state.type.shape, random, 0.5, 1));
  }
  step.graph = builder.graph();
  step.job = {.world_size = 8, .mode = ParallelMode::kSemiAutoParallel};
  step.job.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  return step;
}

/// Asks for the parts of other ranks.
const AttrMap kCompleted = {{"keep_alive", true}};

Result<ValueId> DividedByNorm(GraphBuilder& builder, ValueId /*w*/, ValueId gradient) {
  DRYDOCK_TRY(const ValueId squares, Emit(builder, "Square", {gradient}));
  DRYDOCK_TRY(const ValueId sum, Emit(builder, "ReduceSum", {squares}, kCompleted));
  DRYDOCK_TRY(const ValueId norm, Emit(builder, "Sqrt", {sum}));
  return Emit(builder, "RealDiv", {gradient, norm});
}

/// As clip_by_global_norm marks it.
Result<ValueId> DividedByGlobalNorm(GraphBuilder& builder, ValueId /*w*/, ValueId gradient) {
  DRYDOCK_TRY(const ValueId squares, Emit(builder, "Square", {gradient}));
  DRYDOCK_TRY(const ValueId sum, Emit(builder, "ReduceSum", {squares}));
  const AttrMap marked = {{"axis", std::int64_t{0}}, {"grad_scale", true}};
  DRYDOCK_TRY(const ValueId part, Emit(builder, "ExpandDims", {sum}, marked));
  DRYDOCK_TRY(const ValueId norm, Emit(builder, "Sqrt", {part}));
  return Emit(builder, "RealDiv", {gradient, norm});
}

Result<ValueId> DividedByNormOfSlice(GraphBuilder& builder, ValueId /*w*/, ValueId gradient) {
  DRYDOCK_TRY(const ValueId squares, Emit(builder, "Square", {gradient}));
  DRYDOCK_TRY(const ValueId sum, Emit(builder, "ReduceSum", {squares}));
  return Emit(builder, "RealDiv", {gradient, sum});
}

Result<ValueId> DividedByLargest(GraphBuilder& builder, ValueId /*w*/, ValueId gradient) {
  DRYDOCK_TRY(const ValueId sizes, Emit(builder, "Abs", {gradient}));
  DRYDOCK_TRY(const ValueId largest, Emit(builder, "ReduceMax", {sizes}, kCompleted));
  return Emit(builder, "RealDiv", {gradient, largest});
}

/// The quotient of both sums of squares.
Result<ValueId> ScaledByBothNorms(GraphBuilder& builder, ValueId w, ValueId gradient) {
  DRYDOCK_TRY(
      const NodeId both,
      builder.AddNode({.op = "SquareSumAll", .inputs = {w, gradient}, .attrs = kCompleted}));
  const std::vector<ValueId> sums = builder.graph().at(both).outputs;
  DRYDOCK_TRY(const ValueId rate, Emit(builder, "RealDiv", {sums[0], sums[1]}));
  return Emit(builder, "Mul", {gradient, rate});
}

Result<ValueId> MeanOfSquares(GraphBuilder& builder, ValueId gradient, std::int64_t axis) {
  DRYDOCK_TRY(const ValueId squares, Emit(builder, "Square", {gradient}));
  return Emit(builder, "ReduceMean", {squares}, {{"axis", axis}, {"keep_alive", true}});
}

/// A state that every rank holds whole grows by the mean of one dimension, and scales the step.
Result<ValueId> ScaledByState(GraphBuilder& builder, ValueId gradient, std::int64_t axis,
                              std::int64_t extent) {
  DRYDOCK_TRY(const ValueId state,
              builder.AddParameter("state", {.shape = {extent}}, {.requires_grad = false}));
  DRYDOCK_TRY(const ValueId mean, MeanOfSquares(builder, gradient, axis));
  DRYDOCK_TRY(const ValueId grown, Emit(builder, "Add", {state, mean}));
  DRYDOCK_TRY(
      const NodeId assign,
      builder.AddNode({.op = "Assign", .inputs = {state, grown}, .phase = Phase::kOptimizer}));
  (void)assign;
  DRYDOCK_TRY(const ValueId factors, Emit(builder, "ExpandDims", {grown}, {{"axis", axis}}));
  return Emit(builder, "RealDiv", {gradient, factors});
}

Result<ValueId> ScaledByRows(GraphBuilder& builder, ValueId /*w*/, ValueId gradient) {
  return ScaledByState(builder, gradient, -1, 8);
}

Result<ValueId> ScaledByColumns(GraphBuilder& builder, ValueId /*w*/, ValueId gradient) {
  return ScaledByState(builder, gradient, -2, 4);
}

struct PostCase {
  const char* name;
  PostFn post;
};

void PrintTo(const PostCase& item, std::ostream* out) {
  *out << item.name;
}

class BehindGradients : public testing::TestWithParam<std::tuple<PostCase, Strategy>> {};

TEST_P(BehindGradients, RanksTogetherComputeWhatOneDeviceDoes) {
  const auto& [item, strategy] = GetParam();
  EXPECT_EQ(Difference(StepWith(item.post, strategy)), "");
}

INSTANTIATE_TEST_SUITE_P(
    Cuts, BehindGradients,
    testing::Combine(testing::Values(PostCase{"norm", DividedByNorm},
                                     PostCase{"global norm", DividedByGlobalNorm},
                                     PostCase{"largest", DividedByLargest},
                                     PostCase{"both norms", ScaledByBothNorms},
                                     PostCase{"rows", ScaledByRows},
                                     PostCase{"columns", ScaledByColumns}),
                     testing::Values(Strategy{{1, 2}, {2, 4}}, Strategy{{1, 8}, {8, 1}},
                                     Strategy{{2, 1}, {1, 4}}, Strategy{{2, 2}, {2, 1}},
                                     Strategy{{8, 1}, {1, 1}})));

/// Payloads and ranks of the collectives behind the gradients' own.
std::vector<std::pair<std::int64_t, std::int64_t>> SumsOf(PostFn post, const Strategy& strategy) {
  const RandomStep step = StepWith(post, strategy);
  const auto program = Compile(step.graph, step.job);
  EXPECT_TRUE(program.has_value()) << FormatError(program.error());
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const CollectiveUse& use : CollectivesOf(*program)) {
    const Node& node = program->local.at(use.node);
    if (node.phase == Phase::kBackward && node.reason == CommReason::kPartialSum) {
      found.emplace_back(use.payload_bytes, GroupSize(use.group));
    }
  }
  return found;
}

using Sums = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(NormOfACutGradient, IsOneSumOverTheRanksThatHoldDifferentSlices) {
  // w is cut (2, 4): the 8 ranks hold 8 different slices, one float32 sum each. Cut (2, 1) with
  // rows of x cut 2 times: 2 slices, and the groups have 2 ranks.
  EXPECT_EQ(SumsOf(DividedByNorm, {{1, 2}, {2, 4}}), (Sums{{4, 8}}));
  EXPECT_EQ(SumsOf(DividedByNorm, {{2, 2}, {2, 1}}), (Sums{{4, 2}}));
}

TEST(NormOfAllGradients, IsOneSumOverAllRanksHoweverTheyAreCut) {
  for (const Strategy& strategy : {Strategy{{1, 2}, {2, 4}}, Strategy{{8, 1}, {1, 1}}}) {
    EXPECT_EQ(SumsOf(DividedByGlobalNorm, strategy), (Sums{{4, 8}}));
  }
}

TEST(NormOfACutGradient, IsThatOfTheSliceWhereTheReferenceExchangesNothing) {
  // MindSpore 2.10's own dry run of LARS and Lamb with a weight cut 4 times has the AllReduces of
  // the gradients and none of norms.
  EXPECT_EQ(SumsOf(DividedByNormOfSlice, {{1, 2}, {2, 4}}), Sums{});
  EXPECT_EQ(SumsOf(
                [](GraphBuilder& builder, ValueId, ValueId gradient) {
                  return Emit(builder, "CumSum", {gradient}, {{"axis", std::int64_t{0}}});
                },
                {{1, 2}, {2, 4}}),
            Sums{});
}

}  // namespace
}  // namespace drydock::strategies
