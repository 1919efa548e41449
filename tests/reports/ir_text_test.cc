#include "reports/ir_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strategies/layout/group_name.h"
#include "tests/reports/ir_parse.h"
#include "tests/reports/quick_start.h"

namespace drydock::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

// Excerpts of dumps as MindSpore 2.0 wrote them for the quick start (rank 0); addresses inside
// sequence_nodes shortened. They are compared after parsing: numbers and orders differ from run to
// run.
constexpr char kMindSporeBegin[] = R"(
%3(out) = MatMul(%1, %2) {instance name: matmul} primitive_attrs: {input_names: [x1, x2], out_strategy: None, transpose_x2: false, transpose_b: false, in_strategy: ((2, 4), (4, 1)), output_names: [output], transpose_a: false, transpose_x1: false} {in_strategy: ((2, 4), (4, 1))}
    : (<Tensor[Float32], (16, 32)>, <Tensor[Float32], (32, 16)>) -> (<Tensor[Float32], (16, 16)>)
    # scope: (Default/network-WithLossCell/_backbone-Net)
%4(out) = ReLU(%3) {instance name: relu} primitive_attrs: {output_names: [output], input_names: [x]} {in_strategy: ((2, 4))}
    : (<Tensor[Float32], (16, 16)>) -> (<Tensor[Float32], (16, 16)>)
    # scope: (Default/network-WithLossCell/_backbone-Net)
%5([CNode]472) = Load($(@1_construct_wrapper.337:para4_w2), %para12_u)
    : (<Ref[Tensor(F32)], (16, 16), ref_key=:w2>, <UMonad>) -> (<Tensor[Float32], (16, 16)>)
    # scope: (Default/network-WithLossCell)
%6(out) = MatMul(%4, %5) {instance name: matmul2} primitive_attrs: {output_names: [output], transpose_a: false, input_names: [x1, x2], transpose_x2: false, transpose_x1: false, transpose_b: false} {in_strategy: ((2, 4), (4, 1))}
    : (<Tensor[Float32], (16, 16)>, <Tensor[Float32], (16, 16)>) -> (<Tensor[Float32], (16, 16)>)
    # scope: (Default/network-WithLossCell/_backbone-Net)
)";

constexpr char kMindSporeExecute[] = R"(
%12(equivout) = MatMul(%10, %11) {instance name: matmul} primitive_attrs: {input_names: [x1, x2], out_strategy: None, transpose_x2: false, transpose_b: false, in_strategy: ((2, 4), (4, 1)), output_names: [output], transpose_a: false, transpose_x1: false} {in_strategy: ((2, 4), (4, 1))}
    : (<Tensor[Float32], (8, 8)>, <Tensor[Float32], (8, 16)>) -> (<Tensor[Float32], (8, 16)>)
    # scope: (Default/network-WithLossCell/_backbone-Net)
%13(equiv[CNode]520) = AllReduce(%12) {instance name: forward_op_11795743325248501408} primitive_attrs: {group: 4-6301172352641561019, fusion: 0, op: sum, rank_list: (0, 1, 2, 3), group_ranks: 0-1-2-3, index: 0, group_rank_ids: (0, 1, 2, 3), no_eliminate: true} cnode_attrs: {comm_reuse: true}
    : (<Tensor[Float32], (8, 16)>) -> (<Tensor[Float32], (8, 16)>)
    # scope: (Default/network-WithLossCell/_backbone-Net)
%14(equiv[CNode]519) = StridedSlice(%13, (0, 0), (8, 4), (1, 1)) {instance name: redistribution_op_16390315056374637535StridedSlice} primitive_attrs: {new_axis_mask: 0, shrink_axis_mask: 0, end_mask: 0, input_names: [x, begin, end, strides], output_names: [output], keep_value_node_input: true, begin_mask: 0, ellipsis_mask: 0}
    : (<Tensor[Float32], (8, 16)>, <Tuple[Int64*2], sequence_nodes={node={ValueNode<ValueTuple> (0, 0), elements_use_flags: {ptr: 0x1, value: [const vector][1, 1]}}, node={<freed node>}}>, <Tuple[Int64*2], sequence_nodes={node={<freed node>}}>, <Tuple[Int64*2], sequence_nodes={node={<freed node>}}>) -> (<Tensor[Float32], (8, 4)>)
    # scope: (Default/network-WithLossCell/_backbone-Net)
%15(equivout) = ReLU(%14) {instance name: relu} primitive_attrs: {output_names: [output], input_names: [x]} {in_strategy: ((2, 4))}
    : (<Tensor[Float32], (8, 4)>) -> (<Tensor[Float32], (8, 4)>)
    # scope: (Default/network-WithLossCell/_backbone-Net)
