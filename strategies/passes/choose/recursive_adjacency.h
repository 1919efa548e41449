#pragma once

#include "strategies/passes/choose/recursive_partition.h"

namespace drydock::strategies {

/// Where the dimensions of a tensor come from behind two Reshapes, of which either may be missing.
[[nodiscard]] DimensionSources CombineSources(const DimensionSources& first,
                                              const DimensionSources& second);

/// How a Reshape between two shapes splits or joins dimensions; empty if it does anything else.
[[nodiscard]] DimensionSources SourcesOfReshape(const Four& from, const Four& to, bool joins);

/// True if a result reaches an argument as it is, but for the Reshapes in between: only then do
/// different cuts of the two cost anything.
[[nodiscard]] bool AreAdjacent(const Four& result, const Four& argument,
                               const DimensionSources& sources);

}  // namespace drydock::strategies
