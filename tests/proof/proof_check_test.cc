#include <set>

#include <gtest/gtest.h>

#include "tests/proof/proof_step.h"

// The proof notices what it is there for: wrong gradients, missing communication, wrong values.
namespace drydock::strategies::proof {
namespace {

/// Of the programs of 30 seeds, how many fail after `spoil`.
template <typename Spoil>
int Failures(const ProofEntry& entry, Spoil spoil) {
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    auto program = MakeProofProgram(entry, seed);
    EXPECT_TRUE(program) << FormatError(program.error());
    spoil(*program);
    failures += Prove(*program).verdict == Verdict::kFailed ? 1 : 0;
  }
  return failures;
}

TEST(ProofCheck, NoticesALossThatIsNotDividedByItsReplicas) {
  EXPECT_GE(Failures(*FindProof("MatMul"),
                     [](ProofProgram& program) { program.step.job.loss_repeated_mean = false; }),
            15);
}

/// The mean that LayerNorm returns beside its result has no gradient.
ProofCase WeighedMean(Draw& draw) {
  ProofCase one = FindProof("LayerNorm")->generator(draw);
  one.weighed = {true, true, false};
  return one;
}

TEST(ProofCheck, NoticesAGradientThatIsNoSlope) {
  EXPECT_GE(Failures({.op = "LayerNorm", .generator = WeighedMean}, [](ProofProgram&) {}), 25);
}

TEST(ProofCheck, NoticesAValueThatEveryRankHasForItself) {
  // A cut sparse cross entropy is the mean over a rank's own samples (mindspore
  // ops_info/loss_info.cc).
  EXPECT_GE(Failures(*FindProof("SparseSoftmaxCrossEntropyWithLogits"),
                     [](ProofProgram& program) { program.per_rank_outputs.clear(); }),
            5);
}

TEST(ProofCheck, RefusesACaseThatIsNotLegal) {
  const ProofEntry entry = {.op = "MatMul", .generator = [](Draw&) {
                              return ProofCase{.operands = {Floats({2, 3}), Floats({4, 5})}};
                            }};
  const auto program = MakeProofProgram(entry, 1);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::kInternal);
}

TEST(ProofCheck, SameSeedGivesTheSameProgram) {
  const ProofEntry& entry = *FindProof("Gather");
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto a = MakeProofProgram(entry, seed);
    const auto b = MakeProofProgram(entry, seed);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(Describe(*a), Describe(*b));
    EXPECT_EQ(a->step.data.parameters, b->step.data.parameters);
  }
}

TEST(ProofCheck, SixSeedsInARowTryEveryWorld) {
  std::set<std::int64_t> worlds;
  for (std::uint64_t seed = 41; seed < 47; ++seed) {
    worlds.insert(MakeProofProgram(*FindProof("Add"), seed)->step.job.world_size);
  }
  EXPECT_EQ(worlds, (std::set<std::int64_t>{2, 3, 4, 6, 8, 12}));
}

}  // namespace
}  // namespace drydock::strategies::proof
