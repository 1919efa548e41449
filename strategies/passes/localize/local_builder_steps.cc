#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/passes/backward/differentiate.h"
#include "strategies/passes/localize/local_builder.h"
#include "strategies/passes/localize/redistribute.h"

/// Steps of the local builder: the operator on slices, and nodes without a strategy of their own.
namespace drydock::strategies {

Result<std::vector<ValueId>> LocalBuilder::EmitLocal(NodeId id, const OpSharding& sharding,
                                                     NodeSpec spec) {
  const Node& node = traced_.at(id);
  DRYDOCK_TRY(const bool as_given, IsSelfDefined(node));
  if (const std::string_view rule = plans_[ToIndex(id)].fallback_rule; !rule.empty()) {
    spec.attrs.insert_or_assign(std::string(rule), true);
  }
  if (node.entry->infer == nullptr) {
    return EmitWithTypes(id, sharding, std::move(spec));
  }
  if (node.entry->localize != nullptr && !as_given) {
    OpViewStorage storage;
    const OpView view = ViewOf(traced_, node, storage);
    return node.entry->localize(
        LocalizeContext{.builder = builder_, .global = view, .sharding = sharding, .spec = spec});
  }
  DRYDOCK_TRY(const NodeId local, builder_.AddNode(std::move(spec)));
  Node& emitted = builder_.mutable_graph().nodes[ToIndex(local)];
  emitted.in_strategy = sharding.strategy;
  return emitted.outputs;
}

std::vector<ValueId> LocalBuilder::EmitWithTypes(NodeId id, const OpSharding& sharding,
                                                 NodeSpec spec) {
  const Node& node = traced_.at(id);
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    types.push_back({.shape = SliceShape(sharding.outputs[i]),
                     .dtype = traced_.at(node.outputs[i]).type.dtype});
  }
  const NodeId local = builder_.AddNodeWithTypes(std::move(spec), std::move(types));
  return builder_.graph().at(local).outputs;
}

Status LocalBuilder::CheckLocalResult(NodeId id, std::size_t output, ValueId local,
                                      const TensorLayout& layout) const {
  const Shape expected = SliceShape(layout);
  const Shape& actual = builder_.TypeOf(local).shape;
  if (actual == expected) {
    return {};
  }
  const Node& node = traced_.at(id);
  const std::string text = "local result " + std::to_string(output) + " of '" + node.op +
                           "' has shape " + TupleText(actual) + ", its layout says " +
                           TupleText(expected);
  DRYDOCK_TRY(const bool as_given, IsSelfDefined(node));
  if (as_given) {
    return FailInput(node.op + ":layout-result", text,
                     "give output layouts that fit what the operator makes of its input slices");
  }
  return Fail(ErrorCode::kInternal, text);
}

/// A rank's own result that no layout describes is for its gradient alone.
Status LocalBuilder::CheckNotRead(NodeId id, std::size_t output) const {
  const Node& node = traced_.at(id);
  const ValueId value = node.outputs[output];
  const auto reads = [value](const Node& one) {
    return std::ranges::find(one.inputs, value) != one.inputs.end();
  };
  if (std::any_of(traced_.nodes.begin() + ToInt(id), traced_.nodes.end(), reads) ||
      std::ranges::find(traced_.outputs, value) != traced_.outputs.end()) {
    return Fail(ErrorCode::kUnsupported,
                "result " + std::to_string(output) + " of '" + node.op +
                    "' is read, but with these cuts the ranks' parts of it are not the whole",
                "cut into other slices, or leave the operator whole");
  }
  return {};
}

