#include "strategies/passes/localize/wanted_layout.h"

#include <algorithm>

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

std::size_t TensorIndex(const Node& node, std::size_t operand) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < operand; ++i) {
    index += node.inputs[i] == kNoValue ? 0 : 1;
  }
  return index;
}

bool PassesLayoutOn(const Node& node) {
  if (node.inputs.empty() || node.inputs.front() == kNoValue) {
    return false;  // it makes something of nothing: the bits of a mask
  }
  // A view with a rule (ExpandDims) changes dimensions and is planned like a kernel.
  const bool plain_view = node.entry->kind == OpKind::kView && node.entry->shard == nullptr;
  return plain_view || node.entry->kind == OpKind::kTransparent ||
         node.entry->kind == OpKind::kNoGradient;
}

WantedLayouts::WantedLayouts(const Graph& traced, const std::vector<NodePlan>& plans)
    : traced_(traced), plans_(plans), users_(drydock::strategies::UsersOf(traced)) {}

std::optional<TensorLayout> WantedLayouts::AtOperand(NodeId node, std::size_t operand) const {
  const SharedValue<OpSharding>& sharding = plans_[ToIndex(node)].sharding;
  if (!sharding) {
    return std::nullopt;
  }
  return sharding->inputs[TensorIndex(traced_.at(node), operand)];
}

std::optional<TensorLayout> WantedLayouts::Of(ValueId value) const {
  for (const NodeId user : users_[ToIndex(value)]) {
    const Node& node = traced_.at(user);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != value) {
        continue;
      }
      std::optional<TensorLayout> wanted = AtOperand(user, i);
      // A placeholder loss passes slices on, but its result has another shape.
      const bool passes_on =
          i == 0 && PassesLayoutOn(node) &&
          traced_.at(node.outputs.front()).type.shape == traced_.at(value).type.shape;
      if (!wanted && passes_on) {
        wanted = Of(node.outputs.front());
      }
      if (wanted) {
        return wanted;
      }
    }
  }
  return std::nullopt;
}

bool WantedLayouts::IsReshaped(ValueId value, const std::vector<Region>& regions) const {
  return std::ranges::any_of(users_[ToIndex(value)], [&](NodeId user) {
    const Node& node = traced_.at(user);
    if (regions[ToIndex(user)] != Region::kForward || node.inputs.front() != value) {
      return false;
    }
    return node.entry->kind == OpKind::kReshape ||
           (PassesLayoutOn(node) && IsReshaped(node.outputs.front(), regions));
  });
}

std::optional<TensorLayout> WantedLayouts::OfParameter(ValueId value,
                                                       const std::vector<Region>& regions,
                                                       std::int64_t stage_devices) const {
  std::optional<TensorLayout> wanted = Of(value);
  if (wanted || !IsReshaped(value, regions)) {
    return wanted;
  }
  const Shape& shape = traced_.at(value).type.shape;
  std::vector<std::int64_t> map(shape.size(), -1);
  if (!shape.empty() && shape[0] > 0 && shape[0] % stage_devices == 0) {
    map[0] = 0;
  }
  return MakeLayout({stage_devices}, map, shape);
}

}  // namespace drydock::strategies
