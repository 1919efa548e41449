#pragma once

#include <string>

namespace drydock::launcher {

/// Ends (SIGKILL) every process whose environment holds the line `assignment` ("NAME=value"),
/// except the caller, generation by generation; those that started another program with an
/// environment of its own are not found. Gives the number of processes that were ended.
///
/// Uses system calls and memory of its own only, so that a forked child may call it.
/// Source: docs/robustness.md
[[nodiscard]] int EndMarkedProcesses(const std::string& assignment);

}  // namespace drydock::launcher
