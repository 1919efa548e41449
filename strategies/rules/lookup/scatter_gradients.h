#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"

/// GradientFn of the operators of scatter.cc: operands x, indices, updates. "Row": indices are row
/// numbers; "Place": their last dimension holds coordinates. All are the derivatives of the values;
/// the reference's gradients of ScatterUpdate, ScatterMax and ScatterMin are not.
namespace drydock::strategies {

/// dX = dY with written places 0, dU = dY at the places.
[[nodiscard]] Result<std::vector<ValueId>> GradientOfRowUpdate(const GradientContext& context);
[[nodiscard]] Result<std::vector<ValueId>> GradientOfPlaceUpdate(const GradientContext& context);
/// The same; the kernel takes the updates for their shape, which keeps them alive.
[[nodiscard]] Result<std::vector<ValueId>> GradientOfCopyUpdate(const GradientContext& context);

/// dX = dY, dU = dY at the places (Sub: negative).
[[nodiscard]] Result<std::vector<ValueId>> GradientOfRowAdd(const GradientContext& context);
[[nodiscard]] Result<std::vector<ValueId>> GradientOfRowSub(const GradientContext& context);
[[nodiscard]] Result<std::vector<ValueId>> GradientOfPlaceAdd(const GradientContext& context);
[[nodiscard]] Result<std::vector<ValueId>> GradientOfPlaceSub(const GradientContext& context);

/// dX = dY combined with the updates in the same way, dU = +-(dY * y) at the places / U. The row
/// forms read the result, since x is overwritten; the copying forms read x.
[[nodiscard]] Result<std::vector<ValueId>> GradientOfRowMul(const GradientContext& context);
[[nodiscard]] Result<std::vector<ValueId>> GradientOfRowDiv(const GradientContext& context);
[[nodiscard]] Result<std::vector<ValueId>> GradientOfPlaceMul(const GradientContext& context);
[[nodiscard]] Result<std::vector<ValueId>> GradientOfPlaceDiv(const GradientContext& context);

/// What equals the result shares its gradient.
[[nodiscard]] Result<std::vector<ValueId>> GradientOfRowExtreme(const GradientContext& context);
[[nodiscard]] Result<std::vector<ValueId>> GradientOfPlaceExtreme(const GradientContext& context);

}  // namespace drydock::strategies
