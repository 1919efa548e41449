// What would make a job fit.
//
// "Does not fit" is half an answer. The other half is found by doing it: the script is run, or the
// graph document read, once more, with recompute() called on each of its layers, with a sharded
// optimizer, with twice as many ranks; the result is compiled for all ranks and accounted as the
// job itself was. So a suggestion is never a guess: it says what the heaviest rank needs then, and
// at level 3 what a step costs.
//
// Order and number of trials depend on what they find and never on time: at most five.
#include "launcher/fit_trials.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/executor.h"
#include "launcher/load_job.h"
#include "sim/tracer/run_script.h"
#include "strategies/passes/compile_job.h"

namespace drydock::launcher {
namespace {

/// One change, or several at once.
struct Change {
  bool recompute = false;
  bool shard_optimizer = false;
  std::int64_t times_ranks = 1;
};

constexpr const char* kShard = "enable_parallel_optimizer=True";

class Trials {
 public:
  Trials(const MsrunOptions& options, const Context& context, const sim::DryRunResult& result,
         RunProgress& progress)
      : options_(options), context_(context), progress_(progress), settings_(result.job.config) {
    dry_run_.level = result.options.level;
    dry_run_.workspaces = result.options.workspaces;
    dry_run_.time = result.options.time;
  }

  Result<std::vector<reports::FitTrialReport>> Run() {
    const bool may_shard =
        strategies::CutsOperators(settings_.mode) && !settings_.enable_parallel_optimizer;
    if (may_shard) {
      DRYDOCK_RETURN_IF_ERROR(Try({.shard_optimizer = true}));
    }
    DRYDOCK_RETURN_IF_ERROR(Try({.recompute = true}));
    if (may_shard && recomputes_ && !AnyFits()) {
      DRYDOCK_RETURN_IF_ERROR(Try({.recompute = true, .shard_optimizer = true}));
    }
    if (settings_.mode != strategies::ParallelMode::kStandAlone) {
      DRYDOCK_RETURN_IF_ERROR(Try({.times_ranks = 2}));
      if (!AnyFits()) {
        DRYDOCK_RETURN_IF_ERROR(Try({.times_ranks = 4}));
      }
    }
    return std::move(trials_);
  }

 private:
  [[nodiscard]] bool AnyFits() const {
    return std::ranges::any_of(trials_, &reports::FitTrialReport::fits);
  }

  Status Try(const Change& change) {
    progress_.Say("does not fit; trying " + Words(change, {}));
    std::string recomputed;
    const Result<sim::DryRunResult> result = DryRun(change, recomputed);
    if (!result && sim::StopSignalOf(result.error())) {
      return tl::unexpected(result.error());
    }
    recomputes_ = recomputes_ || !recomputed.empty();
    if (result && change.recompute && recomputed.empty()) {
      return {};  // No layers, or all of them recompute already.
    }
    reports::FitTrialReport trial{.change = Words(change, recomputed)};
    if (!result) {
      trial.problem = result.error().message;
    } else {
      trial.fits = std::ranges::all_of(
          result->classes, [](const sim::ClassMemory& item) { return item.head_room_bytes >= 0; });
      for (const sim::ClassMemory& item : result->classes) {
        trial.peak_bytes =
            std::max(trial.peak_bytes, item.memory ? item.memory->actual_peak_bytes : 0);
      }
      if (result->time) {
        trial.step_seconds = result->time->run.seconds;
      }
    }
    trials_.push_back(std::move(trial));
    return {};
  }

  [[nodiscard]] std::string Words(const Change& change, const std::string& recomputed) const {
    std::string words;
    if (change.times_ranks > 1) {
      return std::to_string(settings_.world_size * change.times_ranks) + " ranks";
    }
    if (change.recompute) {
      words = "recompute() of " + (recomputed.empty() ? "all layers" : recomputed);
    }
    return change.shard_optimizer ? kShard + (words.empty() ? "" : ", " + words) : words;
  }

  Result<sim::DryRunResult> DryRun(const Change& change, std::string& recomputed) {
    MsrunOptions options = options_;
    options.trial = true;
    options.progress_file.clear();
    options.shard_optimizer = change.shard_optimizer;
    options.recompute_layers = change.recompute;
    if (change.times_ranks > 1) {
      options.worker_num = settings_.world_size * change.times_ranks;
      options.worker_num_given = true;
    }
    std::optional<strategies::JobConfig> settings;
    DRYDOCK_TRY(LoadedJob job, LoadJob(options, context_, settings));
    recomputed = job.recomputed;
    DRYDOCK_TRY(strategies::JobProgram program,
                strategies::CompileJob(std::move(job.traced), sim::DescribedRank(dry_run_)));
    const auto executor = MakeExecutor(static_cast<std::size_t>(options.threads));
    return sim::DryRun(std::move(program), dry_run_, *executor);
  }

  const MsrunOptions& options_;
  const Context& context_;
  RunProgress& progress_;
  strategies::JobConfig settings_;
  sim::DryRunOptions dry_run_ = {};
  bool recomputes_ = false;  ///< There are layers that can.
  std::vector<reports::FitTrialReport> trials_ = {};
};

}  // namespace

Result<std::vector<reports::FitTrialReport>> TryToFit(const MsrunOptions& options,
                                                      const Context& context,
                                                      const sim::DryRunResult& result,
                                                      RunProgress& progress) {
  return Trials(options, context, result, progress).Run();
}

}  // namespace drydock::launcher
