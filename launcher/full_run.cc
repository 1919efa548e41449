#include "launcher/full_run.h"

#include <algorithm>
#include <optional>

#include "base/executor.h"
#include "launcher/files.h"
#include "launcher/install_paths.h"
#include "launcher/load_job.h"
#include "launcher/msrun_options.h"
#include "launcher/time_options.h"
#include "reports/plan_settings.h"
#include "strategies/passes/compile_job.h"

namespace drydock::launcher {
namespace {

/// Our script in the installation, or as the documents name it if the installation has none.
std::string ScriptPath() {
  const Result<std::string> program = ProgramPath();
  return program ? PathIn(PathsFor(*program).planning_folder, "net.py") : "net.py";
}

std::vector<std::string> Words(const sim::TrainingJob& job, const std::string& script,
                               std::vector<std::string> arguments) {
  std::vector<std::string> words = {"--sim_level=3", "--worker_num=" + std::to_string(job.devices),
                                    script};
  std::ranges::move(arguments, std::back_inserter(words));
  return words;
}

}  // namespace

Result<sim::DryRunResult> RunInFull(const std::vector<std::string>& words,
                                    const sim::HardwareProfile* hardware, const Context& context) {
  MsrunOptions options;
  FlagSet flags;
  AddMsrunFlags(flags, options);
  DRYDOCK_RETURN_IF_ERROR(flags.Parse(words));
  DRYDOCK_TRY(const MsrunOptions finished,
              FinishMsrunOptions(std::move(options), flags, context.environment));
  std::optional<strategies::JobConfig> settings;
  DRYDOCK_TRY(LoadedJob loaded, LoadJob(finished, context, settings));
  sim::DryRunOptions dry_run{.level = static_cast<std::int32_t>(finished.sim_level)};
  if (hardware != nullptr) {
    dry_run.time = sim::TimeOptions{.hardware = *hardware};
  } else if (dry_run.level == 3) {
    DRYDOCK_TRY(dry_run.time, TimeOptionsOf(finished, loaded.settings.device_target));
  }
  const auto executor = MakeExecutor(static_cast<std::size_t>(finished.threads));
  DRYDOCK_TRY(strategies::JobProgram program,
              strategies::CompileJob(std::move(loaded.traced), sim::DescribedRank(dry_run),
                                     {.executor = executor.get()}));
  return sim::DryRun(std::move(program), dry_run, *executor);
}

reports::FullRun RunPlan(const sim::TrainingJob& job, const sim::Plan& plan,
                         const sim::HardwareProfile& hardware, std::int64_t limit_bytes,
                         const Context& context) {
  std::vector<std::string> words = Words(job, ScriptPath(), reports::ScriptArguments(job, plan));
  const std::int64_t gibibytes = std::max<std::int64_t>(1, limit_bytes >> 30);
  words.insert(words.begin(), "--device_memory=" + std::to_string(gibibytes) + "GB");
  const Result<sim::DryRunResult> result = RunInFull(words, &hardware, context);
  if (!result) {
    return {.problem = result.error().message};
  }
  reports::FullRun full;
  for (const sim::ClassMemory& one : result->classes) {
    if (one.memory) {
      full.peak_bytes = std::max(full.peak_bytes, one.memory->used_peak_bytes);
      full.actual_bytes = std::max(full.actual_bytes, one.memory->actual_peak_bytes);
    }
  }
  full.fits = full.actual_bytes <= limit_bytes;
  full.step_seconds = result->time ? result->time->run.seconds : 0;
  full.collectives = result->agreement.collectives_checked;
  if (!result->agreement.holds) {
    full.problem = "the ranks disagree: " + result->agreement.first_conflict;
  }
  return full;
}

std::string CommandLineOf(const sim::TrainingJob& job, const sim::Plan& plan) {
  std::string line = "msrun";
  for (const std::string& word : Words(job, ScriptPath(), reports::ScriptArguments(job, plan))) {
    line += " " + word;
  }
  return line;
}

}  // namespace drydock::launcher
