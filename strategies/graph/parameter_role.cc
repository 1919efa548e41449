#include "strategies/graph/parameter_role.h"

#include <array>

namespace drydock::strategies {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"weight", "optimizer_state", "hyper",
                                                    "accumulated_gradient"};

}  // namespace

std::string_view ParameterRoleName(ParameterRole role) {
  return kNames[static_cast<std::size_t>(role)];
}

std::optional<ParameterRole> ParseParameterRole(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) {
      return static_cast<ParameterRole>(i);
    }
  }
  return std::nullopt;
}

}  // namespace drydock::strategies
