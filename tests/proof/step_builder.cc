#include "tests/proof/step_builder.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/op_outline.h"
#include "tests/strategies/random_strategy.h"

namespace drydock::strategies::proof {
namespace {

/// True if output `i` of a case is listed in `flags` (an empty list lists all).
bool Listed(const std::vector<bool>& flags, std::size_t i) {
  return flags.empty() || (i < flags.size() && flags[i]);
}

/// Gradients end at entries that say so; that their slopes are then lost is no defect.
bool FlowsBackward(const OpEntry& entry) {
  return GradientSupportOf(entry) == GradientSupport::kYes;
}

/// A loss of each rank's own slice; what stands in front of it decides by what it is divided.
bool IsPlaceholderLoss(const OpEntry& entry) {
  return entry.kind == OpKind::kTransparent && entry.shard == nullptr && entry.gradient != nullptr;
}

/// A weight that such an operator reads gets no mirror, as in MindSpore: ranks that hold it whole
/// keep the gradients of their own slices (docs/differences.md), which are not those of one device.
bool HasNoMirror(const OpEntry& entry) {
  return entry.mirrored == "-";
}

std::string LayoutsText(const std::vector<TensorLayout>& layouts) {
  std::string text = "layouts on device matrix " + TupleText(layouts.front().device_matrix) + ":";
  for (const TensorLayout& layout : layouts) {
    text += " " + StrategyText(layout.tensor_map);
  }
  return text;
}

}  // namespace

StepBuilder::StepBuilder(ProofProgram& program, std::int64_t world_size, Draw& draw)
    : program_(program), draw_(draw), builder_(program.op) {
  program_.step.job = {.world_size = world_size,
                       .mode = ParallelMode::kSemiAutoParallel,
                       .dataset = {.kind = DatasetStrategy::Kind::kFullBatch},
                       .enable_alltoall = draw.Chance(2),
                       .any_device_count = true};
}

DeviceContext StepBuilder::Devices() const {
  const std::int64_t world_size = program_.step.job.world_size;
  return {.stage_devices = world_size, .job_devices = world_size};
}

Status StepBuilder::Build() && {
  const OpEntry* entry = FindOp(program_.op);
  if (entry == nullptr) {
    return Fail(ErrorCode::kInternal, "'" + program_.op + "' is not in the table of operators");
  }
  Status status = entry->kind == OpKind::kUpdate ? BuildUpdate() : BuildForward(*entry);
  if (!status) {
    Error error = std::move(status).error();
    error.code = ErrorCode::kInternal;  // A case must be legal, so not even "unsupported" is fine.
    return tl::unexpected(std::move(error));
  }
  return Finish();
}

Status StepBuilder::BuildForward(const OpEntry& entry) {
  NodeSpec spec{.op = program_.op, .attrs = program_.one.attrs};
  for (const Operand& operand : program_.one.operands) {
    DRYDOCK_TRY(const ValueId source, Source(operand));
    spec.inputs.push_back(source);
  }
  DRYDOCK_TRY(subject_, builder_.AddNode(std::move(spec)));
  const std::vector<ValueId> results = builder_.graph().at(subject_).outputs;
  std::vector<ValueId> weighed;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool per_rank = i < program_.one.per_rank.size() && program_.one.per_rank[i];
    if (Listed(program_.one.compared, i)) {
      if (per_rank) {
        program_.per_rank_outputs.push_back(outputs_.size());
      }
      outputs_.push_back(results[i]);
    }
    if (IsFloating(builder_.TypeOf(results[i]).dtype) && Listed(program_.one.weighed, i)) {
      weighed.push_back(results[i]);
    }
  }
  if (weighed.empty() || leaf_values_.empty() || !FlowsBackward(entry)) {
    program_.leaves.clear();
    return {};
  }
  DRYDOCK_TRY(const ValueId loss, Loss(weighed));
  std::vector<ValueId> operands = {loss};
  operands.insert(operands.end(), leaf_values_.begin(), leaf_values_.end());
  DRYDOCK_TRY(const NodeId gradient, builder_.AddNode({.op = "_Gradient", .inputs = operands}));
  program_.loss_output = outputs_.size();
  program_.first_gradient = outputs_.size() + 1;
  if (!program_.per_rank_outputs.empty()) {
    program_.per_rank_outputs.push_back(outputs_.size());
  }
  outputs_.push_back(loss);
  const std::vector<ValueId>& gradients = builder_.graph().at(gradient).outputs;
  outputs_.insert(outputs_.end(), gradients.begin(), gradients.end());
  return {};
}

