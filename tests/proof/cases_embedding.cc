#include "tests/proof/proof_case.h"

namespace drydock::strategies::proof {
namespace {

/// Table looked up on a dimension by indices of any shape, without batch dimensions.
ProofCase TableLookUpCase(Draw& draw) {
  const Shape table = draw.AnyShape(1, 3);
  const std::int64_t axis = draw.Axis(std::ssize(table));
  const std::int64_t dim = axis < 0 ? axis + std::ssize(table) : axis;
  const Shape indices = draw.op() == "IndexSelect" ? Shape{draw.Extent(8)} : draw.AnyShape(0, 2);
  return {.operands = {Floats(table), Indices(indices, table[static_cast<std::size_t>(dim)])},
          .attrs = {{draw.op() == "IndexSelect" ? "dim" : "axis", axis}}};
}

/// Rows of a table of one or two dimensions; indices outside give zeros.
ProofCase HostLookUpCase(Draw& draw) {
  const Shape table = draw.AnyShape(1, 2);
  return {.operands = {Floats(table), Indices(draw.AnyShape(1, 2), table[0])},
          .attrs = {{"offset", 0}, {"primitive_target", "CPU"}}};
}

ProofCase EmbeddingCase(Draw& draw) {
  const Shape table = draw.AnyShape(2, 2);
  return {.operands = {Indices(draw.AnyShape(0, 2), table[0]), Floats(table)}};
}

PROOF_CASES_OF(TableLookUps, TableLookUpCase, "SparseGatherV2", "IndexSelect");
PROOF_CASES_OF(HostLookUp, HostLookUpCase, "EmbeddingLookup");
PROOF_CASES(Embedding, EmbeddingCase);

}  // namespace
}  // namespace drydock::strategies::proof
