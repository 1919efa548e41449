#include "launcher/full_run.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/executor.h"
#include "launcher/files.h"
#include "launcher/install_paths.h"
#include "launcher/load_job.h"
#include "launcher/msrun_options.h"
#include "launcher/time_options.h"
#include "reports/plan_settings.h"
#include "strategies/passes/compile_job.h"
#include "strategies/passes/prepare/micro_batches.h"

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
  DRYDOCK_TRY(LoadedJob loaded, LoadJob(finished, context));
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

/// Micro batches that fill the pipeline: twice as many where parts of stages take turns.
std::int64_t FillingOf(const sim::Plan& plan) {
  return std::max<std::int64_t>(2, plan.pipeline * (plan.interleave > 1 ? 2 : 1));
}

/// A step of very many micro batches is followed from two shorter ones: behind those that fill the
/// pipeline each further micro batch adds the same time, and to memory its inputs.
bool IsFollowed(const sim::TrainingJob& job, const sim::Plan& plan) {
  return MicroBatches(job, plan) >= 4 * FillingOf(plan);
}

/// A recorded step, compiled as it is.
reports::FullRun RunStep(strategies::TracedJob traced, std::int64_t micro_batches,
                         const sim::HardwareProfile& hardware, std::int64_t limit_bytes,
                         const Executor& executor) {
  const sim::DryRunOptions dry_run{.level = 3, .time = sim::TimeOptions{.hardware = hardware}};
  Result<strategies::JobProgram> program = strategies::CompileJob(
      std::move(traced), sim::DescribedRank(dry_run), {.executor = &executor});
  if (!program) {
    return {.problem = program.error().message};
  }
  const Result<sim::DryRunResult> result = sim::DryRun(*std::move(program), dry_run, executor);
  if (!result) {
    return {.problem = result.error().message};
  }
  reports::FullRun full{.micro_batches = micro_batches};
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

Result<strategies::TracedJob> Recorded(const sim::TrainingJob& job, const sim::Plan& plan,
                                       std::int64_t limit_bytes, const Context& context) {
  std::vector<std::string> words = Words(job, ScriptPath(), reports::ScriptArguments(job, plan));
  const std::int64_t gibibytes = std::max<std::int64_t>(1, limit_bytes >> 30);
  words.insert(words.begin(), "--device_memory=" + std::to_string(gibibytes) + "GB");
  MsrunOptions options;
  FlagSet flags;
  AddMsrunFlags(flags, options);
  DRYDOCK_RETURN_IF_ERROR(flags.Parse(words));
  DRYDOCK_TRY(const MsrunOptions finished,
              FinishMsrunOptions(std::move(options), flags, context.environment));
  DRYDOCK_TRY(LoadedJob loaded, LoadJob(finished, context));
  return std::move(loaded.traced);
}

/// The same step with twice as many micro batches.
bool Double(strategies::TracedJob& traced) {
  return std::ranges::all_of(traced.networks, [](strategies::TracedNetwork& network) {
    return strategies::MultiplyMicroBatches(network.graph, 2);
  });
}

}  // namespace

RecordedPlan RecordPlan(const sim::TrainingJob& job, const sim::Plan& plan,
                        std::int64_t limit_bytes, const Context& context) {
  const std::int64_t all = MicroBatches(job, plan);
  RecordedPlan recorded{.plan = plan,
                        .micro_batches = IsFollowed(job, plan) ? FillingOf(plan) : all};
  sim::TrainingJob part = job;
  part.global_batch = job.global_batch / all * recorded.micro_batches;
  if (auto traced = Recorded(part, plan, limit_bytes, context)) {
    recorded.traced = *std::move(traced);
  } else {
    recorded.problem = traced.error().message;
  }
  return recorded;
}

reports::FullRun CompilePlan(const sim::TrainingJob& job, RecordedPlan recorded,
                             const sim::HardwareProfile& hardware, std::int64_t limit_bytes,
                             const Executor& executor) {
  if (!recorded.problem.empty()) {
    return {.problem = std::move(recorded.problem)};
  }
  const sim::Plan& plan = recorded.plan;
  const std::int64_t few = recorded.micro_batches;
  if (!IsFollowed(job, plan)) {
    return RunStep(std::move(recorded.traced), few, hardware, limit_bytes, executor);
  }
  reports::FullRun first = RunStep(recorded.traced, few, hardware, limit_bytes, executor);
  if (!first.problem.empty()) {
    return first;
  }
  if (!Double(recorded.traced)) {
    return {.problem = "the script looks at its whole batch"};
  }
  reports::FullRun full =
      RunStep(std::move(recorded.traced), 2 * few, hardware, limit_bytes, executor);
  if (!full.problem.empty()) {
    return full;
  }
  const std::int64_t rest = MicroBatches(job, plan) - 2 * few;
  const auto further = static_cast<double>(rest) / static_cast<double>(few);
  full.step_seconds += further * (full.step_seconds - first.step_seconds);
  full.collectives +=
      std::llround(further * static_cast<double>(full.collectives - first.collectives));
  // Tokens and labels of a micro batch, 32 bits each.
  const std::int64_t tokens = job.sequence * plan.micro_batch / plan.context;
  const std::int64_t inputs = rest * 2 * std::int64_t{sizeof(std::int32_t)} * tokens;
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
