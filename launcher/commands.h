#pragma once

#include <memory>
#include <string>

#include "launcher/command.h"

/// One function per sub-command; the classes themselves are nobody else's business.
namespace drydock::launcher {

[[nodiscard]] std::unique_ptr<Command> MakeMsrunCommand();
[[nodiscard]] std::unique_ptr<Command> MakePaddleLaunchCommand();
[[nodiscard]] std::unique_ptr<Command> MakeMpirunCommand();
[[nodiscard]] std::unique_ptr<Command> MakeListOperatorsCommand();
[[nodiscard]] std::unique_ptr<Command> MakeSchedulerCommand();
[[nodiscard]] std::unique_ptr<Command> MakeEstimateCommand();
[[nodiscard]] std::unique_ptr<Command> MakeCheckCommand();
[[nodiscard]] std::unique_ptr<Command> MakeFromTorchCommand();
[[nodiscard]] std::unique_ptr<Command> MakeHtmlCommand();
[[nodiscard]] std::unique_ptr<Command> MakeCalibrateCommand();
[[nodiscard]] std::unique_ptr<Command> MakePlanCommand();
[[nodiscard]] std::unique_ptr<Command> MakeDiffCommand();
[[nodiscard]] std::unique_ptr<Command> MakeWhatifCommand();
[[nodiscard]] std::unique_ptr<Command> MakeSweepCommand();
[[nodiscard]] std::unique_ptr<Command> MakeManCommand();
[[nodiscard]] std::unique_ptr<Command> MakeExplainCommand();
[[nodiscard]] std::unique_ptr<Command> MakeCompletionCommand();
[[nodiscard]] std::unique_ptr<Command> MakeCompleteCommand();
[[nodiscard]] std::unique_ptr<Command> MakeVersionCommand();

/// The table of operators, for `drydock list_operators` and `msrun --list_operators`.
[[nodiscard]] std::string OperatorsText(bool json);

}  // namespace drydock::launcher
