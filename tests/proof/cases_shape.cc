#include <algorithm>

#include "base/checked.h"
#include "tests/proof/proof_case.h"

/// Operators that move elements without computing.
namespace drydock::strategies::proof {
namespace {

using List = std::vector<std::int64_t>;

/// Extents with the same product: neighbours merged, others split, ones put in.
Shape Reshaped(const Shape& shape, Draw& draw) {
  Shape result;
  for (const std::int64_t extent : shape) {
    if (!result.empty() && draw.Chance(3)) {
      result.back() *= extent;
      continue;
    }
    const std::int64_t factor = draw.Pick<std::int64_t>({1, 2, 3, 4});
    if (factor > 1 && extent % factor == 0) {
      result.push_back(factor);
      result.push_back(extent / factor);
    } else {
      result.push_back(extent);
    }
    if (draw.Chance(8)) {
      result.push_back(1);
    }
  }
  return result;
}

ProofCase ReshapeCase(Draw& draw) {
  const Shape shape = draw.AnyShape(0, 4);
  Shape target = Reshaped(shape, draw);
  if (!target.empty() && draw.Chance(4)) {
    target[static_cast<std::size_t>(draw.Dimension(std::ssize(target)))] = -1;
  }
  return {.operands = {Floats(shape)}, .attrs = {{"shape", target}}};
}

ProofCase FlattenCase(Draw& draw) {
  return {.operands = {Floats(draw.AnyShape(1, 4))}};
}

ProofCase ExpandDimsCase(Draw& draw) {
  const Shape shape = draw.AnyShape(0, 4);
  return {.operands = {Floats(shape)}, .attrs = {{"axis", draw.Axis(std::ssize(shape) + 1)}}};
}

ProofCase SqueezeCase(Draw& draw) {
  Shape shape = draw.AnyShape(1, 4);
  const List chosen = draw.SomeDimensions(std::ssize(shape), 0);
  for (const std::int64_t d : chosen) {
    shape[static_cast<std::size_t>(d)] = 1;
  }
  return {.operands = {Floats(shape)}, .attrs = {{"axis", chosen}}};
}

ProofCase TransposeCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  return {.operands = {Floats(shape)},
          .attrs = {{"input_perm", draw.Permutation(std::ssize(shape))}}};
}

ProofCase BroadcastToCase(Draw& draw) {
  const Shape target = draw.AnyShape(1, 4);
  Shape shape(target.begin() + draw.Uniform(0, std::ssize(target)), target.end());
  for (std::int64_t& extent : shape) {
    extent = draw.Chance(3) ? 1 : extent;
  }
  List asked = target;
  const std::size_t added = target.size() - shape.size();
  for (std::size_t d = added; d < asked.size(); ++d) {
    asked[d] = shape[d - added] == asked[d] && draw.Chance(4) ? -1 : asked[d];
  }
  return {.operands = {Floats(shape)}, .attrs = {{"shape", asked}}};
}

ProofCase TileCase(Draw& draw) {
  Shape shape = draw.AnyShape(1, 3);
  List multiples;
  const std::int64_t added = draw.Chance(3) ? 1 : 0;
  for (std::int64_t d = 0; d < std::ssize(shape) + added; ++d) {
    multiples.push_back(draw.Pick<std::int64_t>({1, 1, 2, 3, 4}));
  }
  while (Product(shape) > 48) {
    std::ranges::max_element(shape)[0] = 2;
  }
  return {.operands = {Floats(shape)}, .attrs = {{"dims", multiples}}};
}

ProofCase ConcatCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  const std::int64_t axis = draw.Dimension(std::ssize(shape));
  ProofCase one{.attrs = {{"axis", draw.Chance(2) ? axis : axis - std::ssize(shape)}}};
  for (std::int64_t i = draw.Uniform(1, 3); i > 0; --i) {
    Shape part = shape;
    part[static_cast<std::size_t>(axis)] = draw.Extent(6);
    one.operands.push_back(Floats(part));
  }
  return one;
}

