#include "strategies/rules/common/array_math.h"

#include <algorithm>
#include <utility>

namespace drydock::strategies {
namespace {

/// Shape with leading extents of 1 up to `rank` dimensions.
Shape PaddedShape(const Shape& shape, std::size_t rank) {
  Shape padded(rank - shape.size(), 1);
  padded.insert(padded.end(), shape.begin(), shape.end());
  return padded;
}

/// Index into an array of shape `shape` that broadcasts to the space of `index`.
std::size_t BroadcastOffset(const Shape& shape, std::span<const std::int64_t> index) {
  std::size_t offset = 0;
  const std::size_t missing = index.size() - shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t at = shape[d] == 1 ? 0 : index[missing + d];
    offset = offset * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(at);
  }
  return offset;
}

}  // namespace

std::size_t OffsetOf(const Shape& shape, std::span<const std::int64_t> index) {
  std::size_t offset = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    offset = offset * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(index[d]);
  }
  return offset;
}

NdArray BroadcastArray(const NdArray& a, const Shape& shape) {
  if (a.shape == shape) {
    return a;
  }
  NdArray out{.shape = shape};
  ForEachElement(shape, [&](std::span<const std::int64_t> index) {
    out.data.push_back(a.data[BroadcastOffset(a.shape, index)]);
  });
  return out;
}

NdArray ReduceArray(const NdArray& a, std::span<const std::size_t> axes, bool keep_dims,
                    double initial, BinaryMath f) {
  Shape kept = a.shape;
  for (const std::size_t axis : axes) {
    kept[axis] = 1;
  }
  NdArray out = FilledArray(kept, initial);
  std::size_t n = 0;
  ForEachElement(a.shape, [&](std::span<const std::int64_t> index) {
    double& slot = out.data[BroadcastOffset(kept, index)];
    slot = f(slot, a.data[n++]);
  });
  if (!keep_dims) {
    Shape shape = {};
    for (std::size_t d = 0; d < a.shape.size(); ++d) {
      if (std::ranges::find(axes, d) == axes.end()) {
        shape.push_back(a.shape[d]);
      }
    }
    out.shape = std::move(shape);
  }
  return out;
}

NdArray SumArrayTo(const NdArray& a, const Shape& shape) {
  const Shape padded = PaddedShape(shape, a.shape.size());
  std::vector<std::size_t> axes = {};
  for (std::size_t d = 0; d < padded.size(); ++d) {
    if (padded[d] == 1 && a.shape[d] != 1) {
      axes.push_back(d);
    }
  }
  return ReshapeArray(ReduceArray(a, axes, true, 0.0, SumOf), shape);
}

NdArray TransposeArray(const NdArray& a, std::span<const std::size_t> permutation) {
  NdArray out = {};
  for (const std::size_t d : permutation) {
    out.shape.push_back(a.shape[d]);
  }
  std::vector<std::int64_t> source(a.shape.size(), 0);
  ForEachElement(out.shape, [&](std::span<const std::int64_t> index) {
    for (std::size_t d = 0; d < permutation.size(); ++d) {
      source[permutation[d]] = index[d];
    }
    out.data.push_back(a.data[OffsetOf(a.shape, source)]);
  });
  return out;
}

NdArray MatMulArrays(const NdArray& a, const NdArray& b) {
  const std::size_t rank = std::max(a.shape.size(), b.shape.size());
  const Shape wide_a = PaddedShape(a.shape, rank);
  const Shape wide_b = PaddedShape(b.shape, rank);
  NdArray out = {};
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    out.shape.push_back(wide_a[d] == 1 ? wide_b[d] : wide_a[d]);
  }
  out.shape.push_back(wide_a[rank - 2]);
  out.shape.push_back(wide_b[rank - 1]);
  const std::int64_t inner = wide_a[rank - 1];
  ForEachElement(out.shape, [&](std::span<const std::int64_t> index) {
    std::vector<std::int64_t> at_a(index.begin(), index.end());
    std::vector<std::int64_t> at_b(index.begin(), index.end());
    double sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      at_a[rank - 1] = k;
      at_b[rank - 2] = k;
      sum += a.data[BroadcastOffset(wide_a, at_a)] * b.data[BroadcastOffset(wide_b, at_b)];
    }
    out.data.push_back(sum);
  });
  return out;
}

NdArray ReshapeArray(NdArray a, Shape shape) {
  a.shape = std::move(shape);
  return a;
}

Result<std::vector<NdArray>> EvaluateCopy(const EvaluateContext& context) {
  return std::vector<NdArray>{ReshapeArray(context.inputs[0], context.output_types[0].shape)};
}

}  // namespace drydock::strategies
