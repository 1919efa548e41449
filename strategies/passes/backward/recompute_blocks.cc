#include "strategies/passes/backward/recompute_blocks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// What runs a second time, for whom, and when.
///
/// A forward node may be recomputed if its Cell or its primitive says so. What hangs together of
/// these is a block. Of a block, only what backward reads runs again, and what is needed for that;
/// the end of a block that only the next layer reads does not. A block begins when the first
/// gradient arrives at it: that is an operand of its first reader, or, where the operand was itself
/// computed by the derivative of the block's end, what that derivative began with.
///
/// Example: x -> MatMul -> GeLU -> MatMul -> AllReduce -> Add, all but the Add recomputed. Backward
/// reads the first product (GeLUGrad) and the activation (gradient of the second weight): the first
/// MatMul and GeLU run again, when the gradient of the AllReduce is there. The second MatMul and
/// the AllReduce do not.
///
/// "First" is by a walk from the end of the step, as the reference lists its nodes. Source:
/// mindspore/ccsrc/utils/recompute_helper.cc, mindspore/core/ir/graph_utils.cc (TopoSort)
namespace drydock::strategies {
namespace {

constexpr std::int32_t kNoBlock = -1;

/// Place of every node in a walk from what the step returns: operands before users and from the
/// left.
///
/// A step returns its results when the updates of weights are done, which it names in the order of
/// the weights, then those that clear accumulators. Each update waits for the one before it in the
/// program (schedule/effects.h): so behind what the first named one reads, all that come before it
/// are walked through.
class WalkFromEnd {
 public:
  explicit WalkFromEnd(const Graph& graph)
      : graph_(graph), place_(graph.nodes.size(), -1), entered_(graph.nodes.size(), false) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (!graph.nodes[n].entry->writes.empty() && !graph.nodes[n].entry->unordered_effect) {
        updates_.push_back(n);
      }
    }
  }

  std::vector<std::int32_t> Places() && {
    FromProducers(graph_.outputs);
    for (const std::size_t update : NamedUpdates()) {
      FromProducers(graph_.nodes[update].inputs);
      for (; next_update_ < updates_.size() && updates_[next_update_] <= update; ++next_update_) {
        From(updates_[next_update_]);
      }
    }
    for (; next_update_ < updates_.size(); ++next_update_) {
      From(updates_[next_update_]);
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      From(n);
    }
    return std::move(place_);
  }

 private:
  /// Updates that the step names: by the weights that they write, then those that clear.
  [[nodiscard]] std::vector<std::size_t> NamedUpdates() const {
    std::vector<std::size_t> named;
    std::ranges::copy_if(updates_, std::back_inserter(named),
                         [this](std::size_t n) { return graph_.nodes[n].entry->returns_success; });
    if (!named.empty() && WrittenFirst(named.front()) > WrittenFirst(named.back())) {
      std::ranges::reverse(named);
    }
    std::ranges::copy_if(updates_, std::back_inserter(named),
                         [this](std::size_t n) { return graph_.nodes[n].attrs.contains(kClears); });
    return named;
  }

  /// Number of the first parameter that an update writes.
  [[nodiscard]] std::int32_t WrittenFirst(std::size_t update) const {
    const Node& node = graph_.nodes[update];
    for (const std::size_t operand : WrittenOperands(*node.entry)) {
      if (operand < node.inputs.size() && node.inputs[operand] != kNoValue) {
        return graph_.at(node.inputs[operand]).detail;
      }
    }
    return -1;
  }

  void FromProducers(const std::vector<ValueId>& values) {
    for (const ValueId value : values) {
      if (value != kNoValue && graph_.at(value).kind == ValueKind::kOutput) {
        From(ToIndex(graph_.at(value).producer));
      }
    }
  }

