#include "strategies/passes/localize/copies.h"

#include <algorithm>

#include "strategies/graph/place_notes.h"
#include "strategies/layout/interleave.h"
#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/loss_division.h"
#include "strategies/passes/localize/operands.h"
#include "strategies/passes/localize/partial_results.h"
#include "strategies/passes/localize/redistribute_copies.h"
#include "strategies/passes/localize/slices.h"

/// Interleaved layouts: a rank holds several slices, as if it were several ranks.
///
/// An operator cut along the axis of copies is done once per copy, on the slices of that copy.
/// Values between such operators stay apart; whoever wants a value whole per rank gets the copies
/// joined first. What the rule engine says of virtual ranks is brought to real ranks after
/// emission.
///
/// Example: two MatMuls cut 2 times along the copies: rank 0 computes rows 0-15 and rows 32-47 in
/// two kernels each, and joins them behind the second.
/// Source: mindspore/python/mindspore/parallel/shard.py (Layout, "interleaved_parallel")
namespace drydock::strategies {
namespace {

Result<std::vector<ValueId>> ConstantCopies(LocalDraft& draft, NodeId user, ValueId value,
                                            const TensorLayout& wanted) {
  std::vector<ValueId> slices;
  for (std::int64_t copy = 0; copy < wanted.interleave; ++copy) {
    const std::size_t first = draft.builder.graph().nodes.size();
    DRYDOCK_TRY(const ValueId slice, SliceConstant(draft, value, wanted, SpecOf(draft, user)));
    DRYDOCK_RETURN_IF_ERROR(
        MapToCopy(draft.builder.mutable_graph(), first, wanted.interleave, copy));
    slices.push_back(slice);
  }
  return slices;
}

Result<std::vector<ValueId>> OperandCopies(LocalDraft& draft, NodeId user, std::size_t operand,
                                           const TensorLayout& wanted) {
  const ValueId value = draft.traced.at(user).inputs[operand];
  const Value& traced = draft.traced.at(value);
  const auto copies = static_cast<std::size_t>(wanted.interleave);
  if (!CopiesDiffer(wanted)) {
    DRYDOCK_RETURN_IF_ERROR(JoinCopies(draft, value));
    DRYDOCK_TRY(const ValueId shared, BringOperand(draft, user, operand, WithoutCopies(wanted)));
    return std::vector<ValueId>(copies, shared);
  }
  if (traced.kind == ValueKind::kParameter) {
    return tl::unexpected(
        AtParameter(FailInput(draft.traced.at(user).op + ":layout-interleaved-parameter",
                              "parameter '" + traced.name + "' is cut along 'interleaved_parallel'",
                              "leave that axis out of the parameter's layout")
                        .value(),
                    draft.traced, value));
  }
  if (traced.kind == ValueKind::kConstant) {
    return ConstantCopies(draft, user, value, wanted);
  }
  const Counterpart& local = draft.Of(value);
  std::vector<ValueId> have = local.copies;
  TensorLayout from = have.empty() ? TensorLayout() : *local.layout;
  if (have.empty()) {
    have.assign(copies, local.id);
    from = WithCopies(*LayoutOf(draft, value), wanted.interleave);
  }
  if (SameOwnership(from, wanted)) {
    return have;
  }
  const NodeId producer = traced.kind == ValueKind::kOutput ? traced.producer : user;
  const RedistributionLabel label = LabelOf(
      draft, value, ShortNameOf(draft, value) + " -> copies of " + ShortNameOf(draft, user));
  NodeSpec base = SpecOf(draft, producer);
  base.phase = Phase::kForward;
  ++draft.redistribution_count;
  return EmitCopyRedistribution(draft.builder, have, from, wanted, label, base);
}

Result<std::vector<ValueId>> SumWithin(LocalDraft& draft, NodeId id,
                                       const ForwardCommunication& what, const GroupPattern& within,
                                       std::vector<ValueId> values) {
  if (what.reduce_op != "sum" || what.kind != ForwardCommunication::Kind::kAllReduce) {
    return Fail(ErrorCode::kUnsupported,
                "the partial " + what.reduce_op + " of '" + draft.traced.at(id).op +
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
      NodeSpec spec = SpecOf(draft, id);
      spec.op = ops::kAdd;
      spec.attrs = {};
      spec.instance_name.clear();
      spec.inputs = {values[copy], parts[static_cast<std::size_t>(member)]};
      DRYDOCK_TRY(values[copy], draft.builder.Emit(std::move(spec)));
    }
  }
  return values;
}

Result<std::vector<ValueId>> CompleteCopies(LocalDraft& draft, NodeId id,
                                            const OpSharding& sharding, std::size_t output,
                                            std::vector<ValueId> values) {
  std::int64_t index = 0;
  for (const OpSharding::Communication& communication : sharding.communication) {
    if (static_cast<std::size_t>(communication.what.output) != output) {
      continue;
    }
    const GroupPattern within = WithinRank(communication.group, sharding.interleave);
    if (GroupSize(within) > 1) {
      DRYDOCK_TRY(values, SumWithin(draft, id, communication.what, within, std::move(values)));
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
        DRYDOCK_TRY(values[copy], CompletePartial(draft, id, across, index, divisor, values[copy]));
      }
    }
    ++index;
  }
  return values;
}

Status SetCopies(LocalDraft& draft, NodeId id, std::size_t output, const TensorLayout& layout,
                 std::vector<ValueId> values) {
  for (const ValueId value : values) {
    DRYDOCK_RETURN_IF_ERROR(CheckLocalResult(draft, id, output, value, layout));
  }
  Counterpart& local = draft.Of(draft.traced.at(id).outputs[output]);
  if (CopiesDiffer(layout)) {
    local = {.layout = layout, .copies = std::move(values)};
    return {};
  }
  if (std::ranges::any_of(values, [&](ValueId value) { return value != values.front(); })) {
    return Fail(ErrorCode::kUnsupported, "result " + std::to_string(output) + " of '" +
                                             draft.traced.at(id).op +
                                             "' would differ between interleaved copies");
  }
  local = {.id = values.front(), .layout = WithoutCopies(layout)};
  return {};
}

}  // namespace

