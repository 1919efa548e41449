#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"
#include "strategies/passes/prepare/rewrite.h"

namespace drydock::strategies {

/// Says for each forward node which pipeline stage, and which part of that stage, runs it: -1 for
/// what every stage computes for itself. Nothing where there is one stage. See stages.cc.
///
/// @error kInvalidArgument  stages that are not there, that are empty or that data flows back from;
/// a parameter that no stage owns
[[nodiscard]] Status ColourStages(Graph& traced, const std::vector<Region>& regions,
                                  const JobConfig& config);

/// Attribute of nodes that compute with weights, lie in no stage, and were given to the first one
/// that wants them.
inline constexpr std::string_view kPlacedStray = "placed_stray";

/// The stage that owns each weight: the lowest of those that use it; -1: every stage has its own,
/// as all have outside of training. By the number of the parameter.
[[nodiscard]] std::vector<std::int32_t> OwnersOf(const Graph& traced,
                                                 const std::vector<Region>& regions,
                                                 const JobConfig& config);

}  // namespace drydock::strategies
