#include "strategies/passes/communicate/number_fusion.h"

#include <vector>

#include "strategies/graph/walk.h"
#include "strategies/operators/op_entry.h"

/// Which gradients share a fusion id where operators are cut.
///
/// The reference's front end numbers the mirrors of the weights before it differentiates. It walks
/// from the loss, operands first from the left, so that weights near the input come first, and
/// counts down a budget of threshold * 262,144 elements. Elements are those of the whole parameter,
/// although a rank only sums its slice. The member that exceeds the budget opens the next id and is
/// not counted against it. Ids that the script gave its parameters go for nothing then.
///
/// Example: six weights of 131,072 elements and a threshold of 1: 1, 2, 2, 3, 3, 4.
/// Source: mindspore/ccsrc/frontend/parallel/allreduce_fusion/allreduce_fusion.cc; recorded runs.
namespace drydock::strategies {
namespace {

constexpr std::int64_t kElementsPerMb = 262'144;

}  // namespace

void NumberGradientFusion(Graph& forward, ValueId loss,
                          std::span<const std::int64_t> whole_elements,
                          const FusionSettings& fusion) {
  if (!fusion.all_reduce || loss == kNoValue || forward.at(loss).kind != ValueKind::kOutput) {
    return;
  }
  const std::int64_t budget = fusion.all_reduce_mb * kElementsPerMb;
  std::int64_t left = budget;
  std::int64_t id = 1;
  bool first = true;
  const std::vector<NodeId> roots = {forward.at(loss).producer};
  for (const NodeId n : OperandsFirst(forward, roots)) {
    Node& node = forward.nodes[ToIndex(n)];
    if (node.entry == nullptr || !node.entry->is_mirror) {
      continue;
    }
    const std::int64_t elements = whole_elements[ToIndex(node.inputs.front())];
    if (first || elements < left) {
      left -= elements;
      first = false;
    } else {
      left = budget;
      ++id;
    }
    node.attrs.insert_or_assign("fusion", id);
  }
}

}  // namespace drydock::strategies
