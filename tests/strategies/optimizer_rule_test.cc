#include <cmath>

#include <gtest/gtest.h>

#include "strategies/operators/op_entry.h"
#include "tests/strategies/gradient_check.h"

// One step of each optimizer on one or two weights, computed by hand.
namespace drydock::strategies {
namespace {

using checks::InferOp;
using checks::RunOp;

NdArray Vector(std::vector<double> data) {
  return {.shape = {static_cast<std::int64_t>(data.size())}, .data = std::move(data)};
}

NdArray Scalar(double value) {
  return {.shape = {}, .data = {value}};
}

TEST(ApplyMomentum, AccumulatesThenSteps) {
  // accumulation = 4 * 0.5 + 3 = 5; weight = 10 - 0.1 * 5 = 9.5.
  const auto results =
      RunOp("ApplyMomentum", {Vector({10}), Vector({4}), Scalar(0.1), Vector({3}), Scalar(0.5)});
  ASSERT_EQ(results->size(), 2U);
  EXPECT_DOUBLE_EQ(results->at(0).data[0], 9.5);
  EXPECT_DOUBLE_EQ(results->at(1).data[0], 5);
}

TEST(ApplyMomentum, NesterovLooksAhead) {
  // accumulation = 5; weight = 10 - 0.1 * (3 + 5 * 0.5) = 9.45.
  const auto results =
      RunOp("ApplyMomentum", {Vector({10}), Vector({4}), Scalar(0.1), Vector({3}), Scalar(0.5)},
            {{"use_nesterov", true}});
  EXPECT_DOUBLE_EQ(results->at(0).data[0], 9.45);
}

TEST(Sgd, FirstStepWithMomentumHasNoDampening) {
  // gradient + decay = 2 + 0.5 * 4 = 4. First weight (stat 1): sum 4. Second (stat 0): 8 * 0.5 +
  // 0.75 * 4 = 7.
  const AttrMap attrs = {{"dampening", 0.25}, {"weight_decay", 0.5}};
  const auto results = RunOp(
      "SGD",
      {Vector({4, 4}), Vector({2, 2}), Scalar(0.5), Vector({8, 8}), Scalar(0.5), Vector({1, 0})},
      attrs);
  ASSERT_EQ(results->size(), 3U);
  EXPECT_EQ(results->at(0).data, (std::vector<double>{2, 0.5}));
  EXPECT_EQ(results->at(1).data, (std::vector<double>{4, 7}));
  EXPECT_EQ(results->at(2).data, (std::vector<double>{0, 0}));
}

TEST(Sgd, WithoutMomentumStatesStay) {
  const auto results =
      RunOp("SGD", {Vector({4}), Vector({2}), Scalar(0.5), Vector({8}), Scalar(0), Vector({1})});
  EXPECT_EQ(results->at(0).data, (std::vector<double>{3}));
  EXPECT_EQ(results->at(1).data, (std::vector<double>{8}));
  EXPECT_EQ(results->at(2).data, (std::vector<double>{1}));
}

TEST(Adam, FirstStepIsTheLearningRateTimesTheSign) {
  // m = 0.1 * 2, v = 0.01 * 4; rate * sqrt(1 - 0.99) / (1 - 0.9) = rate * 0.1 / 0.1;
  // step = rate * 0.2 / 0.2 = rate.
  const auto results =
      RunOp("Adam", {Vector({1}), Vector({0}), Vector({0}), Scalar(0.9), Scalar(0.99), Scalar(0.25),
                     Scalar(0.9), Scalar(0.99), Scalar(0), Vector({2})});
  ASSERT_EQ(results->size(), 3U);
  EXPECT_NEAR(results->at(0).data[0], 0.75, 1e-12);
  EXPECT_NEAR(results->at(1).data[0], 0.2, 1e-12);
  EXPECT_NEAR(results->at(2).data[0], 0.04, 1e-12);
}

TEST(AdamWeightDecay, DecaysTheWeightOutsideTheMoments) {
  // m = 0.1 * 2 = 0.2, sqrt(v) = sqrt(0.01 * 4) = 0.2; weight = 1 - 0.5 * (0.2 / 0.2 + 0.1 * 1) =
  // 0.45.
  const auto results =
      RunOp("AdamWeightDecay", {Vector({1}), Vector({0}), Vector({0}), Scalar(0.5), Scalar(0.9),
                                Scalar(0.99), Scalar(0), Scalar(0.1), Vector({2})});
  EXPECT_NEAR(results->at(0).data[0], 0.45, 1e-12);
}

/// Results of one step on a weight of one element, one number each.
std::vector<double> Step(const char* op, const std::vector<NdArray>& operands, AttrMap attrs = {}) {
  std::vector<double> numbers;
  const auto results = RunOp(op, operands, std::move(attrs));
  EXPECT_TRUE(results) << op;
  if (!results) {
    return {};
  }
  for (const NdArray& result : *results) {
    numbers.push_back(result.data.front());
  }
  return numbers;
}

void ExpectNear(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-12) << "result " << i;
  }
}

