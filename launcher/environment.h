#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace drydock::launcher {

/// Environment variables as a value, so that tests can make their own.
using Environment = std::map<std::string, std::string, std::less<>>;

/// The environment of this process. The only place that reads it.
[[nodiscard]] Environment ReadEnvironment();

/// Value of a variable; nullopt if it is not set or empty.
[[nodiscard]] std::optional<std::string> Variable(const Environment& environment,
                                                  std::string_view name);

}  // namespace drydock::launcher