  void From(std::size_t root) {
    std::vector<std::size_t> waiting = {root};
    while (!waiting.empty()) {
      const std::size_t n = waiting.back();
      if (entered_[n]) {
        waiting.pop_back();
        place_[n] = place_[n] < 0 ? next_++ : place_[n];
        continue;
      }
      entered_[n] = true;
      std::vector<ValueId> inputs = graph_.nodes[n].inputs;
      if (graph_.nodes[n].attrs.contains(kJoinsSends) && !inputs.empty()) {
        // What was sent back stands in front of the gradient (schedule/pipeline_control.cc).
        std::rotate(inputs.begin(), inputs.begin() + 1, inputs.end());
      }
      for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
        if (*input != kNoValue && graph_.at(*input).kind == ValueKind::kOutput &&
            place_[ToIndex(graph_.at(*input).producer)] < 0) {
          waiting.push_back(ToIndex(graph_.at(*input).producer));
        }
      }
    }
  }

  const Graph& graph_;
  std::vector<std::int32_t> place_;
  std::vector<bool> entered_;
  std::vector<std::size_t> updates_ = {};
  std::size_t next_update_ = 0;
  std::int32_t next_ = 0;
};

class BlockFinder {
 public:
  BlockFinder(const Graph& graph, bool keeps_casts, bool gathers_again)
      : graph_(graph),
        keeps_casts_(keeps_casts),
        gathers_again_(gathers_again),
        users_(UsersOf(graph)),
        candidate_(graph.nodes.size(), false),
        block_(graph.nodes.size(), kNoBlock),
        again_(graph.nodes.size(), false),
        reader_of_(graph.nodes.size(), kNoBlock),
        below_(graph.nodes.size(), kNoBlock) {}

