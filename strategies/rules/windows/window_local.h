#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"
#include "strategies/rules/windows/window.h"

/// Local programs of operators with sliding windows: exchange of border rows, then the operator
/// without padding where rows were exchanged.
namespace drydock::strategies {

/// Cuts of the spatial dimensions of input 0; empty for an empty strategy.
[[nodiscard]] std::span<const std::int64_t> SpatialCuts(const Strategy& strategy);

struct WindowedLocal {
  std::string_view pad = "pad";  ///< Attribute that takes the local padding.
  bool keeps_pads = false;  ///< `form` already holds the local padding of exchanged dimensions.
};

/// Appends the exchange of input 0 and the operator with attributes `attrs`, whose padding becomes
/// what is left of `form`'s; without an exchange just the operator.
[[nodiscard]] Result<std::vector<ValueId>> EmitWindowed(const LocalizeContext& context,
                                                        const WindowCut& cut,
                                                        const WindowForm& form, AttrMap attrs,
                                                        const WindowedLocal& how);

}  // namespace drydock::strategies
