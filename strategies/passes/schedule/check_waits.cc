#include "strategies/passes/schedule/check_waits.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// A walk from every kernel to what it waits for; who is met again on the way waits for itself.
///
/// Operands are data and, behind Depend and UpdateState, the order that a schedule asks for. Passes
/// that put calls of micro batches in order add the latter; if they are wrong about where a kernel
/// belongs, both contradict each other.
///
/// Example: b = Add(Depend(a, c), x) with c = Mul(b, y): b waits for c, c for b.
namespace drydock::strategies {
namespace {

enum class Seen : std::uint8_t { kNo, kOnTheWay, kDone };

struct Place {
  std::size_t node = 0;
  std::size_t next = 0;  ///< Operand to look at.
};

}  // namespace

Status CheckWaits(const KernelGraph& graph) {
  std::vector<Seen> seen(graph.nodes.size(), Seen::kNo);
  std::vector<Place> way;
  for (std::size_t first = 0; first < graph.nodes.size(); ++first) {
    if (seen[first] != Seen::kNo) {
      continue;
    }
    seen[first] = Seen::kOnTheWay;
    way.push_back({.node = first});
    while (!way.empty()) {
      Place& place = way.back();
      const KernelNode& node = graph.nodes[place.node];
      if (place.next == node.inputs.size()) {
        seen[place.node] = Seen::kDone;
        way.pop_back();
        continue;
      }
      const auto input = static_cast<std::size_t>(node.inputs[place.next++]);
      if (seen[input] == Seen::kOnTheWay) {
        return Fail(ErrorCode::kInternal, "kernel " + std::to_string(input) + " (" +
                                              std::string(graph.nodes[input].name.str()) +
                                              ") of a stage waits for itself");
      }
      if (seen[input] == Seen::kNo) {
        seen[input] = Seen::kOnTheWay;
        way.push_back({.node = input});
      }
    }
  }
  return {};
}

}  // namespace drydock::strategies
