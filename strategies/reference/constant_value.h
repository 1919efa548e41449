#pragma once

#include <cstddef>
#include <optional>

#include "strategies/graph/graph.h"
#include "strategies/operators/nd_array.h"

namespace drydock::strategies {

/// What a value of a traced graph is, where it follows from constants alone: operators that a
/// script computes with before it builds its network (`ops.linspace(0, rate, depth)`).
///
/// nullopt where it depends on an input, a parameter, a random number, other ranks or an update,
/// where an operator on the way has no reference evaluation or does not take these numbers, and
/// where a tensor on the way has more than `most_elements` elements.
[[nodiscard]] std::optional<NdArray> ConstantValue(const Graph& graph, ValueId value,
                                                   std::size_t most_elements);

}  // namespace drydock::strategies
