#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"

/// What many operators share: checks, shape inference, axis rules, default strategies (gradients:
/// common_gradients.h).
/// A new operator is usually one DRYDOCK_OP entry made of these parts.
namespace drydock::strategies {

// ---- Checks -------------------------------------------------------------------------------------

/// The user's mistake in an operator's operands or attributes; reason "<op>:<code>".
[[nodiscard]] tl::unexpected<Error> FailOp(const OpView& op, std::string_view code,
                                           std::string message, std::string hint = {});

/// Our limit on an operator: code kUnsupported, reason "<op>:unsupported".
[[nodiscard]] tl::unexpected<Error> UnsupportedForm(const OpView& op, std::string message);

/// @error kInvalidArgument  "<op>:input-count"  not between `least` and `most` tensors
[[nodiscard]] Status ExpectInputs(const OpView& op, std::size_t least, std::size_t most);

/// @error kInvalidArgument  "<op>:dtype"  input is not float16, bfloat16, float32 or float64
[[nodiscard]] Status ExpectFloating(const OpView& op, std::size_t input);

/// @error kInvalidArgument  "<op>:dtype"  input is not an integer type (bool counts as none)
[[nodiscard]] Status ExpectInteger(const OpView& op, std::size_t input);

/// @error kInvalidArgument  "<op>:shape-mismatch"  the inputs are not all of one shape
[[nodiscard]] Status ExpectSameShapes(const OpView& op);

/// @error kInvalidArgument  "<op>:dtype"  input is not int32 or int64
[[nodiscard]] Status ExpectIndices(const OpView& op, std::size_t input);

/// @error kInvalidArgument  "<op>:dtype-mismatch"  the inputs are not all of one element type
[[nodiscard]] Status ExpectSameDType(const OpView& op);

/// @error kInvalidArgument  "<op>:rank"  input has fewer than `least` or more than `most`
/// dimensions
[[nodiscard]] Status ExpectRank(const OpView& op, std::size_t input, std::size_t least,
                                std::size_t most);

/// Axis counted from the left; negative ones count from the right. Source: mindspore ops/infer
/// `norm`.
/// @error kInvalidArgument  "<op>:axis-out-of-range"  outside [-rank, rank)
[[nodiscard]] Result<std::size_t> NormalisedAxis(const OpView& op, std::int64_t axis,
                                                 std::size_t rank);

/// Axes counted from the left, ascending, duplicates merged.
[[nodiscard]] Result<std::vector<std::size_t>> NormalisedAxes(const OpView& op,
                                                              std::span<const std::int64_t> axes,
                                                              std::size_t rank);

/// Attribute `name` as axes of a tensor of `rank` dimensions; absent, None or empty = all of them.
[[nodiscard]] Result<std::vector<std::size_t>> ReducedAxesAttr(const OpView& op,
                                                               std::string_view name,
                                                               std::size_t rank);

/// Attribute `name`, a list of integers. @error kInvalidArgument  "<op>:attribute"  absent or None
[[nodiscard]] Result<std::vector<std::int64_t>> RequiredListAttr(const OpView& op,
                                                                 std::string_view name);

// ---- Shape inference ----------------------------------------------------------------------------

/// Shape two operands broadcast to. Source: mindspore ops/infer `bcast`.
/// @error kInvalidArgument  "<op>:shape-mismatch"  names both shapes and the dimension
[[nodiscard]] Result<Shape> BroadcastShapes(const OpView& op, const Shape& a, const Shape& b);

/// `shape` without `axes`, or with extent 1 there if `keep_dims`.
[[nodiscard]] Shape ReducedShape(const Shape& shape, std::span<const std::size_t> axes,
                                 bool keep_dims);

/// One input; output of the same type.
[[nodiscard]] Result<std::vector<TensorType>> InferSame(const OpView& op);
/// As many results as operands, of their types.
[[nodiscard]] Result<std::vector<TensorType>> InferEach(const OpView& op);
/// The same for floating types only.
[[nodiscard]] Result<std::vector<TensorType>> InferSameFloating(const OpView& op);
/// One input; output float32 for bool and integers, else of the input's type.
[[nodiscard]] Result<std::vector<TensorType>> InferToFloat(const OpView& op);
/// One input; output bool.
[[nodiscard]] Result<std::vector<TensorType>> InferBool(const OpView& op);
/// Any number of inputs; one output of the type of input 0 (gradient kernels).
[[nodiscard]] Result<std::vector<TensorType>> InferFirst(const OpView& op);
/// Two inputs that broadcast; output of the promoted type.
[[nodiscard]] Result<std::vector<TensorType>> InferBroadcast(const OpView& op);
/// Two inputs of one floating type that broadcast.
[[nodiscard]] Result<std::vector<TensorType>> InferBroadcastSameFloating(const OpView& op);
/// Two inputs of one integer type that broadcast.
[[nodiscard]] Result<std::vector<TensorType>> InferBroadcastInteger(const OpView& op);
/// Two inputs that broadcast; output float32 where the promoted type is bool or an integer.
[[nodiscard]] Result<std::vector<TensorType>> InferBroadcastToFloat(const OpView& op);
/// Two inputs that broadcast; output bool.
[[nodiscard]] Result<std::vector<TensorType>> InferBroadcastBool(const OpView& op);

// ---- Axis rules ---------------------------------------------------------------------------------

/// Dimension d lies on axis first + d.
[[nodiscard]] TensorAxes AxesInOrder(std::size_t rank, AxisIndex first = 0);

/// One input, every dimension may be cut, all outputs like the input (activation_info.cc).
[[nodiscard]] Result<ShardRule> ShardElementwise(const OpView& op, const Strategy& strategy);

/// Nothing is cut: every rank holds all operands and results whole.
[[nodiscard]] Result<ShardRule> ShardWhole(const OpView& op, const Strategy& strategy);

/// Operands that broadcast to the output. Source: mindspore ops_info/arithmetic_info.cc.
[[nodiscard]] Result<ShardRule> ShardBroadcast(const OpView& op, const Strategy& strategy);

/// Operands of one shape and one strategy. Source: mindspore ops_info/addn_info.cc.
[[nodiscard]] Result<ShardRule> ShardSameShape(const OpView& op, const Strategy& strategy);

/// As ShardElementwise, with the dimensions `whole` uncut; `what` names them in messages ("the axis
/// of the softmax"). Source: mindspore ops_info/activation_info.cc.
[[nodiscard]] ShardRule AxisLocalRule(const OpView& op, std::span<const std::size_t> whole,
                                      const std::string& what);

/// One input reduced over `reduced`: forward communication over those axes that are cut.
/// Source: mindspore ops_info/reduce_base_method_info.cc.
[[nodiscard]] ShardRule ReduceRule(const OpView& op, std::span<const std::size_t> reduced,
                                   bool keep_dims, std::string reduce_op, bool mean);

// ---- Default strategies (mindspore ops_info/operator_info.cc) -----------------------------------

/// No dimension of any input is cut.
[[nodiscard]] Strategy WholeStrategy(const OpView& op);

/// Dimension 0 of the listed inputs on all devices, then the common divisor correction.
/// @param listed  one flag per input; inputs beyond the list and scalars stay whole
[[nodiscard]] Strategy BatchStrategy(const OpView& op, std::int64_t device_count,
                                     const std::vector<bool>& listed);

/// Every input on dimension 0.
[[nodiscard]] Result<Strategy> DefaultBatchAll(const OpView& op, std::int64_t device_count);
/// Every input whose right-aligned dimension 0 is not 1.
[[nodiscard]] Result<Strategy> DefaultBroadcast(const OpView& op, std::int64_t device_count);
/// Nothing cut.
[[nodiscard]] Result<Strategy> DefaultWhole(const OpView& op, std::int64_t device_count);

// ---- Local program ------------------------------------------------------------------------------

/// The plain local copy with other attributes: for LocalizeFn.
[[nodiscard]] Result<std::vector<ValueId>> EmitLocal(const LocalizeContext& context, AttrMap attrs);
/// The same with other operands as well.
[[nodiscard]] Result<std::vector<ValueId>> EmitLocal(const LocalizeContext& context, NodeSpec spec);

// ---- Arithmetic ---------------------------------------------------------------------------------

/// Elements as a floating-point number (no overflow).
[[nodiscard]] double Elements(const TensorType& type);

/// `PerElement` operations for each element of input 0. Source: docs/timing.md.
template <int PerElement>
[[nodiscard]] double FlopsPerInput(const OpView& op) {
  return PerElement * Elements(op.inputs[0]);
}

/// `PerElement` operations for each element of output 0.
template <int PerElement>
[[nodiscard]] double FlopsPerOutput(const OpView& op) {
  return PerElement * Elements(op.outputs[0]);
}

}  // namespace drydock::strategies
