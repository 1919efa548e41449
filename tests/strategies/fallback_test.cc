#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"

// Operators without a rule, operators outside the table, and layouts that the user answers for.
namespace drydock::strategies {
namespace {

const JobConfig kEightRanks = {.world_size = 8, .mode = ParallelMode::kSemiAutoParallel};

/// x -> Fancy -> ReLU on 8 ranks in data parallel.
Graph WithUnknown(const Shape& input, const Shape& result) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = input});
  const NodeId fancy =
      builder.AddNodeWithTypes({.op = "Fancy", .inputs = {x}}, {{.shape = result}});
  const ValueId y = builder.graph().at(fancy).outputs.front();
  builder.SetOutputs({*builder.Emit({.op = "ReLU", .inputs = {y}})});
  return std::move(builder).Take();
}

std::vector<std::string> OpsOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    names.push_back(node.op);
  }
  return names;
}

const Node* FindNode(const Graph& graph, std::string_view op) {
  const auto it = std::ranges::find(graph.nodes, op, &Node::op);
  return it == graph.nodes.end() ? nullptr : &*it;
}

/// Of what users are told of a program.
std::optional<Diagnostic> FindDiagnostic(const LocalProgram& program, std::string_view code) {
  const std::vector<Diagnostic> all = DiagnosticsOf(program);
  const auto it = std::ranges::find(all, code, &Diagnostic::code);
  return it == all.end() ? std::nullopt : std::optional(*it);
}