/// weight -> Mul -> Square -> ReduceSum, differentiated; then the update under test.
Status StepBuilder::BuildUpdate() {
  const std::vector<Operand>& operands = program_.one.operands;
  const TensorType& type = operands.at(0).type;
  DRYDOCK_TRY(const ValueId weight, Parameter_(type, DrawValues(operands[0], draw_.random()), {}));
  DRYDOCK_TRY(const ValueId factor, Factor(type, 0.5, 1.5));
  DRYDOCK_TRY(const ValueId scaled, builder_.Emit({.op = "Mul", .inputs = {weight, factor}}));
  DRYDOCK_TRY(const ValueId square, builder_.Emit({.op = "Square", .inputs = {scaled}}));
  DRYDOCK_TRY(const ValueId loss, builder_.Emit({.op = "ReduceSum", .inputs = {square}}));
  DRYDOCK_TRY(const ValueId gradient, builder_.Emit({.op = "_Gradient", .inputs = {loss, weight}}));
  NodeSpec spec{.op = program_.op, .inputs = {weight}, .attrs = program_.one.attrs};
  for (std::size_t i = 1; i < operands.size(); ++i) {
    DRYDOCK_TRY(const ValueId source, UpdateSource(operands[i], weight, gradient));
    spec.inputs.push_back(source);
  }
  // The forward operator that decides the weight's layout is the one to cut.
  subject_ = builder_.graph().at(scaled).producer;
  outputs_ = {loss};
  DRYDOCK_RETURN_IF_ERROR(builder_.AddNode(std::move(spec)));
  return {};
}

// ---- Operands

Result<ValueId> StepBuilder::Parameter_(const TensorType& type, NdArray data, Parameter info) {
  program_.step.data.parameters.push_back(std::move(data));
  const std::string name = "p" + std::to_string(program_.step.data.parameters.size() - 1);
  return builder_.AddParameter(name, type, info);
}

Result<ValueId> StepBuilder::Input(const TensorType& type, NdArray data) {
  program_.step.data.inputs.push_back(std::move(data));
  return builder_.AddInput("x" + std::to_string(program_.step.data.inputs.size() - 1), type);
}

Result<ValueId> StepBuilder::Factor(const TensorType& type, double low, double high) {
  const Operand operand{.type = type, .low = low, .high = high};
  return Parameter_(type, DrawValues(operand, draw_.random()), {.requires_grad = false});
}

Result<ValueId> StepBuilder::Source(const Operand& operand) {
  if (operand.feed == Feed::kAbsent) {
    return kNoValue;
  }
  NdArray data = DrawValues(operand, draw_.random());
  if (operand.feed == Feed::kConstant) {
    return builder_.AddConstant(operand.type, std::move(data.data));
  }
  const bool floating = IsFloating(operand.type.dtype);
  const bool is_leaf = floating && operand.differentiable;
  const bool any = operand.feed == Feed::kAny;
  const bool is_parameter = operand.feed == Feed::kParameter || (any && draw_.Chance(2));
  std::vector<NdArray>& store =
      is_parameter ? program_.step.data.parameters : program_.step.data.inputs;
  const ProofProgram::Leaf leaf{.is_parameter = is_parameter, .index = store.size()};
  DRYDOCK_TRY(const ValueId id,
              is_parameter ? Parameter_(operand.type, std::move(data), {.requires_grad = is_leaf})
                           : Input(operand.type, std::move(data)));
  if (is_leaf) {
    program_.leaves.push_back(leaf);
    leaf_values_.push_back(id);
  }
  const OpEntry& entry = *FindOp(program_.op);
  const bool behind_other = draw_.Chance(3) || IsPlaceholderLoss(entry) || HasNoMirror(entry);
  if (!any || !floating || !behind_other) {
    return id;
  }
  // Through another operator with cuts of its own: the gradient crosses a redistribution.
  DRYDOCK_TRY(const ValueId ones, Parameter_(operand.type, FilledArray(operand.type.shape, 1.0),
                                             {.requires_grad = false}));
  return builder_.Emit({.op = "Mul", .inputs = {id, ones}});
}

Result<ValueId> StepBuilder::UpdateSource(const Operand& operand, ValueId weight,
                                          ValueId gradient) {
  if (operand.feed == Feed::kGradient) {
    return gradient;
  }
  if (operand.feed != Feed::kParameter) {
    return Source(operand);
  }
  const bool is_state = operand.type.shape == builder_.TypeOf(weight).shape;
  const Parameter info{.role = is_state ? ParameterRole::kOptimizerState : ParameterRole::kHyper,
                       .state_of = is_state ? weight : kNoValue,
                       .requires_grad = false};
  return Parameter_(operand.type, DrawValues(operand, draw_.random()), info);
}

