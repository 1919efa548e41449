#include "strategies/passes/localize/stage_programs.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/stage_map.h"
#include "strategies/passes/prepare/rewrite.h"
#include "strategies/program/micro_nodes.h"

/// From the program of all stages to one program per stage.
///
/// Each stage gets a copy of what stage_map.h says is there; a transfer becomes Send here and
/// Receive there.
///
/// A stage that does not make the result of the step gives zeros in its place, behind what it
/// sends. A Receive has to read something: the first weight of its stage, so that differentiation
/// finds a use; backward a number.
///
/// Example: stages 0 and 1, one layer each: stage 0 is MatMul, Send, Receive, MatMul', Momentum;
/// stage 1 Receive, MatMul, loss, loss', MatMul', Send, Momentum.
/// Source: mindspore/ccsrc/frontend/parallel/pipeline_transformer/pipeline_transformer.cc
/// (CutGraph, ElimGraphStage, ElimParameter)
namespace drydock::strategies {
namespace {

/// Copies what one stage needs out of the program of all.
class StageCopy {
 public:
  StageCopy(const LocalDraft& draft, const StageMap& map, std::int32_t stage,
            const std::vector<ValueId>& outputs)
      : draft_(draft), from_(draft.builder.graph()), map_(map), stage_(stage), outputs_(outputs) {
    to_.name = from_.name;
    to_.stacks = from_.stacks;
    for (const Parameter& parameter : from_.parameters) {
      const Stages& stages = map.OfValue(parameter.value);
      // Not one that only arrives: the lowest stage that uses a weight has it.
      if (first_weight_ == kNoValue && parameter.role == ParameterRole::kWeight &&
          parameter.requires_grad && !stages.empty() && *stages.begin() == stage) {
        first_weight_ = parameter.value;
      }
    }
    for (const auto& [gradient, stray] : map.Strays()) {
      if (stray.home != stage) {
        UpdateWithZeros(gradient, stray.weight);
      }
    }
  }

  void Add(const Node& node) {
    if (map_.IsBehind(node)) {
      BeginBehind();
    }
    if (!map_.IsTransfer(node)) {
      Append(node);
    } else if (StageAttr(node, "from_stage") == stage_) {
      AppendSend(node);
    } else {
      AppendReceive(node);
    }
  }

  Graph Finish() && {
    BeginBehind();
    for (const ValueId output : outputs_) {
      const auto zeros = zeros_.find(output);
      to_.outputs.push_back(zeros == zeros_.end() ? Mapped(output) : zeros->second);
    }
    return std::move(to_);
  }

 private:
  /// Another stage computes with the weight: here it and its states are whole, its gradient is
  /// zero.
  void UpdateWithZeros(ValueId gradient, ValueId weight) {
    const ValueId local = draft_.Of(weight).id;
    TensorType type = from_.at(gradient).type;
    if (const auto shard = draft_.shards.find(weight); shard != draft_.shards.end()) {
      type.shape = SliceShape(*shard->second.used);
      whole_[local] = whole_[gradient] = type.shape;
      for (const Parameter& parameter : from_.parameters) {
        if (parameter.state_of == local) {
          whole_[parameter.value] = type.shape;
        }
      }
    }
    ids_[gradient] = Constant(std::move(type));
  }

  /// Results of what updates a whole weight have its shape.
  void SpreadShape(const Node& node) {
    for (const ValueId input : node.inputs) {
      const auto found = whole_.find(input);
      for (std::size_t i = 0; found != whole_.end() && i < node.outputs.size(); ++i) {
        if (from_.at(node.outputs[i]).type.shape == from_.at(input).type.shape) {
          whole_[node.outputs[i]] = found->second;
        }
      }
    }
  }

  /// Forward and backward are done: all messages are sent.
  void BeginBehind() {
    if (!returned_.empty()) {
      JoinReturned();
    }
    for (const ValueId output : outputs_) {
      if (!Here(output) && !zeros_.contains(output)) {
        zeros_[output] = Zeros(output);
      }
    }
    if (shared_ && !sent_.empty() && zeros_.empty() && !outputs_.empty()) {
      TieResult(outputs_.front());
    }
  }

