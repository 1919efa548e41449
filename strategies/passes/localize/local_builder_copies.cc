#include <algorithm>

#include "strategies/layout/interleave.h"
#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/local_builder.h"
#include "strategies/passes/localize/redistribute_copies.h"

/// Steps of the local builder for interleaved layouts.
///
/// An operator cut along the axis of copies is done once per copy, on the slices of that copy.
/// Values between such operators stay apart; whoever wants a value whole per rank gets the copies
/// joined first. What the rule engine says of virtual ranks is brought to real ranks after
/// emission. Source: spec layout-and-redistribution 2.1.
namespace drydock::strategies {
namespace {

/// The layout in which a rank holds what its copies hold together, as far as it is one slice.
TensorLayout JoinedLayout(const TensorLayout& layout) {
  TensorLayout joined = layout;
  for (auto& axes : joined.tensor_map) {
    std::erase(axes, 0);
  }
  joined.trailing_none.clear();
  return WithoutCopies(joined);
}

}  // namespace

TensorLayout LocalBuilder::PlainLayoutOf(const TensorLayout& layout) {
  return layout.interleave > 1 ? JoinedLayout(layout) : layout;
}

Status LocalBuilder::JoinCopies(ValueId value) {
  const Local& local = locals_[ToIndex(value)];
  if (local.id != kNoValue || local.copies.empty()) {
    return {};
  }
  const Value& traced = traced_.at(value);
  const RedistributionLabel label{.producer_name = NameOf(value),
                                  .reason_text = "copies of " + ShortNameOf(traced.producer),
                                  .trailing_underscore = NamesEndInUnderscore()};
  const TensorLayout to = JoinedLayout(*local.layout);
  DRYDOCK_TRY(const std::vector<ValueId> joined,
              EmitCopyRedistribution(builder_, local.copies, *local.layout,
                                     WithCopies(to, local.layout->interleave), label,
                                     SpecOf(traced.producer)));
  locals_[ToIndex(value)].id = joined.front();
  return {};
}

Result<std::vector<ValueId>> LocalBuilder::OperandCopies(NodeId user, std::size_t operand,
                                                         const TensorLayout& wanted) {
  const ValueId value = traced_.at(user).inputs[operand];
  const Value& traced = traced_.at(value);
  const auto copies = static_cast<std::size_t>(wanted.interleave);
  if (!CopiesDiffer(wanted)) {
    DRYDOCK_RETURN_IF_ERROR(JoinCopies(value));
    DRYDOCK_TRY(const ValueId shared, Operand(user, operand, WithoutCopies(wanted)));
    return std::vector<ValueId>(copies, shared);
  }
  if (traced.kind == ValueKind::kParameter) {
    return FailInput(traced_.at(user).op + ":layout-interleaved-parameter",
                     "parameter '" + traced.name + "' is cut along 'interleaved_parallel'",
                     "leave that axis out of the parameter's layout");
  }
  if (traced.kind == ValueKind::kConstant) {
    return ConstantCopies(user, value, wanted);
  }
  const Local& local = locals_[ToIndex(value)];
  std::vector<ValueId> have = local.copies;
  TensorLayout from = have.empty() ? TensorLayout() : *local.layout;
  if (have.empty()) {
    have.assign(copies, local.id);
    from = WithCopies(*LayoutOf(value), wanted.interleave);
  }
  if (SameOwnership(from, wanted)) {
    return have;
  }
  const NodeId producer = traced.kind == ValueKind::kOutput ? traced.producer : user;
  const RedistributionLabel label{
      .producer_name = NameOf(value),
      .reason_text = (traced.kind == ValueKind::kOutput ? ShortNameOf(producer) : traced.name) +
                     " -> copies of " + ShortNameOf(user),
      .trailing_underscore = NamesEndInUnderscore()};
  NodeSpec base = SpecOf(producer);
  base.phase = Phase::kForward;
  ++redistribution_count_;
  return EmitCopyRedistribution(builder_, have, from, wanted, label, base);
}

Result<std::vector<ValueId>> LocalBuilder::ConstantCopies(NodeId user, ValueId value,
                                                          const TensorLayout& wanted) {
  std::vector<ValueId> slices;
  for (std::int64_t copy = 0; copy < wanted.interleave; ++copy) {
    const std::size_t first = builder_.graph().nodes.size();
    DRYDOCK_TRY(const ValueId slice, ConstantSlice(value, wanted, SpecOf(user)));
    DRYDOCK_RETURN_IF_ERROR(MapToCopy(builder_.mutable_graph(), first, wanted.interleave, copy));
    slices.push_back(slice);
  }
  return slices;
}

Status LocalBuilder::TranslateCopies(NodeId id, const OpSharding& sharding) {
  const Node& node = traced_.at(id);
  const auto copies = static_cast<std::size_t>(sharding.interleave);
  std::vector<std::vector<ValueId>> operands(copies);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    std::vector<ValueId> values(copies, kNoValue);
    if (node.inputs[i] != kNoValue) {
      DRYDOCK_TRY(values, OperandCopies(id, i, sharding.inputs[TensorIndex(node, i)]));
    }
    for (std::size_t copy = 0; copy < copies; ++copy) {
      operands[copy].push_back(values[copy]);
    }
  }
  std::vector<std::vector<ValueId>> results(node.outputs.size());  // per output: per copy
  for (std::size_t copy = 0; copy < copies; ++copy) {
    DRYDOCK_TRY(NodeSpec spec, [&]() -> Result<NodeSpec> {
      NodeSpec made = SpecOf(id);
      DRYDOCK_TRY(made.inputs, WithLossDivision(id, sharding, std::move(operands[copy])));
      return made;
    }());
    const std::size_t first = builder_.graph().nodes.size();
    DRYDOCK_TRY(const std::vector<ValueId> outputs, EmitLocal(id, sharding, std::move(spec)));
    DRYDOCK_RETURN_IF_ERROR(MapToCopy(builder_.mutable_graph(), first, sharding.interleave,
                                      static_cast<std::int64_t>(copy)));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      results[i].push_back(outputs[i]);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    DRYDOCK_TRY(results[i], CompleteCopies(id, sharding, i, std::move(results[i])));
    DRYDOCK_RETURN_IF_ERROR(SetCopies(id, i, sharding.outputs[i], std::move(results[i])));
  }
  return {};
}

