#include "strategies/passes/backward/simplify.h"

#include <cmath>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/backward/fuse_kernels.h"

namespace drydock::strategies {
namespace {

constexpr DType kF32 = DType::kFloat32;

std::vector<std::string> OpsOf(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) {
    ops.push_back(node.op);
  }
  return ops;
}

class Network {
 public:
  ValueId Input(Shape shape, DType dtype = kF32) {
    return *builder.AddInput("x" + std::to_string(builder.graph().inputs.size()),
                             {.shape = std::move(shape), .dtype = dtype});
  }
  ValueId Number(double number) { return builder.AddScalar(number, kF32); }
  ValueId Apply(std::string_view op, std::vector<ValueId> inputs, AttrMap attrs = {}) {
    return *builder.Emit({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)});
  }
  Graph Returning(std::vector<ValueId> outputs) {
    builder.SetOutputs(std::move(outputs));
    return SimplifyGraph(std::move(builder).Take());
  }

  GraphBuilder builder = GraphBuilder("net");
};

using Ops = std::vector<std::string>;

// The gradient of a mean over 16 x 256 elements: the seed 1 spread over them is one constant; the
// quotient of shapes (16, 256) and () is no constant, as recorded of MindSpore (sink_semi of the
// recorded dry runs: RealDiv(Tensor(shape=[16, 256]), 4096)).
TEST(SimplifyGraph, SpreadNumberIsOneConstantAndItsQuotientAKernel) {
  Network net;
  const ValueId loss = net.Input({});
  const ValueId seed = net.Apply("OnesLike", {loss});
  const ValueId half = net.Apply("RealDiv", {seed, net.Number(2)});
  const ValueId wide = net.Apply("Reshape", {half}, {{"shape", std::vector<std::int64_t>{1, 1}}});
  const ValueId all = net.Apply("Tile", {wide}, {{"dims", std::vector<std::int64_t>{16, 256}}});
  const ValueId mean = net.Apply("RealDiv", {all, net.Number(4096)});
  const Graph graph = net.Returning({mean});
  EXPECT_EQ(OpsOf(graph), Ops({"RealDiv"}));
  const Constant& spread =
      graph.constants[static_cast<std::size_t>(graph.at(graph.nodes[0].inputs[0]).detail)];
  EXPECT_EQ(graph.at(spread.value).type.shape, Shape({16, 256}));
  EXPECT_EQ(spread.number, 0.5);
}

// As MindSpore, whose tensors are compared by what they hold: two halves of one table, which two
// layers reshape alike, are computed once.
TEST(SimplifyGraph, TableOfUnknownContentsIsReshapedOnce) {
  Network net;
  const ValueId table = *net.builder.AddConstant({.shape = {4, 6}, .dtype = kF32}, std::nullopt);
  const AttrMap flat = {{"shape", std::vector<std::int64_t>{24}}};
  const ValueId first = net.Apply("Reshape", {table}, flat);
  const ValueId second = net.Apply("Reshape", {table}, flat);
  const Graph graph = net.Returning({net.Apply("Exp", {first}), net.Apply("Exp", {second})});
  ASSERT_EQ(OpsOf(graph), Ops({"Exp", "Exp"}));
  EXPECT_EQ(graph.nodes[0].inputs, graph.nodes[1].inputs);
}

TEST(SimplifyGraph, ExponentialOfConstantStaysKernel) {
  Network net;
  const Graph graph = net.Returning({net.Apply("Exp", {net.Number(0)})});
  EXPECT_EQ(OpsOf(graph), Ops({"Exp"}));
}

TEST(SimplifyGraph, NeutralOperandsAreDropped) {
  Network net;
  const ValueId x = net.Input({4, 6});
  const ValueId sum = net.Apply("Add", {net.Number(0), x});
  const ValueId product = net.Apply("Mul", {sum, net.Number(1)});
  const ValueId tiled = net.Apply("Tile", {product}, {{"dims", std::vector<std::int64_t>{1, 1}}});
  const ValueId same =
      net.Apply("Transpose", {tiled}, {{"input_perm", std::vector<std::int64_t>{0, 1}}});
  EXPECT_EQ(OpsOf(net.Returning({net.Apply("Exp", {same})})), Ops({"Exp"}));
}

// The number of a product is an attribute there, which MindSpore does not look at: 1.0 times the
// loss of nn.CrossEntropyLoss is a kernel (dp_bert and dp_avgpool of the recorded dry runs).
TEST(SimplifyGraph, ProductWithTheNumberOneStaysKernel) {
  Network net;
  const ValueId scaled = net.Apply("Muls", {net.Input({4, 6})}, {{"other", 1.0}});
  EXPECT_EQ(OpsOf(net.Returning({scaled})), Ops({"Muls"}));
}

