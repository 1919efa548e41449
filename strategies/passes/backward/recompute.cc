#include "strategies/passes/backward/recompute.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "strategies/graph/kept_constant.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/backward/in_order.h"
#include "strategies/passes/backward/recompute_blocks.h"

/// Recomputation: forward runs a second time where backward needs it, so that its results need not
/// be kept from one to the other.
///
/// Differentiation has made backward nodes that read forward results. Of each block of nodes that
/// are recomputed (recompute_blocks.cc) a copy is made, and backward reads the copy. Nothing in the
/// data says that the copy may not run at once, which would save nothing: so what the copy reads
/// first waits for the gradient that arrives at the block, by a Depend. A mirror in front of a
/// weight is copied, too; the weight itself is read through the same Depend then, also by backward.
///
/// Example, GeLU recomputed:
///     y = GeLU(x); ... dx = GeLUGrad(dy, x, y)
///  -> y = GeLU(x); ... x2 = Depend(x, dy); y2 = GeLU(x2); dx = GeLUGrad(dy, x, y2)
/// Collectives of the forward pass are copied like any other node, unless they are told not to be
/// (mp_comm_recompute=False). Random masks are kept and applied again.
///
/// Source: mindspore/ccsrc/frontend/optimizer/recompute.cc, utils/recompute_helper.cc
namespace drydock::strategies {
namespace {

class BlockCopier {
 public:
  explicit BlockCopier(Graph& graph) : graph_(graph) {}

  void Copy(const RecomputedBlock& block) {
    copies_.clear();
    waiting_.clear();
    read_.clear();
    const std::size_t first_copy = graph_.nodes.size();
    for (const NodeId id : block.again) {
      CopyNode(id, block);
    }
    std::size_t first_reader = first_copy;
    for (const NodeId reader : block.readers) {
      first_reader = std::min(first_reader, ToIndex(reader));
      for (ValueId& input : graph_.nodes[ToIndex(reader)].inputs) {
        input = ReadCopy(input);
      }
    }
    for (const NodeId id : block.again) {
      const Node& node = graph_.at(id);
      if (!node.entry->recomputed_as.empty() && !read_.contains(CopyOf(node.outputs.front()))) {
        graph_.nodes[ToIndex(id)].attrs.insert_or_assign(std::string(kCopyUnread), true);
      }
    }
    for (std::size_t n = first_copy; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].attrs.contains(kRunsUnread)) {
        unread_[first_reader].push_back(n);
      }
    }
  }

  /// Per node: copies to be placed before it, since perhaps nobody reads them.
  [[nodiscard]] const std::map<std::size_t, std::vector<std::size_t>>& unread() const {
    return unread_;
  }

 private:
  [[nodiscard]] ValueId CopyOf(ValueId id) const {
    const auto found = copies_.find(id);
    return found == copies_.end() ? id : found->second;
  }

  ValueId ReadCopy(ValueId id) {
    const ValueId copy = CopyOf(id);
    if (copy != id) {
      read_.insert(copy);
    }
    return copy;
  }

  ValueId AddResult(const Value& like, std::int32_t index) {
    const ValueId id{static_cast<std::int32_t>(graph_.values.size())};
    graph_.values.push_back({.kind = ValueKind::kOutput,
                             .type = TensorType(like.type),
                             .producer = NodeId{static_cast<std::int32_t>(graph_.nodes.size())},
                             .output_index = index});
    return id;
  }

  void CopyNode(NodeId id, const RecomputedBlock& block) {
    Node copy = graph_.at(id);
    bool reads_copies = false;
    for (ValueId& input : copy.inputs) {
      reads_copies = reads_copies || CopyOf(input) != input;
      input = ReadCopy(input);
    }
    const auto first =
        std::ranges::find_if(copy.inputs, [](ValueId input) { return input != kNoValue; });
    if (!reads_copies && first != copy.inputs.end()) {
      *first = NotBefore(*first, block.first_gradients, copy.reason);
    }
    std::vector<ValueId> results = copy.outputs;
    if (!copy.entry->recomputed_as.empty()) {
      copy.entry = FindOp(copy.entry->recomputed_as);
      DRYDOCK_CHECK(copy.entry != nullptr);
      copy.op = copy.entry->name;
      copy.inputs = {copy.inputs.front(), results.back()};
      results.resize(1);
    }
    copy.outputs.clear();
    for (const ValueId result : results) {
      const auto index = static_cast<std::int32_t>(copy.outputs.size());
      copy.outputs.push_back(AddResult(Value(graph_.at(result)), index));
      copies_[result] = copy.outputs.back();
    }
    copy.phase = Phase::kBackward;
    copy.attrs.insert_or_assign(std::string(kDuplicated), true);
    copy.pair = -1;
    if (ReadsParameter(copy)) {
      copy.attrs.insert_or_assign(std::string(kRunsUnread), true);
    }
    graph_.nodes.push_back(std::move(copy));
  }

  /// The next update of a parameter waits for it. So it runs even where only a random mask was
  /// asked for, which is not made again.
  [[nodiscard]] bool ReadsParameter(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id != kNoValue && graph_.at(id).kind == ValueKind::kParameter;
    });
  }

  /// The value, not before the gradients.
  ValueId NotBefore(ValueId value, const std::vector<ValueId>& gradients, CommReason reason) {
    const auto [known, added] = waiting_.emplace(value, kNoValue);
    if (added) {
      Node depend{.op = std::string(ops::kDepend),
                  .entry = FindOp(ops::kDepend),
                  .inputs = {value},
                  .attrs = {{std::string(kRecomputeDepend), true}},
                  .scope = "Default",
                  .phase = Phase::kBackward,
                  .reason = reason == CommReason::kOptimizerShard ? reason : CommReason::kNone};
      depend.inputs.insert(depend.inputs.end(), gradients.begin(), gradients.end());
      depend.outputs.push_back(AddResult(Value(graph_.at(value)), 0));
      known->second = depend.outputs.front();
      graph_.nodes.push_back(std::move(depend));
    }
    return known->second;
  }

  Graph& graph_;
  std::map<ValueId, ValueId> copies_ = {};   ///< Of the block: results and their copies.
  std::set<ValueId> read_ = {};              ///< Copies that somebody reads.
  std::map<ValueId, ValueId> waiting_ = {};  ///< Of the block: values and what waits for gradients.
  std::map<std::size_t, std::vector<std::size_t>> unread_ = {};
};

}  // namespace

bool AsksForRecomputation(const Graph& local) {
  return std::ranges::any_of(local.nodes, [](const Node& node) {
    return IsInRecomputedScope(node) || BoolAttr(node.attrs, kRecompute, false).value_or(false);
  });
}

Graph RecomputeActivations(Graph local, bool keeps_casts, bool gathers_again) {
  const std::vector<RecomputedBlock> blocks =
      FindRecomputedBlocks(local, keeps_casts, gathers_again);
  if (blocks.empty()) {
    return local;
  }
  BlockCopier copier(local);
  for (const RecomputedBlock& block : blocks) {
    copier.Copy(block);
  }
  return InOrder(std::move(local), copier.unread());
}

}  // namespace drydock::strategies