  /// A stage that makes the result of the step, and sends results of other parts before it.
  void TieResult(ValueId output) {
    Node depend{.op = std::string(ops::kDepend), .entry = FindOp(ops::kDepend), .scope = "Default"};
    depend.inputs = {Mapped(output)};
    depend.inputs.insert(depend.inputs.end(), sent_.begin(), sent_.end());
    depend.outputs = {NewResult(from_.at(output).type)};
    depend.attrs[std::string(kJoinsSends)] = true;
    zeros_[output] = depend.outputs.front();
    to_.nodes.push_back(std::move(depend));
  }

  /// The value here; leaves are added when they are first used.
  ValueId Mapped(ValueId whole) {
    if (whole == kNoValue) {
      return kNoValue;
    }
    const auto [place, added] = ids_.try_emplace(whole, kNoValue);
    if (added) {
      place->second = AddValue(from_.at(whole), whole);
    }
    return place->second;
  }

  ValueId AddValue(const Value& value, ValueId whole) {
    const ValueId id{static_cast<std::int32_t>(to_.values.size())};
    to_.values.push_back(value);
    if (const auto shape = whole_.find(whole); shape != whole_.end()) {
      to_.values.back().type.shape = shape->second;
    }
    switch (value.kind) {
      case ValueKind::kInput:
        to_.inputs.push_back(id);
        break;
      case ValueKind::kParameter:
        AddParameter(id, whole);
        break;
      case ValueKind::kConstant:
        to_.values[ToIndex(id)].detail = static_cast<std::int32_t>(to_.constants.size());
        to_.constants.push_back(from_.constants[static_cast<std::size_t>(value.detail)]);
        to_.constants.back().value = id;
        break;
      case ValueKind::kOutput:
        break;
    }
    return id;
  }

  void AddParameter(ValueId id, ValueId whole) {
    Parameter parameter = from_.parameters[static_cast<std::size_t>(from_.at(whole).detail)];
    parameter.value = id;
    to_.values[ToIndex(id)].detail = static_cast<std::int32_t>(to_.parameters.size());
    to_.parameters.push_back(parameter);
    states_.push_back(parameter.state_of);
  }

  [[nodiscard]] bool Here(ValueId whole) const {
    const Stages& stages = map_.OfValue(whole);
    return stages.empty() || stages.contains(stage_);
  }

  void Append(const Node& node) {
    Node copy = node;
    copy.inputs.clear();
    if (!whole_.empty()) {
      SpreadShape(node);
    }
    const bool any_number = TakesAnyNumber(node);
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || Here(input)) {
        copy.inputs.push_back(Mapped(input));
      } else if (!any_number) {
        copy.inputs.push_back(Constant(from_.at(input).type));
      }
    }
    copy.stage = stage_;
    copy.segment = PartOf(node);
    Push(std::move(copy), node.outputs);
  }

  /// The part of the stage that a node, or the node whose derivative it is, belongs to.
  [[nodiscard]] std::int32_t PartOf(const Node& node) const {
    const bool derived = node.phase == Phase::kBackward && node.pair >= 0;
    const Node& forward = derived ? from_.at(NodeId{node.pair}) : node;
    return forward.phase == Phase::kForward && forward.origin != kNoNode
               ? draft_.traced.at(forward.origin).segment
               : -1;
  }

  void Push(Node node, const std::vector<ValueId>& outputs) {
    const NodeId id{static_cast<std::int32_t>(to_.nodes.size())};
    node.outputs.clear();
    for (const ValueId output : outputs) {
      const ValueId mapped = Mapped(output);
      to_.values[ToIndex(mapped)].producer = id;
      node.outputs.push_back(mapped);
    }
    to_.nodes.push_back(std::move(node));
  }

  /// A result that the program of all stages does not have.
  ValueId NewResult(const TensorType& type) {
    const ValueId id{static_cast<std::int32_t>(to_.values.size())};
    to_.values.push_back({.kind = ValueKind::kOutput,
                          .type = type,
                          .producer = NodeId{static_cast<std::int32_t>(to_.nodes.size())}});
    return id;
  }