TEST(Fallback, DividingBatchIsComputedInParts) {
  const auto program = Compile(WithUnknown({16, 4}, {16, 2}), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  const Node* fancy = FindNode(program->local, "Fancy");
  ASSERT_NE(fancy, nullptr);
  // 16 rows on 8 ranks: 2 rows each, no communication.
  EXPECT_EQ(program->local.at(fancy->inputs[0]).type.shape, (Shape{2, 4}));
  EXPECT_EQ(program->local.at(fancy->outputs[0]).type.shape, (Shape{2, 2}));
  EXPECT_EQ(OpsOf(program->local), (std::vector<std::string>{"Fancy", "ReLU"}));
  EXPECT_TRUE(fancy->attrs.contains("BatchParallel"));
}

TEST(Fallback, BatchThatDoesNotDivideIsComputedWhole) {
  // 12 result rows are no multiple of 8 ranks: everybody gathers the 16 input rows first.
  const auto program = Compile(WithUnknown({16, 4}, {12, 2}), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  const Node* fancy = FindNode(program->local, "Fancy");
  ASSERT_NE(fancy, nullptr);
  EXPECT_EQ(program->local.at(fancy->inputs[0]).type.shape, (Shape{16, 4}));
  EXPECT_EQ(OpsOf(program->local).front(), "AllGather");
  EXPECT_TRUE(fancy->attrs.contains("StandAlone"));
}

TEST(Fallback, ScalarResultIsComputedWhole) {
  const auto program = Compile(WithUnknown({16, 4}, {}), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(FindNode(program->local, "Fancy")->attrs.contains("StandAlone"));
}

/// The operator on `rows` x 8 numbers on 8 ranks that all get the whole batch.
Result<LocalProgram> WithNumber(const char* op, std::int64_t rows) {
  GraphBuilder builder("number");
  const ValueId x = *builder.AddInput("x", {.shape = {rows, 8}});
  builder.SetOutputs({*builder.Emit({.op = op, .inputs = {x}, .attrs = {{"other", 2.0}}})});
  return Compile(std::move(builder).Take(),
                 {.world_size = 8,
                  .mode = ParallelMode::kSemiAutoParallel,
                  .dataset = {.kind = DatasetStrategy::Kind::kFullBatch}});
}

TEST(Fallback, ATensorAndANumber) {
  // Recorded of x / 4 with 2 samples on 8 ranks: strategy ((1, 1, 1, 1)). Muls has a rule there.
  for (const char* op : {"Divs", "AddScalar", "SubScalar"}) {
    const auto whole = WithNumber(op, 2);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_TRUE(FindNode(whole->local, op)->attrs.contains("StandAlone")) << op;
    const auto parts = WithNumber(op, 16);
    ASSERT_TRUE(parts) << parts.error().message;
    EXPECT_TRUE(FindNode(parts->local, op)->attrs.contains("BatchParallel")) << op;
  }
  const auto product = WithNumber("Muls", 2);
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_FALSE(FindNode(product->local, "Muls")->attrs.contains("StandAlone"));
}

TEST(Fallback, EveryUseIsCountedAsALimit) {
  GraphBuilder builder("net");
  ValueId x = *builder.AddInput("x", {.shape = {16, 4}});
  for (int i = 0; i < 3; ++i) {
    const NodeId id =
        builder.AddNodeWithTypes({.op = "Fancy", .inputs = {x}}, {{.shape = {16, 4}}});
    x = builder.graph().at(id).outputs.front();
  }
  builder.SetOutputs({x});
  const auto program = Compile(std::move(builder).Take(), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  for (const char* code : {"unknown-operator", "operator-without-rule"}) {
    const std::optional<Diagnostic> found = FindDiagnostic(*program, code);
    ASSERT_TRUE(found) << code;
    EXPECT_EQ(found->count, 3);
    EXPECT_EQ(found->kind, DiagnosticKind::kLimit);
    EXPECT_NE(found->text.find("'Fancy'"), std::string::npos);
  }
}

TEST(Fallback, StrategyOfAnOperatorWithoutRuleIsIgnoredAndSaid) {
  Graph graph = WithUnknown({16, 4}, {16, 2});
  graph.nodes.front().in_strategy = Strategy{{1, 4}};
  const auto program = Compile(std::move(graph), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(FindNode(program->local, "Fancy")->attrs.contains("BatchParallel"));
  EXPECT_NE(FindDiagnostic(*program, "operator-without-rule")->text.find("strategy is ignored"),
            std::string::npos);
}

TEST(Fallback, UnknownOperatorIsCountedInDataParallelToo) {
  JobConfig job = kEightRanks;
  job.mode = ParallelMode::kDataParallel;
  const auto program = Compile(WithUnknown({16, 4}, {16, 2}), job);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(FindDiagnostic(*program, "unknown-operator"));
}

TEST(Fallback, GradientFlowsThroughAnUnknownOperator) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {16, 4}});
  const ValueId w = *builder.AddParameter("w", {.shape = {4, 2}}, {});
  const ValueId product = *builder.Emit({.op = "MatMul", .inputs = {x, w}});
  const NodeId fancy =
      builder.AddNodeWithTypes({.op = "Fancy", .inputs = {product}}, {{.shape = {16, 2}}});
  const ValueId loss =
      *builder.Emit({.op = "ReduceMean", .inputs = {builder.graph().at(fancy).outputs[0]}});
  builder.SetOutputs({*builder.Emit({.op = "_Gradient", .inputs = {loss, w}})});
  const auto program = Compile(std::move(builder).Take(), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  const Node* gradient = FindNode(program->local, "FancyGrad");
  ASSERT_NE(gradient, nullptr);
  // It reads the operand and the arriving gradient; the result is as large as the operand's slice.
  EXPECT_EQ(gradient->inputs.size(), 2U);
  EXPECT_EQ(program->local.at(gradient->outputs[0]).type.shape, (Shape{2, 2}));
  EXPECT_EQ(OpsOf(program->local).back(), "AllReduce");  // gradient of w over the 8 replicas
}

/// x -> MatMul(w) -> FFN -> mean, differentiated by w.
Graph BeforeAnInferenceKernel() {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {16, 4}});
  const ValueId w = *builder.AddParameter("w", {.shape = {4, 4}}, {});
  const ValueId up = *builder.AddParameter("up", {.shape = {4, 8}}, {});
  const ValueId down = *builder.AddParameter("down", {.shape = {8, 4}}, {});
  const ValueId hidden = *builder.Emit({.op = "MatMul", .inputs = {x, w}});
  const ValueId result = *builder.Emit({.op = "FFN", .inputs = {hidden, up, down}});
  const ValueId loss = *builder.Emit({.op = "ReduceMean", .inputs = {result}});
  builder.SetOutputs({*builder.Emit({.op = "_Gradient", .inputs = {loss, w}})});
  return std::move(builder).Take();
}

TEST(NoBackward, IsCountedWhereAGradientEnds) {
  const auto program = Compile(BeforeAnInferenceKernel(), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  const std::optional<Diagnostic> found = FindDiagnostic(*program, "no-backward");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, DiagnosticKind::kLimit);
  EXPECT_EQ(found->text,
            "'FFN' has no backward form: gradients end there, and what lies before it "
            "gets zeros");
}

TEST(NoBackward, DoesNotMatterWhereNoGradientIsWanted) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {16, 4}});
  const ValueId up = *builder.AddParameter("up", {.shape = {4, 8}}, {});
  const ValueId down = *builder.AddParameter("down", {.shape = {8, 4}}, {});
  const ValueId w = *builder.AddParameter("w", {.shape = {4, 4}}, {});
  const ValueId hidden = *builder.Emit({.op = "FFN", .inputs = {x, up, down}});
  const ValueId result = *builder.Emit({.op = "MatMul", .inputs = {hidden, w}});
  const ValueId loss = *builder.Emit({.op = "ReduceMean", .inputs = {result}});
  builder.SetOutputs({*builder.Emit({.op = "_Gradient", .inputs = {loss, w}})});
  const auto program = Compile(std::move(builder).Take(), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_FALSE(FindDiagnostic(*program, "no-backward"));
}

