#include <algorithm>
#include <string>

#include "tests/proof/proof_case.h"

namespace drydock::strategies::proof {
namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.ends_with(end);
}

/// Writing keeps one of several updates of a place, which one is not defined: no place twice.
bool NeedsDistinctPlaces(std::string_view op) {
  return EndsWith(op, "Update");
}

/// For products, updates near 1: many may meet in one place, and the loss must stay small enough
/// for its slope to be measured. For extremes other numbers than those of x.
Operand Updates(std::string_view op, const Shape& shape) {
  if (EndsWith(op, "Mul") || EndsWith(op, "Div")) {
    return Floats(shape, 0.8, 1.25);
  }
  return Floats(shape, -1.93, 2.11);
}

Shape Joined(Shape shape, const Shape& tail, std::size_t from) {
  shape.insert(shape.end(), tail.begin() + static_cast<std::ptrdiff_t>(from), tail.end());
  return shape;
}

/// x [a, *r], indices [*i], updates [*i, *r]; x is written in place.
ProofCase ScatterRowsCase(Draw& draw) {
  const Shape x = draw.AnyShape(1, 3);
  const bool distinct = NeedsDistinctPlaces(draw.op());
  const Shape count = distinct ? Shape{draw.Uniform(1, x[0])} : draw.AnyShape(0, 2);
  Operand indices = Indices(count, x[0]);
  if (distinct) {
    indices = WithValues(indices, Values::kDistinct);
  }
  return {.operands = {FedAs(Floats(x), Feed::kParameter), indices,
                       Updates(draw.op(), Joined(count, x, 1))}};
}

/// Places of a shape as coordinates, any or all different.
Operand Coordinates(Draw& draw, const Shape& places, std::int64_t count, bool distinct) {
  std::int64_t all = 1;
  for (const std::int64_t extent : places) {
    all *= extent;
  }
  const std::vector<std::int64_t> order = draw.Permutation(all);
  std::vector<double> data = {};
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t place = distinct ? order[static_cast<std::size_t>(n)] : draw.Uniform(0, all - 1);
    std::vector<double> coordinates(places.size());
    for (std::size_t d = places.size(); d-- > 0;) {
      coordinates[d] = static_cast<double>(place % places[d]);
      place /= places[d];
    }
    data.insert(data.end(), coordinates.begin(), coordinates.end());
  }
  return Fixed({count, static_cast<std::int64_t>(places.size())}, std::move(data), DType::kInt32);
}

/// x [*g, *r], indices [i, g], updates [i, *r].
ProofCase ScatterPlacesCase(Draw& draw) {
  const Shape x = draw.AnyShape(1, 3);
  const std::int64_t picked = draw.Uniform(1, std::ssize(x));
  const Shape places(x.begin(), x.begin() + picked);
  std::int64_t all = 1;
  for (const std::int64_t extent : places) {
    all *= extent;
  }
  const bool distinct = NeedsDistinctPlaces(draw.op());
  const std::int64_t count = draw.Uniform(1, distinct ? std::min<std::int64_t>(all, 8) : 8);
  const bool in_place = draw.op().starts_with("ScatterNd");
  Operand target = Floats(x);
  return {.operands = {in_place ? FedAs(target, Feed::kParameter) : target,
                       Coordinates(draw, places, count, distinct),
                       Updates(draw.op(), Joined({count}, x, static_cast<std::size_t>(picked)))}};
}

/// x [a, *r], v [k, *r], attribute indices.
ProofCase InplaceCase(Draw& draw) {
  const Shape x = draw.AnyShape(1, 3);
  const std::int64_t count = draw.Uniform(1, x[0]);
  std::vector<std::int64_t> rows = draw.Permutation(x[0]);
  rows.resize(static_cast<std::size_t>(count));
  return {.operands = {Floats(x), Floats(Joined({count}, x, 1))}, .attrs = {{"indices", rows}}};
}

/// x [*s, *r], numbers [*s]; every segment has a row.
ProofCase SegmentCase(Draw& draw) {
  const Shape x = draw.AnyShape(1, 3);
  const std::int64_t shared = draw.Uniform(1, std::ssize(x));
  const Shape numbers(x.begin(), x.begin() + shared);
  std::int64_t rows = 1;
  for (const std::int64_t extent : numbers) {
    rows *= extent;
  }
  const std::int64_t segments = draw.Uniform(1, rows);
  std::vector<double> data = {};
  for (const std::int64_t place : draw.Permutation(rows)) {
    data.push_back(static_cast<double>(place % segments));
  }
  const bool product = EndsWith(draw.op(), "Prod");
  return {.operands = {product ? Positive(x) : Floats(x),
                       Fixed(numbers, std::move(data), DType::kInt32)},
          .attrs = {{"num_segments", segments}}};
}

/// Table [*s, *r], indices [*i, s].
ProofCase GatherNdCase(Draw& draw) {
  const Shape x = draw.AnyShape(1, 3);
  const std::int64_t picked = draw.Uniform(1, std::ssize(x));
  const std::int64_t count = draw.Extent(8);
  Operand places = Coordinates(draw, Shape(x.begin(), x.begin() + picked), count, false);
  if (draw.Chance(3)) {
    places.type.shape.insert(places.type.shape.begin() + 1, 1);
  }
  return {.operands = {Floats(x), places}};
}

/// Matrix and two vectors of numbers.
ProofCase IndexCase(Draw& draw) {
  const Shape x = {draw.Extent(8), draw.Extent(8)};
  const Shape count = {draw.Extent(8)};
  return {.operands = {Floats(x), Indices(count, x[0]), Indices(count, x[1])}};
}

PROOF_CASES_OF(ScatterRows, ScatterRowsCase, "ScatterUpdate", "ScatterAdd", "ScatterSub",
               "ScatterMul", "ScatterDiv", "ScatterMax", "ScatterMin");
PROOF_CASES_OF(ScatterPlaces, ScatterPlacesCase, "ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub",
               "TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMul",
               "TensorScatterDiv", "TensorScatterMax", "TensorScatterMin");
PROOF_CASES_OF(Inplace, InplaceCase, "InplaceAdd", "InplaceSub", "InplaceUpdate");
PROOF_CASES_OF(Segments, SegmentCase, "UnsortedSegmentProd", "UnsortedSegmentMax",
               "UnsortedSegmentMin");
PROOF_CASES(GatherNd, GatherNdCase);
PROOF_CASES(Index, IndexCase);

}  // namespace
}  // namespace drydock::strategies::proof
