// What a buffer is called, and where in the network it belongs.
//
// A buffer belongs to the operator whose kernel makes it; a parameter, an input or a constant to
// the operator that reads it first. That operator's scope is a path of Cells. What differentiation
// adds stands in scopes of its own ("Gradients/Default/..."), which are counted with the Cell they
// were made for: a layer's memory is what would go away with the layer.
//
// Example: "Gradients/Default/network-Gpt/layers-CellList/95-Block/up-Linear" belongs to layer
// "Default/network-Gpt/layers-CellList/95-Block".
#include "sim/fleet/tensor_facts.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "sim/fleet/memory_plan.h"

namespace drydock::sim {
namespace {

using strategies::Graph;
using strategies::KernelNode;
using strategies::LocalProgram;
using strategies::Node;
using strategies::Value;
using strategies::ValueKind;

/// "MatMul result of matmul", "AllReduce (partial sum of MatMul-op1)", "MatMul in backward of
/// matmul".
std::string KernelResultName(const Graph& graph, const Value& value) {
  const Node& node = graph.at(value.producer);
  if (!node.reason_text.empty()) {
    return node.op + " (" + node.reason_text + ")";
  }
  constexpr std::string_view kGradientPrefix = "grad";
  std::string_view label = node.instance_name.empty() ? node.scope : node.instance_name;
  const bool backward = node.phase == strategies::Phase::kBackward;
  if (backward && label.starts_with(kGradientPrefix)) {
    label.remove_prefix(kGradientPrefix.size());
  }
  if (label.empty()) {
    return node.op + " result";
  }
  return node.op + (backward ? " in backward of " : " result of ") + std::string(label);
}

/// A tensor that only the kernel graph has: a value argument, or one between two kernels of an
/// operator.
void DescribeInner(const Graph& graph, const KernelNode& node, PeakTensor& tensor) {
  tensor.name = "constant";
  if (node.kind == strategies::KernelKind::kKernel) {
    tensor.op = node.name.str();
    tensor.name = tensor.op + " result";
    if (node.origin != strategies::kNoNode) {
      tensor.place = PlaceOf(graph, graph.at(node.origin));
    }
  }
}

bool IsForward(const LocalProgram& program, const PlannedKernel& kernel) {
  const NodeId origin = program.kernels.nodes[kernel.tag].origin;
  return origin == strategies::kNoNode ||
         program.local.at(origin).phase == strategies::Phase::kForward;
}

/// Root of each buffer: the one whose storage it shares.
std::vector<std::size_t> Roots(const MemoryPlan& plan) {
  std::vector<std::size_t> roots(plan.buffers.size());
  for (std::size_t b = 0; b < roots.size(); ++b) {
    roots[b] = b;
    while (plan.buffers[roots[b]].alias_of >= 0) {
      roots[b] = static_cast<std::size_t>(plan.buffers[roots[b]].alias_of);
    }
  }
  return roots;
}

}  // namespace

std::string_view ScopeOfNetwork(std::string_view scope) {
  constexpr std::string_view kGradients = "Gradients/";
  constexpr std::string_view kRecompute = "recompute_";
  while (scope.starts_with(kGradients) || scope.starts_with(kRecompute)) {
    scope.remove_prefix(scope.starts_with(kGradients) ? kGradients.size() : kRecompute.size());
  }
  return scope;
}

std::string_view LayerOf(std::string_view scope) {
  for (std::size_t at = 0; at < scope.size();) {
    const std::size_t end = std::min(scope.find('/', at), scope.size());
    const std::string_view cell = scope.substr(at, end - at);
    const std::size_t digits = cell.find_first_not_of("0123456789");
    if (digits != 0 && digits != std::string_view::npos && cell[digits] == '-') {
      return scope.substr(0, end);
    }
    at = end + 1;
  }
  return scope;
}

TensorFacts::TensorFacts(const LocalProgram& program, const MemoryPlan& plan)
    : program_(program),
      plan_(plan),
      names_(strategies::FullNames(program.local)),
      first_readers_(plan.buffers.size(), strategies::kNoNode) {
  for (const PlannedKernel& kernel : plan.kernels) {
    for (const std::int32_t input : kernel.inputs) {
      NodeId& reader = first_readers_[static_cast<std::size_t>(input)];
      reader = reader == strategies::kNoNode ? OriginOf(kernel) : reader;
    }
  }
  LetStatesFollow();
}

void TensorFacts::LetStatesFollow() {
  std::unordered_map<std::int32_t, std::size_t> buffer_of_value;
  for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
    const KernelNode& node = program_.kernels.nodes[plan_.buffers[b].tag];
    if (node.kind == strategies::KernelKind::kParameter) {
      buffer_of_value.emplace(static_cast<std::int32_t>(ToIndex(node.results.front().value)), b);
    }
  }
  for (const strategies::Parameter& parameter : program_.local.parameters) {
    if (parameter.state_of == strategies::kNoValue) {
      continue;
    }
    const auto state = buffer_of_value.find(static_cast<std::int32_t>(ToIndex(parameter.value)));
    const auto weight =
        buffer_of_value.find(static_cast<std::int32_t>(ToIndex(parameter.state_of)));
    if (state != buffer_of_value.end() && weight != buffer_of_value.end()) {
      first_readers_[state->second] = first_readers_[weight->second];
    }
  }
}

NodeId TensorFacts::OriginOf(const PlannedKernel& kernel) const {
  return program_.kernels.nodes[kernel.tag].origin;
}