ProofCase SplitCase(Draw& draw) {
  Shape shape = draw.AnyShape(1, 4);
  const std::int64_t axis = draw.Dimension(std::ssize(shape));
  const std::int64_t parts = draw.Uniform(1, 4);
  shape[static_cast<std::size_t>(axis)] = parts * draw.Uniform(1, 3);
  ProofCase one{
      .operands = {Floats(shape)},
      .attrs = {{"axis", draw.Chance(2) ? axis : axis - std::ssize(shape)}, {"output_num", parts}}};
  for (std::int64_t i = 0; i < parts; ++i) {
    one.weighed.push_back(draw.Chance(2));
  }
  one.weighed[static_cast<std::size_t>(draw.Uniform(0, parts - 1))] = true;
  return one;
}

/// Whole dimensions half of the time: only those may be cut.
ProofCase SliceCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  List begin;
  List size;
  for (const std::int64_t extent : shape) {
    const bool whole = draw.Chance(2);
    begin.push_back(whole ? 0 : draw.Uniform(0, extent - 1));
    size.push_back(whole ? extent : draw.Uniform(1, extent - begin.back()));
    size.back() = begin.back() + size.back() == extent && draw.Chance(4) ? -1 : size.back();
  }
  return {.operands = {Floats(shape)}, .attrs = {{"begin", begin}, {"size", size}}};
}

/// begin, end and stride of one dimension of a strided slice, never empty.
void AppendRange(std::int64_t extent, Draw& draw, List& begin, List& end, List& strides) {
  const bool whole = draw.Chance(2);
  const bool backward = !whole && draw.Chance(4);
  const std::int64_t first = whole ? 0 : draw.Uniform(0, extent - 1);
  strides.push_back(whole ? 1 : draw.Uniform(1, 3) * (backward ? -1 : 1));
  begin.push_back(first);
  if (backward) {
    // One below index 0 can only be written as -extent - 1.
    end.push_back(first == 0 || draw.Chance(2) ? -extent - 1 : draw.Uniform(0, first - 1));
  } else {
    end.push_back(whole ? extent : draw.Uniform(first + 1, extent));
  }
  if (!whole && draw.Chance(4)) {
    begin.back() -= extent;
  }
}

ProofCase StridedSliceCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 4);
  List begin;
  List end;
  List strides;
  std::int64_t shrink = 0;
  const std::int64_t listed = draw.Uniform(1, std::ssize(shape));
  for (std::int64_t d = 0; d < listed; ++d) {
    const std::int64_t extent = shape[static_cast<std::size_t>(d)];
    AppendRange(extent, draw, begin, end, strides);
    if (strides.back() > 0 && draw.Chance(6)) {
      shrink |= std::int64_t{1} << d;
      strides.back() = 1;
      end.back() = begin.back() + 1;
    }
  }
  ProofCase one{.operands = {Floats(shape)},
                .attrs = {{"begin", begin}, {"end", end}, {"strides", strides}}};
  if (shrink != 0) {
    one.attrs["shrink_axis_mask"] = shrink;
  } else if (draw.Chance(3)) {
    one.attrs["begin_mask"] = draw.Uniform(0, (std::int64_t{1} << listed) - 1);
    one.attrs["end_mask"] = draw.Uniform(0, (std::int64_t{1} << listed) - 1);
  }
  return one;
}

PROOF_CASES(Reshape, ReshapeCase);
PROOF_CASES(Flatten, FlattenCase);
PROOF_CASES(ExpandDims, ExpandDimsCase);
PROOF_CASES(Squeeze, SqueezeCase);
PROOF_CASES(Transpose, TransposeCase);
PROOF_CASES(BroadcastTo, BroadcastToCase);
PROOF_CASES(Tile, TileCase);
PROOF_CASES(Concat, ConcatCase);
PROOF_CASES(Split, SplitCase);
PROOF_CASES(Slice, SliceCase);
PROOF_CASES(StridedSlice, StridedSliceCase);

}  // namespace
}  // namespace drydock::strategies::proof
