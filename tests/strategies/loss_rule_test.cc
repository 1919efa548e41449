#include <cmath>

#include <gtest/gtest.h>

#include "tests/strategies/gradient_check.h"
#include "tests/strategies/op_cases.h"

// Normalisation, losses, one-hot codes and dropout.
namespace drydock::strategies {
namespace {

using checks::GradientAgrees;
using checks::InferOp;
using checks::RunOp;

constexpr DType kFloat = DType::kFloat64;
constexpr DType kInt = DType::kInt32;

class RandomInputs : public testing::Test {
 protected:
  void SetUp() override { RecordProperty("DRYDOCK_SEED", std::to_string(seed_)); }
  NdArray Draw(const Shape& shape) { return checks::RandomArray(shape, random_, -1.5, 1.5); }
  std::string Trace() const { return "DRYDOCK_SEED=" + std::to_string(seed_); }

 private:
  std::uint64_t seed_ = checks::SeedOr(31);
  std::mt19937_64 random_{seed_};
};

// ---- Normalisation

using Normalisation = RandomInputs;

TEST_F(Normalisation, LayerNormOfTwoNumbers) {
  // mean 3, variance 1: normalised -1 and 1; gamma 2, beta 10.
  const NdArray two = {.shape = {1, 2}, .data = {2, 4}};
  const auto results =
      RunOp("LayerNorm", {two, {.shape = {2}, .data = {2, 2}}, {.shape = {2}, .data = {10, 10}}},
            {{"epsilon", 0.0}});
  EXPECT_EQ(results->at(0).data, (std::vector<double>{8, 12}));
  EXPECT_EQ(results->at(1), (NdArray{.shape = {1, 1}, .data = {3}}));
  EXPECT_EQ(results->at(2), (NdArray{.shape = {1, 1}, .data = {1}}));
}

TEST_F(Normalisation, RmsNormDividesByTheRootMeanSquare) {
  // sqrt((9 + 16) / 2) = 5 / sqrt(2).
  const auto results =
      RunOp("RmsNorm", {{.shape = {1, 2}, .data = {3, 4}}, {.shape = {2}, .data = {1, 2}}},
            {{"epsilon", 0.0}});
  EXPECT_DOUBLE_EQ(results->at(0).data[0], 3 * std::sqrt(2.0) / 5);
  EXPECT_DOUBLE_EQ(results->at(0).data[1], 8 * std::sqrt(2.0) / 5);
  EXPECT_DOUBLE_EQ(results->at(1).data[0], std::sqrt(2.0) / 5);
}

TEST_F(Normalisation, StatisticsKeepTheNormalisedDimensions) {
  const TensorType x = {.shape = {2, 3, 4}, .dtype = DType::kFloat16};
  const TensorType tail = {.shape = {3, 4}, .dtype = DType::kFloat16};
  const auto layer =
      InferOp("LayerNorm", {x, tail, tail}, {{"begin_norm_axis", 2}, {"begin_params_axis", 1}});
  EXPECT_EQ(layer->at(1), (TensorType{.shape = {2, 3, 1}, .dtype = DType::kFloat16}));
  EXPECT_EQ(InferOp("RmsNorm", {x, tail})->at(1),
            (TensorType{.shape = {2, 1, 1}, .dtype = DType::kFloat32}));
}

TEST_F(Normalisation, WeightsOfAnotherShapeAreRefused) {
  const TensorType x = {.shape = {2, 3, 4}};
  const TensorType wrong = {.shape = {3}};
  EXPECT_EQ(InferOp("LayerNorm", {x, wrong, wrong}).error().reason, "LayerNorm:shape-mismatch");
  EXPECT_EQ(InferOp("RmsNorm", {x, wrong}).error().reason, "RmsNorm:shape-mismatch");
  EXPECT_EQ(InferOp("RmsNorm", {wrong, x}).error().reason, "RmsNorm:rank");
}

TEST_F(Normalisation, GradientsAgreeWithDifferences) {
  SCOPED_TRACE(Trace());
  const AttrMap last = {{"begin_norm_axis", -1}, {"begin_params_axis", -1}, {"epsilon", 1e-3}};
  const AttrMap two = {{"begin_norm_axis", 1}, {"begin_params_axis", 1}, {"epsilon", 1e-3}};
  const std::vector<bool> first = {true};
  EXPECT_TRUE(GradientAgrees({.op = "LayerNorm",
                              .inputs = {Draw({2, 3, 4}), Draw({4}), Draw({4})},
                              .attrs = last,
                              .weighed = first}));
  EXPECT_TRUE(GradientAgrees({.op = "LayerNorm",
                              .inputs = {Draw({2, 3, 4}), Draw({3, 4}), Draw({3, 4})},
                              .attrs = two,
                              .weighed = first}));
  EXPECT_TRUE(GradientAgrees({.op = "RmsNorm",
                              .inputs = {Draw({2, 3, 4}), Draw({4})},
                              .attrs = {{"epsilon", 1e-3}},
                              .weighed = first}));
  EXPECT_TRUE(GradientAgrees({.op = "RmsNorm",
                              .inputs = {Draw({2, 3, 4}), Draw({3, 4})},
                              .attrs = {{"epsilon", 1e-3}},
                              .weighed = first}));
}

TEST_F(Normalisation, CutNormalisedDimensionIsLegalForRmsNormOnly) {
  const DeviceContext devices{.stage_devices = 4, .job_devices = 4};
  const OpEntry& layer = *FindOp("LayerNorm");
  const cases::json attrs = {{"begin_norm_axis", 1}, {"begin_params_axis", 1}};
  const cases::OpCase a =
      cases::CaseFrom(layer, {{8, 4}, {4}, {4}}, {{8, 4}, {8, 1}, {8, 1}}, attrs);
  EXPECT_EQ(DeriveSharding(layer, a.View(), {{1, 2}, {2}, {2}}, devices).error().reason,
            "LayerNorm:strategy-uncut");
  const OpEntry& rms = *FindOp("RmsNorm");
  const cases::OpCase b =
      cases::CaseFrom(rms, {{8, 4}, {4}}, {{8, 4}, {8, 1}}, cases::json::object());
  const auto sharding = DeriveSharding(rms, b.View(), {{2, 2}, {2}}, devices);
  ASSERT_TRUE(sharding) << sharding.error().message;
  const auto program = cases::LocalExample(b, *sharding);
  ASSERT_TRUE(program) << program.error().message;
  std::vector<std::string> ops;
  for (const Node& node : program->nodes) {
    ops.push_back(node.op);
  }
  // mindspore ops_info/layer_norm_info.cc: the order in which the operator is taken apart.
  EXPECT_EQ(ops, (std::vector<std::string>{"Square", "ReduceMean", "AllReduce", "Div", "Add",
                                           "Rsqrt", "Mul", "Mul"}));
  EXPECT_EQ(GroupRanks(*program->nodes[2].group, 3, 0), (std::vector<std::int64_t>{2, 3}));
}

// ---- Losses

using Losses = RandomInputs;

TEST_F(Losses, CrossEntropyOfEqualLogits) {
  // softmax = 1/2 each: loss ln 2, gradient 1/2 - label.
  const auto results = RunOp("SoftmaxCrossEntropyWithLogits", {{.shape = {1, 2}, .data = {0, 0}},
                                                               {.shape = {1, 2}, .data = {0, 1}}});
  EXPECT_DOUBLE_EQ(results->at(0).data[0], std::log(2.0));
  EXPECT_EQ(results->at(1).data, (std::vector<double>{0.5, -0.5}));
}

TEST_F(Losses, SparseCrossEntropyIsTheMeanOverSamples) {
  // Both samples ln 2.
  const NdArray logits = {.shape = {2, 2}, .data = {0, 0, 5, 5}};
  const NdArray labels = {.shape = {2}, .data = {1, 0}};
  EXPECT_DOUBLE_EQ(
      RunOp("SparseSoftmaxCrossEntropyWithLogits", {logits, labels}, {}, {kFloat, kInt})
          ->front()
          .data[0],
      std::log(2.0));
  EXPECT_EQ(RunOp("SparseSoftmaxCrossEntropyWithLogits", {logits, labels}, {{"is_grad", true}},
                  {kFloat, kInt})
                ->front()
                .data,
            (std::vector<double>{0.25, -0.25, -0.25, 0.25}));
}

TEST_F(Losses, NllLossReductionsAndIgnoredLabels) {
  // Weighted: sample 0: 2 * 0.5, sample 1: ignored, sample 2: 1 * 0.25.
  const NdArray logits = {.shape = {3, 2}, .data = {-0.5, 0, 0, -9, 0, -0.25}};
  const NdArray labels = {.shape = {3}, .data = {0, -100, 1}};
  const NdArray weight = {.shape = {2}, .data = {2, 1}};
  const std::vector<DType> types = {kFloat, kInt, kFloat};
  const auto run = [&](const char* reduction) {
    return *RunOp("NLLLoss", {logits, labels, weight}, {{"reduction", reduction}}, types);
  };
  EXPECT_EQ(run("none")[0].data, (std::vector<double>{1, 0, 0.25}));
  EXPECT_EQ(run("sum")[0].data, (std::vector<double>{1.25}));
  EXPECT_EQ(run("sum")[1].data, (std::vector<double>{3}));
  EXPECT_DOUBLE_EQ(run("mean")[0].data[0], 1.25 / 3);
}

TEST_F(Losses, GradientsAgreeWithDifferences) {
  SCOPED_TRACE(Trace());
  const NdArray logits = Draw({3, 4});
  const NdArray codes = {.shape = {3, 4}, .data = {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}};
  const NdArray labels = {.shape = {3}, .data = {1, 0, 3}};
  EXPECT_TRUE(GradientAgrees({.op = "SoftmaxCrossEntropyWithLogits",
                              .inputs = {logits, codes},
                              .wanted = {true, false},
                              .weighed = {true}}));
  EXPECT_TRUE(GradientAgrees({.op = "SparseSoftmaxCrossEntropyWithLogits",
                              .inputs = {logits, labels},
                              .dtypes = {kFloat, kInt}}));
  const NdArray weight = {.shape = {4}, .data = {1, 2, 3, 0.5}};
  for (const char* reduction : {"none", "sum", "mean"}) {
    EXPECT_TRUE(GradientAgrees({.op = "NLLLoss",
                                .inputs = {logits, labels, weight},
                                .attrs = {{"reduction", reduction}},
                                .dtypes = {kFloat, kInt, kFloat},
                                .wanted = {true, false, false},
                                .weighed = {true}}));
  }
}

TEST_F(Losses, IllegalOperandsNameTheReason) {
  const TensorType logits = {.shape = {3, 4}};
  const TensorType labels = {.shape = {3}, .dtype = kInt};
  EXPECT_EQ(InferOp("SoftmaxCrossEntropyWithLogits", {logits, {.shape = {3, 5}}}).error().reason,
            "SoftmaxCrossEntropyWithLogits:shape-mismatch");
  EXPECT_EQ(InferOp("SparseSoftmaxCrossEntropyWithLogits", {logits, logits}).error().reason,
            "SparseSoftmaxCrossEntropyWithLogits:dtype");
  EXPECT_EQ(InferOp("NLLLoss", {logits, labels, {.shape = {3}}}).error().reason,
            "NLLLoss:shape-mismatch");
  EXPECT_EQ(
      InferOp("NLLLoss", {logits, labels, {.shape = {4}}}, {{"reduction", "max"}}).error().reason,
      "NLLLoss:reduction");
}

TEST_F(Losses, SparseCrossEntropyIsPurelyDataParallel) {
  const OpEntry& entry = *FindOp("SparseSoftmaxCrossEntropyWithLogits");
  const cases::OpCase one = cases::CaseFrom(
      entry, {{8, 4}, {8}}, cases::json::array({cases::json::array()}), cases::json::object());
  const DeviceContext devices{.stage_devices = 8, .job_devices = 8};
  EXPECT_EQ(DeriveSharding(entry, one.View(), {{4, 1}, {4}}, devices).error().reason,
            "SparseSoftmaxCrossEntropyWithLogits:strategy-batch");
  EXPECT_EQ(DeriveSharding(entry, one.View(), {{8, 1}, {8}}, devices)->loss_divisor, 1);
}

// ---- One-hot codes and dropout

TEST(OneHot, ForeignIndicesGiveTheOffValue) {
  const NdArray on = {.shape = {}, .data = {5}};
  const NdArray off = {.shape = {}, .data = {-1}};
  const auto code = RunOp("OneHot", {{.shape = {3}, .data = {1, -1, 2}}, on, off}, {{"depth", 2}},
                          {kInt, kFloat, kFloat});
  EXPECT_EQ(code->front().data, (std::vector<double>{-1, 5, -1, -1, -1, -1}));
}

TEST(OneHot, DepthIsInsertedAtTheAxis) {
  const TensorType value = {.shape = {}};
  const TensorType indices = {.shape = {4, 3}, .dtype = kInt};
  const auto shape = [&](std::int64_t axis) {
    return InferOp("OneHot", {indices, value, value}, {{"depth", 7}, {"axis", axis}})
        ->front()
        .shape;
  };
  EXPECT_EQ(shape(-1), (Shape{4, 3, 7}));
  EXPECT_EQ(shape(0), (Shape{7, 4, 3}));
  EXPECT_EQ(shape(1), (Shape{4, 7, 3}));
}

TEST(OneHot, DefaultCutsEntryZeroIfTheIndicesDivide) {
  const OpEntry& entry = *FindOp("OneHot");
  const cases::json attrs = {{"depth", 4}, {"axis", -1}};
  const cases::json scalar = cases::json::array();
  const DeviceContext devices{.stage_devices = 8, .job_devices = 8};
  const cases::OpCase fits = cases::CaseFrom(entry, {{16}, scalar, scalar}, {{16, 4}}, attrs);
  const cases::OpCase odd = cases::CaseFrom(entry, {{12}, scalar, scalar}, {{12, 4}}, attrs);
  EXPECT_EQ(*DefaultStrategy(entry, fits.View(), devices), (Strategy{{8, 1}, {}, {}}));
  EXPECT_EQ(*DefaultStrategy(entry, odd.View(), devices), (Strategy{{1, 1}, {}, {}}));
}

TEST(OneHot, OnlyTheFirstDimensionOfSeveralCanBeCut) {
  const OpEntry& entry = *FindOp("OneHot");
  const cases::json scalar = cases::json::array();
  const cases::OpCase one =
      cases::CaseFrom(entry, {{4, 2}, scalar, scalar}, {{4, 2, 8}}, {{"depth", 8}});
  const DeviceContext devices{.stage_devices = 2, .job_devices = 2};
  EXPECT_EQ(DeriveSharding(entry, one.View(), {{1, 1, 2}, {}, {}}, devices).error().reason,
            "OneHot:strategy-uncut");
}

TEST(Dropout, EqualSeedsDropTheSame) {
  const NdArray x = FilledArray({1000}, 1.0);
  const auto dropped = [&x](int seed) {
    return *RunOp("Dropout", {x}, {{"keep_prob", 0.75}, {"Seed0", seed}, {"Seed1", seed}});
  };
  const auto first = dropped(3);
  EXPECT_EQ(first, dropped(3));
  EXPECT_NE(first, dropped(4));
  double kept = 0;
  for (std::size_t i = 0; i < first[0].data.size(); ++i) {
    EXPECT_DOUBLE_EQ(first[0].data[i], first[1].data[i] / 0.75);  // x * mask / keep_prob
    kept += first[1].data[i];
  }
  // 1000 draws with p = 3/4: mean 750, standard deviation sqrt(1000 * 3/16) = 13.7; 6 of them.
  EXPECT_NEAR(kept, 750, 82);
}

TEST(Dropout, CertaintyKeepsEverything) {
  const NdArray x = {.shape = {2}, .data = {1, 2}};
  const auto kept = RunOp("Dropout", {x}, {{"keep_prob", 1.0}});
  EXPECT_EQ(kept->at(0), x);
  EXPECT_EQ(kept->at(1).data, (std::vector<double>{1, 1}));
}

TEST(Dropout, KeepProbabilityOutsideItsRangeIsRefused) {
  EXPECT_EQ(InferOp("Dropout", {{.shape = {2}}}, {{"keep_prob", 0.0}}).error().reason,
            "Dropout:keep-prob");
  EXPECT_EQ(InferOp("Dropout", {{.shape = {2}}}, {{"keep_prob", 1.5}}).error().reason,
            "Dropout:keep-prob");
}

TEST(Dropout, GradientKeepsWhatTheMaskKept) {
  // dy * mask / keep_prob
  const auto dx =
      RunOp("DropoutGrad", {{.shape = {2}, .data = {3, 5}}, {.shape = {2}, .data = {1, 0}}},
            {{"keep_prob", 0.5}});
  EXPECT_EQ(dx->front().data, (std::vector<double>{6, 0}));
}

TEST(Dropout, RanksThatRepeatACalculationShareTheirSeeds) {
  const OpEntry& entry = *FindOp("Dropout");
  const cases::OpCase one =
      cases::CaseFrom(entry, {{8, 4}}, {{8, 4}, {8, 4}}, {{"keep_prob", 0.9}});
  const auto seeds = [&](const Strategy& strategy) {
    const auto sharding =
        DeriveSharding(entry, one.View(), strategy, {.stage_devices = 8, .job_devices = 8});
    return cases::AttrTexts(*cases::LocalExample(one, *sharding), "Dropout", "Seed0", 0);
  };
  EXPECT_EQ(seeds({{8, 1}}), std::vector<std::string>{});
  EXPECT_EQ(seeds({{4, 1}}), std::vector<std::string>{"1"});
}

TEST(ElementLosses, AreTheirFormulas) {
  const NdArray half{.shape = {1}, .data = {0.5}};
  const NdArray one{.shape = {1}, .data = {1}};
  const NdArray zero{.shape = {1}, .data = {0}};
  const NdArray far{.shape = {1}, .data = {1.5}};
  const auto of = [](const char* op, const NdArray& input, const NdArray& target) {
    return RunOp(op, {input, target}, {{"reduction", "sum"}})->front().data.front();
  };
  EXPECT_DOUBLE_EQ(of("BinaryCrossEntropy", half, one), std::log(2.0));  // -log(0.5)
  EXPECT_DOUBLE_EQ(of("BCEWithLogitsLoss", zero, one), std::log(2.0));   // -log(sigmoid(0))
  EXPECT_DOUBLE_EQ(of("SmoothL1Loss", far, one), 0.125);                 // 0.5 * 0.5^2
  EXPECT_DOUBLE_EQ(of("SoftMarginLoss", zero, one), std::log(2.0));      // log(1 + exp(0))
}

}  // namespace
}  // namespace drydock::strategies
