#include "tests/strategies/sharded_run.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "strategies/passes/program.h"

namespace drydock::strategies {
namespace {

constexpr double kTolerance = 1e-9;

std::string CompareSlice(const NdArray& whole, const TensorLayout& layout, const NdArray& slice,
                         std::int64_t rank) {
  const NdArray expected = SliceArray(whole, SliceOf(layout, rank));
  if (expected.shape != slice.shape) {
    return "rank " + std::to_string(rank) + " holds shape " + TupleText(slice.shape) +
           ", expected " + TupleText(expected.shape);
  }
  for (std::size_t i = 0; i < slice.data.size(); ++i) {
    const double scale = std::max(1.0, std::abs(expected.data[i]));
    if (!(std::abs(slice.data[i] - expected.data[i]) <= kTolerance * scale)) {
      return "rank " + std::to_string(rank) + " element " + std::to_string(i) + " is " +
             std::to_string(slice.data[i]) + ", expected " + std::to_string(expected.data[i]);
    }
  }
  return {};
}

}  // namespace

std::string Difference(const RandomStep& step) {
  const Result<CompiledProgram> sharded = Compile(step.graph, step.job);
  if (!sharded) {
    return "compile: " + FormatError(sharded.error());
  }
  const Result<CompiledProgram> whole = Compile(step.graph, {.world_size = 1});
  if (!whole) {
    return "compile whole: " + FormatError(whole.error());
  }
  const auto ranks = RunAllRanks(*sharded, step.data);
  const auto single = RunAllRanks(*whole, step.data);
  if (!ranks || !single) {
    return "run: " + FormatError(!ranks ? ranks.error() : single.error());
  }
  for (std::size_t r = 0; r < ranks->size(); ++r) {
    const auto rank = static_cast<std::int64_t>(r);
    for (std::size_t i = 0; i < sharded->output_layouts.size(); ++i) {
      if (!sharded->output_layouts[i]) {
        return "output " + std::to_string(i) + " has no layout";
      }
      const std::string text = CompareSlice((*single)[0].outputs[i], *sharded->output_layouts[i],
                                            (*ranks)[r].outputs[i], rank);
      if (!text.empty()) {
        return "output " + std::to_string(i) + ": " + text;
      }
    }
    for (std::size_t p = 0; p < sharded->local.parameters.size(); ++p) {
      const std::string text =
          CompareSlice((*single)[0].parameters[p], sharded->parameter_layouts[p],
                       (*ranks)[r].parameters[p], rank);
      if (!text.empty()) {
        return "parameter " + std::to_string(p) + ": " + text;
      }
    }
  }
  return {};
}

}  // namespace drydock::strategies
