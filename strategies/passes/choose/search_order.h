#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "strategies/passes/prepare/rewrite.h"

namespace drydock::strategies {

/// An operator that a search over the whole network looks at.
struct SearchedOperator {
  NodeId node = kNoNode;
  /// Per tensor of the call, the operator of the order that makes it; of a tuple the first member
  /// only. Nothing for weights, inputs and constants.
  std::vector<std::optional<std::size_t>> producers = {};
};

/// The forward operators in the order in which MindSpore's searches look at them: depth first from
/// the loss (or the results), the last operand first, an operator in front of its operands.
/// Source: mindspore/core/ir/graph_utils_extends.cc (DeepScopedGraphSearch)
[[nodiscard]] std::vector<SearchedOperator> OrderForSearch(const Graph& graph,
                                                           const std::vector<Region>& regions);

}  // namespace drydock::strategies