/// Completes partial results and checks what is there against the layouts.
Status LocalBuilder::SetResults(NodeId id, const SharedValue<OpSharding>& sharding,
                                std::vector<ValueId> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNoValue) {
      DRYDOCK_RETURN_IF_ERROR(CheckNotRead(id, i));
      continue;
    }
    DRYDOCK_TRY(outputs[i],
                WithForwardCommunication(id, *sharding, static_cast<std::int32_t>(i), outputs[i]));
    DRYDOCK_RETURN_IF_ERROR(CheckLocalResult(id, i, outputs[i], sharding->outputs[i]));
  }
  SetOutputs(id, outputs, sharding);
  return {};
}

Result<Graph> LocalBuilder::BuildForward() && {
  DRYDOCK_RETURN_IF_ERROR(AddLeaves());
  std::vector<ValueId> losses;
  for (std::size_t n = 0; n < traced_.nodes.size(); ++n) {
    const NodeId id{static_cast<std::int32_t>(n)};
    const std::size_t first_new_node = builder_.graph().nodes.size();
    if (regions_[n] == Region::kForward) {
      DRYDOCK_RETURN_IF_ERROR(Translate(id));
      StampOrigins(id, first_new_node);
    } else if (regions_[n] == Region::kGradient) {
      DRYDOCK_RETURN_IF_ERROR(JoinCopies(traced_.at(id).inputs.front()));
      losses.push_back(locals_[ToIndex(traced_.at(id).inputs.front())].id);
    }
  }
  if (losses.empty()) {
    for (const ValueId output : traced_.outputs) {
      DRYDOCK_RETURN_IF_ERROR(JoinCopies(output));
      losses.push_back(locals_[ToIndex(output)].id);
    }
  }
  std::erase(losses, kNoValue);
  builder_.SetOutputs(std::move(losses));
  return RemoveDeadNodes(std::move(builder_).Take());
}

/// What follows by a plain Reshape of the slices, as the user promises that it is what is meant.
/// Source: spec layout-and-redistribution 8.8 (attribute skip_redistribution).
Result<ValueId> LocalBuilder::ReshapeOfSlices(NodeId id, ValueId local, const TensorLayout& to) {
  const Shape slice = SliceShape(to);
  if (Product(slice) != Product(builder_.TypeOf(local).shape)) {
    return tl::unexpected(WithPlace(
        FailInput("Reshape:skip-redistribution",
                  "'Reshape' with skip_redistribution gets slices of " +
                      TupleText(builder_.TypeOf(local).shape) + ", which do not fill those of " +
                      TupleText(slice) + " that are wanted behind it",
                  "cut its neighbours into equally many parts, or leave the attribute out")
            .value(),
        PlaceOf(traced_, traced_.at(id))));
  }
  NodeSpec spec = SpecOf(id);
  spec.inputs = {local};
  spec.attrs = {{"shape", slice}};
  return builder_.Emit(std::move(spec));
}

Status LocalBuilder::TranslateReshape(NodeId id) {
  const Node& node = traced_.at(id);
  const ValueId input = node.inputs.front();
  const Value& traced_input = traced_.at(input);
  const Shape& target = traced_.at(node.outputs.front()).type.shape;
  const SharedValue<TensorLayout> from = LayoutOf(input);
  const std::optional<TensorLayout> wanted = wanted_.Of(node.outputs.front());
  const TensorLayout to =
      wanted ? PlainLayoutOf(*wanted) : ReplicatedLayout(StageDevices(config_), target);
  ValueId local = locals_[ToIndex(input)].id;
  if (traced_input.kind == ValueKind::kParameter) {
    DRYDOCK_TRY(local, Mirrored(input));
  }
  DRYDOCK_TRY(const bool skip, BoolAttr(node.attrs, "skip_redistribution", false));
  if (skip) {
    DRYDOCK_TRY(const ValueId result, ReshapeOfSlices(id, local, to));
    SetOutputs(id, {result}, {});
    locals_[ToIndex(node.outputs.front())].layout = to;
    return {};
  }
  const RedistributionLabel label{.producer_name = NameOf(input), .reason_text = ShortNameOf(id)};
  const RedistributionOptions options{
      .enable_alltoall = config_.enable_alltoall,
      .keep_reshape = true,
      .cheapest = config_.redistribution == RedistributionSearch::kOptimal};
  const std::size_t before = builder_.graph().nodes.size();
  DRYDOCK_TRY(const ValueId result,
              EmitRedistribution(builder_, local, *from, to, options, label, SpecOf(id)));
  if (builder_.graph().nodes.size() > before + 1) {
    ++redistribution_count_;
  } else if (builder_.graph().nodes.size() == before + 1) {
    // A single local Reshape is the user's own operator, not an inserted one.
    Node& reshape = builder_.mutable_graph().nodes.back();
    reshape.instance_name = node.instance_name;
    reshape.reason = CommReason::kNone;
    reshape.reason_text.clear();
  }
  SetOutputs(id, {result}, {});
  locals_[ToIndex(node.outputs.front())].layout = to;
  return {};
}

