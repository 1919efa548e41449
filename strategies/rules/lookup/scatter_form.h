#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/operators/nd_array.h"
#include "strategies/operators/op_entry.h"

/// What all operators that write rows of a tensor at given places share. Operands: x [*g, *r],
/// indices [*i] (rows) or [*i, g] (coordinates), updates [*i, *r].
namespace drydock::strategies {

/// How the indices name a place of x.
struct ScatterForm {
  std::size_t picked = 1;      ///< Leading dimensions of x that an index names: len(g).
  std::size_t index_rank = 0;  ///< Dimensions [*i].
  bool coordinates = false;    ///< The last dimension of the indices holds `picked` coordinates.
};

/// Indices that are row numbers.
[[nodiscard]] ScatterForm RowForm(const OpView& op);

/// Indices whose last dimension holds coordinates.
/// @error kInvalidArgument  no such dimension, or more coordinates than x has dimensions
[[nodiscard]] Result<ScatterForm> CoordinateForm(const OpView& op);

/// Offset in row-major x of the row that index number `n` names; -1 if outside x.
[[nodiscard]] std::int64_t ScatterTarget(const ScatterForm& form, const NdArray& indices,
                                         const Shape& x, std::size_t n);

/// Shape [*i] + x[picked:].
[[nodiscard]] Shape UpdatesShape(const ScatterForm& form, const Shape& indices, const Shape& x);

/// x with row after row of `updates` combined into it: x[index] = f(x[index], update). Places
/// outside x are skipped.
[[nodiscard]] NdArray ScatterRows(const ScatterForm& form, NdArray x, const NdArray& indices,
                                  const NdArray& updates, double (*f)(double, double));

/// Indices and ownership for a rank that holds a slice of x; see EmitOwnRows. Rule axis j cuts
/// dimension j of x.
/// @param local_x  shape of the slice
struct OwnPlaces {
  ValueId indices = kNoValue;  ///< Into the slice, clamped to it; the form of the given indices.
  ValueId is_own = kNoValue;   ///< bool [*i]: the place is this rank's.
};
[[nodiscard]] Result<OwnPlaces> EmitOwnPlaces(const LocalizeContext& context,
                                              const ScatterForm& form, ValueId indices,
                                              const Shape& local_x);

/// `mask` [*i] in the element type and with trailing extents of 1 to broadcast to `like`.
[[nodiscard]] Result<ValueId> EmitMaskFor(const LocalizeContext& context, ValueId mask,
                                          ValueId like);

}  // namespace drydock::strategies
