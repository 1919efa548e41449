#include <cmath>

#include <gtest/gtest.h>

#include "tests/strategies/gradient_check.h"
#include "tests/strategies/op_cases.h"

// Reductions, operators along one dimension, and picking elements by index.
namespace drydock::strategies {
namespace {

using checks::GradientAgrees;
using checks::InferOp;
using checks::RunOp;
using List = std::vector<std::int64_t>;

const NdArray kTwoByThree = {.shape = {2, 3}, .data = {1, 5, 3, 4, 2, 6}};

Shape ShapeOf(std::string_view op, Shape input, AttrMap attrs) {
  const auto types = InferOp(op, {{.shape = std::move(input)}}, std::move(attrs));
  return types ? types->front().shape : Shape{-1};
}

std::string ReasonOf(std::string_view op, Shape input, AttrMap attrs) {
  const auto types = InferOp(op, {{.shape = std::move(input)}}, std::move(attrs));
  return types ? "" : types.error().reason;
}

TEST(Reduction, AxesAreNormalisedMergedAndRemoved) {
  EXPECT_EQ(ShapeOf("ReduceSum", {2, 3, 4}, {{"axis", List{-1, 2}}}), (Shape{2, 3}));
  EXPECT_EQ(ShapeOf("ReduceMean", {2, 3, 4}, {{"axis", 1}}), (Shape{2, 4}));
  EXPECT_EQ(ShapeOf("ReduceMax", {2, 3, 4}, {{"axis", List{0, 1}}, {"keep_dims", true}}),
            (Shape{1, 1, 4}));
}

TEST(Reduction, NoAxisMeansAllDimensions) {
  EXPECT_EQ(ShapeOf("ReduceSum", {2, 3}, {}), Shape{});
  EXPECT_EQ(ShapeOf("ReduceMin", {2, 3}, {{"axis", List{}}, {"keep_dims", true}}), (Shape{1, 1}));
}

TEST(Reduction, SkipModeWithoutAxisReducesNothing) {
  EXPECT_EQ(ShapeOf("ReduceSum", {2, 3}, {{"skip_mode", true}}), (Shape{2, 3}));
  EXPECT_EQ(ShapeOf("ReduceSum", {2, 3}, {{"skip_mode", true}, {"axis", 0}}), (Shape{3}));
}

TEST(Reduction, ScalarCountsAsOneDimension) {
  EXPECT_EQ(ShapeOf("ReduceSum", {}, {{"axis", -1}}), Shape{});
  EXPECT_EQ(ReasonOf("ReduceSum", {}, {{"axis", 1}}), "ReduceSum:axis-out-of-range");
}

TEST(Reduction, AxisOutsideTheTensorIsRefused) {
  EXPECT_EQ(ReasonOf("ReduceMean", {2, 3}, {{"axis", 2}}), "ReduceMean:axis-out-of-range");
  EXPECT_EQ(ReasonOf("ReduceMean", {2, 3}, {{"axis", -3}}), "ReduceMean:axis-out-of-range");
}

TEST(Reduction, ValuesOfEachKind) {
  // Columns (1 4), (5 2), (3 6): sums 5 7 9, means half of that, products 4 10 18.
  const AttrMap rows = {{"axis", 0}};
  EXPECT_EQ(RunOp("ReduceSum", {kTwoByThree}, rows)->front().data, (std::vector<double>{5, 7, 9}));
  EXPECT_EQ(RunOp("ReduceMean", {kTwoByThree}, rows)->front().data,
            (std::vector<double>{2.5, 3.5, 4.5}));
  EXPECT_EQ(RunOp("ReduceMax", {kTwoByThree}, rows)->front().data, (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(RunOp("ReduceMin", {kTwoByThree}, rows)->front().data, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(RunOp("ReduceProd", {kTwoByThree}, rows)->front().data,
            (std::vector<double>{4, 10, 18}));
}

TEST(Reduction, GradientsAgreeWithDifferences) {
  const std::uint64_t seed = checks::SeedOr(11);
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"}) {
    const auto x = [&] { return checks::SpreadArray({2, 3, 2}, random); };
    EXPECT_TRUE(GradientAgrees({.op = op, .inputs = {x()}, .attrs = {{"axis", List{1}}}}));
    EXPECT_TRUE(GradientAgrees(
        {.op = op, .inputs = {x()}, .attrs = {{"axis", List{0, 2}}, {"keep_dims", true}}}));
    EXPECT_TRUE(GradientAgrees({.op = op, .inputs = {x()}}));
  }
}

TEST(Reduction, EqualExtremesShareTheGradient) {
  // Both 7s of the row are the maximum: half of the slope each.
  GraphBuilder builder("ties");
  const ValueId x = *builder.AddInput("x", {.shape = {3}});
  const ValueId dy = *builder.AddInput("dy", {.shape = {}});
  const NodeId node = *builder.AddNode({.op = "ReduceMax", .inputs = {x}});
  const Node forward = builder.graph().at(node);
  const bool wanted[] = {true};
  const ValueId arriving[] = {dy};
  const NodeSpec spec = {};
  const auto gradients = forward.entry->gradient({.builder = builder,
                                                  .node = forward,
                                                  .output_gradients = arriving,
                                                  .wanted = wanted,
                                                  .spec = spec});
  ASSERT_TRUE(gradients);
  const auto values = checks::RunGraph(
      builder.graph(), {{.shape = {3}, .data = {7, 1, 7}}, {.shape = {}, .data = {3}}});
  EXPECT_EQ(values->at(ToIndex(gradients->front())).data, (std::vector<double>{1.5, 0, 1.5}));
}

TEST(ReductionRule, CrossBatchKeepsTheReductionLocal) {
  const OpEntry& entry = *FindOp("ReduceMean");
  cases::OpCase one = cases::CaseFrom(entry, {{16, 32}}, cases::json::array({{32}}),
                                      {{"axis", {0}}, {"cross_batch", true}});
  const DeviceContext devices{.stage_devices = 8, .job_devices = 8};
  // A mean stays local only if dimension 0 uses all 8 devices.
  EXPECT_TRUE(DeriveSharding(entry, one.View(), {{8, 1}}, devices)->communication.empty());
  EXPECT_EQ(DeriveSharding(entry, one.View(), {{4, 2}}, devices)->communication.size(), 1U);
  one.entry = FindOp("ReduceSum");
  EXPECT_TRUE(DeriveSharding(*one.entry, one.View(), {{4, 2}}, devices)->communication.empty());
}

// ---- Along one dimension
// ----------------------------------------------------------------------------

TEST(Softmax, RowsSumToOneAndKeepTheirOrder) {
  // exp(0), exp(ln 3): 1 and 3 of 4.
  const NdArray x = {.shape = {1, 2}, .data = {0, std::log(3.0)}};
  const auto y = RunOp("Softmax", {x});
  EXPECT_DOUBLE_EQ(y->front().data[0], 0.25);
  EXPECT_DOUBLE_EQ(y->front().data[1], 0.75);
  EXPECT_DOUBLE_EQ(RunOp("LogSoftmax", {x})->front().data[0], std::log(0.25));
}

TEST(Softmax, LargeNumbersDoNotOverflow) {
  const auto y = RunOp("Softmax", {{.shape = {2}, .data = {1000, 1000}}});
  EXPECT_EQ(y->front().data, (std::vector<double>{0.5, 0.5}));
}

TEST(Softmax, EmptyAxesAndIntegersAreRefused) {
  EXPECT_EQ(ReasonOf("Softmax", {2, 3}, {{"axis", List{}}}), "Softmax:axis-empty");
  EXPECT_EQ(ReasonOf("LogSoftmax", {2, 3}, {{"axis", 2}}), "LogSoftmax:axis-out-of-range");
  EXPECT_EQ(InferOp("Softmax", {{.shape = {2}, .dtype = DType::kInt32}}).error().reason,
            "Softmax:dtype");
}

TEST(Softmax, GradientsAgreeWithDifferences) {
  const std::uint64_t seed = checks::SeedOr(12);
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const NdArray x = checks::RandomArray({3, 2, 4}, random, -2, 2);
  EXPECT_TRUE(GradientAgrees({.op = "Softmax", .inputs = {x}}));
  EXPECT_TRUE(GradientAgrees({.op = "Softmax", .inputs = {x}, .attrs = {{"axis", List{0, -1}}}}));
  EXPECT_TRUE(GradientAgrees({.op = "LogSoftmax", .inputs = {x}, .attrs = {{"axis", 1}}}));
}

TEST(CumSum, RunsBothWaysWithAndWithoutItself) {
  const NdArray x = {.shape = {3}, .data = {1, 2, 4}};
  EXPECT_EQ(RunOp("CumSum", {x}, {{"axis", 0}})->front().data, (std::vector<double>{1, 3, 7}));
  EXPECT_EQ(RunOp("CumSum", {x}, {{"axis", 0}, {"exclusive", true}})->front().data,
            (std::vector<double>{0, 1, 3}));
  EXPECT_EQ(RunOp("CumSum", {x}, {{"axis", -1}, {"reverse", true}})->front().data,
            (std::vector<double>{7, 6, 4}));
}

TEST(CumSum, GradientRunsTheOtherWay) {
  const NdArray x = {.shape = {2, 3}, .data = {1, 2, 3, 4, 5, 6}};
  for (const bool exclusive : {false, true}) {
    EXPECT_TRUE(GradientAgrees(
        {.op = "CumSum", .inputs = {x}, .attrs = {{"axis", 1}, {"exclusive", exclusive}}}));
  }
}

TEST(CumSum, DefaultCutsTheBatchUnlessItRunsAlongIt) {
  const OpEntry& entry = *FindOp("CumSum");
  const DeviceContext devices{.stage_devices = 4, .job_devices = 4};
  const cases::OpCase along = cases::CaseFrom(entry, {{8, 2}}, {{8, 2}}, {{"axis", 0}});
  const cases::OpCase across = cases::CaseFrom(entry, {{8, 2}}, {{8, 2}}, {{"axis", 1}});
  EXPECT_EQ(*DefaultStrategy(entry, along.View(), devices), (Strategy{{1, 1}}));
  EXPECT_EQ(*DefaultStrategy(entry, across.View(), devices), (Strategy{{4, 1}}));
}

// ---- Picked elements
// --------------------------------------------------------------------------------

TEST(TopK, LargestOfEachRowWithTheirPositions) {
  const auto results = RunOp("TopK", {kTwoByThree}, {{"k", 2}});
  EXPECT_EQ(results->at(0).data, (std::vector<double>{5, 3, 6, 4}));
  EXPECT_EQ(results->at(1).data, (std::vector<double>{1, 2, 2, 0}));
}

TEST(TopK, MoreThanThereAreIsRefused) {
  EXPECT_EQ(ReasonOf("TopK", {2, 3}, {{"k", 4}}), "TopK:k");
}

TEST(ArgMaxWithValue, FirstPositionOfTheExtreme) {
  const NdArray x = {.shape = {2, 3}, .data = {1, 5, 5, 4, 2, 2}};
  EXPECT_EQ(RunOp("ArgMaxWithValue", {x}, {{"axis", 1}})->at(0).data, (std::vector<double>{1, 0}));
  const auto least = RunOp("ArgMinWithValue", {x}, {{"axis", 1}, {"keep_dims", true}});
  EXPECT_EQ(least->at(0).data, (std::vector<double>{0, 1}));
  EXPECT_EQ(least->at(1), (NdArray{.shape = {2, 1}, .data = {1, 2}}));
}

TEST(PickedElements, GradientsAgreeWithDifferences) {
  const std::uint64_t seed = checks::SeedOr(13);
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const NdArray x = checks::SpreadArray({2, 4, 3}, random);
  EXPECT_TRUE(GradientAgrees({.op = "TopK", .inputs = {x}, .attrs = {{"k", 2}}}));
  EXPECT_TRUE(GradientAgrees({.op = "ArgMaxWithValue", .inputs = {x}, .attrs = {{"axis", 1}}}));
  EXPECT_TRUE(GradientAgrees(
      {.op = "ArgMinWithValue", .inputs = {x}, .attrs = {{"axis", 0}, {"keep_dims", true}}}));
  const NdArray index = {.shape = {2, 2, 3}, .data = {0, 3, 1, 1, 2, 2, 3, 3, 3, 0, 1, 2}};
  EXPECT_TRUE(GradientAgrees({.op = "GatherD",
                              .inputs = {x, index},
                              .attrs = {{"dim", 1}},
                              .dtypes = {DType::kFloat64, DType::kInt32}}));
}

TEST(GatherD, OtherDimensionsMustAgree) {
  const auto types = InferOp(
      "GatherD", {{.shape = {4, 8}}, {.shape = {2, 3}, .dtype = DType::kInt32}}, {{"dim", 1}});
  ASSERT_FALSE(types);
  EXPECT_EQ(types.error().reason, "GatherD:shape-mismatch");
}

}  // namespace
}  // namespace drydock::strategies
