#include "strategies/passes/schedule/pipeline_borders.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// Where the micro batches of a stage begin and end.
///
/// The forward pass of a micro batch begins with its piece of the batch or a Receive and ends with
/// a Send or the loss; its backward pass begins with a Receive or the first kernel of the
/// derivative and ends with a Send or the gradient of the first operator that has a weight. Several
/// kernels at one border stand in an order that both of two stages know: messages by peer, then by
/// number; pieces in the order of MindSpore's walk from the return node.
///
/// Source: mindspore/ccsrc/frontend/parallel/graph_util/pipeline_split_utils.cc
namespace drydock::strategies {
namespace {

/// The part of this stage that gives or wants what is passed.
std::size_t PartOf(const Node& transfer, bool sends) {
  const std::string_view name = sends ? kFromPart : kToPart;
  return static_cast<std::size_t>(IntAttr(transfer.attrs, name, 0).value_or(0));
}

std::size_t PartsOf(const Graph& local) {
  std::size_t parts = 1;
  for (const Node& node : local.nodes) {
    const PointToPoint half = PointToPointOf(node);
    if (half != PointToPoint::kNone) {
      parts = std::max(parts, PartOf(node, half == PointToPoint::kSends) + 1);
    }
  }
  return parts;
}

class BorderFinder {
 public:
  BorderFinder(const KernelGraph& graph, const Graph& local, std::size_t micros, bool first)
      : graph_(graph), local_(local), first_(first) {
    found_.parts = PartsOf(local);
    for (Border* border : {&found_.forward_start, &found_.forward_end, &found_.backward_start,
                           &found_.backward_end}) {
      border->resize(micros * found_.parts);
    }
    seeds_.resize(micros, kNoKernel);
    lasts_.resize(micros, kNoKernel);
  }

  Borders Find(const std::vector<std::vector<KernelId>>& ends) && {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      Look(KernelId{static_cast<std::int32_t>(n)});
    }
    for (std::size_t m = 0; m < seeds_.size(); ++m) {
      std::vector<KernelId>& start = found_.backward_start[Slot(m, found_.parts - 1)];
      if (start.empty() && seeds_[m] != kNoKernel) {
        start.push_back(seeds_[m]);
      }
      std::vector<KernelId>& end = found_.backward_end[Slot(m, 0)];
      if (end.empty() && m < ends.size() && !ends[m].empty()) {
        end.push_back(ends[m].front());
      }
      if (end.empty() && first_ && lasts_[m] != kNoKernel) {
        end.push_back(lasts_[m]);
      }
    }
    SortPieces();
    SortMessages();
    return std::move(found_);
  }

 private:
  /// Messages of one micro batch go by peer, then by number, in both of two stages alike.
  void SortMessages() {
    for (Border* border : {&found_.forward_start, &found_.forward_end, &found_.backward_start,
                           &found_.backward_end}) {
      for (std::vector<KernelId>& kernels : *border) {
        SortMessages(kernels);
      }
    }
    SortMessages(found_.weights_passed);
    SortMessages(found_.gradients_passed);
  }

  void SortMessages(std::vector<KernelId>& kernels) const {
    const auto is_message = [this](KernelId id) { return IsMessage(id); };
    std::vector<KernelId> messages;
    std::ranges::copy_if(kernels, std::back_inserter(messages), is_message);
    std::ranges::stable_sort(messages, {}, [this](KernelId id) {
      const Node& origin = local_.at(graph_.at(id).origin);
      const std::int64_t distance = IntAttr(origin.attrs, kRankDistance, 0).value_or(0);
      const bool sends = PointToPointOf(origin) == PointToPoint::kSends;
      return std::pair(sends ? distance : -distance,
                       IntAttr(origin.attrs, kTransferTag, 0).value_or(0));
    });
    std::size_t next = 0;
    for (KernelId& id : kernels) {
      id = is_message(id) ? messages[next++] : id;
    }
  }

  [[nodiscard]] bool IsMessage(KernelId id) const {
    const NodeId origin = graph_.at(id).origin;
    return origin != kNoNode && PointToPointOf(local_.at(origin)) != PointToPoint::kNone;
  }

