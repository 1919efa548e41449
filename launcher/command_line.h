#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string>

#include "launcher/command.h"

/// What all our programs do with a command line: read the flags of one command, run it, and turn
/// what comes out into text and an exit status.
namespace drydock::launcher {

[[nodiscard]] constexpr int NumberOf(ExitCode code) {
  return static_cast<int>(code);
}

/// Prints the error to `err`, coloured where that is wanted; gives its exit status.
[[nodiscard]] int Report(const Error& error, const Context& context, std::ostream& err);

/// Reads the flags of `command`, answers --help and --version, or runs it; gives the exit status.
/// @param words  the command line behind the command's name
[[nodiscard]] int RunCommand(Command& command, std::span<const std::string> words,
                             const Context& context, std::ostream& err);

/// The status that `run` gives; an exception becomes a line on `err` and a status.
[[nodiscard]] int StatusOfRun(const std::function<int()>& run, std::ostream& err);

/// Runs a command line, program name first; gives the exit status.
using ProgramRun = int (*)(std::span<const std::string> words, Context context, std::ostream& err);

/// What main() of a program is about: makes the log and the signal guard, runs, and lets nothing
/// out but an exit status. Memory that cannot be had ends the program with a line and status 3.
[[nodiscard]] int RunMain(std::span<const std::string> words, ProgramRun run);

}  // namespace drydock::launcher
