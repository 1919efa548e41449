#include <algorithm>

#include <gtest/gtest.h>

#include "tests/proof/proof_step.h"
#include "tests/strategies/gradient_check.h"

// Attention in layouts that only names can give: queries of packed sequences (TND) cut more often
// than the keys, so that a rank's slice begins and ends inside sequences, and rings whose order is
// not that of the ranks. All ranks still compute what one device does.
namespace drydock::strategies::proof {
namespace {

constexpr std::int64_t kTokens = 24;

/// Sequences of any length, as many in each quarter of the tokens: keys may be cut there.
ProofCase PackedCase(Draw& draw) {
  std::vector<double> ends = {};
  const std::int64_t more = draw.Uniform(0, 2);
  for (std::int64_t quarter = 0; quarter < 4; ++quarter) {
    const std::int64_t begin = quarter * kTokens / 4;
    for (std::int64_t i = 0; i < more; ++i) {
      ends.push_back(static_cast<double>(begin + draw.Uniform(1, kTokens / 4)));
    }
    ends.push_back(static_cast<double>(begin + kTokens / 4));
  }
  std::sort(ends.begin(), ends.end());
  const std::int64_t heads = draw.Pick<std::int64_t>({1, 2, 4});
  const std::int64_t kv_heads = draw.Chance(2) ? heads : 1;
  const Operand lengths = FedAs(Fixed({std::ssize(ends)}, ends, DType::kInt64), Feed::kInput);
  return {.operands = {Floats({kTokens, heads, 2}, -1.5, 1.5),
                       Floats({kTokens, kv_heads, 2}, -1.5, 1.5),
                       Floats({kTokens, kv_heads, 2}, -1.5, 1.5), Absent(), Absent(), Absent(),
                       Absent(), Absent(), lengths, lengths},
          .attrs = {{"head_num", heads},
                    {"scale_value", 0.7},
                    {"input_layout", "TND"},
                    {"sparse_mode", 3}},
          .weighed = {false, false, false, true}};
}

using Map = std::vector<std::vector<std::int64_t>>;

/// The program of a seed with its attention cut: keys along `batch`, queries also along `sequence`.
Result<ProofProgram> PackedProgram(std::uint64_t seed, const std::vector<std::int64_t>& matrix,
                                   const std::vector<std::int64_t>& batch,
                                   const std::vector<std::int64_t>& sequence) {
  DRYDOCK_TRY(ProofProgram program,
              MakeProofProgram({.op = "FlashAttentionScore", .generator = PackedCase}, seed));
  const auto attention = std::ranges::find(program.step.graph.nodes, "FlashAttentionScore",
                                           [](const Node& node) { return node.op; });
  std::vector<std::int64_t> query = batch;
  query.insert(query.end(), sequence.begin(), sequence.end());
  attention->in_strategy.reset();
  attention->out_strategy.reset();
  attention->in_layout.emplace();
  for (const Map& map : {Map{query, {}, {}}, Map{batch, {}, {}}, Map{batch, {}, {}}}) {
    attention->in_layout->push_back({.device_matrix = matrix, .tensor_map = map});
  }
  for (int lengths = 0; lengths < 2; ++lengths) {
    attention->in_layout->push_back({.device_matrix = matrix, .tensor_map = {batch}});
  }
  program.how = "queries of packed sequences cut along " + std::to_string(query.size()) + " axes";
  return program;
}

/// The seed's world, every world in turn, as a device matrix of two axes.
std::vector<std::int64_t> MatrixOf(std::uint64_t seed) {
  constexpr std::int64_t kOuter[] = {1, 1, 2, 2, 4, 4};
  constexpr std::int64_t kInner[] = {2, 3, 2, 3, 2, 3};
  return {kOuter[seed % 6], kInner[seed % 6]};
}

TEST(PackedAttention, QueriesCutInsideSequencesSeeTheirKeys) {
  const std::uint64_t first = checks::SeedOr(1);
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    const auto program = PackedProgram(seed, MatrixOf(seed), {}, {1, 0});
    ASSERT_TRUE(program) << FormatError(program.error());
    const ProofOutcome outcome = Prove(*program);
    ASSERT_EQ(outcome.verdict, Verdict::kProven) << outcome.text << "\n" << Describe(*program);
  }
}

TEST(PackedAttention, QueriesAreCutFurtherThanKeysInAnyOrderOfAxes) {
  const std::uint64_t first = checks::SeedOr(1);
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    // Worlds 2 and 3 have no second axis; 24 tokens have quarters, so keys are cut by 2 or 4.
    const bool outer_is_batch = seed % 2 == 0;
    const auto program = outer_is_batch || MatrixOf(seed)[1] != 2
                             ? PackedProgram(seed, MatrixOf(seed), {1}, {0})
                             : PackedProgram(seed, MatrixOf(seed), {0}, {1});
    ASSERT_TRUE(program) << FormatError(program.error());
    const ProofOutcome outcome = Prove(*program);
    ASSERT_EQ(outcome.verdict, Verdict::kProven) << outcome.text << "\n" << Describe(*program);
  }
}

