#include "strategies/passes/schedule/fused_graph.h"

#include <algorithm>
#include <utility>

/// Bookkeeping while kernels are fused.
///
/// Steps of fusion replace kernels by others. The list of nodes only grows meanwhile; at the end
/// the leaves come first, as they were, then what the result of the step needs.
namespace drydock::strategies {

FusedGraph::FusedGraph(KernelGraph graph)
    : graph_(std::move(graph)),
      instead_(graph_.nodes.size(), kNoKernel),
      programs_(graph_.nodes.size()) {
  leaf_.reserve(graph_.nodes.size());
  for (const KernelNode& node : graph_.nodes) {
    leaf_.push_back(IsLeaf(node.kind));
  }
}

KernelId FusedGraph::Add(KernelNode node) {
  leaf_.push_back(IsLeaf(node.kind));
  graph_.nodes.push_back(std::move(node));
  instead_.push_back(kNoKernel);
  programs_.emplace_back();
  return KernelId{static_cast<std::int32_t>(graph_.nodes.size()) - 1};
}

KernelId FusedGraph::AddVirtual(KernelKind kind, std::vector<KernelId> inputs, std::int32_t item) {
  return Add({.kind = kind, .item = item, .inputs = std::move(inputs)});
}

KernelId FusedGraph::Now(KernelId id) const {
  while (instead_[IndexOf(id)] != kNoKernel) {
    id = instead_[IndexOf(id)];
  }
  return id;
}

void FusedGraph::Resolve() {
  for (KernelNode& node : graph_.nodes) {
    for (KernelId& input : node.inputs) {
      input = Now(input);
    }
  }
  for (std::vector<KernelId>* list : {&graph_.outputs, &graph_.after_step}) {
    for (KernelId& id : *list) {
      id = Now(id);
    }
  }
}

std::vector<KernelId> FusedGraph::FusedKernels() const {
  std::vector<KernelId> kernels;
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    if (programs_[i] != nullptr) {
      kernels.push_back(KernelId{static_cast<std::int32_t>(i)});
    }
  }
  return kernels;
}

std::vector<KernelId> FusedGraph::Order() const {
  struct Place {
    const KernelId* next = nullptr;  ///< Operand to look at.
    std::uint32_t left = 0;          ///< How many operands there are from that one on.
    KernelId node = kNoKernel;
  };
  std::vector<KernelId> order;
  order.reserve(graph_.nodes.size());
  std::vector<bool> done = leaf_;
  std::vector<Place> path;
  const auto enter = [&](KernelId id) {
    if (!done[IndexOf(id)]) {
      const std::vector<KernelId>& inputs = at(id).inputs;
      path.push_back(
          {.next = inputs.data(), .left = static_cast<std::uint32_t>(inputs.size()), .node = id});
    }
  };
  std::vector<KernelId> roots = {graph_.result};
  roots.insert(roots.end(), graph_.after_step.begin(), graph_.after_step.end());
  for (const KernelId root : roots) {
    enter(root);
    while (!path.empty()) {
      Place& place = path.back();
      if (place.left > 0) {
        --place.left;
        enter(*place.next++);
      } else {
        done[IndexOf(place.node)] = true;
        order.push_back(place.node);
        path.pop_back();
      }
    }
  }
  return order;
}

PackedLists<KernelId> FusedGraph::UsersIn(std::span<const KernelId> order) const {
  std::vector<std::uint32_t> count(graph_.nodes.size(), 0);
  for (const KernelId id : order) {
    for (const KernelId input : at(id).inputs) {
      ++count[IndexOf(input)];
    }
  }
  PackedLists<KernelId> users(count);
  for (const KernelId id : order) {
    for (const KernelId input : at(id).inputs) {
      users.Append(IndexOf(input), id);
    }
  }
  return users;
}

void FusedGraph::SetProgram(KernelId id, BasicProgram program,
                            const std::vector<KernelId>& operands, SharedText name) {
  std::vector<KernelId> left;
  for (const std::size_t operand : Tidy(program)) {
    left.push_back(operands[operand]);
  }
  at(id).inputs = std::move(left);
  programs_[IndexOf(id)] = std::make_unique<BasicProgram>(std::move(program));
  Describe(id, std::move(name));
}

