#include "strategies/passes/localize/local_builder.h"

#include <algorithm>

#include "base/text.h"
#include "strategies/layout/group_name.h"
#include "strategies/operators/known_ops.h"
#include "strategies/passes/backward/differentiate.h"
#include "strategies/passes/localize/redistribute.h"

/// From a traced program to the program of one rank.
///
/// Every traced value has a local counterpart and, in the modes that cut operators, a layout. For
/// each forward node the operands are brought into the layouts that its strategy wants
/// (redistribution), weights pass through a mirror once (its derivative is the gradient AllReduce),
/// the operator runs on slices, and its partial sums are completed right behind it. The gradient
/// node is expanded by differentiating what has been built so far. Order per edge: forward
/// communication, redistribution, mirror, virtual division.
namespace drydock::strategies {
namespace {

/// Releases up to this one name redistribution operators without a trailing underscore.
constexpr CompatRelease kPlainRedistributionNames = {.major = 2, .minor = 2};

std::string LayoutKey(const TensorLayout& layout) {
  const TensorLayout standard = Standardize(layout);
  std::string key = JoinText(standard.device_matrix, ",") + "|" + JoinText(standard.shape, ",");
  for (const auto& axes : standard.tensor_map) {
    key += "/" + JoinText(axes, ",");
  }
  return key;
}

/// The loss of `loss.reshape(())` is the operator before the Reshape.
bool LooksThrough(const Node& node) {
  return PassesLayoutOn(node) || node.entry->kind == OpKind::kReshape;
}

}  // namespace

LocalBuilder::LocalBuilder(const Graph& traced, const std::vector<Region>& regions,
                           const std::vector<NodePlan>& plans, const JobConfig& config)
    : traced_(traced),
      regions_(regions),
      plans_(plans),
      config_(config),
      wanted_(traced, plans),
      full_names_(FullNames(traced)),
      builder_(traced.name),
      locals_(traced.values.size()),
      differentiated_(traced.values.size(), false),
      mirrored_(traced.values.size(), kNoValue) {
  builder_.mutable_graph().stacks = traced.stacks;
  for (std::size_t n = 0; n < traced.nodes.size(); ++n) {
    if (regions[n] != Region::kGradient) {
      continue;
    }
    const Node& node = traced.nodes[n];
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      differentiated_[ToIndex(node.inputs[i])] = true;
    }
    const Value* loss = &traced.at(node.inputs.front());
    while (loss->kind == ValueKind::kOutput && LooksThrough(traced.at(loss->producer))) {
      loss = &traced.at(traced.at(loss->producer).inputs.front());
    }
    if (loss->kind == ValueKind::kOutput) {
      loss_nodes_.push_back(loss->producer);
    }
  }
}

Result<LocalProgram> LocalBuilder::Build() && {
  // More than programs take: what stays unused is never touched, and nothing moves while it grows.
  constexpr std::size_t kGrowth = 4;
  builder_.mutable_graph().nodes.reserve(kGrowth * traced_.nodes.size());
  builder_.mutable_graph().values.reserve(kGrowth * traced_.values.size());
  DRYDOCK_RETURN_IF_ERROR(AddLeaves());
  for (std::size_t n = 0; n < traced_.nodes.size(); ++n) {
    const std::size_t first_new_node = builder_.graph().nodes.size();
    const NodeId id{static_cast<std::int32_t>(n)};
    Status status = Translate(id);
    if (!status) {
      return tl::unexpected(WithPlace(std::move(status).error(), PlaceOf(traced_, traced_.at(id))));
    }
    StampOrigins(id, first_new_node);
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : traced_.outputs) {
    DRYDOCK_RETURN_IF_ERROR(JoinCopies(output));
    outputs.push_back(locals_[ToIndex(output)].id);
  }
  builder_.SetOutputs(std::move(outputs));
  LocalProgram program{.graph = CleanLocal(std::move(builder_).Take()),
                       .redistribution_count = redistribution_count_,
                       .diagnostics = std::move(diagnostics_)};
  for (const ValueId output : traced_.outputs) {
    const SharedValue<TensorLayout>& layout = locals_[ToIndex(output)].layout;
    program.output_layouts.push_back(layout ? std::optional(PlainLayoutOf(*layout)) : std::nullopt);
  }
  std::map<std::string, TensorLayout> by_name;
  for (std::size_t p = 0; p < traced_.parameters.size(); ++p) {
    const ValueId value = traced_.parameters[p].value;
    by_name[traced_.at(value).name] = *LayoutOf(value);
  }
  for (const Parameter& parameter : program.graph.parameters) {
    program.parameter_layouts.push_back(by_name[program.graph.at(parameter.value).name]);
  }
  return program;
}

