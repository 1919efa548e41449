#include "launcher/msrun_command.h"

#include "launcher/run/run_job.h"
#include "launcher/torchrun_words.h"

namespace drydock::launcher {

void MsrunCommand::AddFlags(FlagSet& flags) {
  AddMsrunFlags(flags, options_);
  flags.AddSwitch({"list_operators", "", "print the operators that are handled, and end"},
                  &list_operators_);
}

Result<std::vector<std::string>> MsrunCommand::Translate(std::span<const std::string> words,
                                                         const FlagSet& flags) {
  return TranslateTorchrunWords(words, flags);
}

std::optional<MsrunOptions> MsrunCommand::OptionsOfStart(const FlagSet& flags,
                                                         const Environment& environment) const {
  Result<MsrunOptions> options = FinishMsrunOptions(options_, flags, environment);
  if (list_operators_ || !options || options->sim_level >= 0) {
    return std::nullopt;
  }
  return *std::move(options);
}

Result<ExitCode> MsrunCommand::Run(const FlagSet& flags, const Context& context) {
  if (list_operators_) {
    return ListOperators(flags, context);
  }
  DRYDOCK_TRY(const MsrunOptions options,
              FinishMsrunOptions(std::move(options_), flags, context.environment));
  if (options.quiet) {
    context.log.SetLevel(LogLevel::kError);
  } else if (options.verbose) {
    context.log.SetLevel(LogLevel::kDebug);
  }
  if (options.sim_level < 0) {
    return RunJob(options, context);
  }
  if (flags.Given("local_worker_num") && options.local_worker_num > options.worker_num) {
    context.log.Warning("--local_worker_num=" + std::to_string(options.local_worker_num) +
                        " is more than --worker_num=" + std::to_string(options.worker_num) +
                        ", which a start without --sim_level refuses");
  }
  if (!flags.Given("sim_level")) {
    context.log.Warning("MS_SIMULATION_LEVEL=" + std::to_string(options.sim_level) +
                        " is set in the environment: this is a dry run, and no rank is started");
  }
  if (options.outer && options.outer->index > 0 && !options.sim_spread) {
    context.log.Info("the dry run is that of " + options.outer->system + "'s process 0");
    return ExitCode::kOk;
  }
  return answers_.simulate(options, context);
}

Result<ExitCode> MsrunCommand::ListOperators(const FlagSet& flags, const Context& context) const {
  if (!flags.rest().empty()) {
    return FailCommand(FailureCode::kUsage,
                       "--list_operators takes no script: " + flags.rest().front());
  }
  context.out << answers_.operators(options_.json);
  return ExitCode::kOk;
}

}  // namespace drydock::launcher