TensorLayout JoinedLayout(const TensorLayout& layout) {
  if (layout.interleave <= 1) {
    return layout;
  }
  TensorLayout joined = layout;
  for (auto& axes : joined.tensor_map) {
    std::erase(axes, 0);
  }
  joined.trailing_none.clear();
  return WithoutCopies(joined);
}

Status JoinCopies(LocalDraft& draft, ValueId value) {
  const Counterpart& local = draft.Of(value);
  if (local.id != kNoValue || local.copies.empty()) {
    return {};
  }
  const Value& traced = draft.traced.at(value);
  const RedistributionLabel label =
      LabelOf(draft, value, "copies of " + ShortNameOf(draft, traced.producer));
  const TensorLayout to = JoinedLayout(*local.layout);
  const std::size_t first = draft.builder.graph().nodes.size();
  DRYDOCK_TRY(const std::vector<ValueId> joined,
              EmitCopyRedistribution(draft.builder, local.copies, *local.layout,
                                     WithCopies(to, local.layout->interleave), label,
                                     SpecOf(draft, traced.producer)));
  draft.Of(value).id = joined.front();
  if (draft.traced.at(traced.producer).stage >= 0) {
    // Who asks for it may be in another stage, or in another part of this one.
    std::vector<Node>& nodes = draft.builder.mutable_graph().nodes;
    for (std::size_t n = first; n < nodes.size(); ++n) {
      nodes[n].origin = traced.producer;
    }
  }
  return {};
}

Status LocalizeCopies(LocalDraft& draft, NodeId id, const OpSharding& sharding) {
  const Node& node = draft.traced.at(id);
  const auto copies = static_cast<std::size_t>(sharding.interleave);
  std::vector<std::vector<ValueId>> operands(copies);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    std::vector<ValueId> values(copies, kNoValue);
    if (node.inputs[i] != kNoValue) {
      DRYDOCK_TRY(values, OperandCopies(draft, id, i, sharding.inputs[TensorIndex(node, i)]));
    }
    for (std::size_t copy = 0; copy < copies; ++copy) {
      operands[copy].push_back(values[copy]);
    }
  }
  std::vector<std::vector<ValueId>> results(node.outputs.size());  // per output: per copy
  for (std::size_t copy = 0; copy < copies; ++copy) {
    DRYDOCK_TRY(NodeSpec spec, [&]() -> Result<NodeSpec> {
      NodeSpec made = SpecOf(draft, id);
      DRYDOCK_TRY(made.inputs, DivideLoss(draft, id, sharding, std::move(operands[copy])));
      return made;
    }());
    const std::size_t first = draft.builder.graph().nodes.size();
    DRYDOCK_TRY(const std::vector<ValueId> outputs,
                EmitOnSlices(draft, id, sharding, std::move(spec)));
    DRYDOCK_RETURN_IF_ERROR(MapToCopy(draft.builder.mutable_graph(), first, sharding.interleave,
                                      static_cast<std::int64_t>(copy)));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      results[i].push_back(outputs[i]);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    DRYDOCK_TRY(results[i], CompleteCopies(draft, id, sharding, i, std::move(results[i])));
    DRYDOCK_RETURN_IF_ERROR(SetCopies(draft, id, i, sharding.outputs[i], std::move(results[i])));
  }
  return {};
}

}  // namespace drydock::strategies