void LocalBuilder::StampOrigins(NodeId origin, std::size_t first_new_node) {
  std::vector<Node>& nodes = builder_.mutable_graph().nodes;
  for (std::size_t n = first_new_node; n < nodes.size(); ++n) {
    if (nodes[n].phase != Phase::kBackward || regions_[ToIndex(origin)] != Region::kGradient) {
      nodes[n].origin = origin;
    }
  }
}

Status LocalBuilder::AddLeaves() {
  for (std::size_t i = 0; i < traced_.inputs.size(); ++i) {
    const Value& input = traced_.at(traced_.inputs[i]);
    DRYDOCK_TRY(const std::vector<std::int64_t> cuts,
                DatasetCuts(input.type.shape.size(), i, config_));
    TensorType type = input.type;
    for (std::size_t d = 0; d < cuts.size(); ++d) {
      type.shape[d] /= cuts[d];
    }
    DRYDOCK_TRY(locals_[ToIndex(traced_.inputs[i])].id,
                builder_.AddInput(input.name, std::move(type)));
  }
  for (const Parameter& parameter : traced_.parameters) {
    DRYDOCK_RETURN_IF_ERROR(AddParameter(parameter));
  }
  return AddConstants();
}

Status LocalBuilder::AddParameter(const Parameter& parameter) {
  const Value& value = traced_.at(parameter.value);
  Local& local = locals_[ToIndex(parameter.value)];
  TensorType type = value.type;
  if (CutsOperators(config_.mode)) {
    std::optional<TensorLayout> layout =
        wanted_.OfParameter(parameter.value, regions_, StageDevices(config_));
    layout = layout ? std::optional(PlainLayoutOf(*layout)) : layout;
    if (!layout && parameter.state_of != kNoValue &&
        traced_.at(parameter.state_of).type.shape == value.type.shape) {
      layout = *locals_[ToIndex(parameter.state_of)].layout;
    }
    local.layout = layout ? *layout : ReplicatedLayout(StageDevices(config_), value.type.shape);
    type.shape = SliceShape(*local.layout);
  }
  Parameter info = parameter;
  info.state_of =
      parameter.state_of == kNoValue ? kNoValue : locals_[ToIndex(parameter.state_of)].id;
  DRYDOCK_TRY(local.id, builder_.AddParameter(value.name, std::move(type), info));
  return {};
}

Status LocalBuilder::AddConstants() {
  for (const Constant& constant : traced_.constants) {
    const Value& value = traced_.at(constant.value);
    Local& local = locals_[ToIndex(constant.value)];
    DRYDOCK_TRY(local.id, builder_.AddConstant(value.type, constant.data));
    builder_.mutable_graph().values[ToIndex(local.id)].name = value.name;
  }
  return {};
}

NodeSpec LocalBuilder::SpecOf(NodeId id) const {
  const Node& node = traced_.at(id);
  Phase phase = node.phase;
  if (regions_[ToIndex(id)] == Region::kPost && phase == Phase::kForward) {
    phase = node.entry->kind == OpKind::kUpdate ? Phase::kOptimizer : Phase::kBackward;
  }
  return {.op = node.op,
          .inputs = {},
          .attrs = node.attrs,
          .scope = node.scope,
          .instance_name = node.instance_name,
          .place = node.place,
          .phase = phase};
}

std::string LocalBuilder::NameOf(ValueId value) const {
  const Value& traced = traced_.at(value);
  return traced.kind == ValueKind::kOutput ? full_names_[ToIndex(traced.producer)] : traced.name;
}

std::string LocalBuilder::ShortNameOf(NodeId id) const {
  const std::string& name = full_names_[ToIndex(id)];
  return name.substr(name.rfind('/') + 1);
}

bool LocalBuilder::NamesEndInUnderscore() const {
  return config_.compat > kPlainRedistributionNames;
}

SharedValue<TensorLayout> LocalBuilder::LayoutOf(ValueId value) const {
  const SharedValue<TensorLayout>& layout = locals_[ToIndex(value)].layout;
  if (!layout) {
    return ReplicatedLayout(StageDevices(config_), traced_.at(value).type.shape);
  }
  return layout->interleave > 1 ? PlainLayoutOf(*layout) : layout;
}

bool LocalBuilder::IsCut(ValueId value) const {
  return value != kNoValue &&
         builder_.TypeOf(locals_[ToIndex(value)].id).shape != traced_.at(value).type.shape;
}

void LocalBuilder::SetOutputs(NodeId id, const std::vector<ValueId>& ids,
                              const SharedValue<OpSharding>& sharding) {
  const Node& node = traced_.at(id);
  DRYDOCK_CHECK(ids.size() == node.outputs.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Local& local = locals_[ToIndex(node.outputs[i])];
    local.id = ids[i];
    if (ids[i] == kNoValue) {
      continue;
    }
    if (sharding) {
      local.layout = sharding.Share(sharding->outputs[i]);
    }
    Value& value = builder_.mutable_graph().values[ToIndex(ids[i])];
    if (value.name.empty()) {
      value.name = traced_.at(node.outputs[i]).name;
    }
  }
}

