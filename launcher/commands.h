#pragma once

#include <memory>

#include "launcher/command.h"

/// One function per sub-command; the classes themselves are nobody else's business.
namespace drydock::launcher {

[[nodiscard]] std::unique_ptr<Command> MakeMsrunCommand();
[[nodiscard]] std::unique_ptr<Command> MakeListOperatorsCommand();
[[nodiscard]] std::unique_ptr<Command> MakeSchedulerCommand();
[[nodiscard]] std::unique_ptr<Command> MakeManCommand();
[[nodiscard]] std::unique_ptr<Command> MakeVersionCommand();

}  // namespace drydock::launcher
