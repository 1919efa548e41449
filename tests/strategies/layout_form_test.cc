#include <gtest/gtest.h>

#include "strategies/layout/interleave.h"
#include "strategies/operators/op_example.h"
#include "strategies/passes/compile_job.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/layout/named_layout.h"
#include "tests/strategies/op_cases.h"
#include "tests/strategies/sharded_run.h"

// Named layouts: several axes on one dimension, output layouts, and the axis
// "interleaved_parallel", along which operators are computed copy by copy inside every rank. All
// ranks still compute what one device does.
namespace drydock::strategies {
namespace {

using Dims = std::vector<NamedDimension>;

constexpr std::int64_t kRanks = 4;
constexpr std::int64_t kCopies = 2;

NamedGrid Grid() {
  return {.device_matrix = {2, 2, kCopies}, .alias_name = {"dp", "mp", "interleaved_parallel"}};
}

TensorLayout Named(const Dims& dims, const Shape& shape) {
  TensorLayout layout = LayoutOnGrid(Grid(), dims, shape);
  if (layout.interleave == 1) {  // as the user's dictionary has it: with the axis
    layout.device_matrix.back() = kCopies;
    layout.interleave = kCopies;
  }
  layout.shape.clear();
  return layout;
}

/// x -> op with layouts -> mean of squares; gradients of all parameters.
class StepWith {
 public:
  StepWith() {
    step_.job = {.world_size = kRanks,
                 .mode = ParallelMode::kSemiAutoParallel,
                 .dataset = {.kind = DatasetStrategy::Kind::kFullBatch}};
  }

  ValueId Weight(const Shape& shape) {
    const std::string name = "w" + std::to_string(weights_.size());
    weights_.push_back(*builder_.AddParameter(name, {.shape = shape}, {}));
    step_.data.parameters.push_back(checks::RandomArray(shape, random_, -1.0, 1.0));
    return weights_.back();
  }

  ValueId Input(const Shape& shape) {
    step_.data.inputs.push_back(checks::RandomArray(shape, random_, -1.0, 1.0));
    return *builder_.AddInput("x" + std::to_string(step_.data.inputs.size()), {.shape = shape});
  }

  /// An operator with one layout per input, empty for none.
  ValueId Op(std::string_view op, std::vector<ValueId> inputs, const std::vector<Dims>& dims,
             AttrMap attrs = {}) {
    std::vector<TensorLayout> layouts;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      layouts.push_back(Named(dims[i], builder_.TypeOf(inputs[i]).shape));
    }
    const NodeId id =
        *builder_.AddNode({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)});
    Node& node = builder_.mutable_graph().nodes[ToIndex(id)];
    if (!layouts.empty()) {
      node.in_layout = std::move(layouts);
    }
    return node.outputs.front();
  }

  /// Asks for a layout of the result of the last operator.
  void AskFor(const Dims& dims) {
    Node& node = builder_.mutable_graph().nodes.back();
    node.out_layout = {Named(dims, builder_.TypeOf(node.outputs.front()).shape)};
  }