TEST(PackedAttention, OtherModesCutQueriesAndKeysAlike) {
  auto program = PackedProgram(2, {2, 2}, {1}, {0});
  ASSERT_TRUE(program) << FormatError(program.error());
  const auto attention = std::ranges::find(program->step.graph.nodes, "FlashAttentionScore",
                                           [](const Node& node) { return node.op; });
  attention->attrs["sparse_mode"] = 0;
  const auto compiled = CompileStep(program->step);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().reason, "FlashAttentionScore:strategy-packed");
}

/// 4 or 8 query heads that share 2 key heads, with a mask and a shift of every head.
ProofCase SharedHeadsCase(Draw& draw) {
  const std::int64_t heads = draw.Pick<std::int64_t>({4, 8});
  const bool flat = draw.Chance(2);
  const auto operand = [flat](std::int64_t count) {
    return Floats(flat ? Shape{2, 8, count * 2} : Shape{2, count, 8, 2}, -1.5, 1.5);
  };
  const Shape all = {2, heads, 8, 8};
  return {
      .operands = {operand(heads), operand(2), operand(2), Floats(all, -1.0, 1.0), Absent(),
                   Absent(), OfType(Integers(all, 0, 1), DType::kUInt8)},
      .attrs = {{"head_num", heads}, {"scale_value", 0.7}, {"input_layout", flat ? "BSH" : "BNSD"}},
      .weighed = {false, false, false, true}};
}

/// The program on 4 ranks: query heads along both axes, key heads along `keys` only.
Result<ProofProgram> SharedHeadsProgram(std::uint64_t seed, std::int64_t keys) {
  DRYDOCK_TRY(ProofProgram program,
              MakeProofProgram({.op = "FlashAttentionScore", .generator = SharedHeadsCase}, seed));
  const auto attention = std::ranges::find(program.step.graph.nodes, "FlashAttentionScore",
                                           [](const Node& node) { return node.op; });
  const bool flat = program.one.operands[0].type.shape.size() == 3;
  const auto heads = [flat](const std::vector<std::int64_t>& axes) {
    return flat ? Map{{}, {}, axes} : Map{{}, axes, {}, {}};
  };
  const Map all = {{}, {1, 0}, {}, {}};
  attention->in_strategy.reset();
  attention->in_layout.emplace();
  for (const Map& map : {heads({1, 0}), heads({keys}), heads({keys}), all, all}) {
    attention->in_layout->push_back({.device_matrix = {2, 2}, .tensor_map = map});
  }
  return program;
}

TEST(SharedKeyHeads, QueryHeadsAreCutFurtherThanKeyHeads) {
  const std::uint64_t first = 6 * checks::SeedOr(1) + 2;  // Every sixth seed has 4 ranks.
  for (std::uint64_t seed = first; seed < first + 60; seed += 6) {
    const auto program = SharedHeadsProgram(seed, 1);
    ASSERT_TRUE(program) << FormatError(program.error());
    const ProofOutcome outcome = Prove(*program);
    ASSERT_EQ(outcome.verdict, Verdict::kProven) << outcome.text << "\n" << Describe(*program);
  }
}

