#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "strategies/rules/op_entry.h"
#include "tests/proof/proof_case.h"

namespace drydock::strategies::proof {
namespace {

/// Operators that are proven elsewhere, or need no proof of their own.
bool NeedsGenerator(const OpEntry& entry) {
  const bool compiler_only = entry.kind == OpKind::kCollective || entry.kind == OpKind::kGradient ||
                             entry.kind == OpKind::kDataset;
  const bool gradient_kernel = entry.family == "gradient";
  return entry.evaluate != nullptr && !compiler_only && !gradient_kernel;
}

TEST(ProofTable, EveryOperatorWithReferenceExecutionHasAGenerator) {
  std::string missing;
  int count = 0;
  for (const OpEntry* entry : AllOps()) {
    const ProofEntry* proof = FindProof(entry->name);
    if (NeedsGenerator(*entry) && (proof == nullptr || proof->generator == nullptr)) {
      missing += " " + std::string(entry->name);
      ++count;
    }
  }
  std::cout << count << " operators without generator:" << missing << "\n";
  EXPECT_LE(count, 116);
}

TEST(ProofTable, EveryEntryNamesAnOperatorOnce) {
  std::string_view last;
  for (const ProofEntry& proof : AllProofEntries()) {
    EXPECT_NE(proof.op, last) << "registered twice";
    EXPECT_NE(FindOp(proof.op), nullptr) << proof.op << " is not in the table of operators";
    last = proof.op;
  }
}

}  // namespace
}  // namespace drydock::strategies::proof
