#include "strategies/passes/schedule/call_tensors.h"

#include <algorithm>
#include <cstdint>
#include <utility>

/// A tensor that the script gives is a constant of each kernel of a called graph that reads it, and
/// the calls of all micro batches share that one. When the calls are in place, equal constants are
/// joined, but each is compared with the first one of its shape and type alone. Numbers in half
/// precision are never joined: recorded.
///
/// Example: y = Add(Mul(x, cos), Mul(z, sin)), cos and sin float16 (32, 64), backwards
/// Mul(dy, cos) and Mul(dy, sin): one constant for cos, two for sin.
namespace drydock::strategies {

void CallTensors::Split(std::span<const KernelId> kernels) {
  std::map<NodeId, std::size_t> kernels_of;
  for (const KernelId id : kernels) {
    const NodeId origin = graph_.at(id).origin;
    const std::size_t which = kernels_of[origin]++;
    for (std::size_t i = 0; i < graph_.at(id).inputs.size(); ++i) {
      const KernelId constant = graph_.at(id).inputs[i];
      if (IsTensor(id, constant) && !IsFirstOfType(constant)) {
        const KernelId own = OwnOf({origin, which, i, constant});
        graph_.at(id).inputs[i] = own;
      }
    }
  }
}

KernelId CallTensors::OwnOf(const Reader& reader) {
  const KernelId constant = std::get<KernelId>(reader);
  const auto [place, is_new] = own_.try_emplace(reader, constant);
  if (is_new && !taken_.insert(constant).second) {
    KernelNode copy = graph_.at(constant);
    graph_.nodes.push_back(std::move(copy));
    place->second = KernelId{static_cast<std::int32_t>(graph_.nodes.size()) - 1};
  }
  return place->second;
}

bool CallTensors::IsTensor(KernelId kernel, KernelId operand) const {
  const KernelNode& node = graph_.at(operand);
  if (node.kind != KernelKind::kConstant || !IsFloating(node.results.front().type.dtype)) {
    return false;
  }
  const TensorType& type = node.results.front().type;
  return std::ranges::any_of(local_.at(graph_.at(kernel).origin).inputs, [&](ValueId input) {
    return input != kNoValue && local_.at(input).kind == ValueKind::kConstant &&
           local_.at(input).type == type;
  });
}

bool CallTensors::IsShared(KernelId constant) const {
  return std::ranges::find(firsts_, constant) != firsts_.end();
}

bool CallTensors::IsFirstOfType(KernelId constant) {
  const TensorType& type = graph_.at(constant).results.front().type;
  if (type.shape.empty() && type.dtype != DType::kFloat32) {
    return false;
  }
  const auto found = std::ranges::find_if(
      firsts_, [&](KernelId first) { return graph_.at(first).results.front().type == type; });
  if (found == firsts_.end()) {
    firsts_.push_back(constant);
    return true;
  }
  return *found == constant;
}

}  // namespace drydock::strategies
