#include "strategies/passes/prepare/clean_traced.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/prepare/rewrite.h"

/// Operators that do nothing are gone before any is cut, as in the reference: they have no
/// strategy, force no layout on their neighbours and cost no communication.
///
/// What does nothing is a fact of the operator (OpEntry::simplify); here is the walk, and what of
/// these facts holds so early: a value in place of a result (a Cast to the type that is there, a
/// Transpose in the order that is there, a Tile by ones, x * 1, x + 0), and the same operator on
/// other operands (a Reshape reads what the one in front of it read, a Cast likewise). Constants
/// are worked out and equal nodes merged behind differentiation only (backward/simplify.cc,
/// communicate/merge_equal.cc). A strategy that the script gave to such an operator goes with it,
/// but a Reshape of which it says more stays.
///
/// Example: MatMul cut (8, 1), `y * 1.0`, MatMul cut (8, 1): the product with 1 would get the
/// default strategy and gather y twice.
/// Source: mindspore/ccsrc/frontend/optimizer/irpass/{arithmetic_simplify,cast_eliminate,
/// reshape_eliminate,tile_eliminate,transpose_eliminate}.cc
namespace drydock::strategies {
namespace {

/// A simpler form may have a simpler form; more than a few in a row are a mistake of ours.
constexpr int kMostRounds = 8;

class Cleaner {
 public:
  explicit Cleaner(Graph graph)
      : graph_(std::move(graph)),
        keep_(graph_.nodes.size(), true),
        replacement_(graph_.values.size(), kNoValue),
        uses_(graph_.values.size(), 0),
        returned_(graph_.values.size(), false) {
    for (const Node& node : graph_.nodes) {
      for (const ValueId input : node.inputs) {
        uses_[Slot(input)] += input == kNoValue ? 0 : 1;
      }
    }
    for (const ValueId output : graph_.outputs) {
      ++uses_[ToIndex(output)];
      returned_[ToIndex(output)] = true;
    }
  }

  Graph Run() && {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      Node& node = graph_.nodes[n];
      for (ValueId& input : node.inputs) {
        if (input != kNoValue && replacement_[ToIndex(input)] != kNoValue) {
          input = replacement_[ToIndex(input)];
        }
      }
      for (int round = 0; round < kMostRounds && MayGo(node) && Visit(n); ++round) {
      }
    }
    return RemoveDeadNodes(Rewrite(std::move(graph_), keep_, replacement_));
  }

 private:
  [[nodiscard]] static std::size_t Slot(ValueId id) { return id == kNoValue ? 0 : ToIndex(id); }

  /// Not held by the script or by what it says of a Reshape.
  [[nodiscard]] static bool MayGo(const Node& node) {
    const bool plain = node.entry != nullptr && node.entry->simplify != nullptr &&
                       node.outputs.size() == 1 && !node.attrs.contains("keep_alive");
    const bool reshape_with_more =
        plain && node.entry->kind == OpKind::kReshape &&
        (node.in_strategy || node.in_layout || node.attrs.contains("skip_redistribution"));
    return plain && !reshape_with_more;
  }

  /// True if the node reads other operands now and may be looked at again.
  bool Visit(std::size_t n) {
    Node& node = graph_.nodes[n];
    std::optional<Simplification> simpler =
        node.entry->simplify({.graph = graph_, .node = node, .uses = uses_});
    // New constants wait until the network is cut: see backward/simplify.cc.
    if (!simpler || simpler->number || simpler->last_operand || !simpler->op.empty()) {
      return false;
    }
    if (simpler->result == kNoValue) {
      node.inputs = std::move(simpler->inputs);
      node.attrs = std::move(simpler->attrs);
      return true;
    }
    const ValueId from = node.outputs.front();
    // An input that the network returns would have no layout of its own.
    if (!returned_[ToIndex(from)] || graph_.at(simpler->result).kind == ValueKind::kOutput) {
      replacement_[ToIndex(from)] = simpler->result;
      uses_[ToIndex(simpler->result)] += uses_[ToIndex(from)];
      keep_[n] = false;
    }
    return false;
  }

  Graph graph_;
  std::vector<bool> keep_;
  std::vector<ValueId> replacement_;  ///< Per value: what is read in its place.
  std::vector<std::int32_t> uses_;    ///< Per value: operands and outputs that read it.
  std::vector<bool> returned_;
};

}  // namespace

Graph CleanTraced(Graph graph) {
  const bool backward = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return node.entry->kind == OpKind::kGradient; });
  for (Node& node : graph.nodes) {
    if (!backward && node.attrs.contains(kOwnBackward)) {
      node.attrs.erase(std::string(kRunsUnread));  // nobody asks a cell for its backward pass
    }
  }
  return Cleaner(std::move(graph)).Run();
}

}  // namespace drydock::strategies