  RandomStep Finish(ValueId result) {
    const ValueId square = *builder_.Emit({.op = "Square", .inputs = {result}});
    const ValueId loss = *builder_.Emit({.op = "ReduceMean", .inputs = {square}});
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
  std::mt19937_64 random_ = std::mt19937_64(checks::SeedOr(11));
  GraphBuilder builder_ = GraphBuilder("interleaved");
  std::vector<ValueId> weights_ = {};
  RandomStep step_ = {};
};

std::int64_t Count(const RandomStep& step, std::string_view op) {
  const auto program = Compile(step.graph, step.job);
  EXPECT_TRUE(program) << program.error().message;
  std::int64_t count = 0;
  for (const Node& node : program ? program->local.nodes : std::vector<Node>()) {
    count += node.op == op && node.phase == Phase::kForward ? 1 : 0;
  }
  return count;
}

const NamedDimension kRows = {"dp", "interleaved_parallel"};
const NamedDimension kNone = {"None"};

TEST(Interleaved, ElementwiseRowsRunOncePerCopy) {
  StepWith step;
  const ValueId x = step.Weight({8, 6});
  const RandomStep whole = step.Finish(step.Op("Tanh",
                                               {
                                                   step.Op("Exp", {x}, {}),
                                               },
                                               {{kRows, {"mp"}}}));
  EXPECT_EQ(Count(whole, "Tanh"), kCopies);
  EXPECT_EQ(Difference(whole), "");
}

/// Element-wise operators that take the form; all of the reference's unary and binary rules do
/// (mindspore ops_info/operator_info.cc).
std::vector<const OpEntry*> InterleavedElementwise() {
  std::vector<const OpEntry*> entries;
  for (const OpEntry* entry : AllOps()) {
    // Some depend on the shape alone: they become constants.
    const bool constant = entry->name == "OnesLike" || entry->name == "ZerosLike";
    if (entry->accepts_interleaved && entry->elementwise && !constant) {
      entries.push_back(entry);
    }
  }
  return entries;
}

class InterleavedOperator : public testing::TestWithParam<const OpEntry*> {};

TEST_P(InterleavedOperator, ComputesTheWholeCopyByCopy) {
  const OpEntry& entry = *GetParam();
  const auto example = ExampleOf(entry);
  ASSERT_TRUE(example);
  StepWith step;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < example->inputs.size(); ++i) {
    // In (1, e): within the domain of every operator but those of angles, which take (0, 1).
    const ValueId small = step.Op("Sigmoid", {step.Weight({8, 6})}, {});
    const bool angle = entry.name == "ACos" || entry.name == "Asin" || entry.name == "Atanh" ||
                       entry.name == "Erfinv";
    operands.push_back(angle ? small : step.Op("Exp", {small}, {}));
    if (!IsFloating(example->inputs[i].dtype)) {
      operands.back() = step.Op("Cast", {operands.back()}, {},
                                {{"dtype", std::string(DTypeName(example->inputs[i].dtype))}});
    }
  }
  const std::vector<Dims> layouts(operands.size(), {kRows, {"mp"}});
  ValueId result = step.Op(entry.name, operands, layouts, example->attrs);
  result = step.Op("Cast", {result}, {}, {{"dtype", "float32"}});
  const RandomStep whole = step.Finish(result);
  EXPECT_GE(Count(whole, entry.name), kCopies);  // Sigmoid and Exp feed it as well.
  EXPECT_EQ(Difference(whole), "");
}

INSTANTIATE_TEST_SUITE_P(Table, InterleavedOperator, testing::ValuesIn(InterleavedElementwise()),
                         [](const auto& suite) {
                           return cases::TestName(std::string(suite.param->name));
                         });

TEST(Interleaved, OuterCopiesAreAnotherOrderOfRows) {
  StepWith step;
  const ValueId x = step.Weight({8, 6});
  const ValueId y = step.Op("Exp", {x}, {});
  EXPECT_EQ(
      Difference(step.Finish(step.Op("Tanh", {y}, {{{"interleaved_parallel", "dp"}, {"mp"}}}))),
      "");
}

TEST(Interleaved, MatMulOfInterleavedRows) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 6})}, {});
  const ValueId w = step.Weight({6, 4});
  const RandomStep whole =
      step.Finish(step.Op("MatMul", {x, w}, {{kRows, {"mp"}}, {{"mp"}, kNone}}));
  // Columns of x are cut by mp: each copy's product is completed by an AllReduce of its own; one
  // more is the mean's.
  EXPECT_EQ(Count(whole, "MatMul"), kCopies);
  EXPECT_EQ(Count(whole, "AllReduce"), kCopies + 1);
  EXPECT_EQ(Difference(whole), "");
}

TEST(Interleaved, ContractedCopiesAreAddedInsideTheRank) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 8})}, {});
  const ValueId w = step.Op("Exp", {step.Weight({8, 4})}, {});
  const NamedDimension inner = {"mp", "interleaved_parallel"};
  const RandomStep whole =
      step.Finish(step.Op("MatMul", {x, w}, {{{"dp"}, inner}, {inner, kNone}}));
  EXPECT_EQ(Count(whole, "MatMul"), kCopies);
  EXPECT_EQ(Count(whole, "AllReduce"), 2);  // of the product and of the mean
  EXPECT_EQ(Difference(whole), "");
}

