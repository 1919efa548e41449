#include "strategies/passes/backward/differentiate.h"

#include <algorithm>
#include <memory>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/backward/own_backward.h"

namespace drydock::strategies {
namespace {

class ReverseSweep {
 public:
  ReverseSweep(GraphBuilder& builder, std::span<const ValueId> wrt)
      : builder_(builder),
        node_count_(builder.graph().nodes.size()),
        depends_(builder.graph().values.size(), false),
        gradients_(builder.graph().values.size()) {
    for (const ValueId id : wrt) {
      depends_[ToIndex(id)] = true;
    }
    for (const Node& node : builder.graph().nodes) {
      const bool any = std::ranges::any_of(
          node.inputs, [&](ValueId id) { return id != kNoValue && depends_[ToIndex(id)]; });
      for (const ValueId output : node.outputs) {
        depends_[ToIndex(output)] = any || depends_[ToIndex(output)];
      }
    }
  }

  Status Run(ValueId loss, ValueId start) {
    gradients_[ToIndex(loss)] = {start};
    for (std::size_t n = node_count_; n-- > 0;) {
      const Node node = builder_.graph().nodes[n];
      if (EndsOwnBackward(node)) {
        DRYDOCK_RETURN_IF_ERROR(VisitCell(node, static_cast<NodeId>(n)));
        continue;
      }
      const bool reached = std::ranges::any_of(
          node.outputs, [&](ValueId id) { return !gradients_[ToIndex(id)].empty(); });
      if (reached && node.entry->gradient != nullptr) {
        DRYDOCK_RETURN_IF_ERROR(Visit(node, static_cast<NodeId>(n)));
      }
    }
    return {};
  }

  /// What all users of a value sent, as one value; kNoValue if no gradient arrives.
  Result<ValueId> GradientOf(ValueId id) {
    std::vector<ValueId>& parts = gradients_[ToIndex(id)];
    if (parts.empty()) {
      return kNoValue;
    }
    if (parts.size() > 1) {
      std::ranges::reverse(parts);
      DRYDOCK_TRY(const ValueId sum, EmitSum(parts));
      parts = {sum};
    }
    return parts.front();
  }
  [[nodiscard]] const std::vector<NodeId>& stopped() const { return stopped_; }

 private:
  Status Visit(const Node& node, NodeId id) {
    std::vector<ValueId> arriving;
    for (const ValueId output : node.outputs) {
      DRYDOCK_TRY(const ValueId gradient, GradientOf(output));
      arriving.push_back(gradient);
    }
    const auto wanted = std::make_unique<bool[]>(node.inputs.size());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      wanted[i] = node.inputs[i] != kNoValue && depends_[ToIndex(node.inputs[i])];
    }
    const std::span<const bool> wanted_span(wanted.get(), node.inputs.size());
    if (std::ranges::none_of(wanted_span, [](bool w) { return w; })) {
      return {};
    }
    if (node.entry->gradient == &NoBackward) {
      stopped_.push_back(id);
      return {};
    }
    const std::string prefix = node.entry->is_mirror ? "grad_mirror" : "grad";
    const NodeSpec spec{
        .scope = "Gradients/" + node.scope,
        .instance_name = node.instance_name.empty() ? "" : prefix + node.instance_name,
        .place = node.place,
        .phase = Phase::kBackward};
    const GradientContext context{.builder = builder_,
                                  .node = node,
                                  .output_gradients = arriving,
                                  .wanted = wanted_span,
                                  .spec = spec};
    const std::size_t first = builder_.graph().nodes.size();
    Result<std::vector<ValueId>> results = node.entry->gradient(context);
    NoteDerivative(id, first);
    if (node.attrs.contains(kFirstParameterUser)) {
      for (std::size_t n = first; n < builder_.graph().nodes.size(); ++n) {
        builder_.mutable_graph().nodes[n].attrs[std::string(kEndsMicroBatch)] = true;
      }
    }
    if (!results) {
      return tl::unexpected(
          WithPlace(WithNote(std::move(results).error(), "while differentiating " + node.op),
                    PlaceOf(builder_.graph(), node)));
    }
    for (std::size_t i = 0; i < node.inputs.size() && i < results->size(); ++i) {
      if (wanted[i] && (*results)[i] != kNoValue) {
        gradients_[ToIndex(node.inputs[i])].push_back((*results)[i]);
      }
    }
    return {};
  }

