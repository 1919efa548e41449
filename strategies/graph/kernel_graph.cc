#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {
namespace {

/// Operand `item` of what a virtual node stands for.
void AppendReal(const KernelGraph& graph, KernelId id, std::int32_t item,
                std::vector<KernelOperand>& operands) {
  const KernelNode& node = graph.at(id);
  switch (node.kind) {
    case KernelKind::kState:
    case KernelKind::kUpdateState:
      return;
    case KernelKind::kLoad:
    case KernelKind::kDepend:
      AppendReal(graph, node.inputs.front(), item, operands);
      return;
    case KernelKind::kTupleGetItem: {
      const KernelNode& from = graph.at(node.inputs.front());
      if (from.kind == KernelKind::kMakeTuple) {
        AppendReal(graph, from.inputs[static_cast<std::size_t>(node.item)], 0, operands);
      } else {
        AppendReal(graph, node.inputs.front(), node.item, operands);
      }
      return;
    }
    case KernelKind::kMakeTuple:
    case KernelKind::kReturn:
      for (const KernelId input : node.inputs) {
        AppendReal(graph, input, 0, operands);
      }
      return;
    default:
      operands.push_back({.node = id, .item = item});
  }
}

}  // namespace

std::vector<KernelOperand> RealOperands(const KernelGraph& graph, KernelId operand) {
  std::vector<KernelOperand> operands;
  AppendReal(graph, operand, 0, operands);
  return operands;
}

std::vector<KernelOperand> TensorsRead(const KernelGraph& graph, KernelId kernel) {
  std::vector<KernelOperand> operands;
  operands.reserve(graph.at(kernel).inputs.size());
  for (const KernelId input : graph.at(kernel).inputs) {
    AppendReal(graph, input, 0, operands);
  }
  return operands;
}

}  // namespace drydock::strategies
