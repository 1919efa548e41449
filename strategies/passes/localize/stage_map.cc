#include "strategies/passes/localize/stage_map.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "strategies/operators/known_ops.h"
#include "strategies/passes/prepare/stages.h"

/// Which stages have what, in the program of all of them.
///
/// A node belongs to the stage of the traced operator that it comes from; what is appended later
/// (backward, optimizers) to that of its operands. Nodes that only need what every stage has (the
/// step counter, a schedule of the learning rate) are in all of them. A weight that several stages
/// use is updated in each of them; where it only arrived, with the gradient that is sent back. A
/// weight that only what lies in no stage reads (a table in front of all cells) is in every stage
/// and updated there, with zeros where another stage computes with it.
/// Source: mindspore/ccsrc/frontend/parallel/pipeline_transformer/pipeline_transformer.cc
namespace drydock::strategies {
namespace {

/// Stages that have both; all of them if they share none, which is for the caller to look at.
Stages Join(const Stages& a, const Stages& b, bool& apart) {
  if (a.empty() || b.empty()) {
    return a.empty() ? b : a;
  }
  Stages both;
  std::ranges::set_intersection(a, b, std::inserter(both, both.end()));
  apart = apart || both.empty();
  return both;
}

}  // namespace

bool TakesAnyNumber(const Node& node) {
  return node.entry->signature.find("(*") != std::string_view::npos;
}

std::int32_t StageAttr(const Node& node, std::string_view name) {
  return static_cast<std::int32_t>(IntAttr(node.attrs, name, 0).value_or(0));
}

StageMap::StageMap(LocalDraft& draft)
    : draft_(draft),
      graph_(draft.builder.graph()),
      of_value_(graph_.values.size()),
      of_node_(graph_.nodes.size()),
      transfer_(FindOp(ops::kStageTransfer)),
      depend_(FindOp(ops::kDepend)) {}

Status StageMap::Build() {
  PlaceWeights();
  FindGradients();
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    DRYDOCK_RETURN_IF_ERROR(PlaceNode(n));
  }
  return {};
}

bool StageMap::IsBehind(const Node& node) const {
  return node.origin != kNoNode && draft_.regions[ToIndex(node.origin)] == Region::kPost &&
         !draft_.traced.at(node.origin).attrs.contains(kOwnBackward) && !IsEffect(node);
}

ValueId StageMap::GradientPassed(const Node& transfer) const {
  const auto weight = transfer.attrs.find(kPassesWeight);
  if (transfer.phase != Phase::kBackward || weight == transfer.attrs.end()) {
    return kNoValue;
  }
  const auto* name = std::get_if<std::string>(&weight->second.value);
  const auto found = name == nullptr ? by_name_.end() : by_name_.find(*name);
  return found == by_name_.end() ? kNoValue : GradientOf(found->second);
}

ValueId StageMap::GradientOf(ValueId weight) const {
  const auto found = gradients_.find(weight);
  return found == gradients_.end() ? kNoValue : found->second;
}

void StageMap::PlaceWeights() {
  for (const Parameter& parameter : draft_.traced.parameters) {
    const auto index = static_cast<std::size_t>(draft_.traced.at(parameter.value).detail);
    if (draft_.owners[index] >= 0) {
      of_value_[ToIndex(draft_.Of(parameter.value).id)] = {draft_.owners[index]};
    }
  }
  for (const auto& [key, arrived] : draft_.arrived) {
    const Value& traced = draft_.traced.at(key.first);
    if (traced.kind == ValueKind::kParameter) {
      of_value_[ToIndex(draft_.Of(key.first).id)].insert(key.second);
    }
  }
  for (const Parameter& parameter : draft_.traced.parameters) {
    if (parameter.state_of != kNoValue) {
      of_value_[ToIndex(draft_.Of(parameter.value).id)] =
          of_value_[ToIndex(draft_.Of(parameter.state_of).id)];
    }
  }
}

