#include <gtest/gtest.h>

#include "strategies/operators/sharding.h"
#include "strategies/passes/compile_job.h"
#include "strategies/reference/executor.h"
#include "tests/strategies/gradient_check.h"

/// Matrix products: shapes, gradients, sharding with its variants.
namespace drydock::strategies::checks {
namespace {

struct ProductCase {
  const char* op;
  Shape x;
  Shape y;
  bool transpose_a;
  bool transpose_b;
  Shape out;
  friend void PrintTo(const ProductCase& one, std::ostream* stream) {
    *stream << one.op << testing::PrintToString(one.x) << testing::PrintToString(one.y);
  }
};

class Product : public testing::TestWithParam<ProductCase> {
 protected:
  [[nodiscard]] AttrMap Attrs() const {
    return {{"transpose_a", GetParam().transpose_a}, {"transpose_b", GetParam().transpose_b}};
  }
};

TEST_P(Product, HasTheShapeOfRowsTimesColumns) {
  const auto types =
      InferOp(GetParam().op, {{.shape = GetParam().x}, {.shape = GetParam().y}}, Attrs());
  ASSERT_TRUE(types.has_value()) << FormatError(types.error());
  EXPECT_EQ((*types)[0].shape, GetParam().out);
}

TEST_P(Product, GradientAgreesWithFiniteDifferences) {
  const std::uint64_t seed = SeedOr(21);
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  EXPECT_TRUE(GradientAgrees({.op = GetParam().op,
                              .inputs = {RandomArray(GetParam().x, random, -1, 1),
                                         RandomArray(GetParam().y, random, -1, 1)},
                              .attrs = Attrs()}));
}

INSTANTIATE_TEST_SUITE_P(
    All, Product,
    testing::Values(ProductCase{"MatMul", {2, 3}, {3, 4}, false, false, {2, 4}},
                    ProductCase{"MatMul", {3, 2}, {3, 4}, true, false, {2, 4}},
                    ProductCase{"MatMul", {2, 3}, {4, 3}, false, true, {2, 4}},
                    ProductCase{"MatMul", {3, 2}, {4, 3}, true, true, {2, 4}},
                    ProductCase{"BatchMatMul", {2, 2, 3}, {2, 3, 4}, false, false, {2, 2, 4}},
                    ProductCase{"BatchMatMul", {2, 3, 2}, {2, 4, 3}, true, true, {2, 2, 4}},
                    ProductCase{"BatchMatMul", {2, 1, 2, 3}, {3, 4, 3}, false, true, {2, 3, 2, 4}},
                    ProductCase{"BatchMatMul", {2, 3}, {2, 3, 4}, false, false, {2, 2, 4}},
                    ProductCase{"MatMulExt", {2, 2, 3}, {3, 2}, false, false, {2, 2, 2}}));

TEST(MatMulOp, ContractionMismatchNamesBothDimensions) {
  const auto types = InferOp("MatMul", {{.shape = {16, 4}}, {.shape = {32, 16}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "MatMul:shape-mismatch");
  EXPECT_EQ(
      types.error().message,
      "'MatMul' cannot multiply (16, 4) by (32, 16): dimension 1 of input 0 is 4, dimension 0 of "
      "input 1 is 32");
}

TEST(MatMulOp, TransposedMismatchNamesTheRightDimensions) {
  const auto types =
      InferOp("MatMul", {{.shape = {16, 4}}, {.shape = {32, 16}}}, {{"transpose_b", true}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(
      types.error().message,
      "'MatMul' cannot multiply (16, 4) by (32, 16): dimension 1 of input 0 is 4, dimension 1 of "
      "input 1 is 16");
}

TEST(MatMulOp, ThreeDimensionsAreRefused) {
  const auto types = InferOp("MatMul", {{.shape = {2, 4, 4}}, {.shape = {4, 4}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "MatMul:rank");
}

TEST(GroupedMatmulOp, BiasOfNeitherAllRowsNorEveryGroupIsRefused) {
  // Two matrices of eight columns: (8,) or (2, 8) fit.
  const auto with_bias = [](Shape bias) {
    GraphBuilder builder;
    NodeSpec spec{.op = "GroupedMatmul", .attrs = {{"group_type", 0}, {"split_item", 3}}};
    spec.inputs = {*builder.AddInput("x", {.shape = {4, 6}}),
                   *builder.AddInput("w", {.shape = {2, 6, 8}}),
                   *builder.AddInput("bias", {.shape = std::move(bias)})};
    spec.inputs.resize(7, kNoValue);
    spec.inputs.push_back(*builder.AddInput("ends", {.shape = {2}, .dtype = DType::kInt64}));
    return builder.Emit(std::move(spec));
  };
  EXPECT_TRUE(with_bias({8}));
  EXPECT_TRUE(with_bias({2, 8}));
  const auto refused = with_bias({3, 8});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("(3, 8)"), std::string::npos) << refused.error().message;
}

TEST(MatMulOp, TypesAreNotPromoted) {
  const auto types =
      InferOp("MatMul", {{.shape = {4, 4}, .dtype = DType::kFloat16}, {.shape = {4, 4}}});
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, "MatMul:dtype-mismatch");
}

TEST(MatMulOp, CastTypeDecidesTheResult) {
  const auto types = InferOp(
      "MatMul",
      {{.shape = {4, 4}, .dtype = DType::kFloat16}, {.shape = {4, 4}, .dtype = DType::kFloat16}},
      {{"cast_type", "float32"}});
  ASSERT_TRUE(types.has_value());
  EXPECT_EQ((*types)[0].dtype, DType::kFloat32);
}

// ---- Sharding -----------------------------------------------------------------------------------

struct MatMulView {
  std::vector<TensorType> inputs = {};
  std::vector<TensorType> outputs = {};
  AttrMap attrs = {};
  [[nodiscard]] OpView View(const char* op) const {
    return {.op = op, .inputs = inputs, .outputs = outputs, .attrs = &attrs};
  }
};

MatMulView SquareView() {
  return {{{.shape = {16, 16}}, {.shape = {16, 16}}}, {{.shape = {16, 16}}}, {}};
}

Result<OpSharding> ShardSquare(const Strategy& strategy, const Strategy* out,
                               std::int64_t devices) {
  const MatMulView matmul = SquareView();
  OpView view = matmul.View("MatMul");
  view.out_strategy = out;
  return DeriveSharding(*FindOp("MatMul"), view, strategy,
                        {.stage_devices = devices, .job_devices = devices});
}

// m = 2, k = 4, n = 1: partial sums over the 4 ranks of a k group; every rank ends with 8 x 16.
TEST(MatMulRule, CutContractionNeedsAllReduce) {
  const auto sharding = ShardSquare({{2, 4}, {4, 1}}, nullptr, 8);
  ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
  EXPECT_EQ(sharding->device_matrix, (std::vector<std::int64_t>{2, 4, 1}));
  ASSERT_EQ(sharding->communication.size(), 1U);
  EXPECT_EQ(sharding->communication[0].what.kind, ForwardCommunication::Kind::kAllReduce);
  EXPECT_EQ(GroupRanks(sharding->communication[0].group, 5, 0),
            (std::vector<std::int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(SliceShape(sharding->outputs[0]), (Shape{8, 16}));
}

// Output strategy (m * k, n) = (8, 1): every rank keeps 2 of the 16 rows. Rank (i, j) of the 2 x 4
// grid holds block 4i + j of the rows, so rank 5 = (1, 1) begins at row 2 * 5 = 10.
TEST(MatMulRule, OutStrategyOverContractionScattersRows) {
  const Strategy out = {{8, 1}};
  const auto sharding = ShardSquare({{2, 4}, {4, 1}}, &out, 8);
  ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
  ASSERT_EQ(sharding->communication.size(), 1U);
  EXPECT_EQ(sharding->communication[0].what.kind, ForwardCommunication::Kind::kReduceScatter);
  EXPECT_EQ(SliceShape(sharding->outputs[0]), (Shape{2, 16}));
  EXPECT_EQ(SliceOf(sharding->outputs[0], 5)[0], (Range{10, 12}));
}

TEST(MatMulRule, OtherOutStrategyIsRefused) {
  const Strategy out = {{4, 1}};
  const auto sharding = ShardSquare({{2, 4}, {4, 1}}, &out, 8);
  ASSERT_FALSE(sharding.has_value());
  EXPECT_EQ(sharding.error().reason, "MatMul:strategy-out");
  EXPECT_EQ(sharding.error().hint,
            "use ((2, 1),) for an AllReduce or ((8, 1),) for a ReduceScatter");
}

TEST(MatMulRule, UnequalContractedCutsAreRefused) {
  const auto sharding = ShardSquare({{2, 4}, {2, 1}}, nullptr, 8);
  ASSERT_FALSE(sharding.has_value());
  EXPECT_EQ(sharding.error().reason, "MatMul:strategy-axis");
}

// ((2, 4), (2, 4)) fills 8 devices: both operands lie on the 2 x 4 grid and are gathered, no
// reduction.
TEST(MatMulRule, EqualStrategiesThatFillTheStageGatherTheOperands) {
  const auto sharding = ShardSquare({{2, 4}, {2, 4}}, nullptr, 8);
  ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
  EXPECT_EQ(sharding->device_matrix, (std::vector<std::int64_t>{2, 4}));
  EXPECT_TRUE(sharding->communication.empty());
  EXPECT_EQ(SliceShape(sharding->outputs[0]), (Shape{8, 4}));
}

// A batch extent of 1 in y is not cut although the batch is: x (8, 4, 4) . y (1, 4, 4) on 8
// devices.
TEST(BatchMatMulRule, BroadcastBatchStaysWhole) {
  const MatMulView one{{{.shape = {8, 4, 4}}, {.shape = {1, 4, 4}}}, {{.shape = {8, 4, 4}}}, {}};
  const auto sharding =
      DeriveSharding(*FindOp("BatchMatMul"), one.View("BatchMatMul"), {{4, 1, 1}, {1, 1, 2}},
                     {.stage_devices = 8, .job_devices = 8});
  ASSERT_TRUE(sharding.has_value()) << FormatError(sharding.error());
  EXPECT_EQ(SliceShape(sharding->inputs[1]), (Shape{1, 4, 2}));
  EXPECT_EQ(SliceShape(sharding->outputs[0]), (Shape{2, 4, 2}));
}

struct DefaultCase {
  const char* op;
  Shape x;
  Shape y;
  bool transpose_a;
  Strategy strategy;
};

class MatMulDefault : public testing::TestWithParam<DefaultCase> {};

TEST_P(MatMulDefault, CutsTheBatch) {
  const DefaultCase& one = GetParam();
  const AttrMap attrs = {{"transpose_a", one.transpose_a}};
  const std::vector<TensorType> inputs = {{.shape = one.x}, {.shape = one.y}};
  const auto outputs = InferOp(one.op, inputs, attrs);
  ASSERT_TRUE(outputs.has_value());
  const OpView view{.op = one.op, .inputs = inputs, .outputs = *outputs, .attrs = &attrs};
  const auto strategy =
      DefaultStrategy(*FindOp(one.op), view, {.stage_devices = 8, .job_devices = 8});
  ASSERT_TRUE(strategy.has_value());
  EXPECT_EQ(*strategy, one.strategy);
}

// mindspore ops_info/matmul_info.cc, "Defaults".
INSTANTIATE_TEST_SUITE_P(
    All, MatMulDefault,
    testing::Values(DefaultCase{"MatMul", {16, 8}, {8, 4}, false, {{8, 1}, {1, 1}}},
                    DefaultCase{"MatMul", {8, 16}, {8, 4}, true, {{1, 8}, {1, 1}}},
                    DefaultCase{"MatMul", {12, 8}, {8, 4}, false, {{4, 1}, {1, 1}}},
                    DefaultCase{"BatchMatMul", {8, 4, 4}, {8, 4, 4}, false, {{8, 1, 1}, {8, 1, 1}}},
                    DefaultCase{"BatchMatMul", {4, 4}, {8, 4, 4}, false, {{1, 1}, {8, 1, 1}}},
                    DefaultCase{"BatchMatMul", {8, 4}, {4, 8}, false, {{8, 1}, {1, 1}}}));

TEST(MatMulFlops, CountsMultiplyAddsTwice) {
  const MatMulView matmul = SquareView();
  // 2 * 16 * 16 * 16
  EXPECT_EQ(FindOp("MatMul")->flops(matmul.View("MatMul")), 8192.0);
}

// ---- The whole way ------------------------------------------------------------------------------

/// Gradients of sum(x . w) by x and w as every rank's slices say, put together, against the
/// unsharded run.
void ExpectShardedEqualsWhole(const Strategy& strategy, std::optional<Strategy> out) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {16, 8}});
  const ValueId w = *builder.AddParameter("w", {.shape = {8, 4}}, {});
  const NodeId product = *builder.AddNode({.op = "MatMul", .inputs = {x, w}});
  builder.mutable_graph().nodes[ToIndex(product)].in_strategy = strategy;
  builder.mutable_graph().nodes[ToIndex(product)].out_strategy = std::move(out);
  const ValueId y = builder.graph().at(product).outputs[0];
  const ValueId squares = *builder.Emit({.op = "Square", .inputs = {y}});
  const ValueId loss = *builder.Emit({.op = "ReduceSum", .inputs = {squares}});
  const ValueId gradient = *builder.Emit({.op = "_Gradient", .inputs = {loss, w}});
  (void)*builder.AddNode({.op = "AssignSub", .inputs = {w, gradient}, .phase = Phase::kOptimizer});
  builder.SetOutputs({loss});

  std::mt19937_64 random(22);
  const StepData data{.inputs = {RandomArray({16, 8}, random, -1, 1)},
                      .parameters = {RandomArray({8, 4}, random, -1, 1)}};
  JobConfig job{.world_size = 8, .mode = ParallelMode::kSemiAutoParallel};
  job.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  const auto program = Compile(builder.graph(), job);
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  const auto ranks = RunAllRanks(*program, data);
  ASSERT_TRUE(ranks.has_value()) << FormatError(ranks.error());
  // The unsharded step: dL/dw = 2 x^T (x w).
  const NdArray product_whole = (*RunOp("MatMul", {data.inputs[0], data.parameters[0]}))[0];
  const NdArray slope =
      (*RunOp("MatMul", {data.inputs[0], product_whole}, {{"transpose_a", true}}))[0];
  for (std::size_t rank = 0; rank < ranks->size(); ++rank) {
    const auto ranges = SliceOf(program->parameter_layouts[0], static_cast<std::int64_t>(rank));
    const NdArray before = SliceArray(data.parameters[0], ranges);
    const NdArray expected = SliceArray(slope, ranges);
    const NdArray& after = (*ranks)[rank].parameters[0];
    ASSERT_EQ(after.shape, before.shape);
    for (std::size_t i = 0; i < before.data.size(); ++i) {
      EXPECT_NEAR(after.data[i], before.data[i] - 2 * expected.data[i], 1e-9) << "rank " << rank;
    }
  }
}

TEST(ShardedMatMul, AllReduceFormEqualsTheWhole) {
  ExpectShardedEqualsWhole({{2, 4}, {4, 1}}, {});
}
TEST(ShardedMatMul, ReduceScatterFormEqualsTheWhole) {
  ExpectShardedEqualsWhole({{2, 4}, {4, 1}}, Strategy{{8, 1}});
}
TEST(ShardedMatMul, GatherFormEqualsTheWhole) {
  ExpectShardedEqualsWhole({{2, 4}, {2, 4}}, {});
}
TEST(ShardedMatMul, GatherOfOneOperandEqualsTheWhole) {
  ExpectShardedEqualsWhole({{8, 1}, {8, 1}}, {});
}
TEST(ShardedMatMul, ColumnCutEqualsTheWhole) {
  ExpectShardedEqualsWhole({{2, 1}, {1, 4}}, {});
}

}  // namespace
}  // namespace drydock::strategies::checks
