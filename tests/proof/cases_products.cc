#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "tests/proof/proof_case.h"

namespace drydock::strategies::proof {
namespace {

Attr::List Dims(const std::vector<std::int64_t>& dims) {
  return Attr::List(dims.begin(), dims.end());
}

/// Any number of paired dimensions in any order.
ProofCase TensorDotCase(Draw& draw) {
  const Shape a = draw.AnyShape(1, 3);
  const std::int64_t rank_b = draw.Uniform(1, 3);
  const std::int64_t paired = draw.Uniform(0, std::min<std::int64_t>(std::ssize(a), rank_b));
  Shape b(static_cast<std::size_t>(rank_b));
  for (std::int64_t& extent : b) {
    extent = draw.Extent(4);
  }
  std::vector<std::int64_t> first = draw.Permutation(std::ssize(a));
  std::vector<std::int64_t> second = draw.Permutation(rank_b);
  if (draw.Chance(3)) {  // The last dimensions of a with the first of b.
    for (std::int64_t i = 0; i < paired; ++i) {
      b[static_cast<std::size_t>(i)] = a[a.size() - static_cast<std::size_t>(paired - i)];
    }
    return {.operands = {Floats(a), Floats(b)}, .attrs = {{"axes", paired}}};
  }
  first.resize(static_cast<std::size_t>(paired));
  second.resize(static_cast<std::size_t>(paired));
  for (std::size_t i = 0; i < first.size(); ++i) {
    b[static_cast<std::size_t>(second[i])] = a[static_cast<std::size_t>(first[i])];
  }
  return {.operands = {Floats(a), Floats(b)},
          .attrs = {{"axes", Attr::List{Dims(first), Dims(second)}}}};
}

/// Numbers in steps of 0.5 from `shift` on, moved by a part of `per_column` in every column: their
/// differences from numbers without that move are never equal in two columns.
Operand InSteps(Draw& draw, const Shape& shape, double shift, double per_column) {
  std::vector<double> data = {};
  for (std::int64_t i = 0; i < Product(shape); ++i) {
    const double column = static_cast<double>(i % shape.back()) / static_cast<double>(shape.back());
    data.push_back(0.5 * static_cast<double>(draw.Uniform(0, 4)) + shift + per_column * column);
  }
  return Fixed(shape, std::move(data));
}

ProofCase CdistCase(Draw& draw) {
  const std::int64_t length = draw.Extent(4);
  Shape a = {draw.Extent(8), length};
  Shape b = {draw.Extent(8), length};
  if (draw.Chance(2)) {
    const std::int64_t batch = draw.Extent(4);
    a.insert(a.begin(), batch);
    b.insert(b.begin(), draw.Chance(4) ? 1 : batch);
  }
  // Other ranges, so that no two elements are equal.
  ProofCase one{.operands = {Floats(a, -2.0, 1.0), Floats(b, 1.1, 3.0)}};
  const double p = draw.Pick({1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()});
  if (std::isinf(p)) {
    one.operands = {InSteps(draw, a, -2.0, 0.0), InSteps(draw, b, 1.2, 0.4)};
  }
  one.attrs = {{"p", p}};
  return one;
}

/// A number for each column, or one for all.
Shape PerColumn(Draw& draw, std::int64_t columns) {
  return {draw.Chance(4) ? 1 : columns};
}

ProofCase QuantProductCase(Draw& draw) {
  const std::int64_t m = draw.Extent(8);
  const std::int64_t k = draw.Extent(8);
  const std::int64_t n = draw.Extent(8);
  const bool transpose = draw.Chance(2);
  ProofCase one{.operands = {Integers({m, k}, -5, 5, DType::kInt8),
                             Integers(transpose ? Shape{n, k} : Shape{k, n}, -5, 5, DType::kInt8),
                             NoGradient(Floats(PerColumn(draw, n)))},
                .attrs = {{"transpose_x2", transpose}, {"dtype", "float32"}}};
  one.operands.push_back(draw.Chance(2) ? Absent() : NoGradient(Floats(PerColumn(draw, n))));
  one.operands.push_back(draw.Chance(2) ? Absent()
                                        : Integers(PerColumn(draw, n), -5, 5, DType::kInt32));
  one.operands.push_back(draw.Chance(2) ? Absent() : NoGradient(Floats(PerColumn(draw, m))));
  return one;
}

ProofCase WeightQuantCase(Draw& draw) {
  const std::int64_t m = draw.Extent(8);
  const std::int64_t group = draw.Uniform(1, 3);
  const std::int64_t groups = draw.Extent(4);
  const std::int64_t n = draw.Extent(8);
  const std::int64_t k = group * groups;
  const bool transpose = draw.Chance(2);
  const Shape by_group = transpose ? Shape{n, groups} : Shape{groups, n};
  const Shape scale = draw.Chance(2) ? PerColumn(draw, n) : by_group;
  ProofCase one{.operands = {NoGradient(Floats({m, k})),
                             Integers(transpose ? Shape{n, k} : Shape{k, n}, -5, 5, DType::kInt8),
                             NoGradient(Floats(scale))},
                .attrs = {{"transpose_weight", transpose}}};
  one.operands.push_back(draw.Chance(2) ? Absent() : NoGradient(Floats(scale)));
  one.operands.push_back(Absent());
  one.operands.push_back(Absent());
  one.operands.push_back(draw.Chance(2) ? Absent() : NoGradient(Floats(PerColumn(draw, n))));
  return one;
}

/// Ends of `count` groups of `rows` rows; groups may be empty, the last end is `rows`.
std::vector<double> Ends(Draw& draw, std::int64_t count, std::int64_t rows) {
  std::vector<double> ends = {};
  for (std::int64_t i = 0; i + 1 < count; ++i) {
    ends.push_back(static_cast<double>(draw.Uniform(0, rows)));
  }
  ends.push_back(static_cast<double>(rows));
  std::ranges::sort(ends);
  return ends;
}

/// x w per group of rows (a list of ends for each slice of the rows), per group of columns, or
/// several products apart.
ProofCase GroupedCase(Draw& draw) {
  const std::int64_t k = draw.Extent(8);
  const std::int64_t n = draw.Extent(6);
  const std::int64_t groups = draw.Uniform(1, 3);
  ProofCase one = {};
  const std::int64_t type = draw.Pick<std::int64_t>({-1, 0, 2});
  one.attrs = {{"group_type", type}, {"split_item", type == -1 ? 0 : 3}};
  Operand list = Absent();
  if (type == -1) {
    const std::int64_t products = draw.Uniform(1, 2);
    for (std::int64_t i = 0; i < products; ++i) {
      one.operands.push_back(Floats({draw.Extent(8), k}));
    }
    for (std::int64_t i = 0; i < products; ++i) {
      one.operands.push_back(Floats({k, n}));
    }
  } else if (type == 0) {
    const std::int64_t slices = draw.Pick<std::int64_t>({1, 2, 4, 6});
    const std::int64_t rows = draw.Uniform(1, 4);
    std::vector<double> ends = {};
    for (std::int64_t i = 0; i < slices; ++i) {
      const std::vector<double> own = Ends(draw, groups, rows);
      ends.insert(ends.end(), own.begin(), own.end());
    }
    one.operands = {Floats({slices * rows, k}), Floats({groups, k, n})};
    list = Fixed({groups * slices}, std::move(ends), DType::kInt64);
  } else {
    one.operands = {Floats({draw.Extent(6), k}), Floats({k, n})};
    list = Fixed({groups}, Ends(draw, groups, k), DType::kInt64);
  }
  const std::int64_t bias_groups = type == -1 ? 1 : groups;
  one.operands.push_back(draw.Pick({Absent(), Floats({n}), Floats({bias_groups, n})}));
  one.operands.resize(one.operands.size() + 4, Absent());
  one.operands.push_back(list);
  return one;
}

ProofCase FfnCase(Draw& draw) {
  const std::int64_t rows = draw.Extent(6);
  const std::int64_t h = draw.Extent(6);
  const std::int64_t f = draw.Extent(12);
  const std::int64_t experts = draw.Chance(2) ? 0 : draw.Uniform(1, 3);
  const auto by_expert = [experts](Shape shape) {
    if (experts > 0) {
      shape.insert(shape.begin(), experts);
    }
    return shape;
  };
  std::vector<double> counts(static_cast<std::size_t>(experts), 0.0);
  for (std::int64_t i = 0; i < rows && experts > 0; ++i) {
    counts[static_cast<std::size_t>(draw.Uniform(0, experts - 1))] += 1;
  }
  ProofCase one{.operands = {NoGradient(Floats({rows, h})), NoGradient(Floats(by_expert({h, f}))),
                             NoGradient(Floats(by_expert({f, h})))}};
  one.attrs = {{"activation", draw.Pick({"relu", "gelu", "silu", "fastgelu"})}};
  one.operands.push_back(experts == 0 ? Absent() : Fixed({experts}, counts, DType::kInt64));
  one.operands.push_back(draw.Chance(2) ? Absent() : NoGradient(Floats(by_expert({f}))));
  one.operands.push_back(draw.Chance(2) ? Absent() : NoGradient(Floats(by_expert({h}))));
  return one;
}

PROOF_CASES(TensorDot, TensorDotCase);
PROOF_CASES(Cdist, CdistCase);
PROOF_CASES(QuantBatchMatmul, QuantProductCase);
PROOF_CASES(WeightQuantBatchMatmul, WeightQuantCase);
PROOF_CASES(GroupedMatmul, GroupedCase);
PROOF_CASES_OF(Ffn, FfnCase, "FFN", "FFNExt");
PROOF_NONE(CompressedWeight, "how the weight is compressed is not published", "QuantLinearSparse");
PROOF_NONE(SparseAttention, "which blocks the kernels compute is not published", "MatmulDDS",
           "MatmulDDSGrad", "DSDMatmul", "DSDGrad");

}  // namespace
}  // namespace drydock::strategies::proof
