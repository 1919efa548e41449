#include "strategies/passes/schedule/copy_reads.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "strategies/operators/op_entry.h"

/// What a parameter held before it was written.
///
/// A parameter that has several Loads, of different states, is read before and behind a write. The
/// Loads are no copies, so whoever comes late would read what is there by then: MindSpore puts a
/// TensorMove behind each of them, and all users of the Load read that.
///
/// Example, an average of weights that is kept behind the update: MatMul reads
/// TensorMove(Load(w, U)), the average TensorMove(Load(w, state behind the update of w)). Loads
/// that states alone read do not count.
///
/// Source: mindspore/ccsrc/pipeline/jit/ps/static_analysis/order_enforce.cc (GetNeedInsertLoads)
namespace drydock::strategies {
namespace {

constexpr char kCopiedRead[] = "TensorMove";

std::size_t AsPosition(KernelId id) {
  return static_cast<std::size_t>(id);
}

bool IsState(KernelKind kind) {
  return kind == KernelKind::kUpdateState;
}

/// Per node whether something that is no state reads it, perhaps through a tuple.
std::vector<bool> ReadByKernels(const KernelGraph& graph) {
  std::vector<bool> read(graph.nodes.size(), false);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {  // users come behind what they use
    const KernelNode& node = graph.nodes[n];
    if (IsState(node.kind) || (node.kind == KernelKind::kMakeTuple && !read[n])) {
      continue;
    }
    for (const KernelId input : node.inputs) {
      read[AsPosition(input)] = true;
    }
  }
  return read;
}

bool IsOfUpdate(const Graph& local, const KernelNode& node) {
  return node.origin != kNoNode && !local.at(node.origin).entry->writes.empty();
}

/// The Loads that are copied.
std::vector<bool> LoadsToCopy(const Graph& local, const KernelGraph& graph) {
  const std::vector<bool> read = ReadByKernels(graph);
  std::map<KernelId, std::vector<std::size_t>> loads;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const KernelNode& node = graph.nodes[n];
    if (node.kind == KernelKind::kLoad && read[n] && !IsOfUpdate(local, node) &&
        graph.at(node.inputs.front()).kind == KernelKind::kParameter) {
      loads[node.inputs.front()].push_back(n);
    }
  }
  std::vector<bool> chosen(graph.nodes.size(), false);
  for (const auto& [parameter, of_it] : loads) {
    for (const std::size_t n : of_it) {
      chosen[n] = of_it.size() > 1;
    }
  }
  return chosen;
}

KernelNode CopyOf(const KernelGraph& graph, const KernelNode& load, KernelId in_new_graph) {
  std::vector<KernelResult> results = {
      {.type = graph.at(load.inputs.front()).results.front().type}};
  KernelNode copy{.origin = load.origin, .name = kCopiedRead, .inputs = {in_new_graph}};
  copy.results = std::move(results);
  return copy;
}

}  // namespace

void CopyReads(const Graph& local, KernelGraph& graph) {
  const std::vector<bool> chosen = LoadsToCopy(local, graph);
  if (std::ranges::find(chosen, true) == chosen.end()) {
    return;
  }
  std::vector<KernelNode> nodes;
  std::vector<KernelId> place(graph.nodes.size(), kNoKernel);
  const auto add = [&nodes](KernelNode node) {
    nodes.push_back(std::move(node));
    return static_cast<KernelId>(nodes.size() - 1);
  };
  const auto moved = [&place](KernelId& id) {
    if (id != kNoKernel) {
      id = place[AsPosition(id)];
    }
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    KernelNode node = graph.nodes[n];
    std::ranges::for_each(node.inputs, moved);
    place[n] = add(std::move(node));
    if (chosen[n]) {
      place[n] = add(CopyOf(graph, graph.nodes[n], place[n]));
    }
  }
  graph.nodes = std::move(nodes);
  moved(graph.result);
  std::ranges::for_each(graph.outputs, moved);
  std::ranges::for_each(graph.after_step, moved);
}

}  // namespace drydock::strategies
