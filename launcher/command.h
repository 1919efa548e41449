#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/environment.h"
#include "launcher/exit_code.h"
#include "launcher/flags.h"
#include "launcher/log.h"
#include "launcher/stop_guard.h"

namespace drydock::launcher {

/// The world as a command sees it. Everything in it outlives the command.
struct Context {
  std::string program =
      {};  ///< Name under which the command was called: "msrun", "drydock version".
  Environment environment = {};
  std::ostream& out;  ///< The answer. Everything else goes to `log`.
  Log& log;
  StopGuard& stop;
};

/// A sub-command: one class in one file, listed in command.cc. An object serves one call.
class Command {
 public:
  virtual ~Command() = default;
  [[nodiscard]] virtual std::string_view Name() const = 0;
  /// One line for the list of commands.
  [[nodiscard]] virtual std::string_view Summary() const = 0;
  /// What comes behind the name in the usage line.
  [[nodiscard]] virtual std::string Usage() const { return "[flags]"; }
  /// Declares the flags; values are stored in the object. `--help` is added by the caller.
  virtual void AddFlags(FlagSet& flags) = 0;
  /// The words of the command line as `flags` reads them: a front door of another launcher's habits
  /// translates them here. @error USAGE
  [[nodiscard]] virtual Result<std::vector<std::string>> Translate(
      std::span<const std::string> words, const FlagSet& /*flags*/) {
    return std::vector<std::string>(words.begin(), words.end());
  }
  /// Called when the flags are read and nothing has been said: a program that lacks what they ask
  /// for becomes another one here.
  [[nodiscard]] virtual Status BeforeRun(const FlagSet& /*flags*/, const Context& /*context*/) {
    return {};
  }
  /// @error  see ExitCodeOf
  [[nodiscard]] virtual Result<ExitCode> Run(const FlagSet& flags, const Context& context) = 0;
};

/// All sub-commands, in the order of the help text.
[[nodiscard]] std::vector<std::unique_ptr<Command>> MakeCommands();

/// Version of Drydock: "0.1.0".
[[nodiscard]] std::string_view Version();

}  // namespace drydock::launcher