Status LocalBuilder::TranslatePassing(NodeId id) {
  const Node& node = traced_.at(id);
  NodeSpec spec = SpecOf(id);
  for (const ValueId input : node.inputs) {
    ValueId local = input == kNoValue ? kNoValue : locals_[ToIndex(input)].id;
    if (input != kNoValue && traced_.at(input).kind == ValueKind::kParameter) {
      DRYDOCK_TRY(local, Mirrored(input));
    }
    spec.inputs.push_back(local);
  }
  DRYDOCK_TRY(const NodeId local, builder_.AddNode(std::move(spec)));
  const std::vector<ValueId> outputs = builder_.graph().at(local).outputs;
  SetOutputs(id, outputs, {});
  if (!node.inputs.empty() && node.inputs.front() != kNoValue) {
    for (const ValueId output : node.outputs) {
      if (traced_.at(output).type.shape == traced_.at(node.inputs.front()).type.shape) {
        locals_[ToIndex(output)].layout = LayoutOf(node.inputs.front());
      }
    }
  }
  return {};
}

Status LocalBuilder::TranslateGradient(NodeId id) {
  const Node& node = traced_.at(id);
  DRYDOCK_TRY(const bool has_sens, BoolAttr(node.attrs, "has_sens", false));
  const std::size_t wrt_end = node.inputs.size() - (has_sens ? 1 : 0);
  std::vector<ValueId> wrt;
  for (std::size_t i = 1; i < wrt_end; ++i) {
    wrt.push_back(locals_[ToIndex(node.inputs[i])].id);
  }
  const ValueId sens = has_sens ? locals_[ToIndex(node.inputs.back())].id : kNoValue;
  DRYDOCK_TRY(const Derivative derivative,
              Differentiate(builder_, locals_[ToIndex(node.inputs.front())].id, wrt, sens));
  const std::vector<ValueId>& gradients = derivative.gradients;
  NoteStopped(derivative.stopped);
  for (std::size_t i = 0; i < node.outputs.size() && i < gradients.size(); ++i) {
    Local& local = locals_[ToIndex(node.outputs[i])];
    local.id = gradients[i];
    local.layout = locals_[ToIndex(node.inputs[i + 1])].layout;
    Value& value = builder_.mutable_graph().values[ToIndex(gradients[i])];
    if (value.name.empty() && value.kind == ValueKind::kOutput) {
      value.name = "grad." + traced_.at(node.inputs[i + 1]).name;
    }
  }
  return {};
}

void LocalBuilder::NoteStopped(std::span<const NodeId> stopped) {
  for (const NodeId id : stopped) {
    const Node& node = builder_.graph().at(id);
    AddDiagnostic(diagnostics_, {.code = "no-backward",
                                 .text = "'" + node.op +
                                         "' has no backward form: gradients end there, and what "
                                         "lies before it gets zeros",
                                 .first_place = PlaceOf(builder_.graph(), node),
                                 .unsupported = true});
  }
}

}  // namespace drydock::strategies