  [[nodiscard]] Node Crossing(const Node& node, std::string_view op) const {
    Node half{.op = std::string(op), .entry = FindOp(op), .scope = node.scope};
    half.instance_name = node.instance_name;
    half.place = node.place;
    half.phase = node.phase;
    half.pair = node.pair;
    half.stage = stage_;
    half.reason = CommReason::kStageBorder;
    half.reason_text = node.reason_text;
    const std::int64_t stages = StageAttr(node, "to_stage") - StageAttr(node, "from_stage");
    half.attrs = {{std::string(kTransferTag), node.attrs.at(std::string(kTransferTag))},
                  {std::string(kRankDistance), stages * StageDevices(draft_.config)},
                  {"from_stage", node.attrs.at("from_stage")},
                  {"to_stage", node.attrs.at("to_stage")},
                  {std::string(kFromPart), node.attrs.at(std::string(kFromPart))},
                  {std::string(kToPart), node.attrs.at(std::string(kToPart))}};
    if (const auto parameter = node.attrs.find(kPassesWeight); parameter != node.attrs.end()) {
      half.attrs.insert(*parameter);
    }
    if (shared_) {
      half.attrs[std::string(kOfSharedGraph)] = true;
    }
    half.group = WholeJob(draft_.config.world_size);
    if (draft_.config.pipeline_interleave || shared_) {
      // The ranks at one position of all stages.
      half.group->digits = {
          {.stride = StageDevices(draft_.config), .extent = draft_.config.pipeline_stages}};
    }
    return half;
  }

  void AppendSend(const Node& node) {
    Node send = Crossing(node, ops::kSend);
    send.inputs = {Mapped(node.inputs.front())};
    send.outputs = {NewResult(from_.at(node.inputs.front()).type)};
    const ValueId result = send.outputs.front();
    to_.nodes.push_back(std::move(send));
    if (const ValueId gradient = map_.GradientPassed(node); gradient != kNoValue) {
      ids_[gradient] = Behind({.shape = {}, .dtype = from_.at(gradient).type.dtype}, {result});
    } else {
      (node.phase == Phase::kBackward ? returned_ : sent_).push_back(result);
    }
  }

  void AppendReceive(const Node& node) {
    Node receive = Crossing(node, ops::kReceive);
    const TensorType& type = from_.at(node.outputs.front()).type;
    receive.attrs["shape"] = std::vector<std::int64_t>(type.shape);
    receive.attrs["dtype"] = std::string(DTypeName(type.dtype));
    receive.inputs = {Anchor(node, type)};
    Push(std::move(receive), node.outputs);
  }

  /// What is sent back is done when the gradient of the first weight is; without trained weights,
  /// when what the stage returns is.
  void JoinReturned() {
    const std::vector<ValueId> gradients = JoinedGradients();
    if (gradients.empty()) {
      sent_.insert(sent_.end(), returned_.begin(), returned_.end());
    }
    for (const ValueId gradient : gradients) {
      Node join{.op = std::string(ops::kJoinSends),
                .entry = FindOp(ops::kJoinSends),
                .inputs = {Mapped(gradient)},
                .attrs = {{std::string(kJoinsSends), !shared_}},  // a sum, or one tuple
                .scope = "Default",
                .phase = Phase::kBackward,
                .stage = stage_};
      join.inputs.insert(join.inputs.end(), returned_.begin(), returned_.end());
      join.outputs = {NewResult(from_.at(gradient).type)};
      ids_[gradient] = join.outputs.front();
      to_.nodes.push_back(std::move(join));
    }
    returned_.clear();
  }

  /// That of the first weight; where graphs are shared, those of all weights here.
  [[nodiscard]] std::vector<ValueId> JoinedGradients() const {
    std::vector<ValueId> gradients;
    for (const Parameter& parameter : from_.parameters) {
      const ValueId gradient = map_.GradientOf(parameter.value);
      const bool wanted = shared_ ? map_.OfValue(parameter.value).contains(stage_)
                                  : parameter.value == first_weight_;
      if (wanted && gradient != kNoValue) {
        gradients.push_back(gradient);
      }
    }
    return gradients;
  }

  /// What a Receive reads. Its users keep the value.
  ValueId Anchor(const Node& node, const TensorType& type) {
    if (node.phase == Phase::kForward && shared_) {
      return Constant({.shape = {1}, .dtype = DType::kFloat32});
    }
    if (node.phase == Phase::kForward && first_weight_ != kNoValue) {
      const bool parameter = node.attrs.contains(kPassesWeight);
      return Mapped(parameter ? WeightBehind(node.inputs.front()) : first_weight_);
    }
    return Constant({.shape = {}, .dtype = type.dtype});
  }