// ---- Loss

/// Sum of an output's elements, each with a weight of its own. An output that is one number may be
/// the loss itself, as user's losses are.
Result<ValueId> StepBuilder::Term(ValueId output, bool alone) {
  const TensorType type = builder_.TypeOf(output);
  const OpEntry& entry = *builder_.graph().at(subject_).entry;
  // Without a rule, or per rank, a loss is not divided by its replicas (mindspore
  // ops_info/operator_info.cc).
  const bool may_be_loss =
      entry.kind == OpKind::kCompute && entry.shard != nullptr && program_.per_rank_outputs.empty();
  if (IsPlaceholderLoss(entry)) {
    return output;  // The placeholder loss: nothing may stand behind it.
  }
  if (alone && may_be_loss && type.shape.empty() && draw_.Chance(2)) {
    return output;
  }
  DRYDOCK_TRY(const ValueId factor, Factor(type, 0.4, 1.6));
  DRYDOCK_TRY(const ValueId scaled, builder_.Emit({.op = "Mul", .inputs = {output, factor}}));
  if (type.shape.empty()) {
    return scaled;
  }
  return builder_.Emit({.op = "ReduceSum", .inputs = {scaled}});
}

Result<ValueId> StepBuilder::Loss(const std::vector<ValueId>& outputs) {
  ValueId loss = kNoValue;
  for (const ValueId output : outputs) {
    DRYDOCK_TRY(const ValueId term, Term(output, outputs.size() == 1));
    if (loss == kNoValue) {
      loss = term;
    } else {
      DRYDOCK_TRY(loss, builder_.Emit({.op = "Add", .inputs = {loss, term}}));
    }
  }
  return loss;
}

// ---- Cuts

Status StepBuilder::Finish() {
  builder_.SetOutputs(outputs_);
  ChooseDataset();
  std::vector<Node>& nodes = builder_.mutable_graph().nodes;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const bool is_subject = NodeId{static_cast<std::int32_t>(n)} == subject_;
    if (is_subject || draw_.Chance(2)) {
      ChooseStrategy(nodes[n], is_subject);
    }
  }
  program_.how += " on " + std::to_string(program_.step.job.world_size) + " ranks";
  program_.step.graph = std::move(builder_).Take();
  return {};
}

void StepBuilder::ChooseStrategy(Node& node, bool is_subject) {
  const bool has_rule =
      (node.entry->kind == OpKind::kCompute || node.entry->kind == OpKind::kView) &&
      node.entry->shard != nullptr;
  const bool cuttable = has_rule && !(is_subject && program_.one.whole);
  std::string how = "no strategy";
  OpViewStorage storage;
  const OpView view = ViewOf(builder_.graph(), node, storage);
  if (cuttable && is_subject && draw_.Chance(3)) {
    node.in_layout = RandomLayouts(*node.entry, view, Devices(), draw_.random());
    how = node.in_layout ? LayoutsText(*node.in_layout) : how;
  }
  if (cuttable && !node.in_layout) {
    node.in_strategy = RandomStrategy(*node.entry, view, Devices(), draw_.random());
  }
  if (node.in_strategy) {
    how = "strategy " + StrategyText(*node.in_strategy);
    node.out_strategy =
        RandomOutStrategy(*node.entry, view, *node.in_strategy, Devices(), draw_.random());
    how += node.out_strategy ? " out " + StrategyText(*node.out_strategy) : "";
  } else if (has_rule && !node.in_layout) {
    node.in_strategy = ReplicatedStrategy(*node.entry, view);
    how = "uncut";
  }
  if (is_subject) {
    program_.how = node.op + ": " + how;
    program_.cut = how != "uncut" && how != "no strategy";
  }
}

/// Row blocks per rank where all inputs have rows to share, now and then; else the whole batch.
void StepBuilder::ChooseDataset() {
  const std::int64_t world_size = program_.step.job.world_size;
  const bool divisible = std::ranges::all_of(builder_.graph().inputs, [&](ValueId input) {
    const Shape& shape = builder_.TypeOf(input).shape;
    return !shape.empty() && shape[0] % world_size == 0;
  });
  if (divisible && draw_.Chance(2)) {
    program_.step.job.dataset.kind = DatasetStrategy::Kind::kDataParallel;
  }
}

}  // namespace drydock::strategies::proof