void FusedGraph::Describe(KernelId id, SharedText name) {
  const BasicProgram& program = *programs_[IndexOf(id)];
  KernelNode& node = graph_.at(id);
  node.name = std::move(name);
  node.update = false;
  std::vector<KernelResult> results;
  results.reserve(program.results.size());
  for (std::size_t i = 0; i < program.results.size(); ++i) {
    const BasicValue& value = program.results[i];
    KernelResult result = {.type = program.TypeOf(value)};
    if (i < node.results.size()) {
      result.value = node.results[i].value;
    }
    const BasicOp& op = program.ops[static_cast<std::size_t>(value.index)];
    if (op.facts->writes && op.inputs.front().source == BasicValue::Source::kOperand) {
      result.shares = op.inputs.front().index;
      node.update = true;
    }
    results.push_back(std::move(result));
  }
  SetResults(node, std::move(results));
}

void FusedGraph::SetResults(KernelNode& node, std::vector<KernelResult> results) {
  std::vector<SharedList<KernelResult>>& known = results_[node.origin];
  const auto found = std::ranges::find_if(
      known, [&results](const auto& list) { return std::ranges::equal(list, results); });
  node.results = found != known.end() ? *found : known.emplace_back(std::move(results));
}

std::vector<KernelId> FusedGraph::Items(KernelId kernel) {
  const std::size_t count = at(kernel).results.size();
  if (count == 1) {
    return {kernel};
  }
  std::vector<KernelId> items;
  for (std::size_t i = 0; i < count; ++i) {
    items.push_back(AddVirtual(KernelKind::kTupleGetItem, {kernel}, static_cast<std::int32_t>(i)));
  }
  return items;
}

void FusedGraph::DropUnread(KernelId kernel, std::span<const KernelId> items) {
  const SharedList<KernelResult> results = at(kernel).results;
  std::vector<bool> read(results.size(), false);
  for (const KernelId item : items) {
    read[static_cast<std::size_t>(at(item).item)] = true;
  }
  std::vector<KernelResult> left;
  std::vector<BasicValue> made;
  std::vector<std::int32_t> moved(results.size(), -1);
  BasicProgram& program = *ProgramOf(kernel);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (read[i] || results[i].shares >= 0) {
      moved[i] = static_cast<std::int32_t>(left.size());
      left.push_back(results[i]);
      made.push_back(program.results[i]);
    }
  }
  if (left.size() == results.size()) {
    return;
  }
  program.results = std::move(made);
  for (const KernelId item : items) {
    at(item).item = moved[static_cast<std::size_t>(at(item).item)];
    if (left.size() == 1) {
      Replace(item, kernel);
    }
  }
  SetResults(at(kernel), std::move(left));
}

KernelGraph FusedGraph::Take(std::span<const KernelId> order) && {
  KernelGraph taken;
  const auto leaves = std::ranges::count(leaf_, true);
  taken.nodes.reserve(static_cast<std::size_t>(leaves) + order.size());
  std::vector<KernelId> moved(graph_.nodes.size(), kNoKernel);
  const auto take = [&](KernelId id) {
    moved[IndexOf(id)] = KernelId{static_cast<std::int32_t>(taken.nodes.size())};
    taken.nodes.push_back(std::move(graph_.at(id)));
    for (KernelId& input : taken.nodes.back().inputs) {
      input = moved[IndexOf(input)];
    }
  };
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (IsLeaf(graph_.nodes[i].kind)) {
      take(KernelId{static_cast<std::int32_t>(i)});
    }
  }
  std::ranges::for_each(order, take);
  taken.result = moved[IndexOf(graph_.result)];
  for (const KernelId output : graph_.outputs) {
    taken.outputs.push_back(moved[IndexOf(output)]);
  }
  for (const KernelId kernel : graph_.after_step) {
    taken.after_step.push_back(moved[IndexOf(kernel)]);
  }
  return taken;
}

}  // namespace drydock::strategies
