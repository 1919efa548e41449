#pragma once

#include <cstdint>

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// The pseudo rule of an operator that has no rule of its own: batch parallel where dimension 0 of
/// the first operand and of every result is a multiple of the devices, else replicated.
///
/// The reference looks at the first result only and fails later where another one does not divide.
/// Source: mindspore ccsrc/frontend/parallel/step_parallel_utils.cc.
[[nodiscard]] const OpEntry& FallbackRule(const OpEntry& entry, const OpView& view,
                                          std::int64_t stage_devices);

}  // namespace drydock::strategies