  std::vector<RecomputedBlock> Find() && {
    FindCandidates();
    if (std::ranges::none_of(candidate_, [](bool candidate) { return candidate; })) {
      return {};
    }
    place_ = WalkFromEnd(graph_).Places();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (candidate_[n] && block_[n] == kNoBlock && IsRead(n)) {
        AddBlock(n);
      }
    }
    return std::move(blocks_);
  }

 private:
  [[nodiscard]] static bool IsBackward(const Node& node) { return node.phase == Phase::kBackward; }

  [[nodiscard]] const Node* ProducerOf(ValueId id) const {
    return id != kNoValue && graph_.at(id).kind == ValueKind::kOutput
               ? &graph_.at(graph_.at(id).producer)
               : nullptr;
  }

  [[nodiscard]] std::size_t IndexOf(const Node& node) const {
    return static_cast<std::size_t>(&node - graph_.nodes.data());
  }

  /// A weight, behind its mirror or not, or gathered once of the rows that a sharded optimizer has.
  [[nodiscard]] bool IsOfParameter(ValueId id) const {
    const Node* const producer = ProducerOf(id);
    return producer != nullptr && (producer->entry->is_mirror || GathersOnce(*producer))
               ? IsOfParameter(producer->inputs.front())
               : graph_.at(id).kind == ValueKind::kParameter;
  }

  [[nodiscard]] bool GathersOnce(const Node& node) const {
    return !gathers_again_ && node.reason == CommReason::kOptimizerShard && node.group.has_value();
  }

  /// What the script says of a node, if it may be recomputed at all.
  [[nodiscard]] bool IsWanted(const Node& node) const {
    if (node.entry->runs_once || !node.entry->writes.empty() ||
        (keeps_casts_ && node.entry->is_cast && IsOfParameter(node.inputs.front()))) {
      return false;
    }
    // Level 3 of a sharded optimizer: gathered again with what reads it.
    if (gathers_again_ && node.reason == CommReason::kOptimizerShard && node.group.has_value()) {
      return true;
    }
    const auto said = node.attrs.find(kRecompute);
    return said == node.attrs.end() ? IsInRecomputedScope(node)
                                    : BoolAttr(node.attrs, kRecompute, false).value_or(false);
  }

  /// Somebody but backward reads it: what is there for backward alone runs where it is needed.
  [[nodiscard]] bool HasForwardUser(const Node& node) const {
    return node.outputs.size() > 1 || std::ranges::any_of(node.outputs, [&](ValueId output) {
             const std::vector<NodeId>& users = users_[ToIndex(output)];
             return users.empty() || std::ranges::any_of(users, [&](NodeId user) {
                      return !IsBackward(graph_.at(user));
                    });
           });
  }

  void FindCandidates() {
    std::vector<bool> behind_gradients(graph_.nodes.size(), false);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      behind_gradients[n] = IsBackward(node) || std::ranges::any_of(node.inputs, [&](ValueId id) {
                              const Node* const producer = ProducerOf(id);
                              return producer != nullptr && behind_gradients[IndexOf(*producer)];
                            });
      candidate_[n] = !behind_gradients[n] && IsWanted(node) && HasForwardUser(node);
    }
  }

  template <typename Visit>
  void ForEachUser(std::size_t n, const Visit& visit) const {
    for (const ValueId output : graph_.nodes[n].outputs) {
      for (const NodeId user : users_[ToIndex(output)]) {
        visit(ToIndex(user));
      }
    }
  }

  /// Backward reads it.
  [[nodiscard]] bool IsRead(std::size_t n) const {
    bool read = false;
    ForEachUser(n, [&](std::size_t user) { read = read || IsBackward(graph_.nodes[user]); });
    return read;
  }

  /// Everything that hangs together with node n.
  [[nodiscard]] std::vector<std::size_t> Members(std::size_t first, std::int32_t block) {
    std::vector<std::size_t> members = {first};
    block_[first] = block;
    const auto join = [&](std::size_t n) {
      if (candidate_[n] && block_[n] == kNoBlock) {
        block_[n] = block;
        members.push_back(n);
      }
    };
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (const ValueId input : graph_.nodes[members[i]].inputs) {
        if (const Node* const producer = ProducerOf(input)) {
          join(IndexOf(*producer));
        }
      }
      ForEachUser(members[i], join);
    }
    return members;
  }

  void AddBlock(std::size_t first) {
    const auto number = static_cast<std::int32_t>(blocks_.size());
    RecomputedBlock block;
    std::vector<std::size_t> needed;
    for (const std::size_t member : Members(first, number)) {
      NoteInBlock(graph_.nodes[member].pair, number);
      bool read = false;
      ForEachUser(member, [&](std::size_t user) {
        if (!IsBackward(graph_.nodes[user])) {
          return;
        }
        read = true;
        if (reader_of_[user] != number) {
          reader_of_[user] = number;
          block.readers.push_back(NodeId{static_cast<std::int32_t>(user)});
        }
      });
      if (read) {
        needed.push_back(member);
      }
    }
    block.again = WithOperands(std::move(needed));
    std::ranges::sort(block.readers, {}, [&](NodeId id) { return place_[ToIndex(id)]; });
    FindFirstGradients(block, number);
    blocks_.push_back(std::move(block));
  }

  /// Nodes and what they need of their block, in node order.
  [[nodiscard]] std::vector<NodeId> WithOperands(std::vector<std::size_t> nodes) {
    std::vector<NodeId> all;
    while (!nodes.empty()) {
      const std::size_t n = nodes.back();
      nodes.pop_back();
      if (again_[n]) {
        continue;
      }
      again_[n] = true;
      all.push_back(NodeId{static_cast<std::int32_t>(n)});
      for (const ValueId input : graph_.nodes[n].inputs) {
        const Node* const producer = ProducerOf(input);
        if (producer != nullptr && candidate_[IndexOf(*producer)]) {
          nodes.push_back(IndexOf(*producer));
        }
      }
    }
    std::ranges::sort(all, {}, [](NodeId id) { return ToInt(id); });
    return all;
  }

  // ---- First gradients

  void NoteInBlock(std::int32_t pair, std::int32_t block) {
    if (pair >= 0) {
      pair_block_.resize(std::max(pair_block_.size(), static_cast<std::size_t>(pair) + 1),
                         kNoBlock);
      pair_block_[static_cast<std::size_t>(pair)] = block;
    }
  }

  /// Whether a backward node is the derivative of a member of the block; nullopt if it is the
  /// derivative of nothing (a sum of gradients).
  [[nodiscard]] std::optional<bool> IsDerivativeOf(const Node& node, std::int32_t block) const {
    if (!IsBackward(node) || node.pair < 0) {
      return std::nullopt;
    }
    const auto pair = static_cast<std::size_t>(node.pair);
    return pair < pair_block_.size() && pair_block_[pair] == block;
  }

  /// The same of who makes a value, nullopt also for one of several results.
  [[nodiscard]] std::optional<bool> ComesFromDerivativeOf(ValueId id, std::int32_t block) const {
    const Node* const producer = ProducerOf(id);
    return producer == nullptr || producer->outputs.size() > 1 ? std::nullopt
                                                               : IsDerivativeOf(*producer, block);
  }

  /// True if a reader of the block is needed for this backward node.
  [[nodiscard]] bool WaitsForReader(std::size_t from, std::size_t first_reader,
                                    std::int32_t block) {
    std::vector<std::size_t> waiting = {from};
    std::vector<std::size_t> seen;
    while (!waiting.empty()) {
      const std::size_t n = waiting.back();
      waiting.pop_back();
      if (reader_of_[n] == block) {
        for (const std::size_t passed : seen) {
          below_[passed] = kNoBlock;
        }
        return true;
      }
      if (n < first_reader || below_[n] == block || !IsBackward(graph_.nodes[n])) {
        continue;
      }
      below_[n] = block;
      seen.push_back(n);
      for (const ValueId input : graph_.nodes[n].inputs) {
        if (const Node* const producer = ProducerOf(input)) {
          waiting.push_back(IndexOf(*producer));
        }
      }
    }
    return false;
  }

  void FindFirstGradients(RecomputedBlock& block, std::int32_t number) {
    std::size_t first_reader = std::numeric_limits<std::size_t>::max();
    for (const NodeId reader : block.readers) {
      first_reader = std::min(first_reader, ToIndex(reader));
    }
    for (const NodeId reader : block.readers) {
      for (const ValueId input : graph_.at(reader).inputs) {
        const Node* const producer = ProducerOf(input);
        if (producer != nullptr && IsBackward(*producer) &&
            !WaitsForReader(IndexOf(*producer), first_reader, number)) {
          AddFirstGradients(input, number, block.first_gradients);
        }
      }
      if (!block.first_gradients.empty()) {
        return;
      }
    }
  }

  /// A gradient that arrives from outside, or what the derivatives of the block made it from.
  void AddFirstGradients(ValueId gradient, std::int32_t block, std::vector<ValueId>& first) const {
    const Node& producer = *ProducerOf(gradient);
    std::vector<std::size_t> inside;
    if (producer.outputs.size() > 1) {
      if (IsDerivativeOf(producer, block).value_or(false)) {
        inside.push_back(IndexOf(producer));
      }
    } else {
      for (const ValueId input : producer.inputs) {
        if (ComesFromDerivativeOf(input, block).value_or(false)) {
          inside.push_back(IndexOf(*ProducerOf(input)));
        }
      }
    }
    if (inside.empty()) {
      first.push_back(gradient);
    }
    for (const std::size_t n : inside) {
      const std::vector<ValueId> border = Border(n, block);
      first.insert(first.end(), border.begin(), border.end());
      if (border.empty()) {
        first.push_back(gradient);
      }
    }
  }

  /// Gradients by which the block's derivatives in front of node `from` begin.
  [[nodiscard]] std::vector<ValueId> Border(std::size_t from, std::int32_t block) const {
    std::vector<ValueId> border;
    std::vector<std::size_t> queue = {from};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      std::vector<ValueId> outside;
      std::vector<std::size_t> inside;
      for (const ValueId input : graph_.nodes[queue[i]].inputs) {
        const std::optional<bool> derivative = ComesFromDerivativeOf(input, block);
        if (derivative && !*derivative) {
          outside.push_back(input);
        } else if (derivative) {
          inside.push_back(IndexOf(*ProducerOf(input)));
        }
      }
      border.insert(border.end(), outside.begin(), outside.end());
      for (const std::size_t next : inside) {
        if (outside.empty() && std::ranges::find(queue, next) == queue.end()) {
          queue.push_back(next);
        }
      }
    }
    return border;
  }

  const Graph& graph_;
  bool keeps_casts_;    ///< Casts of weights are not recomputed.
  bool gathers_again_;  ///< Gathers of sharded weights are.
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> candidate_;
  std::vector<std::int32_t> block_;      ///< Per node: what it belongs to.
  std::vector<bool> again_;              ///< Per node: it runs a second time.
  std::vector<std::int32_t> reader_of_;  ///< Per backward node: the last block it reads.
  std::vector<std::int32_t> below_;  ///< Per backward node: last block no reader of which it needs.
  std::vector<std::int32_t> pair_block_ = {};  ///< Per number of a pair: block of the forward node.
  std::vector<std::int32_t> place_ = {};       ///< Per node: place in the walk from the end.
  std::vector<RecomputedBlock> blocks_ = {};
};

}  // namespace

std::vector<RecomputedBlock> FindRecomputedBlocks(const Graph& local, bool keeps_casts,
                                                  bool gathers_again) {
  return BlockFinder(local, keeps_casts, gathers_again).Find();
}

}  // namespace drydock::strategies
