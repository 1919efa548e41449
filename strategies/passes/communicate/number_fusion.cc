#include "strategies/passes/communicate/number_fusion.h"

#include <vector>

#include "base/checked.h"
#include "strategies/graph/walk.h"
#include "strategies/operators/op_entry.h"

/// Which gradients, and which gathers of sharded weights, share a fusion id where operators are
/// cut.
///
/// The reference's front end numbers the mirrors of the weights before it differentiates. It walks
/// from the loss, operands first from the left, so that weights near the input come first, and
/// counts down a budget of threshold * 262,144 elements. Elements are those of the whole parameter,
/// although a rank only sums its slice. The member that exceeds the budget opens the next id and is
/// not counted against it. Ids that the script gave its parameters go for nothing then. The gathers
/// of weights are numbered in the same way, with a budget of their own and the elements that a rank
/// stores; their gradients inherit the number. Those that are gathered again (level 3) are not, and
/// neither is what sums gradients of several micro batches in an accumulator.
///
/// Example: six weights of 131,072 elements and a threshold of 1: 1, 2, 2, 3, 3, 4.
/// Source: mindspore/ccsrc/frontend/parallel/allreduce_fusion/allreduce_fusion.cc; recorded runs.
namespace drydock::strategies {
namespace {

constexpr std::int64_t kElementsPerMb = 262'144;

/// Counts ids up while a budget is used up.
class Numbering {
 public:
  explicit Numbering(std::int64_t mb) : budget_(mb * kElementsPerMb), left_(budget_) {}

  void Number(Node& node, std::int64_t elements) {
    if (first_ || elements < left_) {
      left_ -= elements;
      first_ = false;
    } else {
      left_ = budget_;
      ++id_;
    }
    node.attrs.insert_or_assign("fusion", id_);
  }

 private:
  std::int64_t budget_ = 0;
  std::int64_t left_ = 0;
  std::int64_t id_ = 1;
  bool first_ = true;
};

}  // namespace

void NumberGradientFusion(Graph& forward, ValueId loss,
                          std::span<const std::int64_t> whole_elements,
                          const FusionSettings& fusion, bool gathered_once) {
  const bool gathers = fusion.all_gather && gathered_once;
  if ((!fusion.all_reduce && !gathers) || loss == kNoValue ||
      forward.at(loss).kind != ValueKind::kOutput) {
    return;
  }
  Numbering mirrors(fusion.all_reduce_mb);
  Numbering weights(fusion.all_gather_mb);
  const std::vector<NodeId> roots = {forward.at(loss).producer};
  for (const NodeId n : OperandsFirst(forward, roots)) {
    Node& node = forward.nodes[ToIndex(n)];
    if (node.entry == nullptr) {
      continue;
    }
    if (fusion.all_reduce && node.entry->is_mirror && node.inputs.size() == 1) {
      mirrors.Number(node, whole_elements[ToIndex(node.inputs.front())]);
    } else if (gathers && node.reason == CommReason::kOptimizerShard && node.group.has_value()) {
      weights.Number(node, Product(forward.at(node.inputs.front()).type.shape));
    }
  }
}

}  // namespace drydock::strategies
