#include "strategies/passes/backward/fuse_kernels.h"

#include <algorithm>

#include "strategies/operators/op_entry.h"
#include "strategies/passes/prepare/rewrite.h"

/// Kernels that Ascend has for two operators in a row.
///
/// The entry of the second operator names the first one and the kernel (KernelFusion). The kernel
/// runs where the first operator stood, so that other readers of its result find it; what the
/// second one reads besides moves in front of it, unless it is made of the first one's result.
/// Example: x + y is normalised and also added to what follows; AddRmsNorm gives the normal, the
/// scale and the sum. Source: mindspore
/// ccsrc/plugin/device/ascend/optimizer/ir_fusion/add_rms_norm_fusion.cc (behaviour only).
namespace drydock::strategies {
namespace {

/// The nodes in an order in which operands come first; otherwise as they are. Kept flags follow.
Graph InOrder(Graph graph, std::vector<bool>& keep) {
  std::vector<Node> ordered;
  std::vector<bool> kept;
  std::vector<bool> placed(graph.nodes.size(), false);
  ordered.reserve(graph.nodes.size());
  std::vector<std::size_t> open;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    open.push_back(n);
    while (!open.empty()) {
      const std::size_t at = open.back();
      const std::size_t before = open.size();
      for (const ValueId input : graph.nodes[at].inputs) {
        const bool made = input != kNoValue && graph.at(input).kind == ValueKind::kOutput;
        if (!placed[at] && made && !placed[ToIndex(graph.at(input).producer)]) {
          open.push_back(ToIndex(graph.at(input).producer));
        }
      }
      if (open.size() > before) {
        continue;
      }
      open.pop_back();
      if (!placed[at]) {
        placed[at] = true;
        ordered.push_back(std::move(graph.nodes[at]));
        kept.push_back(keep[at]);
      }
    }
  }
  graph.nodes = std::move(ordered);
  keep = std::move(kept);
  return graph;
}

class KernelFuser {
 public:
  explicit KernelFuser(Graph graph) : graph_(std::move(graph)), keep_(graph_.nodes.size(), true) {}

  Graph Run() && {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (!node.entry->fusion.first.empty()) {
        TryFuse(n);
      }
    }
    if (std::ranges::find(keep_, false) == keep_.end()) {
      return std::move(graph_);
    }
    const std::vector<ValueId> same(graph_.values.size(), kNoValue);
    return Rewrite(InOrder(std::move(graph_), keep_), keep_, same);
  }

 private:
  /// Whether a value can be there before node `position` runs; `steps` producers are looked at.
  [[nodiscard]] bool MayExistBefore(ValueId id, NodeId position, int steps = 8) const {
    if (id == kNoValue || graph_.at(id).kind != ValueKind::kOutput) {
      return true;
    }
    const NodeId producer = graph_.at(id).producer;
    if (ToInt(producer) < ToInt(position)) {
      return true;
    }
    return producer != position && steps > 0 &&
           std::ranges::all_of(graph_.at(producer).inputs, [&](ValueId input) {
             return MayExistBefore(input, position, steps - 1);
           });
  }

  [[nodiscard]] bool Fits(const Node& first, const Node& second, NodeId position) const {
    const TensorType& type = graph_.at(second.inputs.front()).type;
    const auto is_such = [&](ValueId id) { return id != kNoValue && graph_.at(id).type == type; };
    const auto exists = [&](ValueId id) {
      return id != kNoValue && graph_.at(id).type.dtype == type.dtype &&
             MayExistBefore(id, position);
    };
    return first.entry == FindOp(second.entry->fusion.first) && first.outputs.size() == 1 &&
           std::ranges::all_of(first.inputs, is_such) &&
           std::all_of(second.inputs.begin() + 1, second.inputs.end(), exists);
  }

  void TryFuse(std::size_t n) {
    Node& second = graph_.nodes[n];
    const Value& operand = graph_.at(second.inputs.front());
    if (operand.kind != ValueKind::kOutput) {
      return;
    }
    const NodeId position = operand.producer;
    Node& first = graph_.nodes[ToIndex(position)];
    const OpEntry* const fused = FindOp(second.entry->fusion.fused);
    if (fused == nullptr || !Fits(first, second, position)) {
      return;
    }
    Node kernel = second;
    kernel.op = fused->name;
    kernel.entry = fused;
    kernel.inputs = first.inputs;
    kernel.inputs.insert(kernel.inputs.end(), second.inputs.begin() + 1, second.inputs.end());
    kernel.outputs.push_back(first.outputs.front());
    for (std::size_t i = 0; i < kernel.outputs.size(); ++i) {
      Value& result = graph_.values[ToIndex(kernel.outputs[i])];
      result.producer = position;
      result.output_index = static_cast<std::int32_t>(i);
    }
    first = std::move(kernel);
    keep_[n] = false;
    second.outputs.clear();
  }

  Graph graph_;
  std::vector<bool> keep_;
};

}  // namespace

Graph FuseKernels(Graph graph) {
  return KernelFuser(std::move(graph)).Run();
}

}  // namespace drydock::strategies
