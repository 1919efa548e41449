#pragma once

#include <string>

#include "base/result.h"

namespace drydock::launcher {

/// Files that belong to this program, found from where the program itself is:
/// <prefix>/bin/drydock, <prefix>/lib/drydock/libdrydock_trace.so,
/// <prefix>/share/drydock/{python,pages}. The build folder has the same layout.
struct InstallPaths {
  std::string trace_library = {};
  std::string python_folder = {};    ///< Holds the package that stands in for `mindspore`.
  std::string hardware_folder = {};  ///< Holds the hardware profiles, one file each.
  std::string planning_folder = {};  ///< Holds the script that trains a planned model.
  std::string pages_folder = {};     ///< Pages that commands print: errors.md, errors.zh.md.
};

/// @param program  absolute path of the running program, links resolved
[[nodiscard]] InstallPaths PathsFor(const std::string& program);

/// Absolute path of the running program. @error kIo  /proc is not there
[[nodiscard]] Result<std::string> ProgramPath();

/// Absolute path of the program that has all commands: `drydock` beside the running one, or that
/// itself if there is none. @error kIo  as ProgramPath
[[nodiscard]] Result<std::string> DrydockPath();

}  // namespace drydock::launcher
