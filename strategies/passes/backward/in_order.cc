#include "strategies/passes/backward/in_order.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "strategies/operators/known_ops.h"

/// Nodes in node order, each behind what it reads: a node that was appended stands just before the
/// first one that reads it.
///
/// Second runs wait for gradients (recompute.cc). Two blocks could wait for each other, as no
/// gradient is known to be independent of the copies of another block; then the Depend that closes
/// the circle waits for nothing, which costs memory but computes the same.
namespace drydock::strategies {
namespace {

class Sorter {
 public:
  explicit Sorter(Graph graph)
      : graph_(std::move(graph)), state_(graph_.nodes.size(), State::kWaiting) {}

  /// @param before  per node: others to be placed before it
  Graph Run(const std::map<std::size_t, std::vector<std::size_t>>& before) && {
    nodes_.reserve(graph_.nodes.size());
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const auto others = before.find(n);
      for (std::size_t i = 0; others != before.end() && i < others->second.size(); ++i) {
        Place(others->second[i]);
      }
      Place(n);
    }
    graph_.nodes = std::move(nodes_);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const ValueId output : graph_.nodes[n].outputs) {
        graph_.values[ToIndex(output)].producer = NodeId{static_cast<std::int32_t>(n)};
      }
    }
    return std::move(graph_);
  }

 private:
  enum class State : std::uint8_t { kWaiting, kOpen, kPlaced };

  void Place(std::size_t root) {
    if (state_[root] == State::kPlaced) {
      return;
    }
    std::vector<std::size_t> path = {root};
    state_[root] = State::kOpen;
    while (!path.empty()) {
      Node& node = graph_.nodes[path.back()];
      const auto missing = std::ranges::find_if(node.inputs, [&](ValueId id) {
        return id != kNoValue && graph_.at(id).kind == ValueKind::kOutput &&
               state_[ToIndex(graph_.at(id).producer)] != State::kPlaced;
      });
      if (missing == node.inputs.end()) {
        state_[path.back()] = State::kPlaced;
        nodes_.push_back(std::move(node));
        path.pop_back();
        continue;
      }
      const std::size_t producer = ToIndex(graph_.at(*missing).producer);
      if (state_[producer] == State::kOpen) {
        BreakCircle(path);
      } else {
        state_[producer] = State::kOpen;
        path.push_back(producer);
      }
    }
  }

  /// Two blocks wait for each other: the one that was met last waits no longer.
  void BreakCircle(const std::vector<std::size_t>& path) {
    const auto waits = std::find_if(path.rbegin(), path.rend(), [&](std::size_t n) {
      return graph_.nodes[n].attrs.contains(kRecomputeDepend) && graph_.nodes[n].inputs.size() > 1;
    });
    DRYDOCK_CHECK(waits != path.rend());
    graph_.nodes[*waits].inputs.resize(1);
  }

  Graph graph_;
  std::vector<State> state_;
  std::vector<Node> nodes_ = {};
};

}  // namespace

Graph InOrder(Graph graph, const std::map<std::size_t, std::vector<std::size_t>>& before) {
  return Sorter(std::move(graph)).Run(before);
}

}  // namespace drydock::strategies
