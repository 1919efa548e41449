#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "base/checked.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/graph_text.h"
#include "tests/strategies/sharded_run.h"

// Operators whose local program is more than the operator itself, or whose partial results need
// communication: with each listed strategy the ranks compute the same values, gradients and updates
// as one device.
namespace drydock::strategies {
namespace {

using List = std::vector<std::int64_t>;

struct Operand {
  Shape shape = {};
  std::int64_t below = 0;  ///< > 0: integers in [0, below), a graph input; 0: floats, a parameter.
};

struct Case {
  std::string name = {};
  std::string op = {};
  std::vector<Operand> operands = {};
  AttrMap attrs = {};
  Strategy strategy = {};
  std::optional<Strategy> out_strategy = {};
  std::int64_t world_size = 8;
  std::size_t output = 0;  ///< The one that reaches the loss.
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};

class StepOf {
 public:
  explicit StepOf(const Case& one) : one_(one), random_(checks::SeedOr(7)) {
    step_.job = {.world_size = one.world_size,
                 .mode = ParallelMode::kSemiAutoParallel,
                 .dataset = {.kind = DatasetStrategy::Kind::kFullBatch},
                 .any_device_count = true};
  }

  /// The operator on parameters; loss = mean of squares of its result (or a scalar result itself).
  RandomStep Make() {
    NodeSpec spec{.op = one_.op, .attrs = one_.attrs};
    for (const Operand& operand : one_.operands) {
      spec.inputs.push_back(operand.below > 0 ? Indices(operand) : Weight(operand.shape));
    }
    const NodeId node = *builder_.AddNode(std::move(spec));
    builder_.mutable_graph().nodes[ToIndex(node)].in_strategy = one_.strategy;
    builder_.mutable_graph().nodes[ToIndex(node)].out_strategy = one_.out_strategy;
    const ValueId result = builder_.graph().at(node).outputs[one_.output];
    const ValueId loss = LossOf(result);
    std::vector<ValueId> operands = {loss};
    operands.insert(operands.end(), weights_.begin(), weights_.end());
    const NodeId gradient = *builder_.AddNode({.op = "_Gradient", .inputs = operands});
    std::vector<ValueId> outputs = builder_.graph().at(gradient).outputs;
    outputs.insert(outputs.begin(), {loss, result});
    builder_.SetOutputs(std::move(outputs));
    step_.graph = std::move(builder_).Take();
    return std::move(step_);
  }

 private:
  ValueId Weight(const Shape& shape) {
    const std::string name = "w" + std::to_string(weights_.size());
    weights_.push_back(*builder_.AddParameter(name, {.shape = shape}, {}));
    step_.data.parameters.push_back(checks::RandomArray(shape, random_, -1.0, 1.0));
    return weights_.back();
  }

  ValueId Indices(const Operand& operand) {
    NdArray data =
        checks::RandomArray(operand.shape, random_, 0.0, static_cast<double>(operand.below));
    for (double& value : data.data) {
      value = std::floor(value);
    }
    step_.data.inputs.push_back(std::move(data));
    const std::string name = "x" + std::to_string(step_.data.inputs.size());
    return *builder_.AddInput(name, {.shape = operand.shape, .dtype = DType::kInt32});
  }

  ValueId LossOf(ValueId result) {
    const Shape shape = builder_.TypeOf(result).shape;
    if (shape.empty()) {
      return result;
    }
    const ValueId scaled = *builder_.Emit({.op = "Mul", .inputs = {result, Weight(shape)}});
    const ValueId square = *builder_.Emit({.op = "Square", .inputs = {scaled}});
    return *builder_.Emit({.op = "ReduceMean", .inputs = {square}});
  }

