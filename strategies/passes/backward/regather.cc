#include "strategies/passes/backward/regather.h"

#include <map>
#include <utility>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// Level 3 of a sharded optimizer keeps no gathered weight from the forward to the backward pass.
///
/// Where backward nodes read such a weight they read a second gather of it. That must not run
/// earlier than needed, so its operand is the stored weight behind a Depend on the gradients that
/// the first of these nodes reads.
///
/// Example: y = MatMul(x, w), backward MatMul(dy, w'): w' = AllGather(Depend(rows of w, dy)). A
/// weight whose backward only needs x, that of the first layer, is gathered once. Where a Cast of
/// the gathered weight is read, it is cast again, too.
/// Source: mindspore/ccsrc/frontend/optimizer/recompute.cc, on AllGathers with attribute recompute
namespace drydock::strategies {
namespace {

class Regathering {
 public:
  explicit Regathering(Graph local) : local_(std::move(local)) {
    nodes_.reserve(local_.nodes.size());
  }

  Graph Run() && {
    std::vector<Node> old = std::exchange(local_.nodes, {});
    for (Node& node : old) {
      if (node.phase == Phase::kBackward && node.entry->kind != OpKind::kUpdate) {
        ReadAgain(node);
      }
      const bool gather = node.reason == CommReason::kOptimizerShard && node.group.has_value();
      const bool cast = node.entry->is_cast && node.phase == Phase::kForward &&
                        gathers_.contains(node.inputs.front());
      if (gather || cast) {
        gathers_.emplace(node.outputs.front(), nodes_.size());
      }
      Append(std::move(node));
    }
    local_.nodes = std::move(nodes_);
    return std::move(local_);
  }

 private:
  /// The operands of a backward node that are gathered weights, gathered again.
  void ReadAgain(Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto gather = gathers_.find(node.inputs[i]);
      if (gather == gathers_.end()) {
        continue;
      }
      const auto [again, added] = again_.try_emplace(node.inputs[i], kNoValue);
      if (added) {
        again->second = Gather(gather->second, node);
      }
      node.inputs[i] = again->second;
    }
  }

  /// Operands of a node that backward nodes made.
  [[nodiscard]] std::vector<ValueId> GradientsOf(const Node& node) const {
    std::vector<ValueId> gradients;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue && local_.at(input).kind == ValueKind::kOutput &&
          nodes_[ToIndex(local_.at(input).producer)].phase == Phase::kBackward) {
        gradients.push_back(input);
      }
    }
    return gradients;
  }

  /// Of a Cast of a gathered weight: both anew.
  ValueId Gather(std::size_t gather, const Node& first_reader) {
    Node copy = nodes_[gather];
    if (copy.entry->is_cast) {
      const ValueId whole = Gather(gathers_.at(copy.inputs.front()), first_reader);
      return AppendCopy(std::move(copy), whole);
    }
    Node wait{.op = std::string(ops::kDepend),
              .entry = FindOp(ops::kDepend),
              .inputs = {copy.inputs.front()},
              .scope = copy.scope,
              .place = copy.place,
              .phase = Phase::kBackward,
              .reason = CommReason::kOptimizerShard};
    const std::vector<ValueId> gradients = GradientsOf(first_reader);
    wait.inputs.insert(wait.inputs.end(), gradients.begin(), gradients.end());
    wait.outputs = {NewValue(local_.at(copy.inputs.front()).type)};
    const ValueId waited = wait.outputs.front();
    Append(std::move(wait));
    return AppendCopy(std::move(copy), waited);
  }

  ValueId AppendCopy(Node copy, ValueId input) {
    copy.phase = Phase::kBackward;
    copy.inputs = {input};
    copy.outputs = {NewValue(local_.at(copy.outputs.front()).type)};
    const ValueId result = copy.outputs.front();
    Append(std::move(copy));
    return result;
  }

  ValueId NewValue(const TensorType& type) {
    local_.values.push_back({.kind = ValueKind::kOutput, .type = type});
    return ValueId{static_cast<std::int32_t>(local_.values.size()) - 1};
  }

  void Append(Node node) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Value& value = local_.values[ToIndex(node.outputs[i])];
      value.producer = NodeId{static_cast<std::int32_t>(nodes_.size())};
      value.output_index = static_cast<std::int32_t>(i);
    }
    nodes_.push_back(std::move(node));
  }

  Graph local_;
  std::vector<Node> nodes_ = {};
  std::map<ValueId, std::size_t> gathers_ = {};  ///< Node that gathers a value.
  std::map<ValueId, ValueId> again_ = {};        ///< Gathered value -> the same for backward.
};

}  // namespace

Graph RegatherWeights(Graph local) {
  return Regathering(std::move(local)).Run();
}

}  // namespace drydock::strategies
