#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/proof/proof_step.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/op_cases.h"

// The proof by numbers of every operator: whatever its cuts and the world, the ranks together
// compute what one device computes, forward and backward, and gradients are slopes.
namespace drydock::strategies::proof {
namespace {

std::uint64_t NumberOr(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): tests are single-threaded
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

struct Tally {
  std::uint64_t proven = 0;
  std::uint64_t cut = 0;  ///< Proven with the operator itself cut.
  std::uint64_t unsupported = 0;
  std::string first_unsupported = {};
};

std::vector<ProofEntry> Generators() {
  std::vector<ProofEntry> entries;
  for (const ProofEntry& entry : AllProofEntries()) {
    if (entry.generator != nullptr) {
      entries.push_back(entry);
    }
  }
  return entries;
}

class OperatorProof : public testing::TestWithParam<ProofEntry> {
 protected:
  /// Tries one program; a failure is reported with its seed.
  void Try(std::uint64_t seed, Tally& tally) {
    const Result<ProofProgram> program = MakeProofProgram(GetParam(), seed);
    ASSERT_TRUE(program) << "seed " << seed << ": " << FormatError(program.error());
    const ProofOutcome outcome = Prove(*program);
    ASSERT_NE(outcome.verdict, Verdict::kFailed) << outcome.text << "\n"
                                                 << Describe(*program) << "\n";
    if (outcome.verdict == Verdict::kUnsupported) {
      ++tally.unsupported;
      tally.first_unsupported = outcome.text;
      return;
    }
    ++tally.proven;
    tally.cut += program->cut ? 1 : 0;
  }
};

TEST_P(OperatorProof, RanksTogetherComputeTheWholeAndGradientsAreSlopes) {
  // DRYDOCK_SEED and DRYDOCK_PROGRAMS choose other programs; a failure names its seed.
  const std::uint64_t first = checks::SeedOr(1);
  const std::uint64_t count = NumberOr("DRYDOCK_PROGRAMS", 24);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count && !HasFatalFailure(); ++seed) {
    Try(seed, tally);
  }
  std::cout << "proof: " << GetParam().op << " proven=" << tally.proven << " cut=" << tally.cut
            << " unsupported=" << tally.unsupported << " failed=" << (HasFailure() ? 1 : 0) << "\n";
  EXPECT_TRUE(tally.proven > 0 || HasFailure()) << tally.first_unsupported;
}

INSTANTIATE_TEST_SUITE_P(Table, OperatorProof, testing::ValuesIn(Generators()),
                         [](const auto& suite) {
                           return cases::TestName(std::string(suite.param.op));
                         });

}  // namespace
}  // namespace drydock::strategies::proof
