#include "strategies/passes/schedule/tuples.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

/// Tuples of kernels that one operator became.
///
/// Dropout becomes DropoutGenMask and DropoutDoMask, and who used its results reads members of
/// MakeTuple(DropoutDoMask, DropoutGenMask): TupleGetItem(tuple, 0) waits for both kernels. A pass
/// of the back end then lets readers of members read the kernels, but it walks over the list of
/// readers while it takes them off, so that it misses every second one. Who is first in that list
/// is who was met first on a walk from the return node, last operands first.
///
/// Example: of a Dropout whose gradient is met first, the gradient reads the mask itself, and the
/// next layer waits for tuple and mask, although it reads the activation only.
///
/// Tuples of all results of one kernel are made later and stay as they are (deal_ref_output.cc).
namespace drydock::strategies {
namespace {

std::size_t Index(KernelId id) {
  return static_cast<std::size_t>(id);
}

/// The kernel itself, or the one whose result it is.
KernelId KernelOf(const KernelGraph& graph, KernelId member) {
  return graph.at(member).kind == KernelKind::kTupleGetItem ? graph.at(member).inputs.front()
                                                            : member;
}

bool IsTupleOfOneKernel(const KernelGraph& graph, const KernelNode& tuple) {
  return std::ranges::all_of(tuple.inputs, [&](KernelId member) {
    return KernelOf(graph, member) == KernelOf(graph, tuple.inputs.front());
  });
}

bool ReadsMember(const KernelGraph& graph, const KernelNode& node) {
  if (node.kind != KernelKind::kTupleGetItem) {
    return false;
  }
  const KernelNode& tuple = graph.at(node.inputs.front());
  // Results of calls have been read through where the calls are formed (shared_calls.cc).
  return tuple.kind == KernelKind::kMakeTuple && tuple.origin != kNoNode &&
         !IsTupleOfOneKernel(graph, tuple);
}

/// Readers of members per tuple, in the order of the walk.
std::map<KernelId, std::vector<KernelId>> Readers(const KernelGraph& graph) {
  std::map<KernelId, std::vector<KernelId>> readers;
  std::vector<bool> seen(graph.nodes.size(), false);
  std::vector<KernelId> waiting = {graph.result};
  while (!waiting.empty()) {
    const KernelId id = waiting.back();
    waiting.pop_back();
    if (seen[Index(id)]) {
      continue;
    }
    seen[Index(id)] = true;
    const KernelNode& node = graph.at(id);
    if (ReadsMember(graph, node)) {
      readers[node.inputs.front()].push_back(id);
    }
    waiting.insert(waiting.end(), node.inputs.begin(), node.inputs.end());
  }
  return readers;
}

}  // namespace

void ReadThroughTuples(KernelGraph& graph) {
  if (std::ranges::none_of(graph.nodes,
                           [&](const KernelNode& node) { return ReadsMember(graph, node); })) {
    return;
  }
  std::vector<KernelId> instead(graph.nodes.size(), kNoKernel);
  for (const auto& [tuple, readers] : Readers(graph)) {
    for (std::size_t i = 0; i < readers.size(); i += 2) {
      const auto item = static_cast<std::size_t>(graph.at(readers[i]).item);
      instead[Index(readers[i])] = graph.at(tuple).inputs[item];
    }
  }
  for (KernelNode& node : graph.nodes) {
    for (KernelId& input : node.inputs) {
      input = instead[Index(input)] == kNoKernel ? input : instead[Index(input)];
    }
  }
  for (KernelId& output : graph.outputs) {
    output = instead[Index(output)] == kNoKernel ? output : instead[Index(output)];
  }
}

}  // namespace drydock::strategies
