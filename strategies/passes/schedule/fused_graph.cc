#include "strategies/passes/schedule/fused_graph.h"

#include <algorithm>
#include <set>
#include <utility>

/// Bookkeeping while kernels are fused.
///
/// Steps of fusion replace kernels by others. The list of nodes only grows meanwhile; at the end
/// the leaves come first, as they were, then what the result of the step needs.
namespace drydock::strategies {

FusedGraph::FusedGraph(KernelGraph graph)
    : graph_(std::move(graph)), instead_(graph_.nodes.size(), kNoKernel) {
  leaf_.reserve(graph_.nodes.size());
  for (const KernelNode& node : graph_.nodes) {
    leaf_.push_back(IsLeaf(node.kind));
  }
}

KernelId FusedGraph::Add(KernelNode node) {
  leaf_.push_back(IsLeaf(node.kind));
  graph_.nodes.push_back(std::move(node));
  instead_.push_back(kNoKernel);
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

BasicProgram* FusedGraph::ProgramOf(KernelId id) {
  const auto it = programs_.find(id);
  return it == programs_.end() ? nullptr : &it->second;
}

std::vector<KernelId> FusedGraph::Order() const {
  struct Place {
    KernelId node = kNoKernel;
    const KernelId* next = nullptr;  ///< Operand to look at.
    const KernelId* end = nullptr;
  };
  std::vector<KernelId> order;
  order.reserve(graph_.nodes.size());
  std::vector<bool> done = leaf_;
  std::vector<Place> path;
  const auto enter = [&](KernelId id) {
    if (!done[IndexOf(id)]) {
      const std::vector<KernelId>& inputs = at(id).inputs;
      path.push_back({.node = id, .next = inputs.data(), .end = inputs.data() + inputs.size()});
    }
  };
  std::vector<KernelId> roots = {graph_.result};
  roots.insert(roots.end(), graph_.after_step.begin(), graph_.after_step.end());
  for (const KernelId root : roots) {
    enter(root);
    while (!path.empty()) {
      Place& place = path.back();
      if (place.next != place.end) {
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
                            const std::vector<KernelId>& operands, std::string name) {
  std::vector<KernelId> left;
  for (const std::size_t operand : Tidy(program)) {
    left.push_back(operands[operand]);
  }
  at(id).inputs = std::move(left);
  programs_.insert_or_assign(id, std::move(program));
  Describe(id, std::move(name));
}

void FusedGraph::Describe(KernelId id, std::string name) {
  const BasicProgram& program = programs_.at(id);
  KernelNode& node = graph_.at(id);
  node.name = std::move(name);
  node.update = false;
  std::vector<KernelResult> results;
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
  node.results = std::move(results);
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

void FusedGraph::DropUnread() {
  const std::vector<KernelId> order = Order();
  const PackedLists<KernelId> users = UsersIn(order);
  for (auto& [id, program] : programs_) {
    const KernelNode& node = at(id);
    const bool items = std::ranges::all_of(users[IndexOf(id)], [this](KernelId user) {
      return at(user).kind == KernelKind::kTupleGetItem;
    });
    if (node.results.size() < 2 || users[IndexOf(id)].empty() || !items) {
      continue;
    }
    std::set<std::int32_t> read;
    for (const KernelId user : users[IndexOf(id)]) {
      read.insert(at(user).item);
    }
    std::vector<KernelResult> left;
    std::vector<BasicValue> made;
    std::vector<std::int32_t> moved(node.results.size(), -1);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (read.contains(static_cast<std::int32_t>(i)) || node.results[i].shares >= 0) {
        moved[i] = static_cast<std::int32_t>(left.size());
        left.push_back(node.results[i]);
        made.push_back(program.results[i]);
      }
    }
    program.results = std::move(made);
    for (const KernelId user : users[IndexOf(id)]) {
      at(user).item = moved[static_cast<std::size_t>(at(user).item)];
      if (left.size() == 1) {
        Replace(user, id);
      }
    }
    at(id).results = std::move(left);
  }
  Resolve();
}

KernelGraph FusedGraph::Take() && {
  KernelGraph taken;
  taken.nodes.reserve(graph_.nodes.size());
  std::vector<KernelId> moved(graph_.nodes.size(), kNoKernel);
  const auto take = [&](KernelId id) {
    moved[IndexOf(id)] = KernelId{static_cast<std::int32_t>(taken.nodes.size())};
    taken.nodes.push_back(std::move(graph_.at(id)));
    for (KernelId& input : taken.nodes.back().inputs) {
      input = moved[IndexOf(input)];
    }
  };
  const std::vector<KernelId> order = Order();
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
