#include <gtest/gtest.h>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/sharding.h"
#include "strategies/passes/compile_job.h"
#include "strategies/program/agreement.h"
#include "strategies/program/collectives.h"
#include "strategies/rules/windows/halo.h"
#include "tests/strategies/gradient_check.h"

// Operators with sliding windows: which border rows ranks exchange, and which cuts are refused.
namespace drydock::strategies {
namespace {

using List = std::vector<std::int64_t>;

// 12 rows on 3 ranks, 3 x 3 kernel with stride 1 and padding 1: part p of 4 rows computes output
// rows [4p, 4p + 4) and needs input rows [4p - 1, 4p + 5).
constexpr HaloDim kRows = {.dim = 2, .parts = 3, .extent = 12, .first = -1, .step = 4, .length = 6};

TEST(HaloDim, InnerPartsSendToBothSidesAndEdgesToOne) {
  EXPECT_EQ(SentRows(kRows, 0), (HaloLengths{.before = 0, .after = 1}));
  EXPECT_EQ(SentRows(kRows, 1), (HaloLengths{.before = 1, .after = 1}));
  EXPECT_EQ(SentRows(kRows, 2), (HaloLengths{.before = 1, .after = 0}));
  EXPECT_EQ(ReceivedRows(kRows, 0), (HaloLengths{.before = 0, .after = 1}));
}

TEST(HaloDim, UnequalHalosFollowFromWindowsThatDriftAgainstTheParts) {
  // 10 rows padded by (4, 4), kernel 5, stride 1: 14 output rows, 7 per part of 5 input rows.
  // Windows of 11 rows begin at -4 and 3: part 0 needs 2 rows of part 1, part 1 needs 2 rows of
  // part 0.
  const HaloDim drifting{.dim = 2, .parts = 2, .extent = 10, .first = -4, .step = 7, .length = 11};
  EXPECT_TRUE(IsNeighbourly(drifting));
  EXPECT_EQ(SentRows(drifting, 0), (HaloLengths{.before = 0, .after = 2}));
  EXPECT_EQ(SentRows(drifting, 1), (HaloLengths{.before = 2, .after = 0}));
}

TEST(HaloDim, WhatOnePartSendsIsWhatItsNeighbourReceives) {
  for (std::int64_t pad = 0; pad <= 4; ++pad) {
    for (const std::int64_t step : {3, 4, 5}) {
      const HaloDim dim{
          .dim = 2, .parts = 4, .extent = 16, .first = -pad, .step = step, .length = step + 4};
      for (std::int64_t part = 0; part + 1 < dim.parts; ++part) {
        EXPECT_EQ(SentRows(dim, part).after, ReceivedRows(dim, part + 1).before);
        EXPECT_EQ(SentRows(dim, part + 1).before, ReceivedRows(dim, part).after);
      }
    }
  }
}

TEST(HaloDim, WindowsBeyondTheNeighboursAreNotNeighbourly) {
  // One row per part and a kernel of 5: two rows of each side are needed.
  EXPECT_FALSE(
      IsNeighbourly({.dim = 2, .parts = 8, .extent = 8, .first = -2, .step = 1, .length = 5}));
}

// Two by two ranks, parts of 4 x 6, one border row and column each way.
HaloPlan Grid() {
  return {.dims = {{.dim = 2, .parts = 2, .extent = 8, .first = -1, .step = 4, .length = 6},
                   {.dim = 3, .parts = 2, .extent = 12, .first = -1, .step = 6, .length = 8}}};
}

TEST(HaloPlan, CornerRankSendsRowColumnAndCorner) {
  // Rank 0 sends one column of 4, one row of 6 and a corner, of 2 * 3 images of 4-byte numbers:
  // (4 + 6 + 1) * 6 * 4 B.
  EXPECT_EQ(HaloSentBytes(Grid(), {2, 3, 4, 6}, 4, 0, false), 264);
  EXPECT_EQ(HaloSentBytes(Grid(), {2, 3, 4, 6}, 4, 0, true), 264);
}

TEST(HaloPlan, NeighboursAreListedClockwiseFromTheTop) {
  const List members = {10, 11, 12, 13};
  const AttrMap upper_left = HaloNeighbours(Grid(), members, 0, false);
  EXPECT_EQ(upper_left.at("send_rank_ids"), Attr(List{-1, -1, 11, 13, 12, -1, -1, -1}));
  EXPECT_EQ(upper_left.at("send_lens"), Attr(List{0, 1, 0, 1}));
  const AttrMap lower_right = HaloNeighbours(Grid(), members, 3, false);
  EXPECT_EQ(lower_right.at("recv_rank_ids"), Attr(List{11, -1, -1, -1, -1, -1, 12, 10}));
  EXPECT_EQ(lower_right.at("recv_lens"), Attr(List{1, 0, 1, 0}));
}

TEST(HaloPlan, AttributesDescribeThePlan) {
  const auto read = HaloPlanOf(HaloAttrs(Grid()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->dims, Grid().dims);
}

TEST(HaloPlan, NeighboursChosenByTheScriptAreUnsupported) {
  const auto read = HaloPlanOf({{"send_rank_ids", List{0}}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
}

// ---- In a program -------------------------------------------------------------------------------

/// A 3 x 3 convolution of (2, 1, 8, 5) with its 8 rows on 4 ranks.
Result<LocalProgram> CutConvolution() {
  GraphBuilder builder("rows");
  DRYDOCK_TRY(const ValueId x, builder.AddInput("x", {.shape = {2, 1, 8, 5}}));
  DRYDOCK_TRY(const ValueId w, builder.AddParameter("w", {.shape = {1, 1, 3, 3}}, {}));
  DRYDOCK_TRY(const NodeId conv,
              builder.AddNode({.op = "Conv2D", .inputs = {x, w}, .attrs = {{"pad_mode", "same"}}}));
  builder.mutable_graph().nodes[ToIndex(conv)].in_strategy = Strategy{{1, 1, 4, 1}, {1, 1, 1, 1}};
  builder.SetOutputs(builder.graph().at(conv).outputs);
  return Compile(std::move(builder).Take(),
                 {.world_size = 4,
                  .mode = ParallelMode::kSemiAutoParallel,
                  .dataset = {.kind = DatasetStrategy::Kind::kFullBatch}});
}

TEST(CutConvolution, ReportsWhatInnerAndEdgeRanksSend) {
  const auto program = CutConvolution();
  ASSERT_TRUE(program) << program.error().message;
  const auto uses = CollectivesOf(*program);
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].payload_bytes, 80);     // 2 * 1 * 2 * 5 numbers of 4 B.
  EXPECT_EQ(uses[0].sent_bytes, 80);        // A row of 5 to each side, of 2 images.
  EXPECT_EQ(uses[0].least_sent_bytes, 40);  // At the edge to one side.
  EXPECT_TRUE(CheckAgreement({SequenceOf(*program)}, {0, 0, 0, 0}, 4).holds);
}

TEST(CutConvolution, RanksKnowTheirNeighbours) {
  const auto program = CutConvolution();
  ASSERT_TRUE(program) << program.error().message;
  const auto attr_of = [&](int rank, const char* name) {
    const Graph graph = SpecialiseForRank(*program, RankId{rank});
    for (const Node& node : graph.nodes) {
      if (node.op == ops::kNeighborExchange) {
        return node.attrs.at(name);
      }
    }
    return Attr();
  };
  EXPECT_EQ(attr_of(0, "send_rank_ids"), Attr(List{-1, -1, -1, -1, 1, -1, -1, -1}));
  EXPECT_EQ(attr_of(2, "send_rank_ids"), Attr(List{1, -1, -1, -1, 3, -1, -1, -1}));
  EXPECT_EQ(attr_of(3, "recv_lens"), Attr(List{1, 0, 0, 0}));
}

/// A column of 4 gradients that gives 10 rows (stride 3, kernel 4, padding 1 and 2) on 2 ranks.
Result<LocalProgram> RowsBetweenStrides() {
  GraphBuilder builder("rows");
  DRYDOCK_TRY(const ValueId dy, builder.AddInput("dy", {.shape = {1, 1, 4, 1}}));
  DRYDOCK_TRY(const ValueId w, builder.AddParameter("w", {.shape = {1, 1, 4, 1}}, {}));
  NodeSpec spec{.op = "Conv2DTranspose", .inputs = {dy, w}, .attrs = {{"pad_mode", "pad"}}};
  spec.attrs["input_size"] = List{1, 1, 10, 1};
  spec.attrs["kernel_size"] = List{4, 1};
  spec.attrs["stride"] = List{3, 1};
  spec.attrs["pad"] = List{1, 2, 0, 0};
  DRYDOCK_TRY(const NodeId back, builder.AddNode(std::move(spec)));
  builder.mutable_graph().nodes[ToIndex(back)].in_strategy = Strategy{{1, 1, 2, 1}, {1, 1, 1, 1}};
  builder.SetOutputs(builder.graph().at(back).outputs);
  return Compile(std::move(builder).Take(),
                 {.world_size = 2,
                  .mode = ParallelMode::kSemiAutoParallel,
                  .dataset = {.kind = DatasetStrategy::Kind::kFullBatch}});
}

TEST(CutConvolution, PartsThatBeginBetweenStridesAreCutOutOfWhatTheirWindowsGive) {
  // Gradient o reaches rows 3 o - 1 to 3 o + 2. Rank 0 (rows 0 to 4) needs gradients 0 and 1, rank
  // 1 (rows 5 to 9) needs 1, 2 and 3: the windows are -1 to 1 and 1 to 3. They give 10 rows from
  // row -4 and from row 2 on, so the ranks' own rows begin at 4 and at 3 of them.
  const auto program = RowsBetweenStrides();
  ASSERT_TRUE(program) << FormatError(program.error());
  for (const std::int64_t rank : {0, 1}) {
    const Graph graph = SpecialiseForRank(*program, RankId{static_cast<std::int32_t>(rank)});
    ASSERT_EQ(graph.nodes.back().op, ops::kStridedSlice);
    EXPECT_EQ(graph.nodes.back().attrs.at("begin"), Attr(List{0, 0, 4 - rank, 0}));
    EXPECT_EQ(graph.nodes.back().attrs.at("end"), Attr(List{1, 1, 9 - rank, 1}));
  }
}

// ---- Refused cuts -------------------------------------------------------------------------------

struct Refused {
  std::string name = {};
  std::string op = {};
  std::vector<TensorType> inputs = {};
  AttrMap attrs = {};
  Strategy strategy = {};
  std::string reason = {};
  friend void PrintTo(const Refused& one, std::ostream* out) { *out << one.name; }
};

class RefusedCut : public testing::TestWithParam<Refused> {};

TEST_P(RefusedCut, NamesTheRule) {
  const Refused& one = GetParam();
  const auto outputs = checks::InferOp(one.op, one.inputs, one.attrs);
  ASSERT_TRUE(outputs) << outputs.error().message;
  const OpView view{.op = one.op, .inputs = one.inputs, .outputs = *outputs, .attrs = &one.attrs};
  const auto sharding =
      DeriveSharding(*FindOp(one.op), view, one.strategy, {.stage_devices = 8, .job_devices = 8});
  ASSERT_FALSE(sharding);
  EXPECT_EQ(sharding.error().reason, one.reason) << sharding.error().message;
}

const TensorType kImage = {.shape = {2, 4, 8, 8}};
const TensorType kKernel = {.shape = {4, 4, 3, 3}};
const Strategy kCutRows = {{1, 1, 2, 1}, {1, 1, 1, 1}};

INSTANTIATE_TEST_SUITE_P(
    Windows, RefusedCut,
    testing::Values(
        // Kernel 3 beyond stride 1, and pad mode 'valid' exchanges nothing; 6 output rows.
        Refused{"ValidModeWithReach",
                "Conv2D",
                {kImage, kKernel},
                {},
                kCutRows,
                "Conv2D:strategy-valid"},
        // One row per part, two needed from each side.
        Refused{"BeyondTheNeighbours",
                "Conv2D",
                {kImage, {.shape = {4, 4, 5, 5}}},
                {{"pad_mode", "same"}},
                {{1, 1, 8, 1}, {1, 1, 1, 1}},
                "Conv2D:strategy-halo"},
        // ceil(6 / 2) = 3 output rows in 2 parts.
        Refused{"OutputNotDivisible",
                "Conv2D",
                {{.shape = {2, 4, 6, 8}}, kKernel},
                {{"pad_mode", "same"}, {"stride", 2}},
                kCutRows,
                "Conv2D:strategy-output"},
        // Windows cover rows [-1, 6] of 7 (8 with the end padding): one more is left over than
        // padded.
        Refused{"PaddingOfIndependentParts",
                "Conv2D",
                {kImage, {.shape = {4, 4, 2, 2}}},
                {{"pad_mode", "pad"}, {"pad", List{2, 2, 0, 0}}, {"stride", List{2, 2}}},
                kCutRows,
                "Conv2D:strategy-pad"},
        Refused{"ChannelsOfGroups",
                "Conv2D",
                {kImage, {.shape = {4, 2, 3, 3}}},
                {{"pad_mode", "same"}, {"group", 2}},
                {{1, 1, 1, 1}, {2, 1, 1, 1}},
                "Conv2D:strategy-uncut"},
        Refused{"CrossCorrelationOnly",
                "Conv2D",
                {kImage, kKernel},
                {{"mode", 0}},
                {{2, 1, 1, 1}, {1, 1, 1, 1}},
                "Conv2D:strategy-mode"},
        // Parts of 5 rows do not hold whole strides of 4; 2 output rows.
        Refused{"PartsOfBrokenStrides",
                "MaxPool",
                {{.shape = {2, 4, 10, 8}}},
                {{"kernel_size", 4}, {"strides", 4}},
                {{1, 1, 2, 1}},
                "MaxPool:strategy-stride"},
        Refused{"FlatPoolsExchangeNothing",
                "MaxPool",
                {kImage},
                {{"kernel_size", 3}, {"strides", 1}, {"pad_mode", "same"}},
                {{1, 1, 2, 1}},
                "MaxPool:strategy-valid"},
        Refused{"HeightOfBilinearResize",
                "ResizeBilinearV2",
                {kImage},
                {{"size", List{16, 16}}},
                {{1, 1, 2, 1}},
                "ResizeBilinearV2:strategy-uncut"},
        Refused{"AlignedCorners",
                "ResizeNearestNeighbor",
                {kImage},
                {{"size", List{16, 16}}, {"align_corners", true}},
                {{1, 1, 1, 2}},
                "ResizeNearestNeighbor:strategy-uncut"},
        Refused{"GroupsOfPartOfTheBatch",
                "BatchNorm",
                {kImage, {.shape = {4}}, {.shape = {4}}, {.shape = {4}}, {.shape = {4}}},
                {{"group_size", 2}},
                {{2, 1, 1, 1}, {1}, {1}, {1}, {1}},
                "BatchNorm:strategy-group"},
        // 4 query heads share 2 key heads: 4 ranks cannot each have a key head.
        Refused{"MorePartsThanKeyHeads",
                "FlashAttentionScore",
                {{.shape = {2, 8, 32}}, {.shape = {2, 8, 16}}, {.shape = {2, 8, 16}}},
                {{"head_num", 4}},
                {{1, 1, 4}, {1, 1, 4}, {1, 1, 4}},
                "FlashAttentionScore:strategy-heads"},
        Refused{"RingThatIsANumber",
                "FlashAttentionScore",
                {{.shape = {2, 8, 32}}, {.shape = {2, 8, 32}}, {.shape = {2, 8, 32}}},
                {{"head_num", 4}, {"enable_ring_attention", 1}},
                {{1, 2, 1}, {1, 2, 1}, {1, 2, 1}},
                "FlashAttentionScore:ring-setting"},
        Refused{"MessagesThatAreANumber",
                "FlashAttentionScore",
                {{.shape = {2, 8, 32}}, {.shape = {2, 8, 32}}, {.shape = {2, 8, 32}}},
                {{"head_num", 4}, {"enable_ring_attention", true}, {"enable_ra_send_recv", 3}},
                {{1, 2, 1}, {1, 2, 1}, {1, 2, 1}},
                "FlashAttentionScore:ring-setting"},
        Refused{"BalanceThatIsText",
                "FlashAttentionScore",
                {{.shape = {2, 8, 32}}, {.shape = {2, 8, 32}}, {.shape = {2, 8, 32}}},
                {{"head_num", 4},
                 {"enable_ring_attention", true},
                 {"enable_ra_context_parallel", "True"}},
                {{1, 2, 1}, {1, 2, 1}, {1, 2, 1}},
                "FlashAttentionScore:ring-setting"},
        Refused{"OtherRingThatIsANumber",
                "FlashAttentionScore",
                {{.shape = {2, 8, 32}}, {.shape = {2, 8, 32}}, {.shape = {2, 8, 32}}},
                {{"head_num", 4}, {"enable_flash_sp", 2}},
                {{1, 2, 1}, {1, 2, 1}, {1, 2, 1}},
                "FlashAttentionScore:ring-setting"},
        Refused{"MessagesWithoutARing",
                "FlashAttentionScore",
                {{.shape = {2, 8, 32}}, {.shape = {2, 8, 32}}, {.shape = {2, 8, 32}}},
                {{"head_num", 4}, {"enable_ra_send_recv", true}},
                {{1, 2, 1}, {1, 2, 1}, {1, 2, 1}},
                "FlashAttentionScore:ring-missing"}),
    [](const auto& suite) { return suite.param.name; });

// ---- Numbers of single ranks --------------------------------------------------------------------

/// Attribute of the local attention of a rank whose 8 queries of 2 ranks see 8 keys causally.
Attr CausalAttr(int rank, const char* name) {
  GraphBuilder builder("causal");
  NodeSpec spec{.op = "FlashAttentionScore", .attrs = {{"head_num", 2}, {"sparse_mode", 3}}};
  for (const char* operand : {"q", "k", "v"}) {
    spec.inputs.push_back(*builder.AddInput(operand, {.shape = {1, 8, 4}}));
  }
  const NodeId node = *builder.AddNode(std::move(spec));
  builder.mutable_graph().nodes[ToIndex(node)].in_strategy =
      Strategy{{1, 2, 1}, {1, 1, 1}, {1, 1, 1}};
  builder.SetOutputs({builder.graph().at(node).outputs[3]});
  const auto program =
      Compile(std::move(builder).Take(), {.world_size = 2,
                                          .mode = ParallelMode::kSemiAutoParallel,
                                          .dataset = {.kind = DatasetStrategy::Kind::kFullBatch}});
  const Graph graph = SpecialiseForRank(*program, RankId{rank});
  for (const Node& one : graph.nodes) {
    if (one.attrs.contains("sparse_mode")) {
      return one.attrs.at(name);
    }
  }
  return {};
}

TEST(FlashAttention, CausalBandIsCountedFromTheRanksOwnSlice) {
  // Slice i of 4 queries: query s sees keys t <= 4i + s. The band mode counts from the lower right
  // corner, t <= s + (8 - 4) + next: next = 4i - 4; the lower bound moves by the same, from 8.
  EXPECT_EQ(CausalAttr(0, "sparse_mode"), Attr(4));
  EXPECT_EQ(CausalAttr(0, "next_tokens"), Attr(-4));
  EXPECT_EQ(CausalAttr(0, "pre_tokens"), Attr(12));
  EXPECT_EQ(CausalAttr(1, "next_tokens"), Attr(0));
  EXPECT_EQ(CausalAttr(1, "pre_tokens"), Attr(8));
}

TEST(BatchNorm, TrainingStatisticsAreMeanAndBiasedVarianceOfAChannel) {
  // Numbers 0..7 in one channel: mean 3.5, variance (8^2 - 1) / 12 = 5.25.
  const NdArray x = checks::Counting({2, 1, 2, 2});
  const NdArray one = FilledArray({1}, 1.0);
  const NdArray zero = FilledArray({1}, 0.0);
  const auto whole = checks::RunOp("BatchNorm", {x, one, zero, zero, one}, {{"is_training", true}});
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_DOUBLE_EQ((*whole)[1].data[0], 3.5);
  EXPECT_DOUBLE_EQ((*whole)[2].data[0], 5.25);
}

}  // namespace
}  // namespace drydock::strategies
