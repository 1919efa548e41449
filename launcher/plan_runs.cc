// Full runs of the best plans.
//
// A plan is recorded by a script and then compiled for all of its ranks. The script waits for a
// child process, so one runs at a time; the plan before it is compiled beside it. Which plans are
// tried depends on outcomes alone: the next are chosen when all of a round are known.
#include "launcher/plan_runs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <future>
#include <utility>

#include "base/executor.h"
#include "launcher/full_run.h"
#include "launcher/progress.h"

/// The best plans in full, in rounds: where some of them do not fit, the next best take their
/// places. Two things are done at a time: while a plan is compiled for all ranks, the script of the
/// next one is recorded.
namespace drydock::launcher {
namespace {

using reports::FullRun;
using reports::PlannedRow;

bool IsKnown(const PlannedRow& row) {
  return row.full && row.full->problem.empty();
}

bool Fits(const PlannedRow& row) {
  return IsKnown(row) && row.full->fits;
}

class Rounds {
 public:
  Rounds(const sim::TrainingJob& job, const sim::SearchResult& found,
         const sim::HardwareProfile& hardware, double limit_bytes, const Context& context)
      : job_(job),
        found_(found),
        hardware_(hardware),
        limit_bytes_(limit_bytes),
        context_(context) {}

  std::vector<PlannedRow> Run(const Executor& executor) {
    const std::size_t wanted = found_.best.size();
    std::vector<std::size_t> next = found_.best;
    // Without a figure nothing is learned; as many of those as there are best plans are enough.
    while (!next.empty() && unknown_ <= wanted) {
      RunRound(next, executor);
      const auto fitting = static_cast<std::size_t>(std::ranges::count_if(rows_, Fits));
      next = fitting < wanted ? FurtherPlans(found_, compiled_, limit_bytes_, wanted - fitting)
                              : std::vector<std::size_t>{};
    }
    std::ranges::stable_sort(rows_, {}, [](const PlannedRow& row) {
      return std::pair(Fits(row)      ? 0
                       : IsKnown(row) ? 1
                                      : 2,
                       IsKnown(row) ? row.full->step_seconds : row.figures.step_seconds);
    });
    return std::move(rows_);
  }

 private:
  void RunRound(const std::vector<std::size_t>& plans, const Executor& executor) {
    Progress progress("full runs", rows_.size() + plans.size());
    std::future<FullRun> running;
    const std::size_t first = rows_.size();
    const auto finish = [&](std::size_t row) { rows_[row].full = running.get(); };
    for (const std::size_t index : plans) {
      const sim::Plan& plan = found_.plans[index].plan;
      progress.Show(rows_.size(), PlanText(plan));
      RecordedPlan recorded = RecordPlan(job_, plan, std::llround(limit_bytes_), context_);
      if (running.valid()) {
        finish(rows_.size() - 1);
      }
      rows_.push_back({.figures = found_.plans[index]});
      running = std::async(std::launch::async, [&, recorded = std::move(recorded)]() mutable {
        return CompilePlan(job_, std::move(recorded), hardware_, std::llround(limit_bytes_),
                           executor);
      });
    }
    finish(rows_.size() - 1);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const PlannedRow& row = rows_[first + i];
      unknown_ += IsKnown(row) ? 0 : 1;
      // What has no figure is not asked again, and says nothing of others.
      compiled_.push_back(
          {.plan = plans[i],
           .peak_bytes = IsKnown(row) ? static_cast<double>(row.full->actual_bytes) : 0,
           .fits = Fits(row) || !IsKnown(row)});
    }
  }

  const sim::TrainingJob& job_;
  const sim::SearchResult& found_;
  const sim::HardwareProfile& hardware_;
  double limit_bytes_;
  const Context& context_;
  std::vector<PlannedRow> rows_ = {};
  std::vector<sim::CompiledPlan> compiled_ = {};
  std::size_t unknown_ = 0;
};

}  // namespace

std::vector<PlannedRow> RunBestPlans(const sim::TrainingJob& job, const sim::SearchResult& found,
                                     const sim::HardwareProfile& hardware, double limit_bytes,
                                     const Context& context, std::size_t threads) {
  const auto executor = MakeExecutor(threads);
  return Rounds(job, found, hardware, limit_bytes, context).Run(*executor);
}

}  // namespace drydock::launcher
