#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/compile_job.h"
#include "strategies/program/agreement.h"
#include "tests/proof/random_job.h"

/// Runs a job cut and whole, and compares what ranks hold.
namespace drydock::strategies {
namespace {

bool Near(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-7 * std::max(1.0, std::abs(b));
}

/// Weights that arrive from another stage at the beginning of each step: what a stage makes of such
/// a copy counts for nothing.
std::set<std::string> ArrivingWeights(const LocalProgram& program) {
  std::set<std::string> names;
  for (const Node& node : program.local.nodes) {
    const auto weight = node.attrs.find(kPassesWeight);
    if (weight != node.attrs.end() && node.phase == Phase::kForward &&
        PointToPointOf(node) == PointToPoint::kReceives) {
      names.insert(std::get<std::string>(weight->second.value));
    }
  }
  return names;
}

std::string CompareRank(const LocalProgram& program, const RankOutcome& outcome,
                        const std::map<std::string, NdArray>& whole, std::int32_t rank) {
  const std::set<std::string> arriving = ArrivingWeights(program);
  for (std::size_t p = 0; p < program.local.parameters.size(); ++p) {
    const std::string& name = program.local.at(program.local.parameters[p].value).name;
    const auto found = whole.find(name);
    // Accumulators: the whole network has none.
    if (found == whole.end() || arriving.contains(name.substr(name.find('.') + 1))) {
      continue;
    }
    const NdArray expected = SliceArray(found->second, OwnedRanges(program, p, RankId{rank}));
    const NdArray& have = outcome.parameters[p];
    if (have.shape != expected.shape) {
      return "rank " + std::to_string(rank) + " holds " + TupleText(have.shape) + " of " + name;
    }
    for (std::size_t i = 0; i < have.data.size(); ++i) {
      if (!Near(have.data[i], expected.data[i])) {
        return "rank " + std::to_string(rank) + ": element " + std::to_string(i) + " of " + name +
               " is " + std::to_string(have.data[i]) + ", expected " +
               std::to_string(expected.data[i]);
      }
    }
  }
  return {};
}

/// The original's groups of a sharded optimizer do not always have the same rows: counted, not
/// copied.
bool HasForeignMirror(const JobProgram& job) {
  return std::ranges::any_of(job.programs, [](const LocalProgram& program) {
    return std::ranges::any_of(program.diagnostics, [](const Diagnostic& d) {
      return d.code == "optimizer-foreign-mirror";
    });
  });
}

/// Every weight must be on some rank.
std::string MissingWeight(const JobProgram& job, const std::map<std::string, NdArray>& whole) {
  std::set<std::string> held;
  for (const LocalProgram& program : job.programs) {
    for (const Parameter& parameter : program.local.parameters) {
      held.insert(program.local.at(parameter.value).name);
    }
  }
  for (const auto& [name, numbers] : whole) {
    if (!held.contains(name)) {
      return "no rank holds " + name;
    }
  }
  return {};
}

}  // namespace

Result<std::string> DifferenceOf(const RandomJob& job) {
  DRYDOCK_TRY(const JobProgram cut, CompileJob(JobOf(job.cut, job.config), RankId{0}));
  const auto whole = CompileJob(JobOf(job.whole, {.world_size = 1}), RankId{0});
  if (!whole) {
    return "whole: " + FormatError(whole.error());
  }
  if (HasForeignMirror(cut)) {
    return Fail(ErrorCode::kUnsupported, "gradients are summed over ranks with other rows");
  }
  if (const Agreement agreement = CheckAgreement(cut); !agreement.holds) {
    return agreement.first_conflict;
  }
  const auto single = RunJob(*whole, job.whole_steps);
  const auto ranks = RunJob(cut, job.steps);
  if (!single || !ranks) {
    return single ? "run: " + FormatError(ranks.error())
                  : "run whole: " + FormatError(single.error());
  }
  std::map<std::string, NdArray> expected;
  const LocalProgram& program = whole->programs.front();
  for (std::size_t p = 0; p < program.local.parameters.size(); ++p) {
    expected[program.local.at(program.local.parameters[p].value).name] =
        single->front().parameters[p];
  }
  for (std::size_t r = 0; r < ranks->size(); ++r) {
    const auto rank = static_cast<std::int32_t>(r);
    std::string text = CompareRank(ProgramOf(cut, RankId{rank}), (*ranks)[r], expected, rank);
    if (!text.empty()) {
      return text;
    }
  }
  return MissingWeight(cut, expected);
}

}  // namespace drydock::strategies