Result<std::vector<ValueId>> LocalBuilder::CompleteCopies(NodeId id, const OpSharding& sharding,
                                                          std::size_t output,
                                                          std::vector<ValueId> values) {
  std::int64_t index = 0;
  for (const OpSharding::Communication& communication : sharding.communication) {
    if (static_cast<std::size_t>(communication.what.output) != output) {
      continue;
    }
    const GroupPattern within = WithinRank(communication.group, sharding.interleave);
    if (GroupSize(within) > 1) {
      DRYDOCK_TRY(values, SumWithin(id, communication.what, within, std::move(values)));
    }
    OpSharding::Communication across = communication;
    across.group = AcrossRanks(communication.group, sharding.interleave);
    const double divisor = static_cast<double>(GroupSize(communication.group));
    const std::vector<ValueId> partial = values;
    for (std::size_t copy = 0; copy < values.size(); ++copy) {
      const auto first =
          static_cast<std::size_t>(std::ranges::find(partial, partial[copy]) - partial.begin());
      if (first < copy) {
        values[copy] = values[first];
      } else {
        DRYDOCK_TRY(values[copy], CompletePartial(id, across, index, divisor, values[copy]));
      }
    }
    ++index;
  }
  return values;
}

Result<std::vector<ValueId>> LocalBuilder::SumWithin(NodeId id, const ForwardCommunication& what,
                                                     const GroupPattern& within,
                                                     std::vector<ValueId> values) {
  if (what.reduce_op != "sum" || what.kind != ForwardCommunication::Kind::kAllReduce) {
    return Fail(ErrorCode::kUnsupported,
                "the partial " + what.reduce_op + " of '" + traced_.at(id).op +
                    "' over interleaved copies is not handled",
                "leave 'interleaved_parallel' out of the reduced dimension");
  }
  const std::vector<ValueId> parts = values;
  for (std::size_t copy = 0; copy < values.size(); ++copy) {
    const auto position = static_cast<std::int64_t>(copy);
    const auto leader = static_cast<std::size_t>(GroupLeader(within, position));
    if (leader != copy) {
      values[copy] = values[leader];
      continue;
    }
    for (const std::int64_t member : GroupRanks(within, position, 0)) {
      if (member == position) {
        continue;
      }
      NodeSpec spec = SpecOf(id);
      spec.op = ops::kAdd;
      spec.attrs = {};
      spec.instance_name.clear();
      spec.inputs = {values[copy], parts[static_cast<std::size_t>(member)]};
      DRYDOCK_TRY(values[copy], builder_.Emit(std::move(spec)));
    }
  }
  return values;
}

Status LocalBuilder::SetCopies(NodeId id, std::size_t output, const TensorLayout& layout,
                               std::vector<ValueId> values) {
  for (const ValueId value : values) {
    DRYDOCK_RETURN_IF_ERROR(CheckLocalResult(id, output, value, layout));
  }
  Local& local = locals_[ToIndex(traced_.at(id).outputs[output])];
  if (CopiesDiffer(layout)) {
    local = {.layout = layout, .copies = std::move(values)};
    return {};
  }
  if (std::ranges::any_of(values, [&](ValueId value) { return value != values.front(); })) {
    return Fail(ErrorCode::kUnsupported, "result " + std::to_string(output) + " of '" +
                                             traced_.at(id).op +
                                             "' would differ between interleaved copies");
  }
  local = {.id = values.front(), .layout = WithoutCopies(layout)};
  return {};
}

}  // namespace drydock::strategies
