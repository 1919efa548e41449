#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/operators/hand_parts.h"
#include "strategies/operators/op_entry.h"
#include "strategies/rules/lookup/gather_form.h"

/// Look-ups in a table whose parts belong to parts of the indices: attribute manual_split (rows of
/// each part) or manual_split_with_offset (rows and offset of each part). Source: mindspore
/// ops_info/gather_info.cc, mode MANUAL.
namespace drydock::strategies {

/// Rule for a cut table.
/// @error kInvalidArgument  "<op>:strategy-manual"  the parts do not fit the table or the strategy
/// @error kUnsupported      parts of different size: only those of a parameter become equal before
/// (strategies/passes/prepare/hand_cut.h)
[[nodiscard]] Result<ShardRule> ShardManualSplit(const OpView& op, const GatherForm& form,
                                                 const Strategy& strategy);

/// Indices minus the offset of the rank's part, then the plain look-up; no communication.
[[nodiscard]] Result<std::vector<ValueId>> LocalizeManualSplit(const LocalizeContext& context);

}  // namespace drydock::strategies
