#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "strategies/operators/nd_array.h"
#include "strategies/operators/op_entry.h"

/// Small array mathematics the operators' reference evaluations are made of: clear, not fast.
/// Shapes were checked by inference before an evaluation is called.
namespace drydock::strategies {

using UnaryMath = double (*)(double);
using BinaryMath = double (*)(double, double);

/// f of every element.
template <typename F>
[[nodiscard]] NdArray MapArray(const NdArray& a, F f) {
  NdArray out{.shape = a.shape, .data = std::vector<double>(a.data.size())};
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    out.data[i] = f(a.data[i]);
  }
  return out;
}

/// `a` repeated along extent-1 and missing dimensions up to `shape`.
[[nodiscard]] NdArray BroadcastArray(const NdArray& a, const Shape& shape);

/// f of every pair of elements of two arrays that broadcast to `shape`.
template <typename F>
[[nodiscard]] NdArray MapArrays(const NdArray& a, const NdArray& b, const Shape& shape, F f) {
  const NdArray wide_a = BroadcastArray(a, shape);
  const NdArray wide_b = BroadcastArray(b, shape);
  NdArray out{.shape = shape, .data = std::vector<double>(wide_a.data.size())};
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    out.data[i] = f(wide_a.data[i], wide_b.data[i]);
  }
  return out;
}

/// Elements along `axes` combined with `f`, starting from `initial`; the dimensions stay with
/// extent 1 if `keep_dims`.
[[nodiscard]] NdArray ReduceArray(const NdArray& a, std::span<const std::size_t> axes,
                                  bool keep_dims, double initial, BinaryMath f);

/// `a` summed over the dimensions in which `shape` broadcasts to it.
[[nodiscard]] NdArray SumArrayTo(const NdArray& a, const Shape& shape);

/// out[i...] = a[permuted]: dimension d of the result is dimension permutation[d] of `a`.
[[nodiscard]] NdArray TransposeArray(const NdArray& a, std::span<const std::size_t> permutation);

/// Matrix product over the last two dimensions, the others broadcast.
[[nodiscard]] NdArray MatMulArrays(const NdArray& a, const NdArray& b);

/// The same elements in another shape of equal count.
[[nodiscard]] NdArray ReshapeArray(NdArray a, Shape shape);

/// Calls f(index) for every index of `shape`, row major.
template <typename F>
void ForEachElement(const Shape& shape, F f) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    count *= extent;
  }
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t n = 0; n < count; ++n) {
    f(std::span<const std::int64_t>(index));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) {
        break;
      }
      index[d] = 0;
    }
  }
}

/// Position of an index in row-major data.
[[nodiscard]] std::size_t OffsetOf(const Shape& shape, std::span<const std::int64_t> index);

inline double SumOf(double a, double b) {
  return a + b;
}

/// EvaluateFn of f(input 0), element by element.
template <UnaryMath F>
[[nodiscard]] Result<std::vector<NdArray>> EvaluateUnary(const EvaluateContext& context) {
  return std::vector<NdArray>{MapArray(context.inputs[0], F)};
}

/// EvaluateFn of f(input 0, input 1) with broadcasting.
template <BinaryMath F>
[[nodiscard]] Result<std::vector<NdArray>> EvaluateBinary(const EvaluateContext& context) {
  return std::vector<NdArray>{
      MapArrays(context.inputs[0], context.inputs[1], context.output_types[0].shape, F)};
}

/// Output = input 0 in the output's shape.
[[nodiscard]] Result<std::vector<NdArray>> EvaluateCopy(const EvaluateContext& context);

}  // namespace drydock::strategies
