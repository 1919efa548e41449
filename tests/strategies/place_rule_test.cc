#include <cmath>

#include <gtest/gtest.h>

#include "tests/strategies/gradient_check.h"
#include "tests/strategies/op_cases.h"

// Rows written at places, segments, look-ups by coordinates: values worked out by hand.
namespace drydock::strategies {
namespace {

using cases::Numbers;
using checks::InferOp;
using checks::RunOp;

constexpr DType kFloat = DType::kFloat64;
constexpr DType kInt = DType::kInt32;

/// Result of a scatter of updates (10, 20, 30) to rows 2, 0, 2 of (1, 2, 3).
std::vector<double> Written(const char* op) {
  const auto results = RunOp(op,
                             {{.shape = {3}, .data = {1, 2, 3}},
                              {.shape = {3}, .data = {2, 0, 2}},
                              {.shape = {3}, .data = {10, 20, 30}}},
                             {}, {kFloat, kInt, kFloat});
  return results->front().data;
}

TEST(ScatterRows, CombineInTheOrderOfTheIndices) {
  EXPECT_EQ(Written("ScatterUpdate"), (std::vector<double>{20, 2, 30}));
  EXPECT_EQ(Written("ScatterAdd"), (std::vector<double>{21, 2, 43}));
  EXPECT_EQ(Written("ScatterSub"), (std::vector<double>{-19, 2, -37}));
  EXPECT_EQ(Written("ScatterMul"), (std::vector<double>{20, 2, 900}));
  EXPECT_EQ(Written("ScatterDiv"), (std::vector<double>{1.0 / 20, 2, 3.0 / 10 / 30}));
  EXPECT_EQ(Written("ScatterMax"), (std::vector<double>{20, 2, 30}));
  EXPECT_EQ(Written("ScatterMin"), (std::vector<double>{1, 2, 3}));
}

TEST(ScatterPlaces, CoordinatesNameElements) {
  // (1, 0) and (0, 1) of a 2 x 2 matrix.
  const NdArray x = {.shape = {2, 2}, .data = {1, 2, 3, 4}};
  const NdArray places = {.shape = {2, 2}, .data = {1, 0, 0, 1}};
  const NdArray updates = {.shape = {2}, .data = {10, 20}};
  EXPECT_EQ(RunOp("TensorScatterAdd", {x, places, updates}, {}, {kFloat, kInt})->front().data,
            (std::vector<double>{1, 22, 13, 4}));
  EXPECT_EQ(RunOp("ScatterNdUpdate", {x, places, updates}, {}, {kFloat, kInt})->front().data,
            (std::vector<double>{1, 20, 10, 4}));
  EXPECT_EQ(RunOp("ScatterNd", {places, updates}, {{"shape", Numbers{2, 2}}}, {kInt, kFloat})
                ->front()
                .data,
            (std::vector<double>{0, 20, 10, 0}));
  EXPECT_EQ(RunOp("GatherNd", {x, places}, {}, {kFloat, kInt})->front().data,
            (std::vector<double>{3, 2}));
}

TEST(ScatterPlaces, OperandsThatDoNotFitAreRefused) {
  const TensorType x = {.shape = {4, 6}};
  const TensorType rows = {.shape = {3}, .dtype = kInt};
  EXPECT_EQ(InferOp("ScatterAdd", {x, rows, {.shape = {3, 5}}}).error().reason,
            "ScatterAdd:shape-mismatch");
  EXPECT_EQ(InferOp("ScatterAdd", {x, {.shape = {3}}, {.shape = {3, 6}}}).error().reason,
            "ScatterAdd:dtype");
  EXPECT_EQ(
      InferOp("ScatterAdd", {x, rows, {.shape = {3, 6}, .dtype = DType::kFloat16}}).error().reason,
      "ScatterAdd:dtype-mismatch");
  EXPECT_EQ(InferOp("GatherNd", {x, {.shape = {3, 3}, .dtype = kInt}}).error().reason,
            "GatherNd:shape-mismatch");
  EXPECT_EQ(InferOp("InplaceAdd", {x, {.shape = {1, 6}}}, {{"indices", Numbers{4}}}).error().reason,
            "InplaceAdd:index-out-of-range");
}

TEST(ScatterRule, PlacesThatAreReplacedStayWhole) {
  const DeviceContext devices{.stage_devices = 4, .job_devices = 4};
  const auto reason = [&devices](const char* op, const Strategy& strategy) {
    const OpEntry& entry = *FindOp(op);
    const cases::OpCase one =
        cases::CaseFrom(entry, {{8, 4}, {3}, {3, 4}}, {{8, 4}}, cases::json::object());
    const auto sharding = DeriveSharding(entry, one.View(), strategy, devices);
    return sharding ? std::string("legal") : sharding.error().reason;
  };
  const Strategy rows = {{4, 1}, {1}, {1, 1}};
  EXPECT_EQ(reason("ScatterUpdate", rows), "ScatterUpdate:strategy-uncut");
  EXPECT_EQ(reason("ScatterMax", rows), "ScatterMax:strategy-uncut");
  EXPECT_EQ(reason("ScatterAdd", rows), "legal");
  EXPECT_EQ(reason("ScatterUpdate", {{1, 4}, {1}, {1, 4}}), "legal");
  EXPECT_EQ(reason("ScatterAdd", {{1, 4}, {1}, {1, 2}}), "ScatterAdd:strategy-axis");
  EXPECT_EQ(reason("ScatterAdd", {{1, 1}, {3}, {1, 1}}), "ScatterAdd:strategy-power");
  EXPECT_EQ(reason("ScatterAdd", {{1, 1}, {1}, {1, 1}}), "legal");
}

TEST(ScatterRule, CutRowsNeedNoCommunication) {
  const OpEntry& entry = *FindOp("ScatterAdd");
  const cases::OpCase one =
      cases::CaseFrom(entry, {{8, 4}, {3}, {3, 4}}, {{8, 4}}, cases::json::object());
  const auto sharding = DeriveSharding(entry, one.View(), {{4, 1}, {1}, {1, 1}},
                                       {.stage_devices = 4, .job_devices = 4});
  ASSERT_TRUE(sharding) << sharding.error().message;
  EXPECT_TRUE(sharding->communication.empty());
  const auto program = cases::LocalExample(one, *sharding);
  ASSERT_TRUE(program) << program.error().message;
  // Rank 3 owns rows 6 and 7.
  EXPECT_EQ(cases::AttrTexts(*program, "_RankScalar", "value", 3), std::vector<std::string>{"6"});
}

TEST(Segments, ExtremesOfRowsWithEqualNumbers) {
  const NdArray x = {.shape = {4}, .data = {5, -1, 7, 2}};
  const NdArray numbers = {.shape = {4}, .data = {1, 0, 1, 1}};
  const AttrMap two = {{"num_segments", 2}};
  const std::vector<DType> types = {kFloat, kInt};
  EXPECT_EQ(RunOp("UnsortedSegmentMax", {x, numbers}, two, types)->front().data,
            (std::vector<double>{-1, 7}));
  EXPECT_EQ(RunOp("UnsortedSegmentMin", {x, numbers}, two, types)->front().data,
            (std::vector<double>{-1, 2}));
  EXPECT_EQ(RunOp("UnsortedSegmentProd", {x, numbers}, two, types)->front().data,
            (std::vector<double>{-1, 70}));
}

TEST(Segments, ProductsWithZerosHaveGradients) {
  // Segment 0 holds one zero, segment 1 two, segment 2 none.
  const NdArray x = {.shape = {6}, .data = {2, 0, 0, 3, 0, 4}};
  const NdArray numbers = {.shape = {6}, .data = {0, 0, 1, 1, 1, 2}};
  EXPECT_TRUE(checks::GradientAgrees({.op = "UnsortedSegmentProd",
                                      .inputs = {x, numbers},
                                      .attrs = {{"num_segments", 3}},
                                      .dtypes = {kFloat, kInt}}));
}

TEST(Index, VectorsOfNumbersPickElements) {
  const NdArray x = {.shape = {2, 3}, .data = {1, 2, 3, 4, 5, 6}};
  const NdArray rows = {.shape = {2}, .data = {1, 0}};
  const NdArray columns = {.shape = {2}, .data = {2, 0}};
  EXPECT_EQ(RunOp("Index", {x, rows, columns}, {}, {kFloat, kInt, kInt})->front().data,
            (std::vector<double>{6, 1}));
  EXPECT_EQ(RunOp("Index", {x, rows}, {}, {kFloat, kInt})->front(),
            (NdArray{.shape = {2, 3}, .data = {4, 5, 6, 1, 2, 3}}));
}

}  // namespace
}  // namespace drydock::strategies