TEST(Interleaved, ChainStaysApartBetweenCopies) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 6})}, {});
  const ValueId w = step.Weight({6, 4});
  const ValueId bias = step.Weight({4});
  const ValueId product = step.Op("MatMul", {x, w}, {{kRows, kNone}, {kNone, {"mp"}}});
  const ValueId sum = step.Op("Add", {product, bias}, {{kRows, {"mp"}}, {{"mp"}}});
  const RandomStep whole = step.Finish(step.Op(
      "Softmax", {step.Op("Tanh", {sum}, {{kRows, {"mp"}}})}, {{kRows, kNone}}, {{"axis", -1}}));
  EXPECT_EQ(Count(whole, "Tanh"), kCopies);
  EXPECT_EQ(Difference(whole), "");
}

TEST(Interleaved, NormalisationAndTranspose) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 6})}, {});
  const ValueId gamma = step.Weight({6});
  const ValueId norm = step.Op("RmsNorm", {x, gamma}, {{kRows, kNone}, {kNone}});
  EXPECT_EQ(Difference(step.Finish(step.Op("Transpose", {norm}, {{kRows, {"mp"}}},
                                           {{"input_perm", std::vector<std::int64_t>{1, 0}}}))),
            "");
}

TEST(Interleaved, RedistributionBetweenTwoInterleavedLayouts) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 8})}, {});
  const ValueId rows = step.Op("Tanh", {x}, {{kRows, {"mp"}}});
  EXPECT_EQ(Difference(step.Finish(
                step.Op("Sigmoid", {rows}, {{{"mp"}, {"interleaved_parallel", "dp"}}}))),
            "");
}

TEST(Interleaved, ParameterCutAlongCopiesIsRefused) {
  StepWith step;
  const RandomStep whole = step.Finish(step.Op("Tanh", {step.Weight({8, 6})}, {{kRows, {"mp"}}}));
  const auto program = Compile(whole.graph, whole.job);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "Tanh:layout-interleaved-parameter");
}

TEST(Interleaved, OperatorWithoutTheFormIsRefused) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 6})}, {});
  const RandomStep whole =
      step.Finish(step.Op("ExpandDims", {x}, {{kRows, {"mp"}}}, {{"axis", 0}}));
  const auto program = Compile(whole.graph, whole.job);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "ExpandDims:layout-interleaved");
}

TEST(OutputLayout, ContractedAxesOnTheRowsScatterThePartialSums) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 6})}, {});
  const ValueId product =
      step.Op("MatMul", {x, step.Weight({6, 4})}, {{{"dp"}, {"mp"}}, {{"mp"}, kNone}});
  step.AskFor({{"dp", "mp"}, kNone});
  const RandomStep whole = step.Finish(product);
  EXPECT_EQ(Count(whole, "ReduceScatter"), 1);
  EXPECT_EQ(Difference(whole), "");
}

TEST(OutputLayout, ThatFollowsFromTheInputsChangesNothing) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 6})}, {});
  const ValueId product =
      step.Op("MatMul", {x, step.Weight({6, 4})}, {{{"dp"}, {"mp"}}, {{"mp"}, kNone}});
  step.AskFor({{"dp"}, kNone});
  EXPECT_EQ(Difference(step.Finish(product)), "");
}

TEST(OutputLayout, OfAnElementwiseOperatorIsRefusedEvenIfItFollows) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 6})}, {});
  const ValueId y = step.Op("Tanh", {x}, {{{"dp", "mp"}, kNone}});
  step.AskFor({{"dp", "mp"}, kNone});
  const RandomStep whole = step.Finish(y);
  const auto program = Compile(whole.graph, whole.job);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "Tanh:layout-out-given");
}

TEST(OutputLayout, AnyOtherIsRefusedWithTheOnesThatGo) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 6})}, {});
  const ValueId product =
      step.Op("MatMul", {x, step.Weight({6, 4})}, {{{"dp"}, {"mp"}}, {{"mp"}, kNone}});
  step.AskFor({{"mp"}, {"dp"}});
  const RandomStep whole = step.Finish(product);
  const auto program = Compile(whole.graph, whole.job);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "MatMul:layout-out");
  // Axes of (2, 2, 1), counted from the right: dp is 2, mp is 1.
  EXPECT_EQ(program.error().hint,
            "leave it out, or give tensor maps ((2, -1)) on device matrix (2, 2, 1) or tensor maps "
            "(((2, 1), -1)) on device matrix (2, 2, 1)");
}

