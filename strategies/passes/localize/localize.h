#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/program/local_program.h"

namespace drydock::strategies {

/// Builds the program of one rank of each pipeline stage, symbolic in the rank, by the passes that
/// localize.cc lists.
///
/// @param plan  not yet shared: `from` of the result is for the caller to set
/// @error kInvalidArgument  a parameter is wanted in two layouts
/// @error kUnsupported      a reduction over gradients that are cut
[[nodiscard]] Result<std::vector<LocalProgram>> BuildLocalPrograms(
    const TracedPlan& plan, const std::vector<Region>& regions);

/// The forward part of the same program before it is differentiated: with mirrors and virtual
/// divisions, which only steer differentiation. Its outputs are the losses, else the outputs.
/// Errors as BuildLocalPrograms.
[[nodiscard]] Result<Graph> BuildForwardProgram(const TracedPlan& plan,
                                                const std::vector<Region>& regions);

}  // namespace drydock::strategies
