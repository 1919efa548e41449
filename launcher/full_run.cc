#include "launcher/full_run.h"

#include <algorithm>
#include <cmath>
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

namespace {

/// One plan, compiled as it is.
reports::FullRun RunStep(const sim::TrainingJob& job, const sim::Plan& plan,
                         const sim::HardwareProfile& hardware, std::int64_t limit_bytes,
                         const Context& context) {
  std::vector<std::string> words = Words(job, ScriptPath(), reports::ScriptArguments(job, plan));
  const std::int64_t gibibytes = std::max<std::int64_t>(1, limit_bytes >> 30);
  words.insert(words.begin(), "--device_memory=" + std::to_string(gibibytes) + "GB");
  const Result<sim::DryRunResult> result = RunInFull(words, &hardware, context);
  if (!result) {
    return {.problem = result.error().message};
  }
  reports::FullRun full{.micro_batches = MicroBatches(job, plan)};
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

}  // namespace

reports::FullRun RunPlan(const sim::TrainingJob& job, const sim::Plan& plan,
                         const sim::HardwareProfile& hardware, std::int64_t limit_bytes,
                         const Context& context) {
  // Behind the micro batches that fill a pipeline each further one adds the same time, and to
  // memory its inputs. A step of very many is followed from two shorter ones: a straight line.
  const std::int64_t all = MicroBatches(job, plan);
  const std::int64_t few = std::max<std::int64_t>(2, plan.pipeline * (plan.interleave > 1 ? 2 : 1));
  if (all < 4 * few) {
    return RunStep(job, plan, hardware, limit_bytes, context);
  }
  const auto shorter = [&](std::int64_t micro_batches) {
    sim::TrainingJob part = job;
    part.global_batch = job.global_batch / all * micro_batches;
    return RunStep(part, plan, hardware, limit_bytes, context);
  };
  const reports::FullRun first = shorter(few);
  reports::FullRun full = first.problem.empty() ? shorter(2 * few) : first;
  if (!full.problem.empty()) {
    return full;
  }
  const auto further = static_cast<double>(all - 2 * few) / static_cast<double>(few);
  full.step_seconds += further * (full.step_seconds - first.step_seconds);
  full.collectives +=
      std::llround(further * static_cast<double>(full.collectives - first.collectives));
  // Tokens and labels of a micro batch, 32 bits each.
  const std::int64_t tokens = job.sequence * plan.micro_batch / plan.context;
  const std::int64_t inputs = (all - 2 * few) * 2 * std::int64_t{sizeof(std::int32_t)} * tokens;
  full.peak_bytes += inputs;
  full.actual_bytes += inputs;
  full.fits = full.actual_bytes <= limit_bytes;
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