TEST(ApplyRmsProp, DividesByTheRootOfTheMeanSquare) {
  // square = 0.25 * 4 = 1; moment = 0.5 * 0.5 + 0.1 * 2 / 1 = 0.45.
  ExpectNear(Step("ApplyRMSProp", {Vector({1}), Vector({0}), Vector({0.5}), Scalar(0.1),
                                   Vector({2}), Scalar(0.75), Scalar(0.5), Scalar(0)}),
             {0.55, 1, 0.45});
}

TEST(ApplyCenteredRmsProp, DividesByTheSpread) {
  // mean = 1, square = 2, spread = 2 - 1; moment = 0.1 * 2 / 1.
  ExpectNear(
      Step("ApplyCenteredRMSProp", {Vector({1}), Vector({0}), Vector({0}), Vector({0}), Vector({2}),
                                    Scalar(0.1), Scalar(0.5), Scalar(0), Scalar(0)}),
      {0.8, 1, 2, 0.2});
}

TEST(ApplyAdaMax, DividesByTheLargestGradient) {
  // m = 0.5 * 2 = 1, largest = 2; step = 0.25 / (1 - 0.5) * 1 / 2 = 0.25.
  ExpectNear(Step("ApplyAdaMax", {Vector({1}), Vector({0}), Vector({0}), Scalar(0.5), Scalar(0.25),
                                  Scalar(0.5), Scalar(0.9), Scalar(0), Vector({2})}),
             {0.75, 1, 2});
}

TEST(ApplyAdadelta, StepsAreAsLongAsPastStepsOverPastGradients) {
  // accum = 0.25 * 4 = 1; step = sqrt(3 + 1) / sqrt(1 + 1) * 2 = 2 sqrt(2), its square 8;
  // updates = 0.75 * 3 + 0.25 * 8 = 4.25; weight = 1 - 0.5 * 2 sqrt(2).
  ExpectNear(Step("ApplyAdadelta", {Vector({1}), Vector({0}), Vector({3}), Scalar(0.5),
                                    Scalar(0.75), Scalar(1), Vector({2})}),
             {1 - std::sqrt(2.0), 1, 4.25});
}

TEST(ApplyProximalAdagrad, ShrinksWhatIsLeft) {
  // accum = 1, rate 0.5: 1 - 0.5 = 0.5; |0.5| - 0.5 * 0.25 = 0.375; / (1 + 0.5 * 1) = 0.25.
  ExpectNear(Step("ApplyProximalAdagrad",
                  {Vector({1}), Vector({0}), Scalar(0.5), Scalar(0.25), Scalar(1), Vector({1})}),
             {0.25, 1});
}

