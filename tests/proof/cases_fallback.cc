#include "base/checked.h"
#include "tests/proof/proof_case.h"

// Operators without a rule of their own. Source: mindspore
// ccsrc/frontend/parallel/step_parallel_utils.cc.
namespace drydock::strategies::proof {
namespace {

ProofCase IdentityCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(0, 4))}};
}
PROOF_CASES(AShardIdentity, IdentityCase);

/// Its value is that of a rank's own slice, which zeros hide; its gradient is 1 everywhere.
ProofCase VirtualLossCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  return {.operands = {Fixed(shape,
                             std::vector<double>(static_cast<std::size_t>(Product(shape)), 0.0))},
          .per_rank = {true}};
}
PROOF_CASES(VirtualLoss, VirtualLossCase);

PROOF_NONE(Rules, "rules for operators that have none; tests/strategies/fallback_test.cc",
           "BatchParallel", "StandAlone", "SelfDefineShard");
PROOF_NONE(Custom, "what it computes is the user's own", "Custom");
PROOF_NONE(Meshgrid, "always whole: nothing is cut; tests/strategies/fallback_test.cc", "Meshgrid");

}  // namespace
}  // namespace drydock::strategies::proof
