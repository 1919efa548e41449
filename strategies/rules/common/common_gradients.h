#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"

/// Building blocks of gradient functions. Everything works on local values of the sharded program.
namespace drydock::strategies {

/// No gradient for any input.
[[nodiscard]] std::vector<ValueId> NoGradients(const GradientContext& context);

/// Gradient of output 0. Gradient functions are only called when at least one gradient arrives.
[[nodiscard]] ValueId OutputGradient(const GradientContext& context);

/// `gradient` summed over the dimensions in which `shape` was broadcast, with shape `shape`.
[[nodiscard]] Result<ValueId> ReduceTo(const GradientContext& context, ValueId gradient,
                                       const Shape& shape);

/// `gradient` cast to `dtype` unless it has it already.
[[nodiscard]] Result<ValueId> CastTo(const GradientContext& context, ValueId gradient, DType dtype);

/// `gradient` in the form an input of a broadcasting operator needs: its shape and its type.
[[nodiscard]] Result<ValueId> FitToInput(const GradientContext& context, ValueId gradient,
                                         std::size_t input);

/// `value` times a constant.
[[nodiscard]] Result<ValueId> EmitScaled(const GradientContext& context, ValueId value,
                                         double factor);

/// dY * (exponent * x^(exponent - 1)), with the power worked out anew.
[[nodiscard]] Result<ValueId> EmitPowerSlope(const GradientContext& context, ValueId x,
                                             double exponent);

/// `value` plus a constant.
[[nodiscard]] Result<ValueId> EmitPlus(const GradientContext& context, ValueId value,
                                       double constant);

/// `value` reshaped to `shape` (same element count).
[[nodiscard]] Result<ValueId> EmitReshape(const GradientContext& context, ValueId value,
                                          const Shape& shape);

/// 1 where the condition holds, 0 elsewhere: `a` == `b` in the element type of `a`.
[[nodiscard]] Result<ValueId> EmitEqual(const GradientContext& context, ValueId a, ValueId b);

/// Appends a backward node of several outputs.
[[nodiscard]] Result<std::vector<ValueId>> EmitAll(const GradientContext& context,
                                                   std::string_view op, std::vector<ValueId> inputs,
                                                   AttrMap attrs = {});

/// Zeros of the shape and type of `like`.
[[nodiscard]] Result<ValueId> EmitZeros(const GradientContext& context, ValueId like);

/// Per result of the operator its gradient, zeros for one that nobody reads.
[[nodiscard]] Result<std::vector<ValueId>> GradientsOfResults(const GradientContext& context);

// ---- Two operands that broadcast

/// Operands and result of the forward node.
[[nodiscard]] ValueId LeftOf(const GradientContext& context);
[[nodiscard]] ValueId RightOf(const GradientContext& context);
[[nodiscard]] ValueId ResultOf(const GradientContext& context);

/// Gradient of one operand before it is fitted to the operand's shape and type.
using OperandGradient = Result<ValueId> (*)(const GradientContext&);

/// dY, -dY.
[[nodiscard]] Result<ValueId> GradientItself(const GradientContext& context);
[[nodiscard]] Result<ValueId> GradientNegated(const GradientContext& context);

/// dY times a value that was just emitted.
[[nodiscard]] Result<ValueId> TimesGradient(const GradientContext& context,
                                            const Result<ValueId>& factor);

/// Gradients of the operands in order, each fitted to its operand; kNoValue for operands that are
/// not wanted, whose function is null, or that have no function.
[[nodiscard]] Result<std::vector<ValueId>> FittedGradients(
    const GradientContext& context, std::span<const OperandGradient> functions);

/// GradientFn of operands that broadcast to the result.
template <OperandGradient... Functions>
[[nodiscard]] Result<std::vector<ValueId>> OperandGradients(const GradientContext& context) {
  constexpr OperandGradient kFunctions[] = {Functions...};
  return FittedGradients(context, kFunctions);
}

// ---- Kernels of one operand

/// Tensors a gradient kernel of a one-input operator reads.
enum class Reads : std::uint8_t { kGradient, kInput, kOutput };

/// The tensor a kernel reads: gradient of output 0, input 0 or output 0.
[[nodiscard]] ValueId OperandOf(const GradientContext& context, Reads what);

/// GradientFn of a one-input operator: kernel `Op` on the listed tensors gives the input's
/// gradient.
template <const char* Op, Reads... Operands>
[[nodiscard]] Result<std::vector<ValueId>> GradientKernel(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient, context.Emit(Op, {OperandOf(context, Operands)...}));
  return std::vector<ValueId>{gradient};
}

/// The same with the forward node's attributes on the kernel.
template <const char* Op, Reads... Operands>
[[nodiscard]] Result<std::vector<ValueId>> GradientKernelWithAttrs(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(Op, {OperandOf(context, Operands)...}, context.node.attrs));
  return std::vector<ValueId>{gradient};
}

/// Gradient of elements picked along `dim` of input 0, added to zeros of its shape at `index`.
[[nodiscard]] Result<std::vector<ValueId>> EmitPutBack(const GradientContext& context,
                                                       ValueId index, ValueId gradient,
                                                       std::size_t dim);

/// One input; its gradient is the output's gradient.
[[nodiscard]] Result<std::vector<ValueId>> GradientPassedOn(const GradientContext& context);

/// One input; its gradient is the output's gradient reshaped to the input's shape.
[[nodiscard]] Result<std::vector<ValueId>> GradientReshaped(const GradientContext& context);

}  // namespace drydock::strategies
