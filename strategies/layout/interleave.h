#pragma once

#include <cstdint>

#include "strategies/layout/tensor_layout.h"

/// Interleaved layouts: every rank r holds K = `interleave` copies of an operator's slices and
/// plays the virtual ranks r * K .. r * K + K - 1. Patterns and expressions of such layouts speak
/// of virtual ranks; these functions bring them back to real ones. Source: mindspore
/// ccsrc/frontend/parallel/tensor_layout/tensor_layout.cc.
namespace drydock::strategies {

/// The expression for copy number `copy` of `copies` in terms of the real rank.
[[nodiscard]] RankExpr OfCopy(const RankExpr& expr, std::int64_t copies, std::int64_t copy);

/// Which real ranks work together; the part inside a rank is left out.
[[nodiscard]] GroupPattern AcrossRanks(const GroupPattern& pattern, std::int64_t copies);

/// Which copies inside a rank work together, as a pattern of the positions 0 .. copies - 1.
[[nodiscard]] GroupPattern WithinRank(const GroupPattern& pattern, std::int64_t copies);

/// True if the axis of copies cuts a dimension: the K slices of a rank differ.
[[nodiscard]] bool CopiesDiffer(const TensorLayout& layout);

/// The layout over real ranks in which the axis of copies cuts nothing.
[[nodiscard]] TensorLayout WithoutCopies(const TensorLayout& layout);

/// The layout over virtual ranks; the copies of a rank hold equal slices. `layout` has none yet.
[[nodiscard]] TensorLayout WithCopies(const TensorLayout& layout, std::int64_t copies);

}  // namespace drydock::strategies
