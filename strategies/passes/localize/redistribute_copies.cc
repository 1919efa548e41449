#include "strategies/passes/localize/redistribute_copies.h"

#include <algorithm>
#include <variant>

#include "base/overloaded.h"
#include "strategies/layout/interleave.h"
#include "strategies/operators/known_ops.h"

namespace drydock::strategies {
namespace {

/// The attribute with its rank expressions for one copy. Lists nest as deep as the operators make
/// them.
Attr OfCopy(const Attr& attr, std::int64_t copies, std::int64_t copy) {
  return std::visit(Overloaded{[&](const RankExpr& expr) {
                                 RankExpr mapped = OfCopy(expr, copies, copy);
                                 return mapped.terms.empty() ? Attr(mapped.constant)
                                                             : Attr(std::move(mapped));
                               },
                               [&](const Attr::List& list) {
                                 Attr::List mapped;
                                 for (const Attr& item : list) {
                                   mapped.push_back(OfCopy(item, copies, copy));
                                 }
                                 return Attr(std::move(mapped));
                               },
                               [&](const auto&) { return attr; }},
                    attr.value);
}

/// Runs a redistribution on all copies of a rank.
class CopyChain {
 public:
  CopyChain(GraphBuilder& builder, const std::vector<ValueId>& copies,
            const RedistributionLabel& label, const NodeSpec& base)
      : builder_(builder), label_(label), base_(base), count_(std::ssize(copies)) {
    for (const ValueId copy : copies) {
      current_.push_back({copy});
    }
  }

  Status Add(const RedistributionOp& op) {
    if (op.kind == RedistributionOp::Kind::kAllGather) {
      DRYDOCK_RETURN_IF_ERROR(JoinWithin(WithinRank(op.group, count_)));
      DRYDOCK_RETURN_IF_ERROR(JoinAcross(AcrossRanks(op.group, count_)));
    } else {
      DRYDOCK_RETURN_IF_ERROR(AddLocal(op));
    }
    ++position_;
    return {};
  }

  [[nodiscard]] std::vector<ValueId> Take() const {
    std::vector<ValueId> values;
    for (const auto& list : current_) {
      values.push_back(list.front());
    }
    return values;
  }

 private:
  /// Copies of a rank that hold parts of one tensor put them together.
  Status JoinWithin(const GroupPattern& group) {
    if (GroupSize(group) == 1) {
      return {};
    }
    const auto before = current_;
    for (std::int64_t copy = 0; copy < count_; ++copy) {
      const auto leader = static_cast<std::size_t>(GroupLeader(group, copy));
      const auto own = static_cast<std::size_t>(copy);
      if (leader != own) {
        current_[own] = current_[leader];
        continue;
      }
      NodeSpec spec = SpecOf(ops::kConcat);
      spec.attrs = {{"axis", 0}};
      for (const std::int64_t member : GroupRanks(group, copy, 0)) {
        spec.inputs.push_back(before[static_cast<std::size_t>(member)].front());
      }
      DRYDOCK_RETURN_IF_ERROR(Emit(std::move(spec), own));
    }
    return {};
  }

  Status JoinAcross(const GroupPattern& group) {
    if (GroupSize(group) == 1) {
      return {};
    }
    const auto before = current_;
    for (std::size_t copy = 0; copy < current_.size(); ++copy) {
      const std::size_t first = FirstEqual(before, copy);
      if (first < copy) {
        current_[copy] = current_[first];
        continue;
      }
      NodeSpec spec = SpecOf(ops::kAllGather);
      spec.inputs = before[copy];
      DRYDOCK_TRY(const ValueId output,
                  EmitCollective(builder_, std::move(spec), group, CommReason::kRedistribution,
                                 label_.reason_text));
      current_[copy] = {output};
    }
    return {};
  }

  Status AddLocal(const RedistributionOp& op) {
    const auto before = current_;
    std::vector<AttrMap> attrs;
    for (std::size_t copy = 0; copy < current_.size(); ++copy) {
      AttrMap mapped = AttrsOf(op);
      for (auto& [name, attr] : mapped) {
        attr = OfCopy(attr, count_, static_cast<std::int64_t>(copy));
      }
      const std::size_t first = FirstEqual(before, copy);
      const bool same = first < copy && attrs[first] == mapped;
      attrs.push_back(mapped);
      if (same) {
        current_[copy] = current_[first];
        continue;
      }
      NodeSpec spec = SpecOf(OpNameOf(op.kind));
      spec.inputs = before[copy];
      spec.attrs = std::move(mapped);
      DRYDOCK_RETURN_IF_ERROR(Emit(std::move(spec), copy));
    }
    return {};
  }

  static std::size_t FirstEqual(const std::vector<std::vector<ValueId>>& values, std::size_t copy) {
    return static_cast<std::size_t>(std::ranges::find(values, values[copy]) - values.begin());
  }

  [[nodiscard]] NodeSpec SpecOf(std::string_view op) const {
    NodeSpec spec = base_;
    spec.op = op;
    spec.attrs = {};
    spec.instance_name = RedistributionInstanceName(label_, position_, op);
    return spec;
  }

  Status Emit(NodeSpec spec, std::size_t copy) {
    DRYDOCK_TRY(const NodeId id, builder_.AddNode(std::move(spec)));
    Node& node = builder_.mutable_graph().nodes[ToIndex(id)];
    node.reason = CommReason::kRedistribution;
    node.reason_text = label_.reason_text;
    current_[copy] = node.outputs;
    return {};
  }

  GraphBuilder& builder_;
  const RedistributionLabel& label_;
  const NodeSpec& base_;
  std::int64_t count_ = 1;
  std::size_t position_ = 0;
  std::vector<std::vector<ValueId>> current_ =
      {};  ///< Per copy: one value, or the parts of a Split.
};

}  // namespace

Result<std::vector<ValueId>> EmitCopyRedistribution(
    GraphBuilder& builder, const std::vector<ValueId>& copies, const TensorLayout& from,
    const TensorLayout& to, const RedistributionLabel& label, const NodeSpec& base) {
  // Steps along single axes, so that no step joins copies and ranks in one go.
  DRYDOCK_TRY(const std::vector<RedistributionOp> ops,
              InferRedistribution(from, to, {.optimize = false}));
  CopyChain chain(builder, copies, label, base);
  for (const RedistributionOp& op : ops) {
    DRYDOCK_RETURN_IF_ERROR(chain.Add(op));
  }
  return chain.Take();
}

Status MapToCopy(Graph& graph, std::size_t first_node, std::int64_t copies, std::int64_t copy) {
  for (std::size_t n = first_node; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (node.group) {
      if (GroupSize(WithinRank(*node.group, copies)) > 1) {
        return Fail(ErrorCode::kUnsupported,
                    "'" + node.op + "' would join interleaved copies of one rank",
                    "leave 'interleaved_parallel' out of the cut dimension");
      }
      node.group = AcrossRanks(*node.group, copies);
      node.attrs["rank_size"] = GroupSize(*node.group);
    }
    for (auto& [name, attr] : node.attrs) {
      attr = OfCopy(attr, copies, copy);
    }
  }
  return {};
}

}  // namespace drydock::strategies