  const Case& one_;
  std::mt19937_64 random_;
  GraphBuilder builder_ = GraphBuilder("one operator");
  std::vector<ValueId> weights_ = {};
  RandomStep step_ = {};
};

std::vector<Case> ReductionCases() {
  std::vector<Case> cases;
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"}) {
    const std::string name = op;
    const std::vector<Operand> x = {{{4, 4, 2}}};
    cases.push_back({name + "OverCutDimension", op, x, {{"axis", List{1}}}, {{2, 4, 1}}});
    cases.push_back({name + "KeepsDimensions",
                     op,
                     x,
                     {{"axis", List{0, -1}}, {"keep_dims", true}},
                     {{2, 2, 2}}});
    cases.push_back({name + "OfEverything", op, x, {}, {{4, 2, 1}}});
    cases.push_back({name + "RepeatedOnTwoRanks", op, x, {{"axis", List{0}}}, {{2, 2, 1}}});
    cases.push_back({name + "OverWholeDimension", op, x, {{"axis", List{2}}}, {{2, 4, 1}}});
  }
  return cases;
}

std::vector<Case> AxisLocalCases() {
  const std::vector<Operand> x = {{{4, 8, 6}}};
  return {
      {"SoftmaxOfLastDimension", "Softmax", x, {{"axis", -1}}, {{2, 4, 1}}},
      {"SoftmaxOfTwoDimensions", "Softmax", x, {{"axis", List{0, 2}}}, {{1, 4, 1}}},
      {"LogSoftmaxOfMiddle", "LogSoftmax", x, {{"axis", 1}}, {{4, 1, 2}}},
      {"CumSumReversed",
       "CumSum",
       x,
       {{"axis", 2}, {"reverse", true}, {"exclusive", true}},
       {{2, 4, 1}}},
      {"TopKOfThree", "TopK", x, {{"k", 3}}, {{4, 2, 1}}},
      {"ArgMaxWithValue", "ArgMaxWithValue", x, {{"axis", 2}}, {{2, 4, 1}}, {}, 8, 1},
      {"ArgMaxOverCutDimension", "ArgMaxWithValue", x, {{"axis", 1}}, {{2, 4, 1}}, {}, 8, 1},
      {"ArgMinOverCutDimensionKept",
       "ArgMinWithValue",
       x,
       {{"axis", -1}, {"keep_dims", true}},
       {{1, 2, 2}},
       {},
       8,
       1},
      {"ArgMinWithValueKept",
       "ArgMinWithValue",
       x,
       {{"axis", 0}, {"keep_dims", true}},
       {{1, 4, 2}},
       {},
       8,
       1},
      {"DropoutOfNothing", "Dropout", x, {{"keep_prob", 1.0}}, {{2, 2, 1}}},
  };
}

std::vector<Case> NormalisationCases() {
  const AttrMap last = {{"begin_norm_axis", -1}, {"begin_params_axis", -1}};
  const AttrMap two = {{"begin_norm_axis", 2}, {"begin_params_axis", 1}};
  const std::vector<Operand> layer = {{{4, 8, 6}}, {{6}}, {{6}}};
  const std::vector<Operand> rms = {{{4, 8, 6}}, {{6}}};
  return {
      {"LayerNorm", "LayerNorm", layer, last, {{2, 4, 1}, {1}, {1}}},
      {"LayerNormRepeated", "LayerNorm", layer, last, {{2, 2, 1}, {1}, {1}}},
      {"LayerNormWithCutWeights",
       "LayerNorm",
       {{{4, 8, 6}}, {{8, 6}}, {{8, 6}}},
       two,
       {{2, 4, 1}, {4, 1}, {4, 1}}},
      {"RmsNorm", "RmsNorm", rms, {}, {{4, 2, 1}, {1}}},
      {"RmsNormOverCutDimension", "RmsNorm", rms, {}, {{2, 2, 2}, {2}}},
      {"RmsNormOverTwoCutDimensions", "RmsNorm", {{{4, 8, 6}}, {{8, 6}}}, {}, {{1, 4, 2}, {4, 2}}},
      {"RmsNormOverCutDimensionRepeated", "RmsNorm", rms, {}, {{2, 1, 2}, {2}}},
  };
}

std::vector<Case> GatherCases() {
  const std::vector<Operand> rows = {{{16, 6}}, {{8, 4}, 16}};
  const AttrMap axis0 = {{"axis", 0}};
  const AttrMap axis1 = {{"axis", 1}};
  const AttrMap batch = {{"axis", 2}, {"batch_dims", 1}};
  return {
      {"GatherNormal", "Gather", rows, axis0, {{1, 2}, {2, 2}}},
      {"GatherNormalOnAxisOne", "Gather", {{{4, 6, 2}}, {{4}, 6}}, axis1, {{2, 1, 2}, {2}}},
      {"GatherScalarIndex", "Gather", {{{6, 8}}, {{}, 6}}, axis0, {{1, 4}, {}}},
      {"GatherBatch", "Gather", {{{4, 2, 6, 2}}, {{4, 4}, 6}}, batch, {{2, 2, 1, 1}, {2, 2}}},
      {"GatherRowsScattered", "Gather", rows, axis0, {{8, 1}, {1, 1}}},
      {"GatherRowsAndColumnsScattered", "Gather", rows, axis0, {{4, 2}, {1, 1}}},
      {"GatherRowsReduced", "Gather", rows, axis0, {{8, 1}, {1, 1}}, Strategy{{1, 1, 1}}},
      {"GatherRowsOfIndicesThatDoNotDivide",
       "Gather",
       {{{16, 6}}, {{3, 4}, 16}},
       axis0,
       {{4, 2}, {1, 1}}},
      {"GatherRowsRepeated", "Gather", rows, axis0, {{4, 1}, {1, 1}}},
      {"GatherOfVector", "Gather", {{{16}}, {{8}, 16}}, axis0, {{4}, {1}}},
      {"GatherBatchAndAxis", "Gather", rows, axis0, {{4, 1}, {2, 1}}},
      {"GatherBatchAndAxisScattered", "Gather", rows, axis0, {{4, 1}, {2, 1}}, Strategy{{8, 1, 1}}},
      {"GatherBatchAxisAndSp", "Gather", rows, axis0, {{2, 1}, {2, 2}}},
      {"GatherBatchAxisAndSpScattered",
       "Gather",
       rows,
       axis0,
       {{2, 1}, {2, 2}},
       Strategy{{4, 2, 1}}},
      {"GatherAxisOneScattered", "Gather", {{{8, 16}}, {{4}, 16}}, axis1, {{2, 4}, {1}}},
      {"GatherD", "GatherD", {{{4, 8, 2}}, {{4, 3, 2}, 8}}, {{"dim", 1}}, {{4, 1, 2}, {4, 1, 2}}},
      {"GatherDOverCutDimension",
       "GatherD",
       {{{4, 8, 2}}, {{4, 3, 2}, 8}},
       {{"dim", 1}},
       {{2, 2, 2}, {2, 1, 2}}},
      {"SegmentSumOfCutRows",
       "UnsortedSegmentSum",
       {{{8, 6}}, {{8}, 5}},
       {{"num_segments", 5}},
       {{4, 2}, {4}}},
      {"SegmentSumOfTwoRowDimensions",
       "UnsortedSegmentSum",
       {{{4, 4, 6}}, {{4, 4}, 3}},
       {{"num_segments", 3}},
       {{2, 4, 1}, {2, 4}}},
  };
}

std::vector<Case> LossCases() {
  const std::vector<Operand> codes = {{{8}, 16}, {{}}, {{}}};
  const AttrMap last = {{"depth", 16}, {"axis", -1}};
  const AttrMap first = {{"depth", 16}, {"axis", 0}};
  return {
      {"OneHot", "OneHot", codes, last, {{8, 1}, {}, {}}},
      {"OneHotOfCutClasses", "OneHot", codes, last, {{2, 4}, {}, {}}},
      {"OneHotOfCutClassesRepeated", "OneHot", codes, last, {{2, 2}, {}, {}}},
      {"OneHotOfCutClassesFirst", "OneHot", codes, first, {{4, 2}, {}, {}}},
      {"OneHotOfMatrix", "OneHot", {{{4, 2}, 16}, {{}}, {{}}}, last, {{4, 1, 1}, {}, {}}},
      {"CrossEntropy", "SoftmaxCrossEntropyWithLogits", {{{8, 5}}, {{8, 5}}}, {}, {{8, 1}, {8, 1}}},
      {"CrossEntropyRepeated",
       "SoftmaxCrossEntropyWithLogits",
       {{{8, 5}}, {{8, 5}}},
       {},
       {{4, 1}, {4, 1}}},
      {"SparseCrossEntropyWhole",
       "SparseSoftmaxCrossEntropyWithLogits",
       {{{8, 5}}, {{8}, 5}},
       {},
       {{1, 1}, {1}},
       {},
       1},
  };
}

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const auto& part :
       {ReductionCases(), AxisLocalCases(), NormalisationCases(), GatherCases(), LossCases()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

class ShardedOperator : public testing::TestWithParam<Case> {};

TEST_P(ShardedOperator, RanksTogetherComputeTheWhole) {
  RandomStep step = StepOf(GetParam()).Make();
  EXPECT_EQ(Difference(step), "") << "DRYDOCK_SEED=" << checks::SeedOr(7) << "\n"
                                  << GraphText(step.graph);
}

TEST(ShardedOperatorCheck, NoticesALossThatEveryRankKeepsForItself) {
  // mindspore ops_info/batch_parallel_info.cc: a cut sparse cross entropy is the mean over a rank's
  // own samples only.
  const Case one = {
      "", "SparseSoftmaxCrossEntropyWithLogits", {{{8, 5}}, {{8}, 5}}, {}, {{8, 1}, {8}}};
  EXPECT_NE(Difference(StepOf(one).Make()), "");
}

TEST(ShardedExtreme, EqualExtremesAreToldApartAsOnOneDevice) {
  // Rows of zeros and ones: every slice of 2 columns may hold the extreme; the first one counts.
  for (const char* op : {"Argmax", "Argmin"}) {
    GraphBuilder builder(op);
    const ValueId x = *builder.AddInput("x", {.shape = {8, 8}});
    const NodeId node = *builder.AddNode({.op = op, .inputs = {x}, .attrs = {{"axis", 1}}});
    builder.mutable_graph().nodes[ToIndex(node)].in_strategy = Strategy{{2, 4}};
    builder.SetOutputs(builder.graph().at(node).outputs);
    RandomStep step{.graph = builder.graph(),
                    .job = {.world_size = 8, .mode = ParallelMode::kSemiAutoParallel}};
    step.job.dataset.kind = DatasetStrategy::Kind::kFullBatch;
    std::mt19937_64 random(checks::SeedOr(7));
    step.data.inputs = {checks::RandomArray({8, 8}, random, 0.0, 2.0)};
    for (double& value : step.data.inputs[0].data) {
      value = std::floor(value);
    }
    EXPECT_EQ(Difference(step), "") << op << " DRYDOCK_SEED=" << checks::SeedOr(7);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ShardedOperator, testing::ValuesIn(AllCases()),
                         [](const auto& suite) { return suite.param.name; });

}  // namespace
}  // namespace drydock::strategies
