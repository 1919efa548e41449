#pragma once

#include "strategies/rules/common/array_math.h"

/// Products of groups of rows or columns, on numbers. `list` holds the ends of the groups; lists of
/// several slices follow each other, and the ends of each count from its own first row.
namespace drydock::strategies {

/// Rows of x [m, k] in groups, each by its matrix of w [e, k, n]: `shape` is [m, n].
[[nodiscard]] NdArray GroupedRows(const NdArray& x, const NdArray& w, const NdArray& list,
                                  const Shape& shape);

/// Columns of x [m, k] in groups by the same rows of w [k, n]: `shape` is [groups, m, n].
[[nodiscard]] NdArray GroupedColumns(const NdArray& x, const NdArray& w, const NdArray& list,
                                     const Shape& shape);

/// A bias [n] of every row, or [groups, n] of products [groups, m, n].
[[nodiscard]] NdArray WithBias(const NdArray& product, const NdArray& bias);

/// A bias [e, n] for the groups of rows of a product [m, n].
[[nodiscard]] NdArray WithBiasOfGroups(NdArray product, const NdArray& bias, const NdArray& list);

}  // namespace drydock::strategies
