#include "strategies/passes/schedule/branches_first.h"

#include <algorithm>
#include <cstddef>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// What a branch on a tensor's value waits for comes first.
///
/// MindSpore runs a network with branches as several graphs, cut at the branches. The first holds
/// what the branches need, the last what they guard; what neither of them needs runs behind the
/// branches. A step that updates its weights only if nothing overflowed needs all gradients for
/// that decision, but not the value of the loss: where a second branch (the learning rate of a
/// schedule) stands in front of the update, the loss is computed behind it, and what it is made of
/// lives as long.
///
/// Example: gradients need log_softmax(x) only; the product with the labels, its sum over classes
/// and the mean run behind backward.
/// Source: mindspore/ccsrc/backend/graph_compiler/graph_partition.cc, execution orders of 2.10
namespace drydock::strategies {
namespace {

bool Has(const Graph& local, const KernelNode& node, std::string_view attribute) {
  return node.origin != kNoNode && local.at(node.origin).attrs.contains(attribute);
}

/// Per node: a branch needs it.
std::vector<bool> NeededByBranches(const KernelGraph& graph, const Graph& local) {
  std::vector<bool> needed(graph.nodes.size(), false);
  std::vector<std::size_t> open;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].kind == KernelKind::kKernel && Has(local, graph.nodes[n], kDecides) &&
        !Has(local, graph.nodes[n], kConditional)) {
      needed[n] = true;
      open.push_back(n);
    }
  }
  while (!open.empty()) {
    const std::size_t n = open.back();
    open.pop_back();
    for (const KernelId input : graph.nodes[n].inputs) {
      const auto i = static_cast<std::size_t>(input);
      if (input != kNoKernel && !needed[i]) {
        needed[i] = true;
        open.push_back(i);
      }
    }
  }
  return needed;
}

/// Whether there is an update on one side of a branch, and another branch that it is not inside of.
bool UpdatesBehindBranches(const Graph& local) {
  const auto any = [&local](std::string_view attribute) {
    return std::ranges::any_of(local.nodes,
                               [&](const Node& node) { return node.attrs.contains(attribute); });
  };
  return any(kConditional) && any(kSelectsSide);
}

/// Whether what branches do not need runs behind them: if they need the backward pass.
bool LeavesRest(const KernelGraph& graph, const Graph& local, const std::vector<bool>& needed) {
  for (std::size_t n = 0; n < needed.size(); ++n) {
    const NodeId origin = graph.nodes[n].origin;
    if (needed[n] && graph.nodes[n].kind == KernelKind::kKernel && origin != kNoNode &&
        local.at(origin).phase == Phase::kBackward) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::int32_t> GraphParts(const KernelGraph& graph, const Graph& local,
                                     bool rest_behind) {
  const bool branches = std::ranges::any_of(
      local.nodes, [](const Node& node) { return node.attrs.contains(kConditional); });
  if (!branches) {
    return {};
  }
  const std::vector<bool> needed = NeededByBranches(graph, local);
  const bool rest = rest_behind && UpdatesBehindBranches(local) && LeavesRest(graph, local, needed);
  std::vector<std::int32_t> parts;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const bool guarded = Has(local, graph.nodes[n], kConditional);
    parts.push_back(guarded ? 1 : rest && !needed[n] ? 2 : 0);
  }
  return parts;
}

std::vector<KernelId> BranchesFirst(const KernelGraph& graph, const Graph& local,
                                    const std::vector<KernelId>& order) {
  if (!UpdatesBehindBranches(local)) {
    return order;
  }
  const std::vector<bool> needed = NeededByBranches(graph, local);
  const auto is_needed = [&](KernelId id) { return needed[static_cast<std::size_t>(id)]; };
  const bool of_backward = std::ranges::any_of(order, [&](KernelId id) {
    const NodeId origin = graph.at(id).origin;
    return is_needed(id) && origin != kNoNode && local.at(origin).phase == Phase::kBackward;
  });
  if (!of_backward) {
    return order;
  }
  std::vector<KernelId> moved = order;
  std::stable_partition(moved.begin(), moved.end(), is_needed);
  return moved;
}

}  // namespace drydock::strategies
