#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"
#include "strategies/rules/matmul/matmul_form.h"

/// Products cut in two or three directions (attribute `enable_nd_tp`).
namespace drydock::strategies {

/// Rule of such a product; its layouts tell which form it is.
/// @error kInvalidArgument  "<op>:nd-tp": cuts instead of layouts, or layouts of neither form
[[nodiscard]] Result<ShardRule> NdProductRule(const OpView& op, const Transposes& transposes);

/// The product with the collectives around it.
[[nodiscard]] Result<std::vector<ValueId>> LocalizeNdProduct(const LocalizeContext& context,
                                                             const Transposes& transposes);

}  // namespace drydock::strategies
