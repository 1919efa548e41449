#include "strategies/passes/schedule/exec_order.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "strategies/graph/packed_lists.h"

/// The order of kernels.
///
/// MindSpore does not run kernels in the order of the script. It collects the kernels that wait for
/// nothing ("independent") while it walks from the return node backwards, and then visits users of
/// what is ready: virtual nodes and only users at once, others behind what is waiting; users of a
/// collective only when nothing else is left, so that it overlaps with computation. A backward
/// kernel that needs only constants therefore runs among the forward ones, and an update as soon as
/// its gradient is there.
///
/// Example: of z = Mul(MatMul(x, w), Mul(c, 2)), with c and 2 constants, Mul(c, 2) waits for
/// nothing and runs beside MatMul, not behind it. Which of the two is first depends on which the
/// walk from the return node finds last: independent kernels lie on a stack.
///
/// Source: mindspore/ccsrc/backend/common/session/exec_order_builder.cc (BuildLinkInfo,
/// FindIndependentNodes, BuildByBFS, BuildByDFS: exec_order="dfs" follows each user at once). Nodes
/// all of whose operands are leaves or such nodes
/// ("trivial": the first Load of a parameter) take no part there.
namespace drydock::strategies {
namespace {

class ExecOrderBuilder {
 public:
  explicit ExecOrderBuilder(const KernelGraph& graph)
      : graph_(graph),
        users_(Room(graph)),
        waits_for_(graph.nodes.size(), 0),
        used_by_(graph.nodes.size(), 0),
        trivial_(graph.nodes.size(), Trivial::kUnknown) {}

  std::vector<KernelId> Build(VisitOrder visit) && {
    FindTrivial();
    Link();
    FindIndependent();
    if (visit == VisitOrder::kDepthFirst) {
      VisitInDepth();
    } else {
      Visit();
    }
    return std::move(order_);
  }

 private:
  enum class Trivial : std::uint8_t { kUnknown, kYes, kNo };

  /// Per node: how many read it, and one kernel that is held back.
  static std::vector<std::uint32_t> Room(const KernelGraph& graph) {
    std::vector<std::uint32_t> room(graph.nodes.size(), 1);
    for (const KernelNode& node : graph.nodes) {
      for (const KernelId input : node.inputs) {
        ++room[Index(input)];
      }
    }
    return room;
  }

  [[nodiscard]] static std::size_t Index(KernelId id) { return static_cast<std::size_t>(id); }
  [[nodiscard]] bool IsReal(KernelId id) const { return graph_.at(id).kind == KernelKind::kKernel; }
  [[nodiscard]] bool IsTrivial(KernelId id) const { return trivial_[Index(id)] == Trivial::kYes; }

  /// Operands have smaller numbers than what uses them, so one pass suffices.
  void FindTrivial() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const KernelNode& node = graph_.nodes[i];
      const bool trivial =
          IsLeaf(node.kind) ||
          (node.kind != KernelKind::kKernel &&
           std::ranges::all_of(node.inputs, [this](KernelId input) { return IsTrivial(input); }));
      trivial_[i] = trivial ? Trivial::kYes : Trivial::kNo;
    }
  }

  /// Users of every node, in the order of a walk from the return node.
  void Link() {
    std::vector<bool> seen(graph_.nodes.size(), false);
    std::deque<KernelId> waiting = {graph_.result};
    while (!waiting.empty()) {
      const KernelId id = waiting.front();
      waiting.pop_front();
      for (const KernelId input : graph_.at(id).inputs) {
        if (IsTrivial(input)) {
          continue;
        }
        users_.Append(Index(input), id);
        ++waits_for_[Index(id)];
        ++used_by_[Index(input)];
        if (!seen[Index(input)]) {
          seen[Index(input)] = true;
          waiting.push_back(input);
        }
      }
    }
  }

