#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_contexts.h"

/// Tables that a look-up's attributes cut by hand: manual_split (rows of each part) or
/// manual_split_with_offset (rows and offset of each part). Any look-up may carry them.
/// Source: mindspore/ccsrc/frontend/parallel/ops_info/gather_info.cc (GetManualSplitAttr)
namespace drydock::strategies {

/// One part of a table.
struct HandPart {
  std::int64_t rows = 0;
  std::int64_t offset = 0;  ///< Subtracted from the indices of this part.
};

/// True if the operator carries one of the attributes.
[[nodiscard]] bool IsManualSplit(const OpView& op);

/// The parts of the table that `op` looks up.
/// @error kInvalidArgument  "<op>:strategy-manual"  they are not the table, or too short for their
/// indices
[[nodiscard]] Result<std::vector<HandPart>> PartsByHand(const OpView& op);

/// The attributes of `op` with as many parts, at the offsets that they had, that share the rows of
/// the table equally.
/// @error kInvalidArgument  what is listed are no parts
[[nodiscard]] Result<AttrMap> WithEqualParts(const OpView& op);

/// "<op>:strategy-manual".
[[nodiscard]] tl::unexpected<Error> FailManual(const OpView& op, std::string why);

}  // namespace drydock::strategies
