#include <gtest/gtest.h>

#include "strategies/operators/op_entry.h"
#include "strategies/operators/sharding.h"
#include "strategies/reference/executor.h"
#include "tests/strategies/gradient_check.h"

/// Collectives, mirrors, the loss divisor, the data set's entry and the gradient placeholder.
namespace drydock::strategies::checks {
namespace {

using Numbers = std::vector<std::int64_t>;

// ---- Shapes -------------------------------------------------------------------------------------

TEST(AllGatherOp, MultipliesDimensionZero) {
  EXPECT_EQ((*InferOp("AllGather", {{.shape = {2, 3}}}, {{"rank_size", 4}}))[0].shape,
            (Shape{8, 3}));
}

TEST(ReduceScatterOp, DividesDimensionZero) {
  EXPECT_EQ((*InferOp("ReduceScatter", {{.shape = {8, 3}}}, {{"rank_size", 4}}))[0].shape,
            (Shape{2, 3}));
}

TEST(ReduceScatterOp, IndivisibleRowsAreRefused) {
  const auto types = InferOp("ReduceScatter", {{.shape = {6, 3}}}, {{"rank_size", 4}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "ReduceScatter:not-divisible");
}

TEST(AllGatherOp, NeedsTheGroupSize) {
  EXPECT_EQ(InferOp("AllGather", {{.shape = {2}}}).error().reason, "AllGather:attribute");
}

TEST(AlltoAllOp, MovesTheCut) {
  const AttrMap attrs = {{"split_count", 4}, {"split_dim", 0}, {"concat_dim", -1}};
  EXPECT_EQ((*InferOp("AlltoAll", {{.shape = {8, 3}}}, attrs))[0].shape, (Shape{2, 12}));
}

// ---- Gradients (mindspore python/mindspore/ops/_grad_experimental/grad_comm_ops.py)
// ---------------------------------------

const GroupPattern kGroup{.digits = {{.stride = 2, .extent = 4}}};

/// One collective on float32 (8, 4) and its gradient nodes.
struct Backward {
  Graph graph = {};
  ValueId gradient = kNoValue;
  [[nodiscard]] std::vector<std::string> Ops() const {
    std::vector<std::string> names;
    for (std::size_t n = 1; n < graph.nodes.size(); ++n) {
      names.push_back(graph.nodes[n].op);
    }
    return names;
  }
};

Result<Backward> BackwardOf(std::string_view op, AttrMap attrs, DType dtype = DType::kFloat32,
                            bool with_group = true) {
  GraphBuilder builder("one");
  DRYDOCK_TRY(const ValueId x, builder.AddInput("x", {.shape = {8, 4}, .dtype = dtype}));
  DRYDOCK_TRY(const NodeId id,
              builder.AddNode({.op = op, .inputs = {x}, .attrs = std::move(attrs)}));
  if (with_group) {
    builder.mutable_graph().nodes[ToIndex(id)].group = kGroup;
  }
  const Node node = builder.graph().at(id);
  DRYDOCK_TRY(const ValueId dy, builder.AddInput("dy", builder.TypeOf(node.outputs[0])));
  const bool wanted[] = {true};
  const ValueId arriving[] = {dy};
  const NodeSpec spec{.phase = Phase::kBackward};
  DRYDOCK_TRY(const auto gradients, node.entry->gradient({.builder = builder,
                                                          .node = node,
                                                          .output_gradients = arriving,
                                                          .wanted = wanted,
                                                          .spec = spec}));
  return Backward{.graph = std::move(builder).Take(), .gradient = gradients[0]};
}

struct CollectiveCase {
  const char* name;
  const char* op;
  AttrMap attrs;
  std::vector<std::string> backward;
  friend void PrintTo(const CollectiveCase& one, std::ostream* out) { *out << one.name; }
};

class CollectiveGradient : public testing::TestWithParam<CollectiveCase> {};

TEST_P(CollectiveGradient, IsTheDualCollectiveOfTheSameGroup) {
  const auto backward = BackwardOf(GetParam().op, GetParam().attrs);
  ASSERT_TRUE(backward.has_value()) << FormatError(backward.error());
  EXPECT_EQ(backward->Ops(), GetParam().backward);
  EXPECT_EQ(backward->graph.at(backward->gradient).type, (TensorType{.shape = {8, 4}}));
  for (const Node& node : backward->graph.nodes) {
    if (node.entry->kind == OpKind::kCollective) {
      EXPECT_EQ(node.group, kGroup) << node.op;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CollectiveGradient,
    testing::Values(
        CollectiveCase{
            "AllReduceSum", "AllReduce", {{"op", "sum"}, {"rank_size", 4}}, {"AllReduce"}},
        CollectiveCase{"AllReduceMax",
                       "AllReduce",
                       {{"op", "max"}, {"rank_size", 4}},
                       {"AllReduce", "Equal", "Cast", "Mul"}},
        CollectiveCase{"AllReduceProd",
                       "AllReduce",
                       {{"op", "prod"}, {"rank_size", 4}},
                       {"Mul", "AllReduce", "RealDiv"}},
        CollectiveCase{"AllGather", "AllGather", {{"rank_size", 4}}, {"ReduceScatter"}},
        CollectiveCase{"AllGatherMean",
                       "AllGather",
                       {{"rank_size", 4}, {"mean_flag", true}},
                       {"ReduceScatter", "Mul"}},
        CollectiveCase{"ReduceScatter", "ReduceScatter", {{"rank_size", 4}}, {"AllGather"}},
        CollectiveCase{"AlltoAll",
                       "AlltoAll",
                       {{"split_count", 4}, {"split_dim", 0}, {"concat_dim", 1}},
                       {"AlltoAll"}},
        CollectiveCase{"Broadcast", "Broadcast", {{"root_rank", 0}, {"rank_size", 4}}, {}},
        CollectiveCase{"Mirror", "_MirrorOperator", {{"dev_num", 4}}, {"AllReduce"}},
        CollectiveCase{"MirrorMean",
                       "_MirrorOperator",
                       {{"dev_num", 4}, {"mean_flag", true}},
                       {"AllReduce", "Mul"}},
        CollectiveCase{"MirrorOfOne", "_MirrorOperator", {{"dev_num", 1}}, {}}),
    [](const testing::TestParamInfo<CollectiveCase>& one) { return std::string(one.param.name); });

TEST(BroadcastOp, EveryTensorOfATupleKeepsItsForm) {
  const auto types =
      InferOp("Broadcast", {{.shape = {8, 3}}, {.shape = {2}, .dtype = DType::kFloat16}},
              {{"root_rank", 1}, {"rank_size", 4}});
  ASSERT_TRUE(types.has_value());
  EXPECT_EQ((*types)[0].shape, (Shape{8, 3}));
  EXPECT_EQ((*types)[1], (TensorType{.shape = {2}, .dtype = DType::kFloat16}));
}

// Members of ranks 1, 3, 5, 7 with root 5: what the third of them gives.
TEST(BroadcastOp, GivesWhatTheRootGives) {
  Node node{.op = "Broadcast", .attrs = {{"root_rank", 5}}};
  node.entry = FindOp("Broadcast");
  node.group = kGroup;
  std::vector<NdArray> given;
  for (const double number : {10.0, 30.0, 50.0, 70.0}) {
    given.push_back({.shape = {1}, .data = {number}});
  }
  const auto results = RunCollective(node, given);
  ASSERT_TRUE(results.has_value());
  for (const NdArray& result : *results) {
    EXPECT_EQ(result.data, (std::vector<double>{50.0}));
  }
}

TEST(AlltoAllGradient, SwapsTheDimensions) {
  const auto backward =
      BackwardOf("AlltoAll", {{"split_count", 4}, {"split_dim", 0}, {"concat_dim", 1}});
  ASSERT_TRUE(backward.has_value());
  EXPECT_EQ(backward->graph.nodes[1].attrs.at("split_dim"), Attr(1));
  EXPECT_EQ(backward->graph.nodes[1].attrs.at("concat_dim"), Attr(0));
}

TEST(MirrorGradient, KeepsTheFusionOfTheParameter) {
  const auto backward = BackwardOf("_MirrorOperator", {{"dev_num", 4}, {"fusion", 3}});
  ASSERT_TRUE(backward.has_value());
  EXPECT_EQ(backward->graph.nodes[1].attrs.at("fusion"), Attr(3));
}

// mean over 4 ranks: the sum times 0.25
TEST(MirrorGradient, MeanDividesByTheRanks) {
  const auto backward = BackwardOf("_MirrorOperator", {{"dev_num", 4}, {"mean_flag", true}});
  ASSERT_TRUE(backward.has_value());
  ASSERT_EQ(backward->graph.constants.size(), 1U);
  EXPECT_EQ(*backward->graph.constants[0].data, (std::vector<double>{0.25}));
}

TEST(CollectiveGradient, OfAGroupKnownByNameOnlyIsUnsupported) {
  const auto backward = BackwardOf("AllReduce", {}, DType::kFloat32, false);
  ASSERT_FALSE(backward.has_value());
  EXPECT_EQ(backward.error().code, ErrorCode::kUnsupported);
}

TEST(ReduceScatterGradient, OfAMaximumIsUnsupported) {
  const auto backward = BackwardOf("ReduceScatter", {{"rank_size", 4}, {"op", "max"}});
  ASSERT_FALSE(backward.has_value());
  EXPECT_EQ(backward.error().code, ErrorCode::kUnsupported);
}

// ---- Loss divisor, views ------------------------------------------------------------------------

TEST(VirtualDivGradient, DividesByTheDivisor) {
  const auto backward = BackwardOf("_VirtualDiv", {{"divisor", 8}});
  ASSERT_TRUE(backward.has_value());
  EXPECT_EQ(backward->Ops(), (std::vector<std::string>{"RealDiv"}));
  EXPECT_EQ(*backward->graph.constants[0].data, (std::vector<double>{8.0}));
}

TEST(VirtualDivGradient, LeavesIntegersAlone) {
  const auto backward = BackwardOf("_VirtualDiv", {{"divisor", 8}}, DType::kInt32);
  ASSERT_TRUE(backward.has_value());
  EXPECT_TRUE(backward->Ops().empty());
}

TEST(DependOp, PassesTheFirstOperandOnly) {
  std::mt19937_64 random(51);
  EXPECT_TRUE(GradientAgrees(
      {.op = "Depend",
       .inputs = {RandomArray({2}, random, -1, 1), RandomArray({3}, random, -1, 1)}}));
}

TEST(StopGradientOp, HasNoGradient) {
  EXPECT_EQ(FindOp("StopGradient")->gradient, &GradientNotNeeded);
}

// ---- Data set -----------------------------------------------------------------------------------

Result<OpSharding> ShardData(const std::vector<Shape>& shapes, const Strategy& strategy,
                             const AttrMap& attrs = {}) {
  std::vector<TensorType> types = {};
  types.reserve(shapes.size());
  for (const Shape& shape : shapes) {
    types.push_back({.shape = shape});
  }
  const OpView view{.op = "_VirtualDataset", .inputs = types, .outputs = types, .attrs = &attrs};
  return DeriveSharding(*FindOp("_VirtualDataset"), view, strategy,
                        {.stage_devices = 8, .job_devices = 8});
}

// 4 parts on 8 ranks, repetition on the left: rank 1 holds part 1, rank 5 part 1 again.
TEST(DatasetRule, RepetitionIsOnTheLeft) {
  const auto sharding = ShardData({{16, 4}, {16}}, {{4, 1}, {4}});
  ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
  EXPECT_EQ(sharding->device_matrix, (Numbers{2, 4, 1}));
  EXPECT_EQ(SliceOf(sharding->inputs[0], 5)[0], (Range{4, 8}));
  EXPECT_EQ(SliceOf(sharding->inputs[1], 5)[0], (Range{4, 8}));
  EXPECT_EQ(sharding->loss_divisor, 1);
}

// (128, 64) cut (4, 1) on 8 ranks: device matrix [4, 1] with the repetition [2] on the side asked
// for; rank 1 holds part 0 with the repetition on the right (1 / 2), part 1 with it on the left (1
// % 4).
TEST(RepeatedCalculation, SideMayBeGivenToAnyOperator) {
  const std::vector<TensorType> types = {{.shape = {128, 64}}};
  for (const bool right : {true, false}) {
    const AttrMap attrs = {{"repeated_num_in_dev_matrix_right_", right}};
    const OpView view{.op = "ReLU", .inputs = types, .outputs = types, .attrs = &attrs};
    const auto sharding =
        DeriveSharding(*FindOp("ReLU"), view, {{4, 1}}, {.stage_devices = 8, .job_devices = 8});
    ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
    EXPECT_EQ(sharding->device_matrix, right ? (Numbers{4, 1, 2}) : (Numbers{2, 4, 1}));
    EXPECT_EQ(SliceOf(sharding->inputs[0], 1)[0], right ? (Range{0, 32}) : (Range{32, 64}));
  }
}

TEST(DatasetRule, RepetitionMayBeAskedForOnTheRight) {
  const auto sharding = ShardData({{16, 4}}, {{4, 1}}, {{"dataset_repeat_dim_right", true}});
  ASSERT_TRUE(sharding.has_value());
  EXPECT_EQ(SliceOf(sharding->inputs[0], 5)[0], (Range{8, 12}));
}

// The label is cut on another dimension than the data; both use the same ranks.
TEST(DatasetRule, InputsMayBeCutOnDifferentDimensions) {
  const auto sharding = ShardData({{16, 4, 2}, {3, 16}}, {{8, 1, 1}, {1, 8}});
  ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
  EXPECT_EQ(SliceOf(sharding->inputs[1], 3)[1], (Range{6, 8}));
}

TEST(DatasetRule, TwoCutsInOneInputAreRefused) {
  const auto sharding = ShardData({{16, 4}}, {{4, 2}});
  ASSERT_FALSE(sharding.has_value());
  EXPECT_EQ(sharding.error().message,
            "dataset strategy ((4, 2),) cuts more than one dimension of input 0");
}

TEST(DatasetRule, UnequalPartsAreRefused) {
  const auto sharding = ShardData({{16, 4}, {16}}, {{4, 1}, {8}});
  ASSERT_FALSE(sharding.has_value());
  EXPECT_EQ(sharding.error().reason, "_VirtualDataset:strategy-dataset");
}

TEST(DatasetRule, UncutLongestInputIsRefused) {
  EXPECT_FALSE(ShardData({{16, 4}, {16}}, {{1, 1}, {8}}).has_value());
}

// ---- Gradient placeholder -----------------------------------------------------------------------

TEST(GradientNode, HasTheTypesOfTheValues) {
  const std::vector<TensorType> values = {
      {.shape = {}}, {.shape = {2, 3}, .dtype = DType::kFloat16}, {.shape = {4}}};
  const auto types = InferOp("_Gradient", values);
  ASSERT_TRUE(types.has_value());
  EXPECT_EQ(*types, (std::vector<TensorType>{values[1], values[2]}));
}

TEST(GradientNode, DoesNotCountTheStartingGradient) {
  const auto types =
      InferOp("_Gradient", {{.shape = {2}}, {.shape = {4}}, {.shape = {2}}}, {{"has_sens", true}});
  ASSERT_TRUE(types.has_value());
  EXPECT_EQ(types->size(), 1U);
}

}  // namespace
}  // namespace drydock::strategies::checks
