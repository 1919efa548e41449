#pragma once

#include <string>
#include <vector>

#include "strategies/passes/compile_job.h"
#include "tests/strategies/random_network.h"

namespace drydock::strategies {

/// A step compiled for its job and, whole, for one device.
struct CompiledStep {
  LocalProgram sharded = {};
  /// Per rank, if ranks have programs of their own (hand-cut tables); else empty.
  std::vector<LocalProgram> sharded_of_rank = {};
  LocalProgram whole = {};
};

/// @error  what compiling the sharded step gives; a whole step that does not compile is kInternal
[[nodiscard]] Result<CompiledStep> CompileStep(const RandomStep& step);

struct Comparison {
  double tolerance = 1e-9;  ///< On |difference| / max(1, |value|).
  /// Outputs of which the ranks that hold the same slice hold partial sums: gradients by anything
  /// but parameters, which have no mirror (mindspore ops_info/operator_info.cc).
  std::vector<std::size_t> partial_outputs = {};
  /// Outputs whose mean over all ranks is to be compared: losses over a rank's own samples.
  std::vector<std::size_t> mean_outputs = {};
};

/// Runs a step on all ranks of its job and, whole, on one device, and compares every slice of every
/// output and of every parameter after the step. Empty if they are equal, else the first
/// difference.
///
/// @error  what running gives
[[nodiscard]] Result<std::string> CompareRuns(const CompiledStep& step, const StepData& data,
                                              const Comparison& how = {});

/// Both in one; errors count as differences.
[[nodiscard]] std::string Difference(const RandomStep& step);

}  // namespace drydock::strategies
