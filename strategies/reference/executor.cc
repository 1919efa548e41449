#include "strategies/reference/executor.h"

#include <algorithm>
#include <deque>
#include <string>

#include "strategies/reference/stage_exchange.h"
#include "strategies/reference/stage_run.h"

/// Stages take turns: each runs until it needs something of another one. If nobody can go on before
/// all are through, the job would hang.
namespace drydock::strategies {
namespace {

Status RunStep(std::deque<StageRun>& stages, const std::vector<NdArray>& inputs) {
  for (StageRun& stage : stages) {
    DRYDOCK_RETURN_IF_ERROR(stage.BeginStep(inputs));
  }
  bool going = true;
  while (going) {
    going = false;
    for (StageRun& stage : stages) {
      DRYDOCK_TRY(const bool ran, stage.Advance());
      going = going || ran;
    }
  }
  std::string waiting;
  for (const StageRun& stage : stages) {
    const std::string text = stage.Waiting();
    waiting += (waiting.empty() || text.empty() ? "" : ", ") + text;
  }
  return waiting.empty() ? Status() : Fail(ErrorCode::kInternal, "the job hangs: " + waiting);
}

/// Runs steps of a job whose ranks run `program_of_rank`.
Result<std::vector<RankOutcome>> RunSteps(std::span<const LocalProgram* const> program_of_rank,
                                          std::span<const StepData> steps) {
  StageExchange exchange;
  std::deque<StageRun> stages;
  const auto devices =
      static_cast<std::size_t>(StageDevices(program_of_rank.front()->from->config));
  for (std::size_t first = 0; first < program_of_rank.size(); first += devices) {
    stages.emplace_back(program_of_rank.subspan(first, devices), static_cast<std::int64_t>(first),
                        exchange);
    DRYDOCK_RETURN_IF_ERROR(stages.back().FeedParameters(steps.front().parameters));
  }
  for (const StepData& step : steps) {
    DRYDOCK_RETURN_IF_ERROR(RunStep(stages, step.inputs));
    if (const std::string left = exchange.Left(); !left.empty()) {
      return Fail(ErrorCode::kInternal, left);
    }
    exchange.Clear();
  }
  std::vector<RankOutcome> outcomes;
  for (const StageRun& stage : stages) {
    std::ranges::move(stage.Outcomes(), std::back_inserter(outcomes));
  }
  return outcomes;
}

}  // namespace

Result<std::vector<RankOutcome>> RunAllRanks(const LocalProgram& program, const StepData& data) {
  const std::vector<const LocalProgram*> program_of_rank(
      static_cast<std::size_t>(program.from->config.world_size), &program);
  return RunSteps(program_of_rank, {&data, 1});
}

Result<std::vector<RankOutcome>> RunAllRanks(std::span<const LocalProgram* const> program_of_rank,
                                             const StepData& data) {
  return RunSteps(program_of_rank, {&data, 1});
}

Result<std::vector<RankOutcome>> RunJob(const JobProgram& job, std::span<const StepData> steps) {
  std::vector<const LocalProgram*> program_of_rank;
  for (std::int64_t rank = 0; rank < job.config.world_size; ++rank) {
    program_of_rank.push_back(&ProgramOf(job, RankId{static_cast<std::int32_t>(rank)}));
  }
  return RunSteps(program_of_rank, steps);
}

}  // namespace drydock::strategies
