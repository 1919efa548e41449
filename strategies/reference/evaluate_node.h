#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/operators/nd_array.h"

namespace drydock::strategies {

/// Results of one operator on numbers.
/// @param attrs     of the node, resolved for the rank
/// @param value_of  numbers of an operand
/// @error kUnsupported  the operator has no reference evaluation
[[nodiscard]] Result<std::vector<NdArray>> EvaluateNode(
    const Graph& graph, const Node& node, const AttrMap& attrs,
    const std::function<const NdArray&(ValueId)>& value_of);

}  // namespace drydock::strategies
