#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "strategies/graph/graph.h"

namespace drydock::sim {

/// Dimensions of inputs, by name, whose extents the script leaves open (None, Symbol).
using OpenInputs = std::map<std::string, std::vector<std::int64_t>>;

/// For each value of a program whether each of its dimensions is open.
///
/// A program is compiled for one example of its open extents. A dimension of a result is open if
/// its extent comes from an open one of an operand: it is equal, or a multiple of the largest prime
/// factor, where that is one that usual extents do not have (7 and more).
/// Example: x (4, 7?, 2, 2) reshaped to (28, 4) gives (28?, 4).
[[nodiscard]] std::vector<std::vector<bool>> OpenDimensions(const strategies::Graph& graph,
                                                            const OpenInputs& inputs);

}  // namespace drydock::sim
