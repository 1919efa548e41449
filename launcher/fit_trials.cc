// What would make a job fit.
//
// "Does not fit" is half an answer. The other half is found by doing it: the script is run, or the
// graph document read, once more with a sharded optimizer, with twice as many ranks; what was
// recorded is compiled once more with recompute() of each layer. The result is compiled for all
// ranks and accounted as the job itself was. So a suggestion is never a guess: it says what the
// heaviest rank needs then, and at level 3 what a step costs.
//
// Order and number of trials depend on what they find and never on time: at most five. Of a large
// network in a pipeline only the stages are compiled again that do not fit, which the suggestion
// says, and its script runs again only if nothing else fits: Llama 3 70B would take twice as long
// otherwise.
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

/// Operators of a network from which on trials are restricted.
constexpr std::size_t kLargeNetwork = 10000;

constexpr const char* kShard = "enable_parallel_optimizer=True";

/// Of a job with a change.
struct ChangedJob {
  std::string layers = {};  ///< That recompute.
  std::vector<sim::ClassMemory> classes = {};
  std::optional<double> step_seconds = {};  ///< At level 3.
};

class Trials {
 public:
  Trials(const MsrunOptions& options, const Context& context, const LoadedJob& job,
         const sim::DryRunResult& result, RunProgress& progress)
      : options_(options),
        context_(context),
        job_(job),
        result_(result),
        progress_(progress),
        settings_(result.job.config) {
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
    if (!job_.recording || !job_.layers.empty()) {
      DRYDOCK_RETURN_IF_ERROR(Try({.recompute = true}));
    }
    if (may_shard && recomputes_ && !AnyFits()) {
      DRYDOCK_RETURN_IF_ERROR(Try({.recompute = true, .shard_optimizer = true}));
    }
    if (settings_.mode != strategies::ParallelMode::kStandAlone && (!AnyFits() || !IsLarge())) {
      DRYDOCK_RETURN_IF_ERROR(Try({.times_ranks = 2}));
      if (!AnyFits() && trials_.back().problem.empty()) {
        DRYDOCK_RETURN_IF_ERROR(Try({.times_ranks = 4}));
      }
    }
    return std::move(trials_);
  }

 private:
  [[nodiscard]] bool AnyFits() const {
    return std::ranges::any_of(trials_, &reports::FitTrialReport::fits);
  }

  [[nodiscard]] bool IsLarge() const {
    return std::ranges::any_of(result_.job.programs, [](const strategies::LocalProgram& program) {
      return program.from && program.from->traced.nodes.size() > kLargeNetwork;
    });
  }

  /// Whether only the stages that do not fit are compiled again.
  [[nodiscard]] bool IsRestricted(const Change& change) const {
    return change.recompute && !change.shard_optimizer && job_.recording && IsLarge() &&
           dry_run_.level < 3 && settings_.pipeline_stages > 1;
  }

  Status Try(const Change& change) {
    progress_.Say("does not fit; trying " + Words(change, "all layers"));
    Result<ChangedJob> outcome = IsRestricted(change) ? PlayWhatDoesNotFit() : PlayAll(change);
    if (!outcome && sim::StopSignalOf(outcome.error())) {
      return tl::unexpected(outcome.error());
    }
    if (outcome && change.recompute && outcome->layers.empty()) {
      return {};  // No layers, or all of them recompute already.
    }
    recomputes_ = recomputes_ || change.recompute;
    const std::string layers = outcome ? outcome->layers : job_.layers;
    reports::FitTrialReport trial{.change = Words(change, layers.empty() ? "all layers" : layers)};
    if (!outcome) {
      trial.problem = outcome.error().message;
    } else {
      trial.fits = std::ranges::all_of(
          outcome->classes, [](const sim::ClassMemory& item) { return item.head_room_bytes >= 0; });
      for (const sim::ClassMemory& item : outcome->classes) {
        trial.peak_bytes =
            std::max(trial.peak_bytes, item.memory ? item.memory->actual_peak_bytes : 0);
      }
      trial.step_seconds = outcome->step_seconds;
    }
    trials_.push_back(std::move(trial));
    return {};
  }

