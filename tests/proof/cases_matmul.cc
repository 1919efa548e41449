#include "tests/proof/proof_case.h"

namespace drydock::strategies::proof {
namespace {

/// [.., m, k] x [.., k, n], each possibly transposed; batch dimensions broadcast.
ProofCase MatMulCase(Draw& draw) {
  const bool batched = draw.op() == "BatchMatMul" || draw.op() == "BatchMatMulExt";
  const bool fixed_form = draw.op() == "MatMulExt" || draw.op() == "BatchMatMulExt";
  const bool transpose_a = !fixed_form && draw.Chance(2);
  const bool transpose_b = !fixed_form && draw.Chance(2);
  const std::int64_t m = draw.Extent(8);
  const std::int64_t k = draw.Extent(8);
  const std::int64_t n = draw.Extent(8);
  Shape a = transpose_a ? Shape{k, m} : Shape{m, k};
  Shape b = transpose_b ? Shape{n, k} : Shape{k, n};
  for (std::int64_t d = batched ? draw.Uniform(1, 2) : 0; d > 0; --d) {
    const std::int64_t batch = draw.Extent(4);
    a.insert(a.begin(), batch);
    b.insert(b.begin(), batch);
  }
  ProofCase one{.operands = {Floats(a), Floats(b)}};
  if (!fixed_form) {
    one.attrs = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}};
  }
  return one;
}

/// [.., k] times the transpose of [n, k], perhaps plus [n]. Without a rule, what is no parameter
/// would be cut by its first dimension.
ProofCase DenseCase(Draw& draw) {
  const std::int64_t inner = draw.Extent(4);
  const std::int64_t outer = draw.Extent(4);
  Shape x = {draw.Extent(8), inner};
  if (draw.Chance(2)) {
    x.insert(x.begin(), draw.Extent(4));
  }
  ProofCase one{.operands = {Floats(x), FedAs(Floats({outer, inner}), Feed::kParameter), Absent()}};
  if (draw.Chance(2)) {
    one.operands[2] = FedAs(Floats({outer}), Feed::kParameter);
  }
  return one;
}
PROOF_CASES(Dense, DenseCase);

PROOF_CASES_OF(Products, MatMulCase, "MatMul", "MatMulExt", "BatchMatMul", "BatchMatMulExt");

}  // namespace
}  // namespace drydock::strategies::proof
