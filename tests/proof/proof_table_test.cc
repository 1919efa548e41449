#include <set>
#include <string>

#include <gtest/gtest.h>

#include "strategies/operators/op_entry.h"
#include "tests/proof/proof_step.h"

// Which operators the numeric proof covers, and why the others are left out.
namespace drydock::strategies::proof {
namespace {

/// Operators that stand in compiled programs only: every program of the proof that needs them runs
/// them.
bool IsCompilerOnly(const OpEntry& entry) {
  return entry.kind == OpKind::kCollective || entry.kind == OpKind::kGradient ||
         entry.kind == OpKind::kDataset;
}

bool IsGradientKernel(const OpEntry& entry) {
  return entry.family == "gradient";
}

TEST(ProofTable, EveryOperatorHasAGeneratorOrAReasonWhyNot) {
  std::string missing;
  for (const OpEntry* entry : AllOps()) {
    const bool needed = !IsCompilerOnly(*entry) && !IsGradientKernel(*entry);
    if (needed && FindProof(entry->name) == nullptr) {
      missing += " " + std::string(entry->name);
    }
  }
  EXPECT_EQ(missing, "") << "\nregister them in tests/proof/cases_<family>.cc: PROOF_CASES, or "
                            "PROOF_NONE with the reason";
}

TEST(ProofTable, GeneratorsBelongToOperatorsWithReferenceExecution) {
  for (const ProofEntry& proof : AllProofEntries()) {
    const OpEntry* entry = FindOp(proof.op);
    ASSERT_NE(entry, nullptr) << proof.op << " is not in the table of operators";
    EXPECT_TRUE(proof.generator == nullptr || entry->evaluate != nullptr)
        << proof.op << " has a generator but cannot be executed";
    EXPECT_NE(proof.generator == nullptr, proof.reason.empty())
        << proof.op << " needs a generator or a reason";
  }
}

TEST(ProofTable, EveryOperatorIsRegisteredOnce) {
  std::string_view last;
  for (const ProofEntry& proof : AllProofEntries()) {
    EXPECT_NE(proof.op, last) << "registered twice";
    last = proof.op;
  }
}

TEST(ProofTable, GradientKernelsAreRunByTheProofOfSomeOperator) {
  std::string missing;
  std::set<std::string, std::less<>> run;
  for (const ProofEntry& proof : AllProofEntries()) {
    for (std::uint64_t seed = 1; proof.generator != nullptr && seed <= 12; ++seed) {
      const auto program = MakeProofProgram(proof, seed);
      ASSERT_TRUE(program) << FormatError(program.error());
      const auto compiled = Compile(program->step.graph, program->step.job);
      for (std::size_t n = 0; compiled && n < compiled->local.nodes.size(); ++n) {
        run.insert(compiled->local.nodes[n].op);
      }
    }
  }
  for (const OpEntry* entry : AllOps()) {
    if (IsGradientKernel(*entry) && FindProof(entry->name) == nullptr) {
      if (!run.contains(entry->name)) {
        missing += " " + std::string(entry->name);
      }
    }
  }
  EXPECT_EQ(missing, "") << "run by no program of the proof";
}

}  // namespace
}  // namespace drydock::strategies::proof
