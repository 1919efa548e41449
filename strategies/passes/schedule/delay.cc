#include "strategies/passes/schedule/delay.h"

#include <algorithm>
#include <cstddef>

/// Casts of parameters run as late as they can.
///
/// In breadth-first order the casts of all weights stand at the beginning, and their results would
/// be alive until the layers that need them. MindSpore therefore moves a cast that needs no other
/// kernel in front of its first user. It looks no further than the next update of a parameter, so
/// that the cast never sees a weight of the next step.
///
/// Example: Cast(w), Cast(v), MatMul(x, cast of w), MatMul(.., cast of v)
///       -> Cast(w), MatMul(x, cast of w), Cast(v), MatMul(.., cast of v).
/// Kernels that get to the same place stand in reverse order there.
///
/// Source: mindspore/ccsrc/utils/anfalgo.cc (DelayExecNode, FindDelayExecPosition)
namespace drydock::strategies {
namespace {

/// Position of the first kernel in `order` that reads each kernel; order.size() if none does.
std::vector<std::size_t> FirstUsers(const KernelGraph& graph, const std::vector<KernelId>& order) {
  std::vector<std::size_t> first(graph.nodes.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const KernelOperand& operand : TensorsRead(graph, order[i])) {
      std::size_t& position = first[static_cast<std::size_t>(operand.node)];
      position = std::min(position, i);
    }
  }
  return first;
}

bool NeedsNoKernel(const KernelGraph& graph, KernelId kernel) {
  return std::ranges::none_of(TensorsRead(graph, kernel), [&](const KernelOperand& operand) {
    return graph.at(operand.node).kind == KernelKind::kKernel;
  });
}

}  // namespace

std::vector<KernelId> DelayKernels(const KernelGraph& graph, const std::vector<KernelId>& order) {
  const std::vector<std::size_t> first = FirstUsers(graph, order);
  std::vector<std::vector<KernelId>> before(order.size());
  std::vector<bool> moved(order.size(), false);
  std::size_t next_update = order.size();
  for (std::size_t i = order.size(); i-- > 0;) {
    const KernelNode& node = graph.at(order[i]);
    const std::size_t user = first[static_cast<std::size_t>(order[i])];
    if (node.runs_late && user < next_update && NeedsNoKernel(graph, order[i])) {
      before[user].push_back(order[i]);  // Later kernels first.
      moved[i] = true;
    }
    next_update = node.update ? i : next_update;
  }
  std::vector<KernelId> delayed;
  delayed.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    delayed.insert(delayed.end(), before[i].begin(), before[i].end());
    if (!moved[i]) {
      delayed.push_back(order[i]);
    }
  }
  return delayed;
}

}  // namespace drydock::strategies
