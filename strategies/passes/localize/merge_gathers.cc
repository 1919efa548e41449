#include "strategies/passes/localize/merge_gathers.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "strategies/operators/op_entry.h"

/// AllGathers of one result in the forward part, before it is differentiated.
///
/// Each operator that wants a result in another layout has a chain of its own from the one to the
/// other, so that backward each of them has a chain back, and the sum is made in the layout in
/// front of it. What the chains have in common forward is merged behind differentiation only
/// (communicate/merge_equal.cc). AllGathers are the exception: where all that start from a result
/// are the same, there is one from the beginning, and its ReduceScatter follows the sum.
/// A Reshape or a Cast in front of an AllGather is looked through, but then all have to have it.
///
/// Example: x (2, 2) wanted as (4, 1) by two operators: one AllGather; Split, Concat and
/// StridedSlice twice backward, their sum, one ReduceScatter.
/// Source: mindspore/ccsrc/frontend/parallel/pass/merge_comm.cc
namespace drydock::strategies {
namespace {

/// What an AllGather starts from: a result, and the stage that gathers it.
struct Origin {
  ValueId root = kNoValue;
  std::int32_t stage = -1;
  auto operator<=>(const Origin&) const = default;
};

/// What has to be equal beside the origin.
struct Form {
  GroupPattern group = {};
  Shape reshaped = {};  ///< Of a Reshape just in front; empty: there is none.
  bool cast = false;
  DType type = DType::kFloat32;
  bool operator==(const Form&) const = default;
};

struct Gather {
  ValueId result = kNoValue;
  Form form = {};
};

const Node* ProducerOf(const Graph& graph, ValueId id) {
  return id != kNoValue && graph.at(id).kind == ValueKind::kOutput
             ? &graph.at(graph.at(id).producer)
             : nullptr;
}

bool IsGather(const Node& node) {
  const CollectiveFacts* const facts = CollectiveOf(node);
  return facts != nullptr && facts->pattern == CollectivePattern::kAllGather;
}

void Note(const Graph& graph, const Node& node, std::int32_t stage,
          std::map<Origin, std::vector<Gather>>& gathers) {
  Gather gather{.result = node.outputs.front(), .form = {.group = *node.group}};
  ValueId root = node.inputs.front();
  const Node* before = ProducerOf(graph, root);
  if (before != nullptr && before->entry->kind == OpKind::kReshape) {
    gather.form.reshaped = graph.at(root).type.shape;
  }
  while (before != nullptr && before->entry->kind == OpKind::kReshape) {
    root = before->inputs.front();
    before = ProducerOf(graph, root);
  }
  if (before != nullptr && before->entry->is_cast) {
    gather.form.cast = true;
    gather.form.type = graph.at(root).type.dtype;
    root = before->inputs.front();
    before = ProducerOf(graph, root);
  }
  if (before != nullptr) {
    gathers[{root, stage}].push_back(std::move(gather));
  }
}

void Follow(ValueId& id, const std::map<ValueId, ValueId>& merged) {
  if (const auto it = merged.find(id); it != merged.end()) {
    id = it->second;
  }
}

void FollowAll(LocalDraft& draft, std::size_t first, const std::map<ValueId, ValueId>& merged) {
  Graph& graph = draft.builder.mutable_graph();
  for (std::size_t n = first; n < graph.nodes.size(); ++n) {
    for (ValueId& input : graph.nodes[n].inputs) {
      Follow(input, merged);
    }
  }
  for (Counterpart& local : draft.locals) {
    Follow(local.id, merged);
    for (ValueId& copy : local.copies) {
      Follow(copy, merged);
    }
  }
  for (auto& [key, arrived] : draft.arrived) {
    Follow(arrived.id, merged);
    Follow(arrived.mirrored, merged);
  }
}

}  // namespace

void MergeGathers(LocalDraft& draft, std::size_t first) {
  const Graph& graph = draft.builder.graph();
  std::map<Origin, std::vector<Gather>> gathers;
  for (std::size_t n = first; n < graph.nodes.size(); ++n) {
    if (IsGather(graph.nodes[n])) {
      const NodeId origin = graph.nodes[n].origin;
      Note(graph, graph.nodes[n], origin == kNoNode ? -1 : draft.traced.at(origin).stage, gathers);
    }
  }
  std::map<ValueId, ValueId> merged;
  for (const auto& [origin, all] : gathers) {
    const auto equal = [&head = all.front()](const Gather& one) { return one.form == head.form; };
    if (std::ranges::all_of(all, equal)) {
      for (std::size_t i = 1; i < all.size(); ++i) {
        merged.emplace(all[i].result, all.front().result);
      }
    }
  }
  if (!merged.empty()) {
    FollowAll(draft, first, merged);
  }
}

}  // namespace drydock::strategies