const std::string& TensorFacts::OperatorName(NodeId node) const {
  static const std::string kNone;
  return node == strategies::kNoNode ? kNone : names_[ToIndex(node)];
}

NodeId TensorFacts::OwnerOf(std::size_t buffer) const {
  const KernelNode& owner = program_.kernels.nodes[plan_.buffers[buffer].tag];
  const bool leaf = strategies::IsLeaf(owner.kind);
  return leaf ? first_readers_[buffer] : owner.origin;
}

std::string_view TensorFacts::ScopeOf(std::size_t buffer) const {
  const NodeId owner = OwnerOf(buffer);
  return owner == strategies::kNoNode ? std::string_view()
                                      : ScopeOfNetwork(program_.local.at(owner).scope);
}

PeakTensor TensorFacts::Describe(const PeakBuffer& buffer) const {
  const Graph& graph = program_.local;
  const auto index = static_cast<std::size_t>(buffer.buffer);
  PeakTensor tensor{.kind = buffer.kind,
                    .bytes = buffer.bytes,
                    .operator_name = OperatorName(OwnerOf(index)),
                    .scope = std::string(ScopeOf(index))};
  const KernelNode& owner = program_.kernels.nodes[plan_.buffers[index].tag];
  const strategies::KernelResult& result = owner.results[ResultOf(plan_, index)];
  if (result.value == strategies::kNoValue) {
    tensor.type_text = TypeText(result.type);
    DescribeInner(graph, owner, tensor);
    return tensor;
  }
  const Value& value = graph.at(result.value);
  tensor.type_text = TypeText(value.type);
  tensor.name = value.name;
  if (value.kind == ValueKind::kOutput) {
    const Node& node = graph.at(value.producer);
    tensor.op = node.op;
    tensor.place = PlaceOf(graph, node);
    if (tensor.name.empty()) {
      tensor.name = KernelResultName(graph, value);
    }
    return tensor;
  }
  tensor.place = MadePlaceOf(graph, result.value);
  if (tensor.name.empty()) {
    tensor.name = "constant";
  }
  return tensor;
}

PeakTensor TensorFacts::Workspace(const PlannedKernel& kernel, std::int64_t bytes) const {
  const NodeId origin = OriginOf(kernel);
  PeakTensor tensor{.name = "workspace",
                    .op = program_.kernels.nodes[kernel.tag].name.str(),
                    .kind = BufferKind::kWorkspace,
                    .bytes = bytes,
                    .operator_name = OperatorName(origin)};
  if (origin != strategies::kNoNode) {
    tensor.scope = std::string(ScopeOfNetwork(program_.local.at(origin).scope));
  }
  return tensor;
}

std::vector<LayerMemory> LayersAtPeak(const TensorFacts& facts, const MemoryProfile& profile) {
  std::vector<LayerMemory> layers;
  std::vector<std::int32_t> first_buffers;
  std::unordered_map<std::string_view, std::size_t> index;
  for (const PeakBuffer& buffer : profile.largest) {
    std::string_view layer;
    if (buffer.buffer >= 0) {
      layer = LayerOf(facts.ScopeOf(static_cast<std::size_t>(buffer.buffer)));
    }
    const auto [found, added] = index.emplace(layer, layers.size());
    if (added) {
      layers.push_back({.scope = std::string(layer)});
      first_buffers.push_back(buffer.buffer);
    }
    layers[found->second].bytes[static_cast<std::size_t>(buffer.kind)] += buffer.bytes;
    first_buffers[found->second] = std::min(first_buffers[found->second], buffer.buffer);
  }
  std::vector<std::size_t> order(layers.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return first_buffers[i]; });
  std::vector<LayerMemory> sorted;
  sorted.reserve(layers.size());
  for (const std::size_t i : order) {
    sorted.push_back(std::move(layers[i]));
  }
  return sorted;
}

std::int64_t KeptForBackward(const LocalProgram& program, const MemoryPlan& plan,
                             const MemoryProfile& profile) {
  const std::vector<PlannedKernel>& kernels = plan.KernelsOf(profile.at_step);
  const std::vector<std::size_t> roots = Roots(plan);
  std::vector<bool> forward(kernels.size());
  std::vector<bool> made(plan.buffers.size(), false);
  std::vector<std::int32_t> last_backward(plan.buffers.size(), -1);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    forward[k] = IsForward(program, kernels[k]);
    for (const std::int32_t output : kernels[k].outputs) {
      const auto b = static_cast<std::size_t>(output);
      made[b] = made[b] || (forward[k] && roots[b] == b);
    }
    for (const std::int32_t input : kernels[k].inputs) {
      if (!forward[k]) {
        last_backward[roots[static_cast<std::size_t>(input)]] = static_cast<std::int32_t>(k);
      }
    }
  }
  // Alive from the kernel behind its own to the last backward kernel that reads it.
  std::vector<std::int64_t> change(kernels.size() + 2, 0);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const BufferPlacement& place = profile.placements[b];
    if (made[b] && place.bytes > 0 && last_backward[b] >= 0 && place.first_kernel >= 0) {
      change[static_cast<std::size_t>(place.first_kernel) + 1] += place.bytes;
      change[static_cast<std::size_t>(last_backward[b]) + 1] -= place.bytes;
    }
  }
  std::int64_t alive = 0;
  std::int64_t most = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    alive += change[k];
    most = forward[k] ? most : std::max(most, alive);
  }
  return most;
}

}  // namespace drydock::sim
