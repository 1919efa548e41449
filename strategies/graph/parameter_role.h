#pragma once

#include <optional>
#include <string_view>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Name of a role in documents: "weight", "optimizer_state" or "hyper".
[[nodiscard]] std::string_view ParameterRoleName(ParameterRole role);

/// The role with that name, nullopt if there is none.
[[nodiscard]] std::optional<ParameterRole> ParseParameterRole(std::string_view name);

}  // namespace drydock::strategies
