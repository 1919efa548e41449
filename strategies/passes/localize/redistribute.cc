#include "strategies/passes/localize/redistribute.h"

#include "strategies/layout/group_name.h"
#include "strategies/operators/known_ops.h"

namespace drydock::strategies {
namespace {

using Kind = RedistributionOp::Kind;

Attr ExprList(const std::vector<RankExpr>& exprs) {
  Attr::List list;
  for (const RankExpr& expr : exprs) {
    list.push_back(expr.terms.empty() ? Attr(expr.constant) : Attr(expr));
  }
  return list;
}

}  // namespace

std::string_view OpNameOf(RedistributionOp::Kind kind) {
  switch (kind) {
    case Kind::kAllGather:
      return ops::kAllGather;
    case Kind::kSplit:
      return ops::kSplit;
    case Kind::kConcat:
      return ops::kConcat;
    case Kind::kStridedSlice:
      return ops::kStridedSlice;
    case Kind::kReshape:
      return ops::kReshape;
    case Kind::kAlltoAll:
      return ops::kAlltoAll;
  }
  return ops::kReshape;
}

AttrMap AttrsOf(const RedistributionOp& op) {
  switch (op.kind) {
    case Kind::kSplit:
      return {{"axis", op.axis}, {"output_num", op.parts}};
    case Kind::kConcat:
      return {{"axis", op.axis}};
    case Kind::kStridedSlice:
      return {{"begin", ExprList(op.begin)},
              {"end", ExprList(op.end)},
              {"strides", std::vector<std::int64_t>(op.begin.size(), 1)}};
    case Kind::kReshape:
      return {{"shape", op.output_shape}};
    case Kind::kAlltoAll:
      return {
          {"split_count", op.parts}, {"split_dim", op.split_dim}, {"concat_dim", op.concat_dim}};
    case Kind::kAllGather:
      return {};
  }
  return {};
}

std::string RedistributionInstanceName(const RedistributionLabel& label, std::size_t position,
                                       std::string_view op) {
  return InstanceName("redistribution_op_", label.producer_name,
                      static_cast<std::int64_t>(position)) +
         std::string(op) + (label.trailing_underscore ? "_" : "");
}

Result<ValueId> EmitCollective(GraphBuilder& builder, NodeSpec spec, const GroupPattern& group,
                               CommReason reason, std::string reason_text) {
  spec.attrs["rank_size"] = GroupSize(group);
  DRYDOCK_TRY(const NodeId id, builder.AddNode(std::move(spec)));
  Node& node = builder.mutable_graph().nodes[ToIndex(id)];
  node.group = group;
  node.reason = reason;
  node.reason_text = std::move(reason_text);
  return node.outputs.front();
}

namespace {

/// One operator of a redistribution; its results.
Result<std::vector<ValueId>> EmitStep(GraphBuilder& builder, NodeSpec spec,
                                      const RedistributionOp& step, const std::string& reason) {
  if (step.kind == Kind::kAllGather || step.kind == Kind::kAlltoAll) {
    DRYDOCK_TRY(const ValueId output, EmitCollective(builder, std::move(spec), step.group,
                                                     CommReason::kRedistribution, reason));
    return std::vector<ValueId>{output};
  }
  DRYDOCK_TRY(const NodeId id, builder.AddNode(std::move(spec)));
  Node& node = builder.mutable_graph().nodes[ToIndex(id)];
  node.reason = CommReason::kRedistribution;
  node.reason_text = reason;
  return node.outputs;
}

}  // namespace

RedistributionOptions OptionsOf(const JobConfig& config) {
  constexpr CompatRelease kStepsAsFound = {.major = 2, .minor = 0};
  return {.enable_alltoall = config.enable_alltoall, .optimize = config.compat > kStepsAsFound};
}

Result<ValueId> EmitRedistribution(GraphBuilder& builder, ValueId value,
                                   const std::vector<RedistributionOp>& chain,
                                   const RedistributionLabel& label, const NodeSpec& base) {
  // The limit is that of kernels; a layout between the two knows none.
  constexpr std::size_t kMostDimensions = 8;
  std::vector<ValueId> current = {value};
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (const std::size_t dimensions = chain[i].output_shape.size(); dimensions > kMostDimensions) {
      return Fail(ErrorCode::kUnsupported,
                  "the redistribution " + label.reason_text + " passes through a tensor of " +
                      std::to_string(dimensions) + " dimensions, kernels take " +
                      std::to_string(kMostDimensions),
                  "give the operators around it strategies that cut fewer dimensions");
    }
    NodeSpec spec = base;
    spec.op = OpNameOf(chain[i].kind);
    spec.inputs = std::move(current);
    spec.attrs = AttrsOf(chain[i]);
    spec.instance_name = RedistributionInstanceName(label, i, spec.op);
    DRYDOCK_TRY(current, EmitStep(builder, std::move(spec), chain[i], label.reason_text));
  }
  return current.front();
}

void MarkCommunication(GraphBuilder& builder, const Node& traced, std::size_t first_new_node) {
  const auto said = traced.attrs.find(kRecomputeCommunication);
  if (said == traced.attrs.end()) {
    return;
  }
  std::vector<Node>& nodes = builder.mutable_graph().nodes;
  for (std::size_t n = first_new_node; n < nodes.size(); ++n) {
    nodes[n].attrs.insert_or_assign(std::string(kRecompute), said->second);
  }
}

}  // namespace drydock::strategies