Status LocalBuilder::Translate(NodeId id) {
  const SharedValue<OpSharding>& sharding = plans_[ToIndex(id)].sharding;
  for (const ValueId input : traced_.at(id).inputs) {
    if (input != kNoValue && (!sharding || sharding->interleave == 1)) {
      DRYDOCK_RETURN_IF_ERROR(JoinCopies(input));
    }
  }
  switch (regions_[ToIndex(id)]) {
    case Region::kForward:
      return TranslateForward(id);
    case Region::kGradient:
      return TranslateGradient(id);
    case Region::kPost:
      return TranslatePost(id);
  }
  return {};
}

Status LocalBuilder::TranslateForward(NodeId id) {
  const Node& node = traced_.at(id);
  const SharedValue<OpSharding>& sharding = plans_[ToIndex(id)].sharding;
  if (!CutsOperators(config_.mode)) {
    return TranslatePost(id);
  }
  if (node.entry->kind == OpKind::kDataset) {
    std::vector<ValueId> ids;
    for (const ValueId input : node.inputs) {
      ids.push_back(locals_[ToIndex(input)].id);
    }
    SetOutputs(id, ids, sharding);
    return {};
  }
  if (node.entry->kind == OpKind::kReshape) {
    return TranslateReshape(id);
  }
  if (sharding && sharding->interleave > 1) {
    return TranslateCopies(id, *sharding);
  }
  return sharding ? TranslatePlanned(id, sharding) : TranslatePassing(id);
}

Status LocalBuilder::TranslatePlanned(NodeId id, const SharedValue<OpSharding>& sharding) {
  const Node& node = traced_.at(id);
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) {
      operands.push_back(kNoValue);
      continue;
    }
    DRYDOCK_TRY(const ValueId operand, Operand(id, i, sharding->inputs[TensorIndex(node, i)]));
    operands.push_back(operand);
  }
  DRYDOCK_TRY(operands, WithLossDivision(id, *sharding, std::move(operands)));
  NodeSpec spec = SpecOf(id);
  spec.inputs = std::move(operands);
  DRYDOCK_TRY(std::vector<ValueId> outputs, EmitLocal(id, *sharding, std::move(spec)));
  return SetResults(id, sharding, std::move(outputs));
}

Result<ValueId> LocalBuilder::CompletePartial(NodeId id,
                                              const OpSharding::Communication& communication,
                                              std::int64_t index, double divisor, ValueId value) {
  NodeSpec spec = SpecOf(id);
  if (GroupSize(communication.group) > 1) {
    const bool scatter = communication.what.kind == ForwardCommunication::Kind::kReduceScatter;
    spec.op = scatter ? ops::kReduceScatter : ops::kAllReduce;
    spec.inputs = {value};
    spec.attrs = {{"op", communication.what.reduce_op}};
    spec.instance_name =
        "forward_op_" +
        std::to_string(NameHash(full_names_[ToIndex(id)] + "_" + std::to_string(index)));
    DRYDOCK_TRY(value, EmitCollective(
                           builder_, spec, communication.group, CommReason::kPartialSum,
                           "partial " + communication.what.reduce_op + " of " + ShortNameOf(id)));
  }
  if (communication.what.mean) {
    spec.op = ops::kRealDiv;
    spec.inputs = {value, builder_.AddScalar(divisor, builder_.TypeOf(value).dtype)};
    spec.attrs = {};
    DRYDOCK_TRY(value, builder_.Emit(std::move(spec)));
  }
  return value;
}

Result<ValueId> LocalBuilder::WithForwardCommunication(NodeId id, const OpSharding& sharding,
                                                       std::int32_t output, ValueId value) {
  std::int64_t index = 0;
  for (const OpSharding::Communication& communication : sharding.communication) {
    if (communication.what.output != output) {
      continue;
    }
    const double divisor = static_cast<double>(GroupSize(communication.group));
    DRYDOCK_TRY(value, CompletePartial(id, communication, index, divisor, value));
    ++index;
  }
  return value;
}

Result<std::vector<ValueId>> LocalBuilder::WithLossDivision(NodeId id, const OpSharding& sharding,
                                                            std::vector<ValueId> operands) {
  if (std::ranges::find(loss_nodes_, id) == loss_nodes_.end() || !config_.loss_repeated_mean ||
      sharding.loss_divisor <= 1) {
    return operands;
  }
  for (ValueId& operand : operands) {
    if (operand == kNoValue || builder_.graph().at(operand).kind == ValueKind::kConstant) {
      continue;
    }
    NodeSpec spec = SpecOf(id);
    spec.op = ops::kVirtualDiv;
    spec.inputs = {operand};
    spec.attrs = {{"divisor", sharding.loss_divisor}};
    spec.instance_name.clear();
    DRYDOCK_TRY(operand, builder_.Emit(std::move(spec)));
  }
  return operands;
}