%16(equiv[CNode]472) = Load(%para4_w2, U)
    : (<Ref[Tensor(F32)], (4, 16), ref_key=:w2>, <UMonad>) -> (<Tensor[Float32], (4, 16)>)
    # scope: (Default/network-WithLossCell)
%17(equivout) = MatMul(%15, %16) {instance name: matmul2} primitive_attrs: {output_names: [output], transpose_a: false, input_names: [x1, x2], transpose_x2: false, transpose_x1: false, transpose_b: false} {in_strategy: ((2, 4), (4, 1))}
    : (<Tensor[Float32], (8, 4)>, <Tensor[Float32], (4, 16)>) -> (<Tensor[Float32], (8, 16)>)
    # scope: (Default/network-WithLossCell/_backbone-Net)
)";

/// The node of `nodes` that stands for `wanted`: equal operator, and equal instance name unless the
/// latter contains a hash.
ParsedIrNode Counterpart(const std::vector<ParsedIrNode>& nodes, const ParsedIrNode& wanted) {
  for (const ParsedIrNode& node : nodes) {
    const bool hashed = wanted.instance.find("_op_") != std::string::npos;
    const bool same_name = hashed ? node.instance.substr(0, 10) == wanted.instance.substr(0, 10)
                                  : node.instance == wanted.instance;
    if (node.op == wanted.op && same_name && node.output_type == wanted.output_type) {
      return node;
    }
  }
  return {};
}

struct ExcerptCase {
  const char* name = "";
  const char* excerpt = "";
  bool execute = false;
};
class MindSporeExcerpt : public testing::TestWithParam<ExcerptCase> {};

TEST_P(MindSporeExcerpt, IsFoundInOurDump) {
  const strategies::LocalProgram program = QuickStartProgram();
  const std::string text = GetParam().execute ? ExecuteText(program, RankId{0}, IrStyle::kR20)
                                              : StepParallelBeginText(program, IrStyle::kR20);
  const std::vector<ParsedIrNode> ours = ParseIrNodes(text);
  const std::vector<ParsedIrNode> theirs = ParseIrNodes(GetParam().excerpt);
  ASSERT_GE(theirs.size(), 4U);
  for (const ParsedIrNode& wanted : theirs) {
    SCOPED_TRACE(wanted.op + " " + wanted.instance);
    const ParsedIrNode node = Counterpart(ours, wanted);
    EXPECT_EQ(node.label, wanted.label);
    EXPECT_EQ(node.operands, wanted.operands);
    EXPECT_EQ(node.primitive_attrs, wanted.primitive_attrs);
    EXPECT_EQ(node.cnode_attrs, wanted.cnode_attrs);
    EXPECT_EQ(node.in_strategy, wanted.in_strategy);
    EXPECT_EQ(node.input_types, wanted.input_types);
    EXPECT_EQ(node.output_type, wanted.output_type);
    EXPECT_EQ(node.scope, wanted.scope);
  }
}

INSTANTIATE_TEST_SUITE_P(QuickStart, MindSporeExcerpt,
                         testing::Values(ExcerptCase{"Begin", kMindSporeBegin, false},
                                         ExcerptCase{"Execute", kMindSporeExecute, true}),
                         [](const auto& item) { return std::string(item.param.name); });

// The published numbers as well: the data set node, its first result, Load of w come first.
TEST(StepParallelBegin, NodesAreNumberedAsPublished) {
  const std::string text = StepParallelBeginText(QuickStartProgram(), IrStyle::kR20);
  EXPECT_THAT(text, HasSubstr("  %3(out) = MatMul(%1, %2) {instance name: matmul}"));
  EXPECT_THAT(text, HasSubstr("  %4(out) = ReLU(%3) {instance name: relu}"));
  EXPECT_THAT(text, HasSubstr("  %6(out) = MatMul(%4, %5) {instance name: matmul2}"));
  EXPECT_THAT(text, HasSubstr(":para4_w2)"));
}

TEST(StepParallelBegin, HasNoSourceLines) {
  EXPECT_THAT(StepParallelBeginText(QuickStartProgram(), IrStyle::kR20),
              Not(HasSubstr("# In file")));
}

TEST(StepParallelBegin, ForwardPartIsASubgraphOfItsOwn) {
  const std::string text = StepParallelBeginText(QuickStartProgram(), IrStyle::kR20);
  EXPECT_THAT(text, HasSubstr("# Total subgraphs: 2\n\n# Total params: 4\n# Params:\n"
                              "%para1_input: <Tensor[Float32], (16, 32)>\n"));
  EXPECT_THAT(text, HasSubstr(" parent: [subgraph @1_construct_wrapper."));
  EXPECT_THAT(text, HasSubstr("(%para5_u) {\n"));
}

