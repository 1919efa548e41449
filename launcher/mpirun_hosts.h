#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drydock::launcher {

/// A machine as mpirun's flags and hostfiles name it.
struct HostSlots {
  std::string name = {};
  std::int64_t slots = 0;                      ///< Ranks that it takes.
  std::optional<std::int64_t> max_slots = {};  ///< Never more than these, however --oversubscribe.
  friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

/// "a:8,b:8" or "a,a,b": a host that stands there twice takes both numbers together.
/// @error USAGE  an empty name, no number of slots
[[nodiscard]] Result<std::vector<HostSlots>> ParseHostList(std::string_view text);

/// Lines "name slots=8 max-slots=16 # comment"; without slots a line is one slot, and a host may
/// have several such lines. Source: man mpirun, "Specifying host nodes".
/// @param path  of the file, for messages
/// @error USAGE  with the line: a word nobody knows, no number, a host whose slots are given twice
[[nodiscard]] Result<std::vector<HostSlots>> ParseHostfile(std::string_view text,
                                                           const std::string& path);

}  // namespace drydock::launcher
