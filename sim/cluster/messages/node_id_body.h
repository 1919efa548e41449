#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace drydock::sim {

/// Largest body that is looked at of a message that carries nothing but a node id.
inline constexpr std::size_t kMaxNodeIdBodyBytes = 1024;

/// The node id (field 1) of such a body, a view into it; empty if absent.
/// @error kProtocol  malformed, not UTF-8, or larger than kMaxNodeIdBodyBytes
[[nodiscard]] Result<std::string_view> DecodeNodeIdBody(std::string_view message,
                                                        std::string_view body);

}  // namespace drydock::sim