TEST(StepParallelBegin, ProgramWithoutGradientIsOneGraph) {
  strategies::LocalProgram program = QuickStartProgram();
  strategies::TracedPlan plan = *program.from;
  plan.traced.nodes.resize(4);  // Data set, MatMul, ReLU, MatMul.
  program.from = std::move(plan);
  const std::string text = StepParallelBeginText(program, IrStyle::kR20);
  EXPECT_THAT(text, HasSubstr("# Total subgraphs: 1\n"));
  EXPECT_THAT(text, HasSubstr("Load(%para3_w, U)"));
}

TEST(Execute, ScriptOperatorsCarryTheirStack) {
  const std::vector<ParsedIrNode> nodes =
      ParseIrNodes(ExecuteText(QuickStartProgram(), RankId{0}, IrStyle::kR20));
  EXPECT_THAT(FindIrNode(nodes, "MatMul", "matmul").places,
              ElementsAre("/home/user/job/net.py(45)/        out = self.matmul(x, self.weight)/",
                          "/home/user/job/wrap.py(9)/    self.net(x)/"));
  EXPECT_THAT(FindIrNode(nodes, "AllReduce", "").places, ElementsAre());
}

// Rank 5 has position (1, 1): row group {4..7}, columns 4..8 of its row block.
TEST(Execute, ShowsGroupAndSliceOfTheRank) {
  const std::vector<ParsedIrNode> nodes =
      ParseIrNodes(ExecuteText(QuickStartProgram(), RankId{5}, IrStyle::kR20));
  const std::string name =
      "forward_op_" + std::to_string(strategies::NameHash(
                          "Default/network-WithLossCell/_backbone-Net/MatMul-op0_0"));
  EXPECT_THAT(FindIrNode(nodes, "AllReduce", name).primitive_attrs,
              UnorderedElementsAre("group: 4-15700679239691767905", "fusion: 0", "op: sum",
                                   "rank_list: (4, 5, 6, 7)", "group_ranks: 4-5-6-7", "index: 0",
                                   "group_rank_ids: (4, 5, 6, 7)", "no_eliminate: true"));
  bool found = false;
  for (const ParsedIrNode& node : nodes) {
    found = found || node.operands == std::vector<std::string>{"%", "(0, 4)", "(8, 8)", "(1, 1)"};
  }
  EXPECT_TRUE(found);
}

TEST(Execute, NewStyleHandsAttributesOverAsOperands) {
  const std::string text = ExecuteText(QuickStartProgram(), RankId{0}, IrStyle::k2025);
  EXPECT_THAT(text,
              HasSubstr(", Bool(0), Bool(0)) {instance name: matmul} primitive_attrs: "
                        "{in_strategy: ((2, 4), (4, 1)), out_strategy: None, in_layout: None, "
                        "out_layout: None} {in_strategy: ((2, 4), (4, 1))}\n"));
  EXPECT_THAT(text, HasSubstr("(equivout) = PrimFunc_MatMul("));
  EXPECT_THAT(text,
              HasSubstr("Load(%para4_w2, UMonad[U])\n      : (<Ref[Tensor[Float32]], (4, 16), "
                        "ref_key=w2>, <UMonad, NoShape>)"));
  EXPECT_THAT(text, HasSubstr("      # Fullname with scope: (Default/network-WithLossCell/"
                              "_backbone-Net/MatMul-op1)\n"));
  EXPECT_THAT(text, HasSubstr("fusion: I64(0)"));
  EXPECT_THAT(text, HasSubstr("group_ranks: \"0-1-2-3\""));
}

TEST(IrFiles, HaveMindSporesNames) {
  const auto names = [](IrStyle style) {
    std::vector<std::string> list;
    for (const IrFile& file : IrFiles(QuickStartProgram(), RankId{0}, style)) {
      list.push_back(file.name);
    }
    return list;
  };
  EXPECT_THAT(names(IrStyle::kR20),
              ElementsAre("step_parallel_begin_0000.ir", "18_execute_0001.ir"));
  EXPECT_THAT(names(IrStyle::k2025),
              ElementsAre("step_parallel_begin_0000.ir", "22_execute_0001.ir"));
}

TEST(IrFolder, IsPerRankInDistributedJobsOnly) {
  const strategies::LocalProgram alone{.from = strategies::TracedPlan()};
  EXPECT_EQ(IrFolder(alone, RankId{0}), "");
  const strategies::LocalProgram one_of_eight{
      .from = strategies::TracedPlan{.config = {.world_size = 8}}};
  EXPECT_EQ(IrFolder(one_of_eight, RankId{7}), "rank_7");
}

}  // namespace
}  // namespace drydock::reports
