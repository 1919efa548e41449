#include "launcher/command.h"

#include "launcher/commands.h"
#include "launcher/msrun_command.h"
#include "launcher/simulate.h"

namespace drydock::launcher {

std::unique_ptr<Command> MakeMsrunCommand() {
  return std::make_unique<MsrunCommand>(
      MsrunAnswers{.simulate = Simulate, .operators = OperatorsText});
}

std::vector<std::unique_ptr<Command>> MakeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakeMsrunCommand());
  commands.push_back(MakeMpirunCommand());
  commands.push_back(MakePaddleLaunchCommand());
  commands.push_back(MakeSchedulerCommand());
  commands.push_back(MakePlanCommand());
  commands.push_back(MakeDiffCommand());
  commands.push_back(MakeWhatifCommand());
  commands.push_back(MakeSweepCommand());
  commands.push_back(MakeEstimateCommand());
  commands.push_back(MakeCalibrateCommand());
  commands.push_back(MakeListOperatorsCommand());
  commands.push_back(MakeCheckCommand());
  commands.push_back(MakeFromTorchCommand());
  commands.push_back(MakeHtmlCommand());
  commands.push_back(MakeManCommand());
  commands.push_back(MakeExplainCommand());
  commands.push_back(MakeCompletionCommand());
  commands.push_back(MakeCompleteCommand());
  commands.push_back(MakeVersionCommand());
  return commands;
}

}  // namespace drydock::launcher