TEST(ApplyAdamWithAmsgrad, DividesByTheLargestSecondMoment) {
  // m = 0.2, v = 0.04, largest 4; rate 0.25 * 0.1 / 0.1; step = 0.25 * 0.2 / 2 = 0.025.
  ExpectNear(Step("ApplyAdamWithAmsgradV2",
                  {Vector({1}), Vector({0}), Vector({0}), Vector({4}), Scalar(0.9), Scalar(0.99),
                   Scalar(0.25), Scalar(0.9), Scalar(0.99), Scalar(0), Vector({2})}),
             {0.975, 0.2, 0.04, 4});
}

TEST(AdamW, DecaysTheWeightFirstAndCorrectsTheMoments) {
  // First step: m = 0.2 and v = 0.04 corrected are 2 and 4; weight = 1 - 0.5 * 0.1 - 0.5 * 2 / 2 =
  // 0.45. With amsgrad and a largest moment of 0.16: sqrt(0.16 / 0.01) = 4, so 0.95 - 0.25 = 0.7.
  const std::vector<NdArray> operands = {Vector({1}),  Vector({0}), Vector({0}), Vector({0.16}),
                                         Vector({2}),  Vector({1}), Scalar(0.5), Scalar(0.9),
                                         Scalar(0.99), Scalar(0.1), Scalar(0)};
  ExpectNear(Step("AdamW", operands), {0.45, 0.2, 0.04});
  ExpectNear(Step("AdamW", operands, {{"amsgrad", true}}), {0.7, 0.2, 0.04});
}

TEST(LarsUpdate, ScalesTheDecayedGradientByTheQuotientOfNorms) {
  // Squares 4 and 1: ratio = 2 / (1 + 0.5 * 2) = 1; 1 + 0.5 * 2 = 2. Clipped to 1 / 2 by rate 2.
  const std::vector<NdArray> operands = {Vector({2}), Vector({1}), Scalar(4),
                                         Scalar(1),   Scalar(0.5), Scalar(2)};
  const AttrMap plain = {{"epsilon", 0.0}, {"hyperpara", 1.0}};
  AttrMap clipped = plain;
  clipped["use_clip"] = true;
  ExpectNear(Step("LARSUpdate", operands, plain), {2});
  ExpectNear(Step("LARSUpdate", operands, clipped), {1});
}

TEST(Optimizers, StatesOfAnotherShapeAndVectorsForNumbersAreRefused) {
  const TensorType weight = {.shape = {4}};
  const TensorType scalar = {.shape = {}};
  EXPECT_EQ(
      InferOp("ApplyMomentum", {weight, {.shape = {3}}, scalar, weight, scalar}).error().reason,
      "ApplyMomentum:shape-mismatch");
  EXPECT_EQ(InferOp("ApplyMomentum", {weight, weight, weight, weight, scalar}).error().reason,
            "ApplyMomentum:shape-mismatch");
  EXPECT_EQ(InferOp("ApplyMomentum", {weight, weight}).error().reason, "ApplyMomentum:input-count");
}

struct Written {
  const char* op = "";
  const char* writes = "";
};

class OptimizerEntries : public testing::TestWithParam<Written> {};

TEST_P(OptimizerEntries, UpdateInPlaceAndHaveNoRule) {
  const OpEntry& entry = *FindOp(GetParam().op);
  EXPECT_EQ(entry.kind, OpKind::kUpdate);
  EXPECT_EQ(entry.writes, GetParam().writes);
  EXPECT_EQ(entry.shard, nullptr);
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerEntries,
                         testing::Values(Written{"ApplyMomentum", "0,1"}, Written{"SGD", "0,3,5"},
                                         Written{"Adam", "0,1,2"},
                                         Written{"AdamWeightDecay", "0,1,2"},
                                         Written{"ApplyRMSProp", "0,1,2"},
                                         Written{"ApplyCenteredRMSProp", "0,1,2,3"},
                                         Written{"ApplyAdamWithAmsgradV2", "0,1,2,3"}),
                         [](const auto& suite) { return std::string(suite.param.op); });

}  // namespace
}  // namespace drydock::strategies
