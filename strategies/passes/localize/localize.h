#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/passes/choose/assign.h"
#include "strategies/program/program.h"

namespace drydock::strategies {

/// Local program made from a traced one.
struct LocalProgram {
  Graph graph = {};  ///< Helpers of differentiation already removed; node order = execution order.
  std::vector<TensorLayout> parameter_layouts = {};              ///< Per entry of graph.parameters.
  std::vector<std::optional<TensorLayout>> output_layouts = {};  ///< Per output.
  std::int64_t redistribution_count = 0;
  std::vector<Diagnostic> diagnostics = {};  ///< What the backward program leaves out.
};

/// Builds the program of one rank, symbolic in the rank, by the passes that localize.cc lists.
///
/// @error kInvalidArgument  a parameter is wanted in two layouts
/// @error kUnsupported      a reduction over gradients that are cut
/// Source: spec compiler-passes 1.2; layout-and-redistribution 7, 8.8, 10, 11.
[[nodiscard]] Result<LocalProgram> BuildLocalProgram(const Graph& traced,
                                                     const std::vector<Region>& regions,
                                                     const std::vector<NodePlan>& plans,
                                                     const JobConfig& config);

/// The forward part of the same program before it is differentiated: with mirrors and virtual
/// divisions, which only steer differentiation. Its outputs are the losses, else the outputs.
/// Errors as BuildLocalProgram.
[[nodiscard]] Result<Graph> BuildForwardProgram(const Graph& traced,
                                                const std::vector<Region>& regions,
                                                const std::vector<NodePlan>& plans,
                                                const JobConfig& config);

}  // namespace drydock::strategies