// Gradients of a data parallel step with a loss scale: divided by 8 ranks, then by a scale of 128.
// MindSpore scales once by 1/1,024 (sens_dp of the recorded dry runs: Mul(gradient, 0.000976562));
// numbers of half precision it does not multiply (CalcConstantTensors in
// mindspore/ccsrc/frontend/optimizer/pattern_matcher.h).
TEST(SimplifyGraph, ScalingTwiceIsScalingOnce) {
  Network net;
  const ValueId gradient = net.Input({16, 16});
  const ValueId mean = net.Apply("Mul", {gradient, net.Number(0.125)});
  const Graph graph = net.Returning({net.Apply("Mul", {net.Number(0.0078125), mean})});
  ASSERT_EQ(OpsOf(graph), Ops({"Mul"}));
  EXPECT_EQ(graph.nodes[0].inputs[0], graph.inputs[0]);
  EXPECT_EQ(UniformNumber(graph, graph.nodes[0].inputs[1]), 1.0 / 1024);

  Network half;
  const ValueId x = half.Input({16}, DType::kFloat16);
  const ValueId once = half.Apply("Mul", {x, half.builder.AddScalar(0.125, DType::kFloat16)});
  const ValueId scale = half.builder.AddScalar(0.5, DType::kFloat16);
  EXPECT_EQ(OpsOf(half.Returning({half.Apply("Mul", {once, scale})})), Ops({"Mul", "Mul"}));
}

TEST(SimplifyGraph, PairOfTransposesStays) {
  Network net;
  const AttrMap swap = {{"input_perm", std::vector<std::int64_t>{1, 0}}};
  const ValueId once = net.Apply("Transpose", {net.Input({4, 6})}, swap);
  EXPECT_EQ(OpsOf(net.Returning({net.Apply("Transpose", {once}, swap)})),
            Ops({"Transpose", "Transpose"}));
}

