#include <optional>

#include <gtest/gtest.h>

#include "tests/strategies/gradient_check.h"
#include "tests/strategies/op_cases.h"

// Table look-ups: shapes, values, gradients, and which strategies select which mode (mindspore
// ops_info/gather_info.cc).
namespace drydock::strategies {
namespace {

using cases::json;
using cases::Numbers;
using checks::GradientAgrees;
using checks::InferOp;
using checks::RunOp;

const NdArray kTable = {.shape = {3, 2}, .data = {0, 1, 10, 11, 20, 21}};
const std::vector<DType> kTypes = {DType::kFloat64, DType::kInt32};

Result<std::vector<TensorType>> InferGather(Shape table, Shape indices, AttrMap attrs) {
  return InferOp(
      "Gather",
      {{.shape = std::move(table)}, {.shape = std::move(indices), .dtype = DType::kInt32}},
      std::move(attrs));
}

TEST(Gather, IndicesReplaceTheAxis) {
  EXPECT_EQ(InferGather({9, 5}, {2, 3}, {{"axis", 0}})->front().shape, (Shape{2, 3, 5}));
  EXPECT_EQ(InferGather({9, 5, 4}, {2, 3}, {{"axis", -2}})->front().shape, (Shape{9, 2, 3, 4}));
  EXPECT_EQ(InferGather({9, 5}, {}, {{"axis", 1}})->front().shape, (Shape{9}));
  EXPECT_EQ(InferGather({2, 9, 5}, {2, 3}, {{"axis", 1}, {"batch_dims", 1}})->front().shape,
            (Shape{2, 3, 5}));
  EXPECT_EQ(InferGather({2, 9, 5}, {2, 3}, {{"axis", 1}, {"batch_dims", -1}})->front().shape,
            (Shape{2, 3, 5}));
}

TEST(Gather, IllegalFormsNameTheReason) {
  EXPECT_EQ(InferGather({9, 5}, {2}, {{"axis", 2}}).error().reason, "Gather:axis-out-of-range");
  EXPECT_EQ(InferGather({9, 5}, {2}, {{"axis", 0}, {"batch_dims", 1}}).error().reason,
            "Gather:batch-dims");
  EXPECT_EQ(InferGather({9, 5}, {2}, {{"axis", 1}, {"batch_dims", 1}}).error().reason,
            "Gather:shape-mismatch");
  EXPECT_EQ(InferOp("Gather", {{.shape = {9}}, {.shape = {2}}}, {{"axis", 0}}).error().reason,
            "Gather:dtype");
}

TEST(Gather, ValuesByRowAndByColumn) {
  const NdArray indices = {.shape = {2}, .data = {2, 0}};
  EXPECT_EQ(RunOp("Gather", {kTable, indices}, {{"axis", 0}}, kTypes)->front().data,
            (std::vector<double>{20, 21, 0, 1}));
  const NdArray columns = {.shape = {2}, .data = {1, 1}};
  EXPECT_EQ(RunOp("Gather", {kTable, columns}, {{"axis", 1}}, kTypes)->front().data,
            (std::vector<double>{1, 1, 11, 11, 21, 21}));
}

TEST(Gather, RowOutsideTheTableGivesZeros) {
  const NdArray indices = {.shape = {2}, .data = {3, -1}};
  EXPECT_EQ(RunOp("Gather", {kTable, indices}, {{"axis", 0}}, kTypes)->front().data,
            (std::vector<double>{0, 0, 0, 0}));
}

TEST(Gather, GradientsAgreeWithDifferences) {
  const std::uint64_t seed = checks::SeedOr(21);
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const NdArray indices = {.shape = {2, 3}, .data = {0, 2, 2, 1, 0, 2}};
  const auto table = [&](Shape shape) { return checks::RandomArray(shape, random, -1, 1); };
  EXPECT_TRUE(GradientAgrees({.op = "Gather",
                              .inputs = {table({3, 4}), indices},
                              .attrs = {{"axis", 0}},
                              .dtypes = kTypes}));
  EXPECT_TRUE(GradientAgrees({.op = "Gather",
                              .inputs = {table({2, 3, 2}), indices},
                              .attrs = {{"axis", 1}},
                              .dtypes = kTypes}));
  EXPECT_TRUE(GradientAgrees({.op = "Gather",
                              .inputs = {table({2, 2, 3}), indices},
                              .attrs = {{"axis", 2}},
                              .dtypes = kTypes}));
  const AttrMap batch = {{"axis", 2}, {"batch_dims", 1}};
  EXPECT_TRUE(GradientAgrees({.op = "Gather",
                              .inputs = {table({2, 2, 3, 2}), indices},
                              .attrs = batch,
                              .dtypes = kTypes}));
  const NdArray one = {.shape = {}, .data = {1}};
  EXPECT_TRUE(GradientAgrees(
      {.op = "Gather", .inputs = {table({3, 2}), one}, .attrs = {{"axis", 0}}, .dtypes = kTypes}));
}

TEST(UnsortedSegmentSum, EqualNumbersAreAddedAndOthersDropped) {
  const NdArray rows = {.shape = {4}, .data = {1, 2, 4, 8}};
  const NdArray numbers = {.shape = {4}, .data = {1, 0, 1, -1}};
  EXPECT_EQ(
      RunOp("UnsortedSegmentSum", {rows, numbers}, {{"num_segments", 3}}, kTypes)->front().data,
      (std::vector<double>{2, 5, 0}));
}

TEST(UnsortedSegmentSum, GradientAgreesWithDifferences) {
  const NdArray x = {.shape = {3, 2}, .data = {1, 2, 3, 4, 5, 6}};
  const NdArray numbers = {.shape = {3}, .data = {1, 0, 1}};
  EXPECT_TRUE(GradientAgrees({.op = "UnsortedSegmentSum",
                              .inputs = {x, numbers},
                              .attrs = {{"num_segments", 2}},
                              .dtypes = kTypes}));
}

// ---- Strategies

struct Refused {
  std::string name = {};
  std::vector<Shape> shapes = {};
  json attrs = {};
  Strategy strategy = {};
  std::optional<Strategy> out_strategy = {};
  std::string reason = "Gather:strategy-gather";
  friend void PrintTo(const Refused& one, std::ostream* out) { *out << one.name; }
};

class GatherRefuses : public testing::TestWithParam<Refused> {};

TEST_P(GatherRefuses, WithItsReason) {
  const Refused& one = GetParam();
  const OpEntry& entry = *FindOp("Gather");
  cases::OpCase application = cases::CaseFrom(entry, one.shapes, json::array(), one.attrs);
  application.outputs = *entry.infer(application.View());
  OpView view = application.View();
  view.out_strategy = one.out_strategy ? &*one.out_strategy : nullptr;
  const auto sharding =
      DeriveSharding(entry, view, one.strategy, {.stage_devices = 8, .job_devices = 8});
  ASSERT_FALSE(sharding);
  EXPECT_EQ(sharding.error().reason, one.reason) << sharding.error().message;
}

const std::vector<Shape> kPlain = {{16, 8}, {8, 4}};
const json kRows = {{"axis", 0}};

INSTANTIATE_TEST_SUITE_P(
    Strategies, GatherRefuses,
    testing::Values(
        Refused{"RowsAndIndicesThatLeaveDevicesIdle", kPlain, kRows, {{2, 1}, {2, 1}}},
        Refused{"RowsColumnsAndIndicesCut", kPlain, kRows, {{2, 2}, {2, 1}}},
        Refused{"RowsAndOnlyInnerIndicesCut", kPlain, kRows, {{4, 1}, {1, 2}}},
        Refused{"RowsAndColumnsCutWithIdleDevices", kPlain, kRows, {{2, 2}, {1, 1}}},
        Refused{"AxisOneWithIdleDevices", kPlain, {{"axis", 1}}, {{2, 2}, {1, 1}}},
        Refused{"AxisOneWhoseRowsCannotBeScattered", {{4, 8}, {8}}, {{"axis", 1}}, {{1, 8}, {1}}},
        Refused{"AxisTwoCut", {{4, 2, 8}, {8}}, {{"axis", 2}}, {{1, 1, 8}, {1}}},
        Refused{"TableOfThreeDimensions", {{16, 4, 2}, {8}}, kRows, {{8, 1, 1}, {1}}},
        Refused{"ScalarIndex", {{16, 4}, {}}, kRows, {{8, 1}, {}}},
        Refused{"BatchDimensionsCutDifferently",
                {{4, 8, 2}, {4, 2}},
                {{"axis", 1}, {"batch_dims", 1}},
                {{2, 1, 1}, {4, 1}},
                {},
                "Gather:strategy-axis"},
        Refused{"AxisCutWithBatchDimensions",
                {{4, 8, 2}, {4, 2}},
                {{"axis", 1}, {"batch_dims", 1}},
                {{2, 2, 1}, {2, 1}},
                {},
                "Gather:strategy-uncut"},
        Refused{"OutputStrategyOfNeitherForm",
                kPlain,
                kRows,
                {{8, 1}, {1, 1}},
                Strategy{{2, 1, 1}},
                "Gather:strategy-out"},
        Refused{"OutputStrategyThatDiffersFromTheIndices",
                kPlain,
                kRows,
                {{1, 1}, {2, 1}},
                Strategy{{4, 1, 1}},
                "Gather:strategy-out"},
        Refused{"UnevenTable",
                {{24, 8}, {8, 4}},
                {{"axis", 0}, {"manual_split", {8, 16}}},
                {{2, 4}, {1, 2}},
                {},
                "Gather:unsupported"},
        Refused{"PartsThatLeaveDevicesIdle",
                kPlain,
                {{"axis", 0}, {"manual_split", {8, 8}}},
                {{2, 1}, {1, 2}},
                {},
                "Gather:strategy-manual"},
        Refused{"PartsThatAreNotTheWholeTable",
                kPlain,
                {{"axis", 0}, {"manual_split", {4, 8}}},
                {{2, 4}, {1, 2}},
                {},
                "Gather:strategy-manual"},
        Refused{"PartsSmallerThanTheirIndices",
                {{4, 8}, {8, 8}},
                {{"axis", 0}, {"manual_split", {2, 2}}},
                {{2, 4}, {1, 2}},
                {},
                "Gather:strategy-manual"},
        Refused{"PartsOfOtherIndexDimension",
                kPlain,
                {{"axis", 0}, {"manual_split", {8, 8}}},
                {{2, 4}, {2, 1}},
                {},
                "Gather:strategy-manual"}),
    [](const auto& suite) { return suite.param.name; });

TEST(GatherRule, RepeatedRowsPutTheRepetitionOnTheLeft) {
  const OpEntry& entry = *FindOp("Gather");
  const cases::OpCase one = cases::CaseFrom(entry, {{16, 8}, {8, 4}}, {{8, 4, 8}}, kRows);
  const auto sharding =
      DeriveSharding(entry, one.View(), {{4, 1}, {1, 1}}, {.stage_devices = 8, .job_devices = 8});
  ASSERT_TRUE(sharding) << sharding.error().message;
  EXPECT_EQ(sharding->device_matrix, (std::vector<std::int64_t>{2, 4, 1}));
  // ReduceScatter over neighbours: ranks 0..3 hold the 4 blocks of rows, ranks 4..7 repeat them.
  ASSERT_EQ(sharding->communication.size(), 1U);
  EXPECT_EQ(GroupRanks(sharding->communication[0].group, 5, 0),
            (std::vector<std::int64_t>{4, 5, 6, 7}));
}

TEST(GatherRule, PartsByHandShiftTheIndicesOfEachRank) {
  // mindspore ops_info/gather_info.cc, mode MANUAL: D = cuts of the table, no communication. Part 1
  // serves columns 2 and 3 of the indices; its offset is 8 rows, or what the script says.
  const OpEntry& entry = *FindOp("Gather");
  const std::vector<Shape> shapes = {{16, 8}, {4, 4}};
  cases::OpCase one = cases::CaseFrom(entry, shapes, {{4, 4, 8}}, kRows);
  one.attrs["manual_split"] = Numbers{8, 8};
  const DeviceContext devices{.stage_devices = 8, .job_devices = 8};
  const auto sharding = DeriveSharding(entry, one.View(), {{2, 4}, {1, 2}}, devices);
  ASSERT_TRUE(sharding) << sharding.error().message;
  EXPECT_EQ(sharding->device_matrix, (Numbers{2, 4}));
  EXPECT_TRUE(sharding->communication.empty());
  EXPECT_EQ(SliceShape(sharding->outputs[0]), (Shape{4, 2, 2}));
  const auto program = cases::LocalExample(one, *sharding);
  ASSERT_TRUE(program) << program.error().message;
  // Rank 5 = (1, 1) has part 1.
  EXPECT_EQ(cases::AttrTexts(*program, "_RankScalar", "value", 5), std::vector<std::string>{"8"});
  EXPECT_EQ(cases::AttrTexts(*program, "_RankScalar", "value", 2), std::vector<std::string>{"0"});
}

TEST(GatherRule, PartsByHandTakeOffsetsFromAList) {
  const OpEntry& entry = *FindOp("Gather");
  cases::OpCase one = cases::CaseFrom(entry, {{16, 8}, {4, 4}}, {{4, 4, 8}}, kRows);
  one.attrs["manual_split_with_offset"] = Attr::List{Numbers{8, 3}, Numbers{8, 7}};
  const auto sharding =
      DeriveSharding(entry, one.View(), {{2, 4}, {1, 2}}, {.stage_devices = 8, .job_devices = 8});
  ASSERT_TRUE(sharding) << sharding.error().message;
  const auto program = cases::LocalExample(one, *sharding);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(cases::AttrTexts(*program, "_RankScalar", "table", 5),
            std::vector<std::string>{"(3, 7)"});
  EXPECT_EQ(cases::AttrTexts(*program, "_RankScalar", "value", 5), std::vector<std::string>{"1"});
}

TEST(GatherRule, EmbeddingLeavesItsIndicesWholeAndFillsTheDevices) {
  const OpEntry& entry = *FindOp("Embedding");
  const cases::OpCase one = cases::CaseFrom(entry, {{8, 4}, {16, 8}}, {{8, 4, 8}}, {});
  const DeviceContext devices{.stage_devices = 8, .job_devices = 8};
  EXPECT_EQ(DeriveSharding(entry, one.View(), {{2, 1}, {1, 4}}, devices).error().reason,
            "Embedding:strategy-embedding");
  EXPECT_EQ(DeriveSharding(entry, one.View(), {{1, 1}, {2, 2}}, devices).error().reason,
            "Embedding:strategy-gather");
  EXPECT_EQ(*DefaultStrategy(entry, one.View(), devices), (Strategy{{1, 1}, {8, 1}}));
  // Rows on 8 ranks: the weight has no replicas, the indices 8.
  const auto sharding = DeriveSharding(entry, one.View(), {{1, 1}, {8, 1}}, devices);
  ASSERT_TRUE(sharding) << sharding.error().message;
  EXPECT_EQ(SliceShape(sharding->inputs[1]), (Shape{2, 8}));
  EXPECT_EQ(SliceShape(sharding->outputs[0]), (Shape{1, 4, 8}));
}

TEST(GatherRule, HostLookUpTakesTheRanksFirstRowAsOffset) {
  const OpEntry& entry = *FindOp("EmbeddingLookup");
  const cases::OpCase one = cases::CaseFrom(entry, {{16, 8}, {8, 4}}, {{8, 4, 8}}, {});
  const auto sharding =
      DeriveSharding(entry, one.View(), {{8, 1}, {1, 1}}, {.stage_devices = 8, .job_devices = 8});
  ASSERT_TRUE(sharding) << sharding.error().message;
  const auto program = cases::LocalExample(one, *sharding);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->nodes.size(), 1U);  // No mask: foreign rows are zeros.
  EXPECT_EQ(cases::AttrTexts(*program, "EmbeddingLookup", "offset", 3),
            std::vector<std::string>{"6"});
}

TEST(GatherRule, DefaultCutsIndicesAndBatchedTables) {
  const OpEntry& entry = *FindOp("Gather");
  const DeviceContext devices{.stage_devices = 4, .job_devices = 4};
  const cases::OpCase plain = cases::CaseFrom(entry, {{16, 8}, {8, 4}}, {{8, 4, 8}}, kRows);
  EXPECT_EQ(*DefaultStrategy(entry, plain.View(), devices), (Strategy{{1, 1}, {4, 1}}));
  const cases::OpCase batch =
      cases::CaseFrom(entry, {{4, 8, 2}, {4, 3}}, {{4, 3, 2}}, {{"axis", 1}, {"batch_dims", 1}});
  EXPECT_EQ(*DefaultStrategy(entry, batch.View(), devices), (Strategy{{4, 1, 1}, {4, 1}}));
}

}  // namespace
}  // namespace drydock::strategies
