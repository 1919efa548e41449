#include <cmath>

#include <gtest/gtest.h>

#include "tests/strategies/gradient_check.h"
#include "tests/strategies/op_cases.h"

// Products of any dimensions, linear algebra, distances, boxes, routing, quantisation: values
// worked out by hand.
namespace drydock::strategies {
namespace {

using cases::Numbers;
using checks::InferOp;
using checks::RunOp;

constexpr DType kFloat = DType::kFloat64;
constexpr DType kInt = DType::kInt32;

// ---- Products -----------------------------------------------------------------------------------

TEST(TensorDot, ContractsPairedDimensions) {
  // out[i] = sum_jk x[j, k, i] y[k, j] with x = 0..7 in (2, 2, 2) and y = ((1, 2), (3, 4)):
  // i = 0: 0*1 + 2*3 + 4*2 + 6*4 = 38; i = 1: 1*1 + 3*3 + 5*2 + 7*4 = 48.
  const auto out =
      RunOp("TensorDot", {checks::Counting({2, 2, 2}), {.shape = {2, 2}, .data = {1, 2, 3, 4}}},
            {{"axes", Attr::List{Numbers{0, 1}, Numbers{1, 0}}}});
  EXPECT_EQ(out->front(), (NdArray{.shape = {2}, .data = {38, 48}}));
  EXPECT_EQ(
      InferOp("TensorDot", {{.shape = {2, 3}}, {.shape = {4, 2}}}, {{"axes", 1}}).error().reason,
      "TensorDot:shape-mismatch");
  EXPECT_EQ(InferOp("TensorDot", {{.shape = {2, 3}}, {.shape = {3, 2}}}, {{"axes", Numbers{1, 0}}})
                .error()
                .reason,
            "TensorDot:axes");
}

TEST(Cdist, NormsOfDifferences) {
  // (0, 0) and (3, 4): 7, 5 and 4 in the norms 1, 2 and infinity.
  const NdArray a = {.shape = {1, 2}, .data = {0, 0}};
  const NdArray b = {.shape = {1, 2}, .data = {3, 4}};
  EXPECT_DOUBLE_EQ(RunOp("Cdist", {a, b}, {{"p", 1.0}})->front().data[0], 7);
  EXPECT_DOUBLE_EQ(RunOp("Cdist", {a, b}, {{"p", 2.0}})->front().data[0], 5);
  EXPECT_DOUBLE_EQ(RunOp("Cdist", {a, b}, {{"p", HUGE_VAL}})->front().data[0], 4);
}

TEST(QuantBatchMatmul, ScalesRowsAndColumns) {
  // (1 2) (1 0; 0 1) = (1 2); + bias (1 1) = (2 3); * scale (10 100) * row scale 2 = (40 600);
  // + offset (1 2) = (41 602).
  const auto out = RunOp("QuantBatchMatmul", {{.shape = {1, 2}, .data = {1, 2}},
                                              {.shape = {2, 2}, .data = {1, 0, 0, 1}},
                                              {.shape = {2}, .data = {10, 100}},
                                              {.shape = {2}, .data = {1, 2}},
                                              {.shape = {2}, .data = {1, 1}},
                                              {.shape = {1}, .data = {2}}});
  EXPECT_EQ(out->front().data, (std::vector<double>{41, 602}));
}

TEST(WeightQuantBatchMatmul, GroupsOfRowsHaveTheirScales) {
  // Weight rows 0, 1 take scale 2, rows 2, 3 scale 3: (1 1 1 1) times column 1 = 2 + 2 + 3 + 3.
  const auto out =
      RunOp("WeightQuantBatchMatmul",
            {FilledArray({1, 4}, 1), FilledArray({4, 1}, 1), {.shape = {2, 1}, .data = {2, 3}}});
  EXPECT_EQ(out->front().data, std::vector<double>{10});
}

// ---- Linear algebra -----------------------------------------------------------------------------

TEST(SolveTriangular, ReadsItsTriangleOnly) {
  // 2 x + y = 4, 4 y = 8: y = 2, x = 1; the 9 below the diagonal is not read.
  const NdArray a = {.shape = {2, 2}, .data = {2, 1, 9, 4}};
  const NdArray b = {.shape = {2, 1}, .data = {4, 8}};
  EXPECT_EQ(RunOp("SolveTriangular", {a, b})->front().data, (std::vector<double>{1, 2}));
  // Ones on the diagonal: y = 8, x = 4 - 8.
  EXPECT_EQ(RunOp("SolveTriangular", {a, b}, {{"unit_diagonal", true}})->front().data,
            (std::vector<double>{-4, 8}));
}

TEST(SolveTriangular, VectorsAreColumnsWithoutTheLastDimension) {
  // Twice the system above, with the second right side doubled: 2 x + y = 8, 4 y = 16.
  const NdArray a = {.shape = {2, 2, 2}, .data = {2, 1, 9, 4, 2, 1, 9, 4}};
  const auto x = RunOp("SolveTriangular", {a, {.shape = {2, 2}, .data = {4, 8, 8, 16}}});
  EXPECT_EQ(x->front().shape, (Shape{2, 2}));
  EXPECT_EQ(x->front().data, (std::vector<double>{1, 2, 2, 4}));
}

TEST(LstsqV2, FitsALine) {
  // Least squares through (0, 0), (1, 1), (2, 5): slope 5/2, intercept -1/2.
  const NdArray a = {.shape = {3, 2}, .data = {0, 1, 1, 1, 2, 1}};
  const auto x = RunOp("LstsqV2", {a, {.shape = {3, 1}, .data = {0, 1, 5}}});
  EXPECT_NEAR(x->front().data[0], 2.5, 1e-12);
  EXPECT_NEAR(x->front().data[1], -0.5, 1e-12);
}

TEST(TraceV2, SumsAShiftedDiagonal) {
  // Rows 0 1 2 / 3 4 5: offset 1 takes 1 and 5.
  EXPECT_EQ(RunOp("TraceV2", {checks::Counting({2, 3})}, {{"offset", 1}})->front().data,
            std::vector<double>{6});
}

TEST(BatchOfMatrices, IsWholeOrFillsTheDevices) {
  const OpEntry& entry = *FindOp("SolveTriangular");
  const DeviceContext devices{.stage_devices = 4, .job_devices = 4};
  const cases::OpCase one = cases::CaseFrom(entry, {{8, 2, 2}, {8, 2, 1}}, {{8, 2, 1}}, {});
  EXPECT_TRUE(DeriveSharding(entry, one.View(), {{4, 1, 1}, {4, 1, 1}}, devices));
  EXPECT_EQ(DeriveSharding(entry, one.View(), {{2, 1, 1}, {2, 1, 1}}, devices).error().reason,
            "SolveTriangular:strategy-batch");
  EXPECT_EQ(DeriveSharding(entry, one.View(), {{4, 2, 1}, {4, 2, 1}}, devices).error().reason,
            "SolveTriangular:strategy-uncut");
}

TEST(Unique, FirstComeFirst) {
  const auto out = RunOp("Unique", {{.shape = {4}, .data = {7, 3, 7, 3}}}, {}, {kInt});
  EXPECT_EQ(out->at(0).data, (std::vector<double>{7, 3, 0, 0}));
  EXPECT_EQ(out->at(1).data, (std::vector<double>{0, 1, 0, 1}));
}

// ---- Boxes --------------------------------------------------------------------------------------

TEST(Boxes, OverlapCountsPixels) {
  // 10 x 10 pixels each, 5 x 10 common: 50 / 150, and 50 / 100 of the object.
  const NdArray a = {.shape = {1, 4}, .data = {0, 0, 9, 9}};
  const NdArray b = {.shape = {1, 4}, .data = {5, 0, 14, 9}};
  EXPECT_DOUBLE_EQ(RunOp("IOU", {a, b})->front().data[0], 1.0 / 3);
  EXPECT_DOUBLE_EQ(RunOp("IOU", {a, b}, {{"mode", "iof"}})->front().data[0], 0.5);
  // The centre moves by 5 of 10 pixels, the size stays.
  EXPECT_EQ(RunOp("BoundingBoxEncode", {a, b})->front().data, (std::vector<double>{0.5, 0, 0, 0}));
  // An image of 10 x 10 holds the first, not the second.
  const NdArray both = {.shape = {2, 4}, .data = {0, 0, 9, 9, 5, 0, 14, 9}};
  EXPECT_EQ(RunOp("CheckValid", {both, {.shape = {3}, .data = {10, 10, 1}}})->front().data,
            (std::vector<double>{1, 0}));
}

TEST(CropAndResize, SamplesBetweenPixels) {
  // The whole 2 x 2 image in one point: the mean of 1, 2, 3, 4.
  const NdArray image = {.shape = {1, 2, 2, 1}, .data = {1, 2, 3, 4}};
  const NdArray box = {.shape = {1, 4}, .data = {0, 0, 1, 1}};
  EXPECT_EQ(RunOp("CropAndResize", {image, box, {.shape = {1}, .data = {0}}},
                  {{"crop_size", Numbers{1, 1}}}, {kFloat, kFloat, kInt})
                ->front()
                .data,
            std::vector<double>{2.5});
}

// ---- Routing ------------------------------------------------------------------------------------

TEST(Routing, SlotsAreGivenInOrderUntilTheyAreFull) {
  // Tokens 1..3 all want expert 1 of 2, which has 2 slots: token 3 is dropped (slot 0).
  const auto out = RunOp("TopKRouter", {{.shape = {1, 3, 1}, .data = {1, 1, 1}}},
                         {{"capacity", 2}, {"expert_num", 2}}, {kInt});
  EXPECT_EQ(out->at(0).data, (std::vector<double>{0, 0, 1, 2}));
  EXPECT_EQ(out->at(1).data, (std::vector<double>{4, 5, 3}));  // 1 * (2 + 1) + slot
}

TEST(Routing, CopiesComeSortedByExpertAndGoBack) {
  // Token 0 -> experts 1, 0; token 1 -> experts 0, 1. Copies in choice order: rows 0 1 / 2 3.
  const NdArray x = {.shape = {2, 1}, .data = {10, 20}};
  const NdArray rows = {.shape = {2, 2}, .data = {0, 2, 1, 3}};
  const NdArray experts = {.shape = {2, 2}, .data = {1, 0, 0, 1}};
  const auto out =
      RunOp("MoeInitRouting", {x, rows, experts}, {{"active_num", 2}}, {kFloat, kInt, kInt});
  EXPECT_EQ(out->at(0).data, (std::vector<double>{10, 20, 10, 20}));
  EXPECT_EQ(out->at(1).data, (std::vector<double>{2, 1, 0, 3}));
  EXPECT_EQ(out->at(2).data, (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(
      RunOp("MoeComputeExpertTokens", {out->at(2)}, {{"num_expert", 3}}, {kInt})->front().data,
      (std::vector<double>{2, 4, 4}));
}

// ---- Quantisation -------------------------------------------------------------------------------

TEST(Quantisation, RowsAreScaledToTheirLargest) {
  // 127 steps up to 2.54: 0.02 each.
  const auto out = RunOp("DynamicQuantExt", {{.shape = {1, 2}, .data = {-2.54, 1.0}}});
  EXPECT_EQ(out->at(0).data, (std::vector<double>{-127, 50}));
  EXPECT_DOUBLE_EQ(out->at(1).data[0], 0.02);
}

TEST(Quantisation, CutRowsAreScaledToTheLargestOfAllRanks) {
  const OpEntry& entry = *FindOp("DynamicQuantExt");
  const cases::OpCase one = cases::CaseFrom(entry, {{4, 8}}, {{4, 8}, {4}}, {});
  const auto sharding =
      DeriveSharding(entry, one.View(), {{2, 4}}, {.stage_devices = 8, .job_devices = 8});
  ASSERT_TRUE(sharding) << sharding.error().message;
  const auto program = cases::LocalExample(one, *sharding);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(cases::AttrTexts(*program, "AllReduce", "op", 0), std::vector<std::string>{"'max'"});
}

TEST(Quantisation, GridHoldsZero) {
  // 3 bits from 0 to 7: whole numbers.
  const auto out = RunOp("FakeQuantPerLayer",
                         {{.shape = {3}, .data = {2.4, 9, -1}},
                          {.shape = {1}, .data = {0}},
                          {.shape = {1}, .data = {7}}},
                         {{"num_bits", 3}});
  EXPECT_EQ(out->front().data, (std::vector<double>{2, 7, 0}));
}

TEST(Quantisation, LimitsMoveByTheDecay) {
  // 0.75 * -2 + 0.25 * -4 = -2.5; 0.75 * 2 + 0.25 * 6 = 3.
  const auto out = RunOp(
      "MinMaxUpdatePerLayer",
      {{.shape = {2}, .data = {-4, 6}}, {.shape = {1}, .data = {-2}}, {.shape = {1}, .data = {2}}},
      {{"ema", true}, {"ema_decay", 0.75}});
  EXPECT_DOUBLE_EQ(out->at(0).data[0], -2.5);
  EXPECT_DOUBLE_EQ(out->at(1).data[0], 3);
}

// ---- Divergence ---------------------------------------------------------------------------------

TEST(KlDivLoss, MeansDivideByElementsOrBatch) {
  // labels 1, log 1 = 0: minus the sum of the logits, 10; over 4 elements or 2 rows.
  const NdArray logits = {.shape = {2, 2}, .data = {1, 2, 3, 4}};
  const NdArray labels = FilledArray({2, 2}, 1.0);
  const auto loss = [&](const char* reduction) {
    return RunOp("KLDivLoss", {logits, labels}, {{"reduction", reduction}})->front().data[0];
  };
  EXPECT_DOUBLE_EQ(loss("sum"), -10);
  EXPECT_DOUBLE_EQ(loss("mean"), -2.5);
  EXPECT_DOUBLE_EQ(loss("batchmean"), -5);
}

}  // namespace
}  // namespace drydock::strategies
