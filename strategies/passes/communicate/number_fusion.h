#pragma once

#include <cstdint>
#include <span>

#include "strategies/graph/fusion_settings.h"
#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Gives the mirrors and the gathers of sharded weights of a forward program that is about to be
/// differentiated their fusion ids.
///
/// @param whole_elements  per value: elements of the whole parameter, whatever a rank holds of it
/// @param gathered_once  sharded weights are not gathered again for the backward pass
void NumberGradientFusion(Graph& forward, ValueId loss,
                          std::span<const std::int64_t> whole_elements,
                          const FusionSettings& fusion, bool gathered_once = true);

}  // namespace drydock::strategies