  void Look(KernelId id) {
    const KernelNode& node = graph_.at(id);
    if (node.kind != KernelKind::kKernel || node.origin == kNoNode) {
      return;
    }
    const Node& origin = local_.at(node.origin);
    const PointToPoint half = PointToPointOf(origin);
    if (half != PointToPoint::kNone) {
      Transfer(id, origin, half == PointToPoint::kSends);
    } else if (node.micro_use == MicroUse::kFold) {
      Loss(node);
    } else if (node.micro >= 0 && origin.entry->per_micro_batch &&
               !origin.attrs.contains(kDuplicated)) {
      found_.forward_start[Slot(Micro(node), first_ ? 0 : found_.parts - 1)].push_back(id);
    } else if (node.micro >= 0 && origin.phase == Phase::kBackward) {
      KernelId& seed = seeds_[Micro(node)];
      seed = seed == kNoKernel ? id : seed;
      lasts_[Micro(node)] = id;
    }
  }

  /// Pieces of several inputs begin a micro batch, behind what it receives, in the order of a walk
  /// from the return node that goes through the last operand of a node first.
  void SortPieces() {
    const auto several = [](const std::vector<KernelId>& slot) { return slot.size() > 1; };
    if (std::ranges::none_of(found_.forward_start, several)) {
      return;
    }
    const std::vector<std::int32_t> places = PlacesOfWalk();
    for (std::vector<KernelId>& slot : found_.forward_start) {
      std::ranges::stable_sort(slot, {}, [&](KernelId id) {
        return std::pair(!IsMessage(id), places[static_cast<std::size_t>(id)]);
      });
    }
  }

  /// When a node is done in that walk.
  [[nodiscard]] std::vector<std::int32_t> PlacesOfWalk() const {
    std::vector<std::int32_t> places(graph_.nodes.size(), -1);
    std::vector<std::pair<KernelId, std::size_t>> path;  // With how many operands are left.
    std::vector<bool> entered(graph_.nodes.size(), false);
    std::int32_t done = 0;
    const auto enter = [&](KernelId id) {
      if (!entered[static_cast<std::size_t>(id)]) {
        entered[static_cast<std::size_t>(id)] = true;
        path.emplace_back(id, graph_.at(id).inputs.size());
      }
    };
    enter(graph_.result);
    while (!path.empty()) {
      auto& [id, left] = path.back();
      if (left > 0) {
        enter(graph_.at(id).inputs[--left]);
      } else {
        places[static_cast<std::size_t>(id)] = done++;
        path.pop_back();
      }
    }
    return places;
  }

  void Transfer(KernelId id, const Node& origin, bool sends) {
    const bool backward = origin.phase == Phase::kBackward;
    const KernelNode& node = graph_.at(id);
    if (origin.attrs.contains(kPassesWeight)) {
      (backward ? found_.gradients_passed : found_.weights_passed).push_back(id);
    } else if (node.micro >= 0) {
      Border& border = backward ? (sends ? found_.backward_end : found_.backward_start)
                                : (sends ? found_.forward_end : found_.forward_start);
      border[Slot(Micro(node), PartOf(origin, sends))].push_back(id);
    }
  }

  /// The losses of two micro batches, or the sum so far and the next one.
  void Loss(const KernelNode& node) {
    const std::size_t micro = Micro(node);
    const std::size_t part = found_.parts - 1;
    if (micro == 1) {
      found_.forward_end[Slot(0, part)].push_back(node.inputs[0]);
    }
    found_.forward_end[Slot(micro, part)].push_back(node.inputs[1]);
  }

  [[nodiscard]] std::size_t Slot(std::size_t micro, std::size_t part) const {
    return micro * found_.parts + part;
  }
  static std::size_t Micro(const KernelNode& node) { return static_cast<std::size_t>(node.micro); }

  const KernelGraph& graph_;
  const Graph& local_;
  bool first_;  ///< Pieces of the batch are what the first part reads, not the last one.
  Borders found_ = {};
  std::vector<KernelId> seeds_ = {};  ///< Per micro batch its first backward kernel.
  /// Its last one: the first operator that has a weight may leave no derivative of its own, as a
  /// Cast that is done to the rows of a sharded weight.
  std::vector<KernelId> lasts_ = {};
};

}  // namespace

Borders FindBorders(const KernelGraph& graph, const Graph& local, std::size_t micros, bool first,
                    const std::vector<std::vector<KernelId>>& ends) {
  return BorderFinder(graph, local, micros, first).Find(ends);
}

}  // namespace drydock::strategies
