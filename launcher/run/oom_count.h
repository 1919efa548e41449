#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drydock::launcher {

/// How often the kernel killed a process of a control group for lack of memory; nothing if it does
/// not tell. Both versions of control groups are read. Source: docs/robustness.md R-64
/// @param own_groups  text of /proc/self/cgroup
/// @param mounts      folder of the control groups, "/sys/fs/cgroup"
[[nodiscard]] std::optional<std::int64_t> OomKills(std::string_view own_groups,
                                                   const std::string& mounts);

/// The same for this process.
[[nodiscard]] std::optional<std::int64_t> OwnOomKills();

}  // namespace drydock::launcher