TEST(SharedKeyHeads, AxisOfTheKeysStandsInFront) {
  // Along the inner axis the first two ranks would have query heads of key head 0 and key heads
  // 0, 1.
  const auto program = SharedHeadsProgram(2, 0);
  ASSERT_TRUE(program) << FormatError(program.error());
  const auto compiled = CompileStep(program->step);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().reason, "FlashAttentionScore:layout-axis");
}

/// BNSD attention over 16 keys and queries with a shift, a mask and dropped weights.
ProofCase MaskedRingCase(Draw& draw) {
  const Shape all = {2, 2, 16, 16};
  return {.operands = {Floats({2, 2, 16, 2}, -1.5, 1.5), Floats({2, 2, 16, 2}, -1.5, 1.5),
                       Floats({2, 2, 16, 2}, -1.5, 1.5), Floats(all, -1.0, 1.0),
                       OfType(Integers({2, 2, 16, 2}, 0, 255), DType::kUInt8), Absent(),
                       OfType(Integers(draw.Chance(2) ? all : Shape{16, 16}, 0, 1), DType::kUInt8)},
          .attrs = {{"head_num", 2},
                    {"keep_prob", 0.8},
                    {"scale_value", 0.7},
                    {"input_layout", "BNSD"},
                    {"enable_ring_attention", true}},
          .weighed = {false, false, false, true}};
}

/// The program on 4 ranks: heads cut by one axis, the ring along the other one.
Result<ProofProgram> RingProgram(std::uint64_t seed, std::int64_t heads, std::int64_t ring) {
  DRYDOCK_TRY(ProofProgram program,
              MakeProofProgram({.op = "FlashAttentionScore", .generator = MaskedRingCase}, seed));
  const auto attention = std::ranges::find(program.step.graph.nodes, "FlashAttentionScore",
                                           [](const Node& node) { return node.op; });
  attention->in_strategy.reset();
  attention->in_layout.emplace();
  const Map keys = {{}, {heads}, {ring}, {}};
  const auto rank = program.one.operands[6].type.shape.size();
  for (const Map& map : {keys, keys, keys, keys, keys, rank == 2 ? Map{{ring}, {}} : keys}) {
    attention->in_layout->push_back({.device_matrix = {2, 2}, .tensor_map = map});
  }
  return program;
}

TEST(RingAttention, ShiftsMasksAndDroppedWeightsFollowTheKeys) {
  const std::uint64_t first = 6 * checks::SeedOr(1) + 2;  // Every sixth seed has 4 ranks.
  for (std::uint64_t seed = first; seed < first + 60; seed += 6) {
    const bool inner = seed % 4 == 0;
    const auto program = RingProgram(seed, inner ? 1 : 0, inner ? 0 : 1);
    ASSERT_TRUE(program) << FormatError(program.error());
    const ProofOutcome outcome = Prove(*program);
    ASSERT_EQ(outcome.verdict, Verdict::kProven) << outcome.text << "\n" << Describe(*program);
  }
}

TEST(RingAttention, EveryStepTakesItsColumns) {
  const auto program = RingProgram(2, 1, 0);
  ASSERT_TRUE(program) << FormatError(program.error());
  const auto compiled = CompileStep(program->step);
  ASSERT_TRUE(compiled) << FormatError(compiled.error());
  const auto count = [&](std::string_view op) {
    return std::ranges::count_if(compiled->sharded.local.nodes, [&](const Node& node) {
      return node.op == op && node.phase == Phase::kForward;
    });
  };
  // 2 steps: keys and values move once, as one tensor; each step takes columns of 3 operands, by
  // numbers that are looked up as well: 8 columns for the shift and the mask, which share theirs, 1
  // (of 8 bits) for the dropped weights.
  EXPECT_EQ(count("FlashAttentionScore"), 2);
  EXPECT_EQ(count("NeighborExchange"), 1);
  EXPECT_EQ(count("Gather"), 2 * (3 + 2));
}

}  // namespace
}  // namespace drydock::strategies::proof
