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

/// The next operand of a user that is looked at.
struct WantedLayouts::Position {
  ValueId value = kNoValue;
  std::size_t user = 0;
  std::size_t operand = 0;
};

/// Users are looked at in order, those behind an operator that passes the layout on before the ones
/// that follow it. The chain is walked with a list of positions: it may be as long as the graph.
std::optional<TensorLayout> WantedLayouts::Of(ValueId value) const {
  std::vector<Position> path = {{.value = value}};
  while (!path.empty()) {
    Position& at = path.back();
    const std::vector<NodeId>& users = users_[ToIndex(at.value)];
    if (at.user == users.size()) {
      path.pop_back();
      continue;
    }
    const NodeId user = users[at.user];
    const Node& node = traced_.at(user);
    if (at.operand == node.inputs.size()) {
      ++at.user;
      at.operand = 0;
      continue;
    }
    const std::size_t operand = at.operand++;
    if (node.inputs[operand] != at.value) {
      continue;
    }
    if (std::optional<TensorLayout> wanted = AtOperand(user, operand)) {
      return wanted;
    }
    // A placeholder loss passes slices on, but its result has another shape.
    if (operand == 0 && PassesLayoutOn(node) &&
        traced_.at(node.outputs.front()).type.shape == traced_.at(at.value).type.shape) {
      path.push_back({.value = node.outputs.front()});
    }
  }
  return std::nullopt;
}

bool WantedLayouts::IsReshaped(ValueId value, const std::vector<Region>& regions) const {
  std::vector<ValueId> waiting = {value};
  while (!waiting.empty()) {
    const ValueId next = waiting.back();
    waiting.pop_back();
    for (const NodeId user : users_[ToIndex(next)]) {
      const Node& node = traced_.at(user);
      if (regions[ToIndex(user)] != Region::kForward || node.inputs.front() != next) {
        continue;
      }
      if (node.entry->kind == OpKind::kReshape) {
        return true;
      }
      if (PassesLayoutOn(node)) {
        waiting.push_back(node.outputs.front());
      }
    }
  }
  return false;
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