Result<ValueId> LocalBuilder::Operand(NodeId user, std::size_t operand,
                                      const TensorLayout& wanted) {
  const ValueId value = traced_.at(user).inputs[operand];
  const Value& traced = traced_.at(value);
  NodeSpec base = SpecOf(traced.kind == ValueKind::kOutput ? traced.producer : user);
  base.phase = Phase::kForward;
  if (traced.kind == ValueKind::kConstant) {
    return ConstantSlice(value, wanted, base);
  }
  const SharedValue<TensorLayout> from = LayoutOf(value);
  ValueId local = locals_[ToIndex(value)].id;
  if (traced.kind == ValueKind::kParameter) {
    if (!SameOwnership(*from, wanted)) {
      return FailInput("parameter:two-layouts",
                       "parameter '" + traced.name + "' is wanted in two layouts: slices of " +
                           TupleText(SliceShape(*from)) + " and of " +
                           TupleText(SliceShape(wanted)) + " by '" + traced_.at(user).op + "'",
                       "give all operators that use the parameter the same cuts of it");
    }
    return Mirrored(value);
  }
  if (SameOwnership(*from, wanted)) {
    return local;
  }
  const auto key = std::pair(local, LayoutKey(wanted));
  if (const auto it = redistributed_.find(key); it != redistributed_.end()) {
    return it->second;
  }
  const RedistributionLabel label{
      .producer_name = NameOf(value),
      .reason_text =
          (traced.kind == ValueKind::kOutput ? ShortNameOf(traced.producer) : traced.name) + " " +
          TupleText(CutsOf(*from)) + " -> " + ShortNameOf(user) + " " + TupleText(CutsOf(wanted)),
      .trailing_underscore = NamesEndInUnderscore()};
  const RedistributionOptions options{
      .enable_alltoall = config_.enable_alltoall,
      .cheapest = config_.redistribution == RedistributionSearch::kOptimal};
  DRYDOCK_TRY(const ValueId result,
              EmitRedistribution(builder_, local, *from, wanted, options, label, base));
  ++redistribution_count_;
  redistributed_.emplace(key, result);
  return result;
}

Result<ValueId> LocalBuilder::ConstantSlice(ValueId value, const TensorLayout& wanted,
                                            const NodeSpec& base) {
  const ValueId local = locals_[ToIndex(value)].id;
  const Shape slice = SliceShape(wanted);
  if (slice == traced_.at(value).type.shape) {
    return local;
  }
  Attr::List begin;
  Attr::List end;
  const std::vector<RankExpr> begins = SliceBegin(wanted);
  for (std::size_t d = 0; d < begins.size(); ++d) {
    begin.emplace_back(begins[d]);
    end.emplace_back(Plus(begins[d], RankExpr{.constant = slice[d]}));
  }
  NodeSpec spec = base;
  spec.op = ops::kStridedSlice;
  spec.inputs = {local};
  spec.attrs = {
      {"begin", begin}, {"end", end}, {"strides", std::vector<std::int64_t>(begins.size(), 1)}};
  spec.instance_name = "split_tensor";
  return builder_.Emit(std::move(spec));
}

Result<ValueId> LocalBuilder::Mirrored(ValueId weight) {
  ValueId& mirrored = mirrored_[ToIndex(weight)];
  if (mirrored != kNoValue) {
    return mirrored;
  }
  mirrored = locals_[ToIndex(weight)].id;
  const GroupPattern replicas = ReplicaPattern(*LayoutOf(weight));
  if (!differentiated_[ToIndex(weight)] || GroupSize(replicas) <= 1) {
    return mirrored;
  }
  NodeSpec spec{.op = ops::kMirror, .inputs = {mirrored}, .scope = "Default"};
  spec.instance_name = std::string(ops::kMirror);
  const Parameter& parameter =
      traced_.parameters[static_cast<std::size_t>(traced_.at(weight).detail)];
  spec.attrs = {{"dev_num", GroupSize(replicas)},
                {"mean_flag", config_.gradients_mean},
                {"fusion", parameter.comm_fusion},
                {"parameter", traced_.at(weight).name}};
  DRYDOCK_TRY(mirrored,
              EmitCollective(builder_, std::move(spec), replicas, CommReason::kParameterGradient,
                             "gradient of " + traced_.at(weight).name));
  return mirrored;
}

}  // namespace drydock::strategies
