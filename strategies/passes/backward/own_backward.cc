#include "strategies/passes/backward/own_backward.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// The backward pass that a cell gives itself (`bprop`).
///
/// The recorder runs `bprop` with placeholders for the gradients of the results and leaves what it
/// computes behind the cell, marked (rules/system/cell_backward.cc). By the time of differentiation
/// those nodes stand on slices as everything else does. Where the sweep comes to them, they are
/// copied with the gradients that have arrived in place of the placeholders, and what they answer
/// goes on to the operands of the cell. What is inside of the cell gets no gradient, so its
/// parameters get none either. Nobody reads the nodes that were copied; they go with what is dead.
///
/// Example: a cell that computes y = log_softmax(x) with `bprop(x, y, dy)` that returns dy: no sum
/// over classes in backward.
/// Source: mindspore/ccsrc/frontend/optimizer/ad/kprim.cc (BpropCut aside, graphs with `bprop`)
namespace drydock::strategies {
namespace {

bool IsPart(const Node& node, std::string_view part) {
  const auto found = node.attrs.find(kOwnBackward);
  return found != node.attrs.end() && found->second == Attr(std::string(part));
}

/// Copies nodes with other operands.
class Copier {
 public:
  explicit Copier(GraphBuilder& builder) : builder_(builder) {}

  void Replace(ValueId from, ValueId to) { copies_[from] = to; }

  [[nodiscard]] ValueId Of(ValueId id) const {
    const auto found = copies_.find(id);
    return found == copies_.end() ? id : found->second;
  }

  void Copy(NodeId id) {
    const Node node = builder_.graph().at(id);
    NodeSpec spec{.op = node.op,
                  .attrs = node.attrs,
                  .scope = node.scope,
                  .instance_name = node.instance_name,
                  .place = node.place,
                  .phase = Phase::kBackward};
    spec.attrs.erase(std::string(kOwnBackward));
    for (const ValueId input : node.inputs) {
      spec.inputs.push_back(Of(input));
    }
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs) {
      types.push_back(builder_.TypeOf(output));
    }
    const NodeId copy = builder_.AddNodeWithTypes(std::move(spec), std::move(types));
    Node& made = builder_.mutable_graph().nodes[ToIndex(copy)];
    made.group = node.group;
    made.reason = node.reason;
    made.reason_text = node.reason_text;
    made.origin = node.origin;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Replace(node.outputs[i], made.outputs[i]);
    }
  }

 private:
  GraphBuilder& builder_;
  std::unordered_map<ValueId, ValueId> copies_;
};

}  // namespace

bool EndsOwnBackward(const Node& node) {
  return IsPart(node, kOwnEnds);
}

NodeId BeginOfOwnBackward(const Graph& graph, NodeId end) {
  std::size_t n = ToIndex(end);
  while (n > 0 && !IsPart(graph.nodes[n], kOwnBegins)) {
    --n;
  }
  return NodeId{static_cast<std::int32_t>(n)};
}

std::vector<ValueId> EmitOwnBackward(GraphBuilder& builder, NodeId begin, NodeId end,
                                     std::span<const ValueId> arriving) {
  Copier copier(builder);
  const std::vector<ValueId> seeds = builder.graph().at(begin).outputs;
  for (std::size_t i = 0; i < seeds.size() && i < arriving.size(); ++i) {
    copier.Replace(seeds[i], arriving[i]);
  }
  for (std::size_t n = ToIndex(begin) + 1; n < ToIndex(end); ++n) {
    copier.Copy(NodeId{static_cast<std::int32_t>(n)});
  }
  const std::vector<ValueId> operands = builder.graph().at(end).inputs;
  std::vector<ValueId> answers;
  for (std::size_t i = operands.size() / 2; i < operands.size(); ++i) {
    answers.push_back(copier.Of(operands[i]));
  }
  return answers;
}

}  // namespace drydock::strategies
