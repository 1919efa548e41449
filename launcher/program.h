#pragma once

#include <span>
#include <string>

#include "launcher/command.h"

namespace drydock::launcher {

/// Runs a command line and gives the exit status. Errors are printed to `err`.
///
/// Called under the name `msrun` (or a link of that name) everything is msrun's; otherwise the
/// first word is the sub-command. No exceptions come out.
/// @param words  the command line, program name first
[[nodiscard]] int RunProgram(std::span<const std::string> words, Context context,
                             std::ostream& err);

}  // namespace drydock::launcher
