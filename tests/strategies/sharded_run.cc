#include "tests/strategies/sharded_run.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace drydock::strategies {
namespace {

bool Near(double a, double b, double tolerance) {
  if (a == b || (std::isnan(a) && std::isnan(b))) {
    return true;
  }
  return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
}

std::string CompareSlice(const NdArray& whole, const std::vector<Range>& ranges,
                         const NdArray& slice, std::int64_t rank, double tolerance) {
  const NdArray expected = SliceArray(whole, ranges);
  if (expected.shape != slice.shape) {
    return "rank " + std::to_string(rank) + " holds shape " + TupleText(slice.shape) +
           ", expected " + TupleText(expected.shape);
  }
  for (std::size_t i = 0; i < slice.data.size(); ++i) {
    if (!Near(slice.data[i], expected.data[i], tolerance)) {
      return "rank " + std::to_string(rank) + " element " + std::to_string(i) + " is " +
             std::to_string(slice.data[i]) + ", expected " + std::to_string(expected.data[i]);
    }
  }
  return {};
}

/// What one rank holds against the slices of the whole that its layouts say.
std::string CompareRank(const LocalProgram& sharded, const RankOutcome& whole,
                        const RankOutcome& outcome, std::int64_t rank, const Comparison& how) {
  for (std::size_t i = 0; i < sharded.output_layouts.size(); ++i) {
    // A mean over all ranks is the same everywhere.
    const bool is_mean = std::ranges::find(how.mean_outputs, i) != how.mean_outputs.end();
    if (!sharded.output_layouts[i] && !is_mean) {
      return "output " + std::to_string(i) + " has no layout";
    }
    const TensorLayout layout =
        sharded.output_layouts[i].value_or(ReplicatedLayout(1, whole.outputs[i].shape));
    const std::string text = CompareSlice(whole.outputs[i], SliceOf(layout, rank),
                                          outcome.outputs[i], rank, how.tolerance);
    if (!text.empty()) {
      return "output " + std::to_string(i) + ": " + text;
    }
  }
  for (std::size_t p = 0; p < sharded.local.parameters.size(); ++p) {
    const std::vector<Range> owned =
        OwnedRanges(sharded, p, RankId{static_cast<std::int32_t>(rank)});
    const std::string text =
        CompareSlice(whole.parameters[p], owned, outcome.parameters[p], rank, how.tolerance);
    if (!text.empty()) {
      return "parameter " + std::to_string(p) + ": " + text;
    }
  }
  return {};
}

/// Replaces an output by its mean over all ranks.
void TakeMean(std::size_t output, std::vector<RankOutcome>& ranks) {
  NdArray mean = FilledArray(ranks.front().outputs[output].shape, 0.0);
  for (const RankOutcome& rank : ranks) {
    for (std::size_t i = 0; i < mean.data.size(); ++i) {
      mean.data[i] += rank.outputs[output].data[i] / static_cast<double>(ranks.size());
    }
  }
  for (RankOutcome& rank : ranks) {
    rank.outputs[output] = mean;
  }
}

/// Adds up what the ranks with the same slice of an output hold.
void CompletePartialSums(const TensorLayout& layout, std::size_t output,
                         std::vector<RankOutcome>& ranks) {
  const GroupPattern replicas = ReplicaPattern(layout);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto rank = static_cast<std::int64_t>(r);
    if (GroupLeader(replicas, rank) != rank) {
      continue;
    }
    NdArray sum = FilledArray(ranks[r].outputs[output].shape, 0.0);
    const std::vector<std::int64_t> members = GroupRanks(replicas, rank, 0);
    for (const std::int64_t member : members) {
      const NdArray& part = ranks[static_cast<std::size_t>(member)].outputs[output];
      for (std::size_t i = 0; i < sum.data.size() && i < part.data.size(); ++i) {
        sum.data[i] += part.data[i];
      }
    }
    for (const std::int64_t member : members) {
      ranks[static_cast<std::size_t>(member)].outputs[output] = sum;
    }
  }
}

const LocalProgram& ProgramOf(const CompiledStep& step, std::size_t rank) {
  return step.sharded_of_rank.empty() ? step.sharded : step.sharded_of_rank[rank];
}

Result<std::vector<RankOutcome>> RunSharded(const CompiledStep& step, const StepData& data) {
  std::vector<const LocalProgram*> programs;
  for (std::int64_t r = 0; r < step.sharded.from->config.world_size; ++r) {
    programs.push_back(&ProgramOf(step, static_cast<std::size_t>(r)));
  }
  return RunAllRanks(programs, data);
}

}  // namespace

Result<CompiledStep> CompileStep(const RandomStep& step) {
  DRYDOCK_TRY(LocalProgram sharded, Compile(step.graph, step.job));
  Result<LocalProgram> whole = Compile(step.graph, {.world_size = 1});
  if (!whole) {
    return Fail(ErrorCode::kInternal, "compile whole: " + FormatError(whole.error()));
  }
  CompiledStep compiled{.sharded = std::move(sharded), .whole = *std::move(whole)};
  for (std::int32_t r = 0; !compiled.sharded.from->hand_cuts.empty() && r < step.job.world_size;
       ++r) {
    DRYDOCK_TRY(compiled.sharded_of_rank.emplace_back(), Compile(step.graph, step.job, RankId{r}));
  }
  return compiled;
}

Result<std::string> CompareRuns(const CompiledStep& step, const StepData& data,
                                const Comparison& how) {
  DRYDOCK_TRY(std::vector<RankOutcome> ranks, RunSharded(step, data));
  DRYDOCK_TRY(const std::vector<RankOutcome> single, RunAllRanks(step.whole, data));
  for (const std::size_t output : how.partial_outputs) {
    if (step.sharded.output_layouts[output]) {
      CompletePartialSums(*step.sharded.output_layouts[output], output, ranks);
    }
  }
  for (const std::size_t output : how.mean_outputs) {
    TakeMean(output, ranks);
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::string text = CompareRank(ProgramOf(step, r), single.front(), ranks[r],
                                   static_cast<std::int64_t>(r), how);
    if (!text.empty()) {
      return text;
    }
  }
  return std::string();
}

std::string Difference(const RandomStep& step) {
  const Result<CompiledStep> compiled = CompileStep(step);
  if (!compiled) {
    return "compile: " + FormatError(compiled.error());
  }
  const Result<std::string> difference = CompareRuns(*compiled, step.data);
  return difference ? *difference : "run: " + FormatError(difference.error());
}

}  // namespace drydock::strategies
