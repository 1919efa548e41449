#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "strategies/operators/nd_array.h"
#include "strategies/operators/op_entry.h"

/// What all matrix products share. With x [*b, m, k] and y [*b, k, n] the iteration space is
/// [*b, m, k, n]; transposes swap the last two dimensions of an operand.
namespace drydock::strategies {

struct Transposes {
  bool a = false;
  bool b = false;
};

/// Two boolean attributes.
[[nodiscard]] Result<Transposes> TransposesOf(const AttrMap& attrs,
                                              std::string_view a = "transpose_a",
                                              std::string_view b = "transpose_b");

/// Dimensions of the two operands by role, counted from the left.
struct Roles {
  std::size_t m = 0;    ///< In operand 0.
  std::size_t k_a = 0;  ///< In operand 0.
  std::size_t k_b = 0;  ///< In operand 1.
  std::size_t n = 0;    ///< In operand 1.
};

[[nodiscard]] Roles RolesOf(const Shape& a, const Shape& b, const Transposes& transposes);

/// Shape of the product of inputs 0 and 1, both of at least two dimensions.
/// @error kInvalidArgument  "<op>:shape-mismatch"
[[nodiscard]] Result<Shape> ProductShape(const OpView& op, const Transposes& transposes);

/// Axes of the last dimensions of a product whose result has `rank` dimensions; the batch axes come
/// before.
struct ProductAxes {
  AxisIndex m = 0;
  AxisIndex k = 0;
  AxisIndex n = 0;
};
[[nodiscard]] ProductAxes ProductAxesOf(std::size_t rank);

/// Rule of the product of inputs 0 and 1: both operands, output 0, AllReduce over k. Other inputs
/// are left to the caller.
[[nodiscard]] ShardRule ProductRule(const OpView& op, const Transposes& transposes);

/// Applies an output strategy (m, n), or (m * k, n) for a ReduceScatter, to the rule of a product.
[[nodiscard]] Status ApplyOutStrategy(const OpView& op, const Strategy& strategy,
                                      const Transposes& transposes, ShardRule& rule);

/// `array` with its last two dimensions swapped if `transposed`.
[[nodiscard]] NdArray MatrixOf(const NdArray& array, bool transposed);

/// `value` with its last two dimensions swapped.
[[nodiscard]] Result<ValueId> EmitSwappedLast(const GradientContext& context, ValueId value);

/// 2 * B * M * K * N of the product of inputs 0 and 1.
[[nodiscard]] double ProductFlops(const OpView& op, const Transposes& transposes);

}  // namespace drydock::strategies
