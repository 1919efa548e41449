#pragma once

#include <cstddef>
#include <vector>

#include "strategies/passes/choose/recursive_partition.h"
#include "strategies/passes/choose/search_order.h"

namespace drydock::strategies {

/// The network as the recursive search cuts it.
struct RecursiveGraph {
  /// Of each operator of the order; those that follow are connected with nothing.
  std::vector<RecursiveNode> nodes = {};
  /// The operators that follow, in the order in which they were left out.
  std::vector<std::size_t> followers = {};
};

/// Leaves out the operators that follow their neighbours, and connects those that are left.
///
/// @param pins  operators that the user cut are cut as they say
[[nodiscard]] RecursiveGraph BuildRecursiveGraph(const Graph& graph,
                                                 const std::vector<SearchedOperator>& order,
                                                 bool pins);

}  // namespace drydock::strategies
