#include "strategies/program/micro_nodes.h"

#include <algorithm>

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

std::vector<MicroPart> MicroParts(const Graph& local) {
  std::vector<MicroPart> parts(local.nodes.size(), MicroPart::kBefore);
  std::vector<MicroPart> of_value(local.values.size(), MicroPart::kBefore);
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const Node& node = local.nodes[n];
    MicroPart part = node.phase == Phase::kOptimizer ? MicroPart::kAfter : MicroPart::kBefore;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) {
        part = std::max(part, of_value[ToIndex(input)]);
      }
    }
    if (node.entry->per_micro_batch) {
      part = MicroPart::kEach;
    } else if (node.entry->joins_micro_batches) {
      part = MicroPart::kAfter;
    }
    parts[n] = part;
    for (const ValueId output : node.outputs) {
      of_value[ToIndex(output)] = part;
    }
  }
  return parts;
}

}  // namespace drydock::strategies
