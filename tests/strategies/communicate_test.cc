#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/communicate/constant_sums.h"
#include "strategies/passes/communicate/gather_halves.h"
#include "strategies/passes/communicate/merge_equal.h"
#include "strategies/passes/communicate/number_fusion.h"
#include "strategies/passes/communicate/sum_decayed.h"
#include "strategies/passes/prepare/clean_traced.h"

namespace drydock::strategies {
namespace {

ValueId Collective(GraphBuilder& builder, std::string_view op, ValueId input, AttrMap attrs,
                   std::int64_t ranks = 4) {
  attrs["rank_size"] = ranks;
  const NodeId id = *builder.AddNode({.op = op, .inputs = {input}, .attrs = std::move(attrs)});
  Node& node = builder.mutable_graph().nodes[ToIndex(id)];
  node.group = GroupPattern{.digits = {{.stride = 1, .extent = ranks}}};
  return node.outputs.front();
}

ValueId Emit(GraphBuilder& builder, std::string_view op, std::vector<ValueId> inputs,
             AttrMap attrs = {}) {
  return *builder.Emit({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)});
}

std::string Operators(const Graph& graph) {
  std::string names;
  for (const Node& node : graph.nodes) {
    names += (names.empty() ? "" : " ") + node.op;
  }
  return names;
}

// ---- What changes no number -------------------------------------------------------------------

TEST(CleanTraced, OperatorsThatDoNothingAreGone) {
  GraphBuilder builder;
  ValueId x = *builder.AddInput("x", {.shape = {8, 1, 4}});
  x = Emit(builder, "Neg", {x});
  x = Emit(builder, "Cast", {x}, {{"dtype", "float32"}});
  x = Emit(builder, "Transpose", {x}, {{"input_perm", std::vector<std::int64_t>{0, 1, 2}}});
  x = Emit(builder, "Tile", {x}, {{"dims", std::vector<std::int64_t>{1, 1, 1}}});
  x = Emit(builder, "Mul", {x, builder.AddScalar(1, DType::kFloat32)});
  x = Emit(builder, "Add", {builder.AddScalar(0, DType::kFloat32), x});
  x = Emit(builder, "Reshape", {x}, {{"shape", std::vector<std::int64_t>{8, 1, 4}}});
  builder.SetOutputs({Emit(builder, "Exp", {x})});
  EXPECT_EQ(Operators(CleanTraced(std::move(builder).Take())), "Neg Exp");
}

TEST(CleanTraced, WhatChangesTypeShapeOrNumbersStays) {
  GraphBuilder builder;
  ValueId x = *builder.AddInput("x", {.shape = {8, 4}});
  x = Emit(builder, "Mul", {x, builder.AddScalar(2, DType::kFloat32)});
  x = Emit(builder, "Add",
           {x, *builder.AddConstant({.shape = {2, 8, 4}}, std::vector<double>(64, 0.0))});
  x = Emit(builder, "Transpose", {x}, {{"input_perm", std::vector<std::int64_t>{1, 0, 2}}});
  x = Emit(builder, "StridedSlice", {x},
           {{"begin", std::vector<std::int64_t>{0, 0, 0}},
            {"end", std::vector<std::int64_t>{8, 2, 4}},
            {"strides", std::vector<std::int64_t>{1, 1, 1}}});
  builder.SetOutputs({x});
  EXPECT_EQ(Operators(CleanTraced(std::move(builder).Take())), "Mul Add Transpose StridedSlice");
}

TEST(CleanTraced, ReshapesAndCastsReadWhatTheOneInFrontRead) {
  GraphBuilder builder;
  ValueId x = *builder.AddInput("x", {.shape = {8, 1, 4}, .dtype = DType::kFloat16});
  x = Emit(builder, "Neg", {x});
  x = Emit(builder, "Reshape", {x}, {{"shape", std::vector<std::int64_t>{8, 4}}});
  x = Emit(builder, "Reshape", {x}, {{"shape", std::vector<std::int64_t>{32}}});
  x = Emit(builder, "Cast", {x}, {{"dtype", "float32"}});
  x = Emit(builder, "Cast", {x}, {{"dtype", "float16"}});  // wider in between: nothing is lost
  builder.SetOutputs({Emit(builder, "Exp", {x})});
  EXPECT_EQ(Operators(CleanTraced(std::move(builder).Take())), "Neg Reshape Exp");
}

TEST(CleanTraced, ACastThatLosesBitsInBetweenStays) {
  GraphBuilder builder;
  ValueId x = *builder.AddInput("x", {.shape = {8}});
  x = Emit(builder, "Cast", {x}, {{"dtype", "float16"}});
  builder.SetOutputs({Emit(builder, "Cast", {x}, {{"dtype", "float32"}})});
  EXPECT_EQ(Operators(CleanTraced(std::move(builder).Take())), "Cast Cast");
}

// ---- Sums of constants ------------------------------------------------------------------------

TEST(FoldConstantSums, TheSumOfTheSeedIsAProductWithTheNumberOfRanks) {
  GraphBuilder builder;
  const ValueId x = *builder.AddInput("x", {.shape = {8}});
  const ValueId seed = Emit(builder, "OnesLike", {Emit(builder, "ReduceSum", {x})});
  const ValueId share = Emit(builder, "RealDiv", {seed, builder.AddScalar(4, DType::kFloat32)});
  const ValueId sum = Collective(builder, "AllReduce", share, {{"op", "sum"}});
  builder.SetOutputs({Emit(builder, "Mul", {sum, x})});
  const Graph folded = FoldConstantSums(std::move(builder).Take());
  ASSERT_EQ(Operators(folded), "ReduceSum OnesLike RealDiv Mul Mul");
  const Node& product = folded.nodes[3];
  const Constant& factor =
      folded.constants[static_cast<std::size_t>(folded.at(product.inputs[1]).detail)];
  EXPECT_EQ(factor.data, std::vector<double>{4.0});  // 1/4 on each of 4 ranks
  EXPECT_FALSE(product.group.has_value());
}

// Recorded (auto_sharding.py): the gradient of a mean in the shape of its operand is summed over
// the ranks, that of a sum is not.
TEST(FoldConstantSums, ATensorDividedByANumberIsNoConstant) {
  GraphBuilder builder;
  const ValueId x = *builder.AddInput("x", {.shape = {8}});
  const ValueId seed = Emit(builder, "OnesLike", {Emit(builder, "ReduceSum", {x})});
  const ValueId spread =
      Emit(builder, "Tile",
           {Emit(builder, "Reshape", {seed}, {{"shape", std::vector<std::int64_t>{1}}})},
           {{"dims", std::vector<std::int64_t>{8}}});
  const ValueId of_sum = Collective(builder, "AllReduce", spread, {{"op", "sum"}});
  const ValueId mean = Emit(builder, "RealDiv", {spread, builder.AddScalar(8, DType::kFloat32)});
  const ValueId of_mean = Collective(builder, "AllReduce", mean, {{"op", "sum"}});
  builder.SetOutputs({Emit(builder, "Mul", {of_sum, x}), Emit(builder, "Mul", {of_mean, x})});
  const Graph folded = FoldConstantSums(std::move(builder).Take());
  EXPECT_EQ(Operators(folded), "ReduceSum OnesLike Reshape Tile Mul RealDiv AllReduce Mul Mul");
}

TEST(FoldConstantSums, ASeedFromOutsideIsSummed) {
  GraphBuilder builder;
  const ValueId sens = *builder.AddInput("sens", {.shape = {}});
  const ValueId sum = Collective(builder, "AllReduce", sens, {{"op", "sum"}});
  builder.SetOutputs({Emit(builder, "Neg", {sum})});
  EXPECT_EQ(Operators(FoldConstantSums(std::move(builder).Take())), "AllReduce Neg");
}

// ---- Weight decay before the mean ---------------------------------------------------------------

// Recorded (dp_textcnn.py): Adam with weight decay, data parallel with gradients_mean.
TEST(SumDecayedGradients, TheDecayIsAddedBeforeTheSum) {
  GraphBuilder builder;
  const ValueId gradient = *builder.AddInput("gradient", {.shape = {8}});
  const ValueId weight = *builder.AddInput("weight", {.shape = {8}});
  const ValueId sum = Collective(builder, "AllReduce", gradient, {{"op", "sum"}});
  const ValueId mean = Emit(builder, "Mul", {sum, builder.AddScalar(0.25, DType::kFloat32)});
  const ValueId decayed = Emit(builder, "Mul", {weight, builder.AddScalar(0.1, DType::kFloat32)});
  builder.SetOutputs({Emit(builder, "Neg", {Emit(builder, "AddN", {decayed, mean})})});
  const Graph graph = SumDecayedGradients(std::move(builder).Take());
  ASSERT_EQ(Operators(graph), "Mul AddN AllReduce Mul Neg");
  EXPECT_EQ(graph.nodes[0].inputs.front(), graph.inputs[1]);
  EXPECT_EQ(graph.nodes[1].inputs,
            (std::vector<ValueId>{graph.nodes[0].outputs.front(), graph.inputs[0]}));
  EXPECT_EQ(graph.nodes[2].inputs, graph.nodes[1].outputs);
  EXPECT_EQ(graph.nodes[3].inputs.front(), graph.nodes[2].outputs.front());
  EXPECT_EQ(graph.nodes[4].inputs, graph.nodes[3].outputs);
}

// Recorded (dp_o2_scale.py): the mean over 4 ranks and a loss scale of 2 behind it are one product.
TEST(SumDecayedGradients, AScaleBehindTheMeanIsPartOfIt) {
  GraphBuilder builder;
  const ValueId gradient = *builder.AddInput("gradient", {.shape = {8}});
  const ValueId decayed = *builder.AddInput("decayed", {.shape = {8}});
  const ValueId sum = Collective(builder, "AllReduce", gradient, {{"op", "sum"}});
  const ValueId mean = Emit(builder, "Mul", {sum, builder.AddScalar(0.25, DType::kFloat32)});
  const ValueId both = Emit(builder, "AddN", {decayed, mean});
  builder.SetOutputs({Emit(builder, "Mul", {both, builder.AddScalar(0.5, DType::kFloat32)})});
  const Graph graph = SumDecayedGradients(std::move(builder).Take());
  EXPECT_EQ(Operators(graph), "AddN AllReduce Mul");
}

TEST(SumDecayedGradients, ASumThatIsNoMeanOrIsReadTwiceStays) {
  GraphBuilder builder;
  const ValueId gradient = *builder.AddInput("gradient", {.shape = {8}});
  const ValueId weight = *builder.AddInput("weight", {.shape = {8}});
  const ValueId sum = Collective(builder, "AllReduce", gradient, {{"op", "sum"}});
  const ValueId mean = Emit(builder, "Mul", {sum, builder.AddScalar(0.25, DType::kFloat32)});
  builder.SetOutputs(
      {Emit(builder, "AddN", {weight, sum}), mean, Emit(builder, "AddN", {weight, mean})});
  EXPECT_EQ(Operators(SumDecayedGradients(std::move(builder).Take())), "AllReduce Mul AddN AddN");
}

// ---- Weights in half precision -----------------------------------------------------------------

// Recorded (zero3_clip_half.py): what a sharded optimizer stores in float32 is sent as float16.
TEST(GatherHalves, RowsAreCastBeforeTheyAreGathered) {
  GraphBuilder builder;
  const ValueId rows = *builder.AddInput("rows", {.shape = {2, 8}});
  const ValueId whole = Collective(builder, "AllGather", rows, {});
  const ValueId half = Emit(builder, "Cast", {whole}, {{"dtype", "float16"}});
  builder.SetOutputs({Emit(builder, "Neg", {half})});
  Graph graph = std::move(builder).Take();
  graph.nodes[0].reason = CommReason::kOptimizerShard;
  const Graph turned = GatherHalves(graph);
  ASSERT_EQ(Operators(turned), "Cast AllGather Neg");
  const TensorType& sent = turned.at(turned.nodes[0].outputs.front()).type;
  EXPECT_EQ(sent.dtype, DType::kFloat16);
  EXPECT_EQ(sent.shape, (Shape{2, 8}));
  EXPECT_EQ(turned.at(turned.nodes[1].outputs.front()).type.dtype, DType::kFloat16);
  // A gather of something else than weights stays.
  graph.nodes[0].reason = CommReason::kRedistribution;
  EXPECT_EQ(Operators(GatherHalves(graph)), "AllGather Cast Neg");
}

// ---- Common operators -------------------------------------------------------------------------

TEST(MergeEqualNodes, RedistributionsThatBeginAlikeShareTheirBeginning) {
  GraphBuilder builder;
  const ValueId x = *builder.AddInput("x", {.shape = {8, 8}});
  const ValueId whole = Collective(builder, "AllGather", x, {});
  const ValueId again = Collective(builder, "AllGather", x, {});
  const ValueId other = Collective(builder, "AllGather", x, {}, 2);
  builder.SetOutputs({Emit(builder, "Exp", {whole}), Emit(builder, "Neg", {again}), other});
  EXPECT_EQ(Operators(MergeEqualNodes(std::move(builder).Take())), "AllGather AllGather Exp Neg");
}

TEST(MergeEqualNodes, AttributesConstantsAndOperandsDecide) {
  GraphBuilder builder;
  const ValueId x = *builder.AddInput("x", {.shape = {8, 8}});
  const auto times = [&](double factor) {
    return Emit(builder, "Mul", {x, builder.AddScalar(factor, DType::kFloat32)});
  };
  const auto sum = [&](std::int64_t axis) {
    return Emit(builder, "ReduceSum", {x}, {{"axis", std::vector<std::int64_t>{axis}}});
  };
  builder.SetOutputs({times(2), times(2), times(3), sum(0), sum(1), sum(0)});
  const Graph merged = MergeEqualNodes(std::move(builder).Take());
  EXPECT_EQ(Operators(merged), "Mul Mul ReduceSum ReduceSum");
  EXPECT_EQ(merged.outputs[0], merged.outputs[1]);
  EXPECT_EQ(merged.outputs[3], merged.outputs[5]);
}

TEST(MergeEqualNodes, AParameterThatWasWrittenIsAnotherOperand) {
  GraphBuilder builder;
  const ValueId w = *builder.AddParameter("w", {.shape = {8}}, {});
  const ValueId before = Emit(builder, "Neg", {w});
  const ValueId written = Emit(builder, "Assign", {w, Emit(builder, "Exp", {w})});
  builder.SetOutputs({before, Emit(builder, "Neg", {w}), written});
  EXPECT_EQ(Operators(MergeEqualNodes(std::move(builder).Take())), "Neg Exp Assign Neg");
}

TEST(MergeEqualNodes, RandomNumbersAreNeverTheSame) {
  GraphBuilder builder;
  const ValueId x = *builder.AddInput("x", {.shape = {8}});
  const AttrMap drop = {{"keep_prob", 0.5}, {"Seed0", 1}, {"Seed1", 2}};
  builder.SetOutputs({Emit(builder, "Dropout", {x}, drop), Emit(builder, "Dropout", {x}, drop)});
  EXPECT_EQ(Operators(MergeEqualNodes(std::move(builder).Take())), "Dropout Dropout");
}

// ---- Fusion ids -------------------------------------------------------------------------------

// Recorded from MindSpore 2.10, semi_auto_parallel, size 1: six blocks x + (gelu(x @ up) @ down +
// b) of 256 columns; up and down have 256 * f elements, f = 160, 224, 352, 416, 544, 608. The parts
// of the record: all of blocks 0 and 1; up 2, down 2, up 3; down 3, up 4; down 4, up 5; down 5.
TEST(NumberGradientFusion, CountsWholeParametersFromTheInputOn) {
  GraphBuilder builder;
  ValueId x = *builder.AddInput("x", {.shape = {16, 256}});
  std::vector<std::int64_t> elements;
  const auto mirrored = [&](Shape shape, std::int64_t whole) {
    const ValueId weight = *builder.AddParameter(
        "w" + std::to_string(builder.graph().parameters.size()), {.shape = std::move(shape)}, {});
    elements.resize(builder.graph().values.size(), 0);
    elements[ToIndex(weight)] = whole;
    return Emit(builder, "_MirrorOperator", {weight}, {{"dev_num", 4}, {"fusion", 1}});
  };
  for (const std::int64_t f : {160, 224, 352, 416, 544, 608}) {
    const ValueId up = Emit(builder, "MatMul", {x, mirrored({256, f / 2}, 256 * f)});
    const ValueId down = Emit(builder, "MatMul", {up, mirrored({f / 2, 256}, 256 * f)});
    x = Emit(builder, "Add", {x, Emit(builder, "Add", {down, mirrored({256}, 256)})});
  }
  elements.resize(builder.graph().values.size(), 0);
  NumberGradientFusion(builder.mutable_graph(), x, elements,
                       {.all_reduce = true, .all_reduce_mb = 1});
  std::vector<std::int64_t> ids;
  for (const Node& node : builder.graph().nodes) {
    if (node.op == "_MirrorOperator") {
      ids.push_back(IntAttr(node.attrs, "fusion", 0).value_or(0));
    }
  }
  EXPECT_EQ(ids, (std::vector<std::int64_t>{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5}));
}

}  // namespace
}  // namespace drydock::strategies
