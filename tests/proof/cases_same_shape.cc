#include "tests/proof/proof_case.h"

/// Operators of several operands of one shape.
namespace drydock::strategies::proof {
namespace {

ProofCase AddNCase(Draw& draw) {
  const Shape shape = draw.AnyShape(0, 4);
  ProofCase one;
  for (std::int64_t i = draw.Uniform(1, 4); i > 0; --i) {
    one.operands.push_back(Floats(shape));
  }
  return one;
}

ProofCase SelectCase(Draw& draw) {
  const Shape shape = draw.AnyShape(0, 4);
  return {.operands = {Bools(shape), Floats(shape), Floats(shape)}};
}

PROOF_CASES(AddN, AddNCase);
PROOF_CASES(Select, SelectCase);

}  // namespace
}  // namespace drydock::strategies::proof