// 8 rows would divide by 8 ranks.
TEST(Meshgrid, IsComputedWholeEvenWhereTheBatchDivides) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {8}});
  const ValueId y = *builder.AddInput("y", {.shape = {8}});
  const NodeId mesh = *builder.AddNode({.op = "Meshgrid", .inputs = {x, y}});
  builder.SetOutputs(builder.graph().at(mesh).outputs);
  const auto program = Compile(std::move(builder).Take(), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  const Node* local = FindNode(program->local, "Meshgrid");
  EXPECT_TRUE(local->attrs.contains("StandAlone"));
  EXPECT_EQ(program->local.at(local->outputs[0]).type.shape, (Shape{8, 8}));
}

TEST(Meshgrid, GridsRunAlongTheirVector) {
  const OpEntry& entry = *FindOp("Meshgrid");
  const std::vector<TensorType> inputs = {{.shape = {2}}, {.shape = {3}}};
  const AttrMap attrs;
  const auto types = entry.infer({.op = "Meshgrid", .inputs = inputs, .attrs = &attrs});
  ASSERT_TRUE(types);
  EXPECT_EQ(types->front().shape, (Shape{3, 2}));
  const std::vector<NdArray> arrays = {{.shape = {2}, .data = {1, 2}},
                                       {.shape = {3}, .data = {10, 20, 30}}};
  const auto grids = entry.evaluate(
      {.inputs = arrays, .input_types = inputs, .output_types = *types, .attrs = attrs});
  ASSERT_TRUE(grids);
  EXPECT_EQ((*grids)[0].data, (std::vector<double>{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ((*grids)[1].data, (std::vector<double>{10, 10, 20, 20, 30, 30}));
}

// ---- Layouts as given

/// Device matrix (2, 4): dimension 0 cut by the outer axis, dimension 1 by the inner one.
TensorLayout GridLayout() {
  return {.device_matrix = {2, 4}, .tensor_map = {{1}, {0}}};
}

Graph SelfDefined(Attr flag) {
  Graph graph = WithUnknown({16, 8}, {8, 16});
  Node& fancy = graph.nodes.front();
  fancy.attrs["self_define_shard"] = std::move(flag);
  fancy.in_layout = {GridLayout()};
  fancy.out_layout = {GridLayout()};
  return graph;
}

TEST(SelfDefinedShard, LayoutsHoldAsGiven) {
  const auto program = Compile(SelfDefined(true), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  const Node* fancy = FindNode(program->local, "Fancy");
  // {16 / 2, 8 / 4} in, {8 / 2, 16 / 4} out.
  EXPECT_EQ(program->local.at(fancy->inputs[0]).type.shape, (Shape{8, 2}));
  EXPECT_EQ(program->local.at(fancy->outputs[0]).type.shape, (Shape{4, 4}));
  EXPECT_FALSE(FindDiagnostic(*program, "operator-without-rule"));
}

TEST(SelfDefinedShard, FlagThatIsNoBoolIsRefused) {
  EXPECT_FALSE(Compile(SelfDefined(1), kEightRanks));
}

TEST(SelfDefinedShard, MissingOutputLayoutIsRefused) {
  Graph graph = SelfDefined(true);
  graph.nodes.front().out_layout.reset();
  const auto program = Compile(std::move(graph), kEightRanks);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "Fancy:layout-entries");
}

TEST(SelfDefinedShard, CutsInsteadOfLayoutsAreRefused) {
  Graph graph = SelfDefined(true);
  graph.nodes.front().in_layout.reset();
  graph.nodes.front().in_strategy = Strategy{{2, 4}};
  const auto program = Compile(std::move(graph), kEightRanks);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().reason, "Fancy:layout-missing");
}

TEST(SelfDefinedShard, ResultThatContradictsTheLayoutIsRefused) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {16, 8}});
  builder.SetOutputs({*builder.Emit({.op = "ReLU", .inputs = {x}})});
  Graph graph = std::move(builder).Take();
  graph.nodes.front().attrs["self_define_shard"] = true;
  graph.nodes.front().in_layout = {GridLayout()};
  graph.nodes.front().out_layout = {
      TensorLayout{.device_matrix = {2, 4}, .tensor_map = {{0}, {1}}}};
  const auto program = Compile(std::move(graph), kEightRanks);
  ASSERT_FALSE(program);
  // ReLU makes {8, 2} of {8, 2}; the layout promises {16 / 4, 8 / 2}.
  EXPECT_EQ(program.error().reason, "ReLU:layout-result");
}

TEST(SelfDefinedShard, CustomOperatorsTakeLayouts) {
  Graph graph = WithUnknown({16, 8}, {8, 16});
  graph.nodes.front().op = "Custom";
  graph.nodes.front().entry = FindOp("Custom");
  graph.nodes.front().in_layout = {GridLayout()};
  graph.nodes.front().out_layout = {GridLayout()};
  const auto program = Compile(std::move(graph), kEightRanks);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->local.at(FindNode(program->local, "Custom")->outputs[0]).type.shape,
            (Shape{4, 4}));
}

}  // namespace
}  // namespace drydock::strategies