TEST(OutputLayout, CopiesOfATileMayBeCut) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 1, 4})}, {});
  const ValueId tiled = step.Op("Tile", {x}, {{{"dp"}, kNone, kNone}},
                                {{"dims", std::vector<std::int64_t>{1, 6, 1}}});
  step.AskFor({{"dp"}, {"mp"}, kNone});
  const RandomStep whole = step.Finish(tiled);
  EXPECT_EQ(Difference(whole), "");
  const auto program = Compile(whole.graph, whole.job);
  ASSERT_TRUE(program);
  const Node& tile = *std::ranges::find(program->local.nodes, "Tile", &Node::op);
  // Each of the 2 parts of the second dimension has 6 / 2 copies; the first is cut into 8 / 2 rows.
  EXPECT_EQ(program->local.at(tile.outputs.front()).type.shape, (Shape{4, 3, 4}));
}

TEST(OutputLayout, PartsOfACopyAreRefused) {
  StepWith step;
  const ValueId x = step.Op("Exp", {step.Weight({8, 2})}, {});
  const ValueId tiled =
      step.Op("Tile", {x}, {{{"dp"}, kNone}}, {{"dims", std::vector<std::int64_t>{1, 3}}});
  step.AskFor({{"dp"}, {"mp"}});
  const RandomStep whole = step.Finish(tiled);
  const auto program = Compile(whole.graph, whole.job);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "Tile:layout-divisible");
}

// Digits of 4 ranks x 2 copies: virtual rank 5 is rank 2, copy 1.
TEST(NamedAxes, AxesOfExtentOneMayStandWhereNothingIsCut) {
  // The repetitions (4) belong to no axis of the rule; the last dimension of Softmax is uncut.
  const NamedGrid grid{.device_matrix = {4, 1}, .alias_name = {"rows", "one"}};
  const DeviceContext devices{.stage_devices = 4, .job_devices = 4};
  const auto derive = [&](const char* op, const std::vector<Shape>& shapes,
                          const std::vector<Dims>& dims, AttrMap attrs) {
    const OpEntry& entry = *FindOp(op);
    std::vector<TensorLayout> layouts;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      layouts.push_back(LayoutOnGrid(grid, dims[i], shapes[i]));
    }
    cases::OpCase one = cases::CaseFrom(entry, shapes, {shapes[0]}, {});
    one.attrs = std::move(attrs);
    return DeriveShardingFromLayouts(entry, one.View(), layouts, {}, devices);
  };
  const auto softmax =
      derive("Softmax", {{8, 4}}, {Dims{{"rows"}, {"one"}}}, {{"axis", Shape{-1}}});
  ASSERT_TRUE(softmax) << softmax.error().message;
  EXPECT_EQ(SliceShape(softmax->outputs[0]), (Shape{2, 4}));
  const auto repeated =
      derive("RepeatInterleaveTensor", {{8, 4}, {4}}, {Dims{{"rows"}, kNone}, Dims{{"one"}}},
             {{"dim", 1}, {"output_size", 4}});
  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_EQ(SliceShape(repeated->inputs[1]), Shape{4});
}

TEST(Interleave, ExpressionOfACopyEqualsThatOfItsVirtualRank) {
  const RankExpr expr{.constant = 3,
                      .terms = {{.digit = {.stride = 1, .extent = 4}, .scale = 10},
                                {.digit = {.stride = 4, .extent = 2}, .scale = 100}}};
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    for (std::int64_t copy = 0; copy < 2; ++copy) {
      EXPECT_EQ(ValueAt(OfCopy(expr, 2, copy), rank), ValueAt(expr, rank * 2 + copy));
    }
  }
}

TEST(Interleave, GroupSplitsIntoRanksAndCopies) {
  // {stride 1, extent 4} over virtual ranks 0..7 joins ranks {0,1} and {2,3} with both copies each.
  const GroupPattern pattern{.digits = {{.stride = 1, .extent = 4}}};
  EXPECT_EQ(AcrossRanks(pattern, 2), (GroupPattern{.digits = {{.stride = 1, .extent = 2}}}));
  EXPECT_EQ(WithinRank(pattern, 2), (GroupPattern{.digits = {{.stride = 1, .extent = 2}}}));
}

}  // namespace
}  // namespace drydock::strategies