void StageMap::NoteStray(const Node& node, ValueId input) {
  if (input == kNoValue || draft_.traced.at(input).kind != ValueKind::kParameter ||
      draft_.owners[static_cast<std::size_t>(draft_.traced.at(input).detail)] >= 0) {
    return;
  }
  if (const ValueId gradient = GradientOf(draft_.Of(input).id); gradient != kNoValue) {
    strays_[gradient] = {.weight = input, .home = node.stage};
  }
}

void StageMap::FindGradients() {
  for (std::size_t n = 0; n < draft_.traced.nodes.size(); ++n) {
    const Node& node = draft_.traced.nodes[n];
    for (std::size_t i = 0; draft_.regions[n] == Region::kGradient && i < node.outputs.size();
         ++i) {
      gradients_[draft_.Of(node.inputs[i + 1]).id] = draft_.Of(node.outputs[i]).id;
    }
  }
  for (const Node& node : draft_.traced.nodes) {
    for (std::size_t i = 0; node.attrs.contains(kPlacedStray) && i < node.inputs.size(); ++i) {
      NoteStray(node, node.inputs[i]);
    }
  }
  for (const Parameter& parameter : draft_.traced.parameters) {
    by_name_[draft_.traced.at(parameter.value).name] = draft_.Of(parameter.value).id;
  }
}

Status StageMap::PlaceNode(std::size_t n) {
  const Node& node = graph_.nodes[n];
  Stages stages;
  if (IsTransfer(node)) {
    of_node_[n] = {StageAttr(node, "from_stage"), StageAttr(node, "to_stage")};
    stages = {StageAttr(node, "to_stage")};
    NoteReturned(node);
  } else if (IsForward(node) || IsEffect(node)) {
    const std::int32_t stage = draft_.traced.at(node.origin).stage;
    of_node_[n] = stages = stage < 0 ? Stages() : Stages{stage};
  } else {
    DRYDOCK_TRY(stages, StagesOfOperands(node));
    of_node_[n] = stages;
  }
  for (const ValueId output : node.outputs) {
    of_value_[ToIndex(output)] = strays_.contains(output) ? Stages() : stages;
  }
  NoteGradient(node);
  return {};
}

bool StageMap::IsEffect(const Node& node) const {
  return node.origin != kNoNode && draft_.regions[ToIndex(node.origin)] == Region::kPost &&
         draft_.traced.at(node.origin).stage >= 0;
}

bool StageMap::IsForward(const Node& node) const {
  // A helper in front of a weight was perhaps asked for by a user in another stage.
  return node.origin != kNoNode && node.phase == Phase::kForward && !node.entry->steers &&
         draft_.regions[ToIndex(node.origin)] == Region::kForward;
}

Result<Stages> StageMap::StagesOfOperands(const Node& node) const {
  if (node.entry == depend_) {  // it is where its value is: what it waits for may be elsewhere
    return of_value_[ToIndex(node.inputs.front())];
  }
  Stages stages;
  bool apart = false;
  for (const ValueId input : node.inputs) {
    const Stages& of_input = input == kNoValue ? stages : of_value_[ToIndex(input)];
    if (TakesAnyNumber(node)) {
      stages.insert(of_input.begin(), of_input.end());
    } else {
      stages = Join(stages, of_input, apart);
    }
  }
  // What adds up tensors of all stages adds up those that each of them has.
  if (apart && node.inputs.size() < 2) {
    return tl::unexpected(WithPlace(
        Fail(ErrorCode::kUnsupported,
             "'" + node.op + "' mixes tensors of several " + "pipeline stages behind the gradients")
            .value(),
        PlaceOf(graph_, node)));
  }
  return apart ? Stages() : stages;
}

void StageMap::NoteReturned(const Node& node) {
  if (const ValueId gradient = GradientPassed(node); gradient != kNoValue) {
    returned_[gradient].insert(StageAttr(node, "from_stage"));
  }
}

void StageMap::NoteGradient(const Node& node) {
  for (const ValueId output : node.outputs) {
    const auto found = returned_.find(output);
    if (found != returned_.end()) {
      of_value_[ToIndex(output)].insert(found->second.begin(), found->second.end());
    }
  }
}

}  // namespace drydock::strategies