  /// The parameter that a transfer passes on, its mirror looked through.
  [[nodiscard]] ValueId WeightBehind(ValueId id) const {
    while (from_.at(id).kind == ValueKind::kOutput) {
      id = from_.at(from_.at(id).producer).inputs.front();
    }
    return id;
  }

  ValueId Constant(TensorType type) {
    const ValueId id{static_cast<std::int32_t>(to_.values.size())};
    to_.values.push_back({.kind = ValueKind::kConstant,
                          .type = std::move(type),
                          .detail = static_cast<std::int32_t>(to_.constants.size())});
    to_.constants.push_back({.value = id, .number = 0.0});
    return id;
  }

  /// In place of a result that another stage makes.
  ValueId Zeros(ValueId output) {
    const ValueId result = Behind(from_.at(output).type, sent_);
    if (!sent_.empty()) {
      to_.nodes.back().attrs[std::string(kJoinsSends)] = true;
    }
    return result;
  }

  /// Zeros, not before some messages were sent.
  ValueId Behind(const TensorType& type, const std::vector<ValueId>& sent) {
    const ValueId zeros = Constant(type);
    if (sent.empty()) {
      return zeros;
    }
    Node depend{.op = std::string(ops::kDepend), .entry = FindOp(ops::kDepend), .scope = "Default"};
    depend.inputs = {zeros};
    depend.inputs.insert(depend.inputs.end(), sent.begin(), sent.end());
    depend.outputs = {NewResult(type)};
    const ValueId result = depend.outputs.front();
    to_.nodes.push_back(std::move(depend));
    return result;
  }

 public:
  /// States name their weights by the numbers of here.
  void LinkStates() {
    for (std::size_t i = 0; i < to_.parameters.size(); ++i) {
      const auto found = states_[i] == kNoValue ? ids_.end() : ids_.find(states_[i]);
      to_.parameters[i].state_of = found == ids_.end() ? kNoValue : found->second;
    }
  }

 private:
  const LocalDraft& draft_;
  const Graph& from_;
  const StageMap& map_;
  std::int32_t stage_;
  bool shared_ = CallsSharedGraph(from_);
  Graph to_ = {};
  std::map<ValueId, ValueId> ids_ = {};
  std::vector<ValueId> states_ = {};       ///< Per parameter: `state_of` in the program of all.
  std::vector<ValueId> sent_ = {};         ///< Results of sends of the forward pass.
  std::vector<ValueId> returned_ = {};     ///< Of the backward pass, not joined yet.
  std::vector<ValueId> outputs_;           ///< Of the program of all stages.
  std::map<ValueId, ValueId> zeros_ = {};  ///< By the output that another stage makes.
  std::map<ValueId, Shape> whole_ = {};    ///< By what is cut in its home stage only.
  ValueId first_weight_ = kNoValue;
};

}  // namespace

Result<std::vector<Graph>> PartStages(LocalDraft& draft, const std::vector<ValueId>& outputs) {
  StageMap map(draft);
  DRYDOCK_RETURN_IF_ERROR(map.Build());
  const Graph& whole = draft.builder.graph();
  std::vector<StageCopy> copies;
  copies.reserve(static_cast<std::size_t>(draft.config.pipeline_stages));
  for (std::int32_t stage = 0; stage < draft.config.pipeline_stages; ++stage) {
    copies.emplace_back(draft, map, stage, outputs);
  }
  for (std::size_t n = 0; n < whole.nodes.size(); ++n) {
    const Node& node = whole.nodes[n];
    const Stages& stages = map.OfNode(n);
    for (std::size_t s = 0; stages.empty() && s < copies.size(); ++s) {
      copies[s].Add(node);
    }
    for (const std::int32_t stage : stages) {
      copies[static_cast<std::size_t>(stage)].Add(node);
    }
  }
  std::vector<Graph> programs;
  for (StageCopy& copy : copies) {
    copy.LinkStates();
    programs.push_back(std::move(copy).Finish());
  }
  return programs;
}

}  // namespace drydock::strategies
