#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "strategies/operators/nd_array.h"
#include "strategies/program/job_program.h"

namespace drydock::strategies {

/// Numbers fed to one training step, as one device without sharding would hold them.
struct StepData {
  std::vector<NdArray> inputs = {};  ///< Whole batch, per graph input.
  std::vector<NdArray> parameters =
      {};  ///< Whole tensors, per parameter of `LocalProgram::traced`.
};

/// What one rank holds at the end of the step.
struct RankOutcome {
  std::vector<NdArray> outputs = {};     ///< Per output of the local program.
  std::vector<NdArray> parameters = {};  ///< Per parameter of the local program, after updates.
};

/// Runs the program of every rank on small numbers, collectives in memory: slow, obvious, the
/// oracle that sharded programs are compared with.
///
/// All ranks run node by node in lock step. Element types are ignored except that integers stay
/// whole.
/// @error kUnsupported      an operator has no reference evaluation
/// @error kInvalidArgument  data do not fit the program
[[nodiscard]] Result<std::vector<RankOutcome>> RunAllRanks(const LocalProgram& program,
                                                           const StepData& data);

/// The same where ranks run programs of their own, node for node the same operators on slices of
/// other shapes (hand-cut tables): one program per rank.
[[nodiscard]] Result<std::vector<RankOutcome>> RunAllRanks(
    std::span<const LocalProgram* const> program_of_rank, const StepData& data);

/// Steps of a whole job, pipeline stages included, one after the other; parameters are those of the
/// first step's data. Per rank of the job, what it holds in the end. Messages between stages are
/// paired by the order in which ranks launch them.
[[nodiscard]] Result<std::vector<RankOutcome>> RunJob(const JobProgram& job,
                                                      std::span<const StepData> steps);

/// Result of one collective for every member, members in group order; all inputs have one shape.
/// @error kUnsupported  the operator or its reduction has no reference execution
[[nodiscard]] Result<std::vector<NdArray>> RunCollective(const Node& node,
                                                         const std::vector<NdArray>& inputs);

}  // namespace drydock::strategies