// (2, 1, 6, 8) -> (2, 6, 1, 8): only the extent 1 changes its place.
TEST(SimplifyGraph, TransposeOfExtentsOfOneIsReshape) {
  Network net;
  const ValueId moved = net.Apply("Transpose", {net.Input({2, 1, 6, 8})},
                                  {{"input_perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  EXPECT_EQ(OpsOf(net.Returning({moved})), Ops({"Reshape"}));
}

// float16 -> float32 -> float16 loses nothing: it is the tensor itself. float32 -> float16 ->
// float32 does, and stays.
TEST(SimplifyGraph, CastsThatLoseNothingAreJoined) {
  Network net;
  const ValueId narrow = net.Input({4}, DType::kFloat16);
  const ValueId wide = net.Input({4});
  const auto there_and_back = [&net](ValueId x, const char* there, const char* back) {
    const ValueId cast = net.Apply("Cast", {x}, {{"dtype", there}});
    return net.Apply("Neg", {net.Apply("Cast", {cast}, {{"dtype", back}})});
  };
  const ValueId kept = there_and_back(narrow, "float32", "float16");
  const ValueId lost = there_and_back(wide, "float16", "float32");
  EXPECT_EQ(OpsOf(net.Returning({kept, lost})), Ops({"Neg", "Cast", "Cast", "Neg"}));
}

// Recorded of mixed_to_float: bfloat16 -> float32 -> bfloat16 are two kernels.
TEST(SimplifyGraph, CastsOfBFloat16AreNotJoined) {
  Network net;
  const ValueId x = net.Input({4}, DType::kBFloat16);
  const ValueId wide = net.Apply("Cast", {x}, {{"dtype", "float32"}});
  const ValueId back = net.Apply("Cast", {wide}, {{"dtype", "bfloat16"}});
  EXPECT_EQ(OpsOf(net.Returning({net.Apply("Neg", {back})})), Ops({"Cast", "Cast", "Neg"}));
}

// Recorded of llama_gqa_16: the transpose that is a Reshape is not joined with its neighbours.
TEST(SimplifyGraph, ReshapeThatWasTransposeIsNotJoined) {
  Network net;
  const ValueId moved = net.Apply("Transpose", {net.Input({2, 1, 6})},
                                  {{"input_perm", std::vector<std::int64_t>{0, 2, 1}}});
  const ValueId flat = net.Apply("Reshape", {moved}, {{"shape", std::vector<std::int64_t>{12}}});
  EXPECT_EQ(OpsOf(net.Returning({flat})), Ops({"Reshape", "Reshape"}));
}

TEST(SimplifyGraph, SumOfSumsIsOneSumUnlessTheInnerIsReadElsewhere) {
  for (const bool shared : {false, true}) {
    Network net;
    const ValueId x = net.Input({4});
    const ValueId inner = net.Apply("AddN", {x, net.Input({4})});
    const ValueId outer = net.Apply("AddN", {inner, net.Input({4})});
    const Graph graph =
        net.Returning(shared ? std::vector<ValueId>{outer, inner} : std::vector<ValueId>{outer});
    EXPECT_EQ(graph.nodes.size(), shared ? 2U : 1U);
    EXPECT_EQ(graph.nodes.back().inputs.size(), shared ? 2U : 3U);
  }
}

TEST(FuseKernels, SumAndNormalAreOneKernelWhereTheSumStood) {
  Network net;
  const ValueId x = net.Input({4, 6});
  const ValueId gamma = net.Input({6});
  const ValueId sum = net.Apply("Add", {x, net.Input({4, 6})});
  const ValueId reader = net.Apply("Exp", {sum});
  const ValueId normal = net.Apply("RmsNorm", {sum, gamma});
  const Graph graph = FuseKernels(net.Returning({reader, normal}));
  EXPECT_EQ(OpsOf(graph), Ops({"AddRmsNorm", "Exp"}));
  EXPECT_EQ(graph.nodes[0].outputs.size(), 3U);  // normal, scale, sum
  EXPECT_EQ(graph.nodes[1].inputs[0], graph.nodes[0].outputs[2]);
}

// Mixed precision: the weight is cast behind the sum; the cast moves in front of the kernel.
TEST(FuseKernels, OperandMadeBehindTheSumMovesInFront) {
  Network net;
  const ValueId x = net.Input({4, 6}, DType::kFloat16);
  const ValueId weight = net.Input({6});
  const ValueId sum = net.Apply("Add", {x, net.Input({4, 6}, DType::kFloat16)});
  const ValueId reader = net.Apply("Exp", {sum});
  const ValueId gamma = net.Apply("Cast", {weight}, {{"dtype", "float16"}});
  const ValueId normal = net.Apply("RmsNorm", {sum, gamma});
  EXPECT_EQ(OpsOf(FuseKernels(net.Returning({reader, normal}))),
            Ops({"Cast", "AddRmsNorm", "Exp"}));
}

// The weight is made of the sum itself: it cannot be there before.
TEST(FuseKernels, OperandMadeOfTheSumIsNotFused) {
  Network net;
  const ValueId sum = net.Apply("Add", {net.Input({6, 6}), net.Input({6, 6})});
  const ValueId gamma = net.Apply("ReduceSum", {sum}, {{"axis", std::vector<std::int64_t>{0}}});
  const ValueId normal = net.Apply("RmsNorm", {sum, gamma});
  EXPECT_EQ(OpsOf(FuseKernels(net.Returning({normal}))), Ops({"Add", "ReduceSum", "RmsNorm"}));
}

// x + y = (3, 4), mean of squares 12.5, scale 1 / sqrt(12.5): (3, 4) * scale * (1, 2).
TEST(FuseKernels, FusedKernelComputesBoth) {
  const NdArray inputs[] = {{.shape = {1, 2}, .data = {1, 1}},
                            {.shape = {1, 2}, .data = {2, 3}},
                            {.shape = {2}, .data = {1, 2}}};
  const TensorType wide{.shape = {1, 2}, .dtype = kF32};
  const TensorType types[] = {wide, wide, {.shape = {2}, .dtype = kF32}};
  const TensorType results[] = {wide, {.shape = {1, 1}, .dtype = kF32}, wide};
  const AttrMap attrs = {{"epsilon", 0.0}};
  const auto made =
      FindOp("AddRmsNorm")
          ->evaluate(EvaluateContext{
              .inputs = inputs, .input_types = types, .output_types = results, .attrs = attrs});
  ASSERT_TRUE(made);
  const double scale = 1 / std::sqrt(12.5);
  EXPECT_NEAR((*made)[0].data[1], 8 * scale, 1e-12);
  EXPECT_NEAR((*made)[1].data[0], scale, 1e-12);
  EXPECT_EQ((*made)[2].data, (std::vector<double>{3, 4}));
}

TEST(FuseKernels, SumOfBroadcastOperandIsNotFused) {
  Network net;
  const ValueId sum = net.Apply("Add", {net.Input({4, 6}), net.Input({6})});
  const ValueId normal = net.Apply("RmsNorm", {sum, net.Input({6})});
  EXPECT_EQ(OpsOf(FuseKernels(net.Returning({normal}))), Ops({"Add", "RmsNorm"}));
}

}  // namespace
}  // namespace drydock::strategies
