#pragma once

#include <span>

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// The entries of a strategy that belong to tensors.
///
/// A script may give one entry per argument of the call, also for arguments that are settings or
/// are left out: `(1,)` for a number, `()` for an absent tensor. In such a strategy settings in
/// front of a tensor always have an entry and those behind the last one never, absent tensors all
/// or none. Entries that stand for no tensor are removed if they cut nothing. A strategy that does
/// not fit the call in that way is returned as it is, for the check of its entries to refuse.
///
/// Example: PadV3(x, #paddings, ?constant_value) and ((2, 4, 1), (1,), ()): ((2, 4, 1), ()).
/// Source: mindspore tests of operators with optional tensors, tests/ut/python/parallel.
[[nodiscard]] Strategy StrategyOfTensors(const OpEntry& entry, std::span<const ValueId> operands,
                                         const Strategy& strategy);

}  // namespace drydock::strategies
