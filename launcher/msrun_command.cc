#include "launcher/commands.h"
#include "launcher/msrun_options.h"
#include "launcher/run/run_job.h"
#include "launcher/simulate.h"
#include "launcher/torchrun_words.h"

namespace drydock::launcher {
namespace {

/// `msrun`: dry-runs a job (with --sim_level) or starts it.
class MsrunCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "msrun"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "dry-run a distributed training job for every rank, or start it";
  }
  [[nodiscard]] std::string Usage() const override {
    return "[flags] task_script [task_script_args ...]";
  }
  void AddFlags(FlagSet& flags) override {
    AddMsrunFlags(flags, options_);
    flags.AddSwitch({"list_operators", "", "print the operators that are handled, and end"},
                    &list_operators_);
  }

  [[nodiscard]] Result<std::vector<std::string>> Translate(std::span<const std::string> words,
                                                           const FlagSet& flags) override {
    return TranslateTorchrunWords(words, flags);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
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
    return Simulate(options, context);
  }

 private:
  [[nodiscard]] Result<ExitCode> ListOperators(const FlagSet& flags, const Context& context) const {
    if (!flags.rest().empty()) {
      return FailCommand("USAGE", "--list_operators takes no script: " + flags.rest().front());
    }
    context.out << OperatorsText(options_.json);
    return ExitCode::kOk;
  }

  bool list_operators_ = false;
  MsrunOptions options_ = {};
};

}  // namespace

std::unique_ptr<Command> MakeMsrunCommand() {
  return std::make_unique<MsrunCommand>();
}

}  // namespace drydock::launcher
