#include "strategies/passes/localize/operands.h"

#include "base/text.h"
#include "strategies/graph/kept_constant.h"
#include "strategies/graph/place_notes.h"
#include "strategies/operators/known_ops.h"
#include "strategies/passes/localize/mirror.h"
#include "strategies/passes/localize/weight_shard.h"
#include "strategies/program/micro_nodes.h"

/// Operands in the layout that their operator wants.
///
/// An operator's strategy says how each operand has to lie; its producer's strategy says how it
/// does. Where these own different slices, a chain of AllGather, Split and AlltoAll brings one to
/// the other (strategies/layout/redistribution.h), one for each operator, of which only the
/// AllGathers are merged (merge_gathers.h). Constants are there whole, so a slice is cut out of
/// them; weights lie as wanted from the start and only pass their mirror.
///
/// Example: x is cut (2, 1) and MatMul wants (1, 2): one AlltoAll, or AllGather and Split.
/// Source: mindspore/ccsrc/frontend/parallel/parallel_processer.cc (StepRedistribution)
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

Result<ValueId> BringWeight(LocalDraft& draft, NodeId user, std::size_t operand,
                            const TensorLayout& wanted) {
  const ValueId value = draft.traced.at(user).inputs[operand];
  const SharedValue<TensorLayout> from = UsedLayout(draft, value);
  if (!SameOwnership(*from, wanted)) {
    return tl::unexpected(AtParameter(
        FailInput("parameter:two-layouts",
                  "parameter '" + draft.traced.at(value).name +
                      "' is wanted in two layouts: slices of " + TupleText(SliceShape(*from)) +
                      " and of " + TupleText(SliceShape(wanted)) + " by '" +
                      draft.traced.at(user).op + "'",
                  "give all operators that use the parameter the same cuts of it")
            .value(),
        draft.traced, value));
  }
  return MirroredWeight(draft, user, operand);
}

/// The operator that says what a value's communication does in backward: the one that makes it, or,
/// behind casts that say nothing, the one in front of them.
const Node& SpeakerOf(const Graph& traced, ValueId value) {
  const Node* node = &traced.at(traced.at(value).producer);
  while (node->entry->is_cast && !node->attrs.contains(kRecomputeCommunication) &&
         traced.at(node->inputs.front()).kind == ValueKind::kOutput) {
    node = &traced.at(traced.at(node->inputs.front()).producer);
  }
  return *node;
}

/// What lies between two operators is recomputed if the one behind it says so, or else the one in
/// front of it.
void TellRecomputation(LocalDraft& draft, ValueId value, NodeId user, std::size_t first_new_node) {
  const Value& traced = draft.traced.at(value);
  if (traced.kind == ValueKind::kOutput) {
    MarkCommunication(draft.builder, SpeakerOf(draft.traced, value), first_new_node);
    MarkCommunication(draft.builder, draft.traced.at(user), first_new_node);
  }
}

/// In a pipeline the first operator with a weight is marked, and so is what is redistributed for
/// it: it is equal to nothing that others redistribute. Not so in a graph that all micro batches
/// call, where nobody is marked.
bool StandsApart(const LocalDraft& draft, NodeId user) {
  return draft.config.pipeline_stages > 1 && !draft.config.pipeline_interleave &&
         draft.traced.at(user).attrs.contains(kFirstParameterUser) &&
         !CallsSharedGraph(draft.traced);
}

Result<ValueId> Redistributed(LocalDraft& draft, NodeId user, ValueId value,
                              const TensorLayout& wanted, const NodeSpec& base) {
  const SharedValue<TensorLayout> from = LayoutOf(draft, value);
  const ValueId local = draft.Of(value).id;
  if (SameOwnership(*from, wanted)) {
    return local;
  }
  const bool apart = StandsApart(draft, user);
  const RedistributionLabel label =
      LabelOf(draft, value,
              ShortNameOf(draft, value) + " " + TupleText(CutsOf(*from)) + " -> " +
                  ShortNameOf(draft, user) + " " + TupleText(CutsOf(wanted)));
  RedistributionOptions options = OptionsOf(draft.config);
  options.cheapest = draft.config.redistribution == RedistributionSearch::kOptimal;
  const std::size_t first_new_node = draft.builder.graph().nodes.size();
  DRYDOCK_TRY(const auto chain, InferRedistribution(*from, wanted, options));
  DRYDOCK_TRY(const ValueId result, EmitRedistribution(draft.builder, local, chain, label, base));
  TellRecomputation(draft, value, user, first_new_node);
  // What all stages have, each redistributes for itself.
  const bool fresh =
      draft.redistributed
          .emplace(local, LayoutKey(wanted) + "@" + std::to_string(draft.traced.at(user).stage))
          .second;
  draft.redistribution_count += fresh ? 1 : 0;
  for (std::size_t n = first_new_node; apart && n < draft.builder.graph().nodes.size(); ++n) {
    draft.builder.mutable_graph().nodes[n].attrs["segment"] = std::int64_t{0};
  }
  return result;
}

}  // namespace

RedistributionLabel LabelOf(const LocalDraft& draft, ValueId value, std::string reason_text) {
  return {.producer_name = NameOf(draft, value),
          .reason_text = std::move(reason_text),
          .trailing_underscore = draft.config.compat > kPlainRedistributionNames};
}

Result<ValueId> BringOperand(LocalDraft& draft, NodeId user, std::size_t operand,
                             const TensorLayout& wanted) {
  const ValueId value = draft.traced.at(user).inputs[operand];
  const Value& traced = draft.traced.at(value);
  NodeSpec base = SpecOf(draft, traced.kind == ValueKind::kOutput ? traced.producer : user);
  base.phase = Phase::kForward;
  base.scope = draft.traced.at(user).scope;
  switch (traced.kind) {
    case ValueKind::kConstant:
      return SliceConstant(draft, value, wanted, base);
    case ValueKind::kParameter:
      return BringWeight(draft, user, operand, wanted);
    default:
      return Redistributed(draft, user, value, wanted, base);
  }
}

Result<ValueId> SliceConstant(LocalDraft& draft, ValueId value, const TensorLayout& wanted,
                              const NodeSpec& base) {
  const ValueId local = draft.Of(value).id;
  const Shape slice = SliceShape(wanted);
  if (slice == draft.traced.at(value).type.shape) {
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
  spec.instance_name = std::string(kSplitTensor);
  return draft.builder.Emit(std::move(spec));
}

}  // namespace drydock::strategies