  /// Walks from the return node to what waits for nothing. Virtual nodes go first; a node is
  /// entered from its last user. An independent kernel that was found is made to wait for the next
  /// kernel that the walk enters.
  void FindIndependent() {
    std::deque<KernelId> kernels;
    std::deque<KernelId> virtuals = {graph_.result};
    while (!kernels.empty() || !virtuals.empty()) {
      std::deque<KernelId>& from = virtuals.empty() ? kernels : virtuals;
      const KernelId id = from.front();
      from.pop_front();
      bool independent = true;
      const std::vector<KernelId>& inputs = graph_.at(id).inputs;
      for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
        if (IsTrivial(*input)) {
          continue;
        }
        independent = false;
        if (--used_by_[Index(*input)] != 0) {
          continue;
        }
        if (IsReal(*input)) {
          kernels.push_back(*input);
          HoldBack(*input);
        } else {
          virtuals.push_back(*input);
        }
      }
      if (independent) {
        independent_.push_back(id);
      }
    }
  }

  /// Makes the independent kernel that was found last wait for `kernel`.
  void HoldBack(KernelId kernel) {
    if (independent_.empty()) {
      return;
    }
    const KernelId held = independent_.back();
    independent_.pop_back();
    users_.Append(Index(kernel), held);
    ++waits_for_[Index(held)];
  }

  /// Every user as soon as it waits for nothing more, before the next user of the same node.
  void VisitInDepth() {
    struct Place {
      KernelId node = kNoKernel;
      std::size_t next = 0;  ///< User to look at.
    };
    std::vector<Place> path;
    const auto enter = [&](KernelId id) {
      if (IsReal(id)) {
        order_.push_back(id);
      }
      path.push_back({.node = id});
    };
    for (; !independent_.empty(); independent_.pop_back()) {
      enter(independent_.back());
      while (!path.empty()) {
        const std::span<const KernelId> users = users_[Index(path.back().node)];
        if (path.back().next == users.size()) {
          path.pop_back();
          continue;
        }
        const KernelId user = users[path.back().next++];
        if (waits_for_[Index(user)] > 0 && --waits_for_[Index(user)] == 0) {
          enter(user);
        }
      }
    }
  }

  void Visit() {
    while (!independent_.empty() || pending_ != kNoKernel || !delayed_.empty()) {
      if (!delayed_.empty()) {
        const KernelId id = delayed_.front();
        delayed_.pop_front();
        Enqueue(id, behind_collectives_, false);
      } else if (pending_ != kNoKernel) {
        Enqueue(pending_, behind_collectives_, false);
        pending_ = kNoKernel;
      } else {
        others_.push_back(independent_.back());
        independent_.pop_back();
      }
      while (!others_.empty() || !behind_collectives_.empty()) {
        std::deque<KernelId>& queue = behind_collectives_.empty() ? others_ : behind_collectives_;
        const KernelId id = queue.front();
        queue.pop_front();
        VisitNode(id, queue);
      }
    }
  }

  void VisitNode(KernelId id, std::deque<KernelId>& queue) {
    const KernelNode& node = graph_.at(id);
    if (node.kind == KernelKind::kKernel) {
      order_.push_back(id);
    }
    if (!node.communication) {
      Enqueue(id, queue, true);
    } else if (MayWait(node)) {
      waiting_group_ = node.group;
      if (pending_ != kNoKernel) {
        Enqueue(pending_, behind_collectives_, false);
      }
      pending_ = id;
    } else {
      delayed_.push_back(id);
    }
  }

  /// Collectives that may be fused, of the group of the first of them: users of one wait until the
  /// next one is launched.
  [[nodiscard]] bool MayWait(const KernelNode& node) const {
    return node.fusible && (!waiting_group_ || *waiting_group_ == node.group);
  }

  void Enqueue(KernelId id, std::deque<KernelId>& queue, bool collectives_first) {
    std::vector<KernelId> later;
    const std::span<const KernelId> users = users_[Index(id)];
    for (const KernelId user : users) {
      if (waits_for_[Index(user)] == 0 || --waits_for_[Index(user)] > 0) {
        continue;
      }
      if (!IsReal(user) || users.size() == 1) {
        queue.push_front(user);
      } else if (graph_.at(user).communication == collectives_first) {
        queue.push_back(user);
      } else {
        later.push_back(user);
      }
    }
    queue.insert(queue.end(), later.begin(), later.end());
  }

  const KernelGraph& graph_;
  PackedLists<KernelId> users_;
  std::vector<std::int32_t> waits_for_;
  std::vector<std::int32_t> used_by_;
  std::vector<Trivial> trivial_;
  std::vector<KernelId> independent_ = {};
  std::deque<KernelId> others_ = {};
  std::deque<KernelId> behind_collectives_ = {};
  std::deque<KernelId> delayed_ = {};  ///< Collectives whose users were not looked at yet.
  KernelId pending_ = kNoKernel;       ///< The same of collectives that may be fused.
  std::optional<Boxed<GroupPattern>> waiting_group_ = {};
  std::vector<KernelId> order_ = {};
};

}  // namespace

std::vector<KernelId> ExecOrder(const KernelGraph& graph, VisitOrder visit) {
  return ExecOrderBuilder(graph).Build(visit);
}

}  // namespace drydock::strategies
