#include "sim/fleet/memory_plan.h"

#include "strategies/operators/op_entry.h"

namespace drydock::sim {
namespace {

using strategies::Graph;
using strategies::kNoValue;
using strategies::Node;
using strategies::OpKind;
using strategies::Value;
using strategies::ValueKind;
using strategies::WrittenOperands;

BufferKind LeafKind(const Graph& graph, const Value& value) {
  switch (value.kind) {
    case ValueKind::kInput:
      return BufferKind::kInput;
    case ValueKind::kConstant:
      return BufferKind::kConstant;
    default:
      break;
  }
  const auto& parameter = graph.parameters[static_cast<std::size_t>(value.detail)];
  return parameter.role == strategies::ParameterRole::kOptimizerState ? BufferKind::kOptimizerState
                                                                      : BufferKind::kParameter;
}

BufferKind ResultKind(const Node& node) {
  if (node.entry->kind == OpKind::kCollective) {
    return BufferKind::kCommunication;
  }
  return node.phase == strategies::Phase::kForward ? BufferKind::kActivation
                                                   : BufferKind::kGradient;
}

bool LaunchesNothing(const Node& node) {
  return node.entry->kind == OpKind::kView || node.entry->kind == OpKind::kReshape ||
         node.entry->kind == OpKind::kNoGradient;
}

/// Operand whose storage output `index` shares, -1 if it has its own.
std::int32_t SharedStorage(const Node& node, const std::vector<std::size_t>& written,
                           std::size_t index) {
  std::size_t operand = node.inputs.size();
  if (LaunchesNothing(node) && index < node.inputs.size()) {
    operand = index;
  } else if (node.entry->kind == OpKind::kUpdate || !written.empty()) {
    operand = index < written.size() ? written[index] : 0;
  }
  return operand < node.inputs.size() && node.inputs[operand] != kNoValue
             ? static_cast<std::int32_t>(ToInt(node.inputs[operand]))
             : -1;
}

}  // namespace

MemoryPlan PlanMemory(const strategies::CompiledProgram& program) {
  const Graph& graph = program.local;
  MemoryPlan plan;
  plan.buffers.resize(graph.values.size());
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    plan.buffers[v] = {.bytes = ByteSize(value.type), .tag = static_cast<std::uint32_t>(v)};
    if (value.kind != ValueKind::kOutput) {
      plan.buffers[v].kind = LeafKind(graph, value);
    }
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const std::vector<std::size_t> written = WrittenOperands(*node.entry);
    PlannedKernel kernel{.tag = static_cast<std::uint32_t>(n)};
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) {
        kernel.inputs.push_back(static_cast<std::int32_t>(ToInt(input)));
      }
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      PlannedBuffer& buffer = plan.buffers[ToIndex(node.outputs[i])];
      buffer.kind = ResultKind(node);
      buffer.alias_of = SharedStorage(node, written, i);
      kernel.outputs.push_back(static_cast<std::int32_t>(ToInt(node.outputs[i])));
    }
    const bool fused = node.entry->kind == OpKind::kCollective && node.inputs.size() > 1;
    kernel.continuous_inputs = fused;
    kernel.continuous_outputs = fused;
    if (!LaunchesNothing(node)) {
      plan.kernels.push_back(std::move(kernel));
    }
  }
  for (const ValueId output : graph.outputs) {
    plan.buffers[ToIndex(output)].graph_output = true;
  }
  return plan;
}

}  // namespace drydock::sim