  [[nodiscard]] std::string Words(const Change& change, const std::string& layers) const {
    std::string words;
    if (change.times_ranks > 1) {
      return std::to_string(settings_.world_size * change.times_ranks) + " ranks";
    }
    if (change.recompute) {
      words = "recompute() of " + layers;
    }
    if (IsRestricted(change)) {
      words += ", as to ranks " + strategies::RankSetText(RanksThatDoNotFit());
    }
    return change.shard_optimizer ? kShard + (words.empty() ? "" : ", " + words) : words;
  }

  [[nodiscard]] strategies::RankSet RanksThatDoNotFit() const {
    strategies::RankSet ranks;
    for (const sim::ClassMemory& item : result_.classes) {
      if (item.head_room_bytes < 0) {
        ranks = Merge(ranks, item.ranks);
      }
    }
    return ranks;
  }

  Result<ChangedJob> PlayWhatDoesNotFit() {
    DRYDOCK_TRY(LoadedJob job, LoadRecomputed(options_, context_, *job_.recording));
    job.traced.wanted = RanksThatDoNotFit();
    const strategies::RankSet wanted = job.traced.wanted;
    const auto executor = MakeExecutor(static_cast<std::size_t>(options_.threads));
    DRYDOCK_TRY(strategies::JobProgram program,
                strategies::CompileJob(std::move(job.traced), sim::DescribedRank(dry_run_),
                                       {.executor = executor.get()}));
    ChangedJob outcome{.layers = std::move(job.layers)};
    DRYDOCK_TRY(outcome.classes,
                sim::AccountRanks(std::move(program), dry_run_, wanted, *executor));
    return outcome;
  }

  Result<ChangedJob> PlayAll(const Change& change) {
    DRYDOCK_TRY(LoadedJob job, Load(change));
    const auto executor = MakeExecutor(static_cast<std::size_t>(options_.threads));
    DRYDOCK_TRY(strategies::JobProgram program,
                strategies::CompileJob(std::move(job.traced), sim::DescribedRank(dry_run_),
                                       {.executor = executor.get()}));
    DRYDOCK_TRY(sim::DryRunResult result, sim::DryRun(std::move(program), dry_run_, *executor));
    ChangedJob outcome{.layers = std::move(job.layers), .classes = std::move(result.classes)};
    if (result.time) {
      outcome.step_seconds = result.time->run.seconds;
    }
    return outcome;
  }

  /// The changed job: from what the script recorded, else the script runs once more.
  Result<LoadedJob> Load(const Change& change) {
    if (change.recompute && !change.shard_optimizer && job_.recording) {
      return LoadRecomputed(options_, context_, *job_.recording);
    }
    MsrunOptions options = options_;
    options.trial = true;
    options.progress_file.clear();
    options.shard_optimizer = change.shard_optimizer;
    options.recompute_layers = change.recompute;
    if (change.times_ranks > 1) {
      options.worker_num = settings_.world_size * change.times_ranks;
      options.worker_num_given = true;
    }
    return LoadJob(options, context_);
  }

  const MsrunOptions& options_;
  const Context& context_;
  const LoadedJob& job_;
  const sim::DryRunResult& result_;
  RunProgress& progress_;
  strategies::JobConfig settings_;
  sim::DryRunOptions dry_run_ = {};
  bool recomputes_ = false;  ///< There are layers that can.
  std::vector<reports::FitTrialReport> trials_ = {};
};

}  // namespace

Result<std::vector<reports::FitTrialReport>> TryToFit(const MsrunOptions& options,
                                                      const Context& context, const LoadedJob& job,
                                                      const sim::DryRunResult& result,
                                                      RunProgress& progress) {
  return Trials(options, context, job, result, progress).Run();
}

}  // namespace drydock::launcher