  /// A cell that says itself what its gradients are: what is inside of it sees none.
  Status VisitCell(const Node& end, NodeId id) {
    const NodeId begin = BeginOfOwnBackward(builder_.graph(), id);
    const std::vector<ValueId> results = builder_.graph().at(begin).inputs;
    if (std::ranges::all_of(results, [&](ValueId at) { return gradients_[ToIndex(at)].empty(); })) {
      return {};
    }
    const std::size_t first = builder_.graph().nodes.size();
    std::vector<ValueId> arriving;
    for (const ValueId result : results) {
      DRYDOCK_TRY(ValueId gradient, GradientOf(result));
      if (gradient == kNoValue) {
        DRYDOCK_TRY(gradient, builder_.Emit({.op = ops::kZerosLike,
                                             .inputs = {result},
                                             .scope = end.scope,
                                             .place = end.place,
                                             .phase = Phase::kBackward}));
      }
      arriving.push_back(gradient);
    }
    for (const ValueId result : results) {
      gradients_[ToIndex(result)].clear();
    }
    const std::vector<ValueId> answers = EmitOwnBackward(builder_, begin, id, arriving);
    NoteDerivative(id, first);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (end.inputs[i] != kNoValue && answers[i] != kNoValue && depends_[ToIndex(end.inputs[i])]) {
        gradients_[ToIndex(end.inputs[i])].push_back(answers[i]);
      }
    }
    return {};
  }

  /// The node and what its derivative added get one number.
  void NoteDerivative(NodeId id, std::size_t first_new_node) {
    std::vector<Node>& nodes = builder_.mutable_graph().nodes;
    const auto number = static_cast<std::int32_t>(ToInt(id));
    nodes[ToIndex(id)].pair = number;
    for (std::size_t n = first_new_node; n < nodes.size(); ++n) {
      nodes[n].pair = number;
    }
  }

  /// One sum of all parts, in the order of the users; parts of different types are added one by
  /// one, which promotes them.
  Result<ValueId> EmitSum(const std::vector<ValueId>& parts) {
    NodeSpec spec{.scope = "Gradients/Default", .phase = Phase::kBackward};
    const Value& last = builder_.graph().at(parts.back());
    if (last.kind == ValueKind::kOutput) {
      const Node& producer = builder_.graph().at(last.producer);
      spec.scope = producer.scope;
      spec.place = producer.place;
    }
    const bool alike = std::ranges::all_of(parts, [&](ValueId part) {
      return builder_.TypeOf(part) == builder_.TypeOf(parts.front());
    });
    if (alike) {
      spec.op = ops::kAddN;
      spec.inputs = parts;
      return builder_.Emit(std::move(spec));
    }
    ValueId sum = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) {
      spec.op = ops::kAdd;
      spec.inputs = {sum, parts[i]};
      DRYDOCK_TRY(sum, builder_.Emit(spec));
    }
    return sum;
  }

  GraphBuilder& builder_;
  std::size_t node_count_;
  std::vector<bool> depends_;
  std::vector<std::vector<ValueId>> gradients_;  ///< Per value: what its users sent so far.
  std::vector<NodeId> stopped_;
};

}  // namespace

Result<Derivative> Differentiate(GraphBuilder& builder, ValueId loss, std::span<const ValueId> wrt,
                                 ValueId sens) {
  const NodeSpec spec{.scope = "Gradients/Default", .phase = Phase::kBackward};
  ReverseSweep sweep(builder, wrt);
  if (sens == kNoValue) {
    NodeSpec ones = spec;
    ones.op = ops::kOnesLike;
    ones.inputs = {loss};
    DRYDOCK_TRY(sens, builder.Emit(std::move(ones)));
  }
  DRYDOCK_RETURN_IF_ERROR(sweep.Run(loss, sens));
  Derivative derivative{.stopped = sweep.stopped()};
  for (const ValueId id : wrt) {
    DRYDOCK_TRY(ValueId gradient, sweep.GradientOf(id));
    if (gradient == kNoValue) {
      NodeSpec zeros = spec;
      zeros.op = ops::kZerosLike;
      zeros.inputs = {id};
      DRYDOCK_TRY(gradient, builder.Emit(std::move(zeros)));
    }
    derivative.gradients.push_back(gradient);
  }
  return derivative;
}

}  // namespace drydock::strategies
