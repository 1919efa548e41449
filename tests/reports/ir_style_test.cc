#include "reports/ir_style.h"

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"

namespace drydock::reports {
namespace {

using strategies::Attr;
using strategies::DType;

struct AttrCase {
  Attr attr = {};
  const char* old_text = "";
  const char* new_text = "";
};
class IrAttr : public testing::TestWithParam<AttrCase> {};

TEST_P(IrAttr, IsPlainInTheOldStyleAndTypedInTheNewOne) {
  EXPECT_EQ(IrAttrText(GetParam().attr, IrStyle::kR20), GetParam().old_text);
  EXPECT_EQ(IrAttrText(GetParam().attr, IrStyle::k2025), GetParam().new_text);
}

INSTANTIATE_TEST_SUITE_P(
    Types, IrAttr,
    testing::Values(AttrCase{{}, "None", "None"}, AttrCase{true, "true", "Bool(1)"},
                    AttrCase{65, "65", "I64(65)"}, AttrCase{0.5, "0.5", "F32(0.5)"},
                    AttrCase{2.0, "2", "F32(2)"}, AttrCase{"sum", "sum", "\"sum\""},
                    AttrCase{std::vector<std::int64_t>{8, 4}, "(8, 4)", "(I64(8), I64(4))"},
                    AttrCase{std::vector<std::int64_t>{8}, "(8)", "(I64(8))"}));

TEST(IrTypes, AreSpelledOut) {
  EXPECT_EQ(IrTensorType({.shape = {8, 16}, .dtype = DType::kFloat16}),
            "<Tensor[Float16], (8, 16)>");
  EXPECT_EQ(IrRefType({.shape = {4}, .dtype = DType::kBFloat16}, "b", IrStyle::kR20),
            "<Ref[Tensor(BF16)], (4), ref_key=:b>");
  EXPECT_EQ(IrRefType({.shape = {}, .dtype = DType::kUInt8}, "b", IrStyle::kR20),
            "<Ref[Tensor(U8)], (), ref_key=:b>");
  EXPECT_EQ(IrRefType({.shape = {512, 4096}, .dtype = DType::kFloat16}, "w", IrStyle::k2025),
            "<Ref[Tensor[Float16]], (512, 4096), ref_key=w>");
}

TEST(IrTypes, TuplesCountEqualElements) {
  EXPECT_EQ(IrTupleType({{.shape = {2}}, {.shape = {3}}}),
            "<Tuple[Tensor[Float32]*2], TupleShape((2), (3))>");
  EXPECT_EQ(IrTupleType({{.shape = {2}}, {.shape = {3}, .dtype = DType::kInt32}}),
            "<Tuple[Tensor[Float32], Tensor[Int32]], TupleShape((2), (3))>");
  // As MindSpore 2.0 prints it, with one node instead of its list of all, and no address.
  EXPECT_EQ(IrOperandType(std::vector<std::int64_t>{8, 4}, IrStyle::kR20),
            "<Tuple[Int64*2], sequence_nodes={node={ValueNode<ValueTuple> (8, 4), "
            "elements_use_flags: {ptr: 0x0, value: [const vector][1, 1]}}}>");
  EXPECT_EQ(
      IrOperandType(std::vector<std::int64_t>{1, 1}, IrStyle::k2025),
      "<Tuple[Int64*2], TupleShape(NoShape, NoShape), elements_use_flags={[const vector]{1, 1}}>");
}

TEST(IrStrategyText, HasNoTrailingComma) {
  EXPECT_EQ(IrStrategyText({{2, 4}}), "((2, 4))");
  EXPECT_EQ(IrStrategyText({{2, 4}, {}}), "((2, 4), ())");
}

TEST(IrConstantText, PrintsSmallConstantsOnly) {
  strategies::GraphBuilder builder;
  const ValueId scalar = builder.AddScalar(0.125, DType::kFloat32);
  const ValueId large = builder.AddConstant({.shape = {9}}, std::vector<double>(9, 1.0)).value();
  const strategies::Graph& graph = builder.graph();
  EXPECT_EQ(IrConstantText(graph, graph.at(scalar)),
            "Tensor(shape=[], dtype=Float32, value=0.125)");
  EXPECT_EQ(IrConstantText(graph, graph.at(large)), "Tensor(shape=[9], dtype=Float32)");
}

TEST(ParseIrStyle, KnowsTwoStyles) {
  EXPECT_EQ(ParseIrStyle("r2.0"), IrStyle::kR20);
  EXPECT_EQ(ParseIrStyle("2025"), IrStyle::k2025);
  EXPECT_EQ(ParseIrStyle("3").error().reason, "ir_style:unknown");
}

}  // namespace
}  // namespace drydock::reports
