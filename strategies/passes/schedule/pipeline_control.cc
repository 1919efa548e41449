#include "strategies/passes/schedule/pipeline_control.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/schedule/pipeline_messages.h"

/// The order of micro batches in a stage of a pipeline, as edges between kernels.
///
/// Four borders per micro batch: where its forward pass begins (the piece of the batch, a Receive)
/// and ends (a Send, the loss), where its backward pass begins (a Receive, the gradient of the
/// loss) and ends (a Send, the gradient of the first operator with a weight). "b not before a" is
/// Depend(first operand of b, a). 1F1B on stage s of S, micro batches 0 to M - 1, w = S - s:
///
///   warm-up   forward i begins when forward i - 1 has ended             0 < i < w
///   then      backward i - w + 1 begins when forward i is computed      w <= i < M
///             forward i begins when backward i - w has ended
///             what backward i - w received comes before what forward i - 1 sends, and that before
///             the end of backward i - w                                 w <= i <= M, not last
///             stage
///   drain     backward j begins when backward j - 1 has ended           M - w < j < M
///   backward 0 begins when forward w - 1 is computed                    not last stage
///
/// Other schedulers, and several parts of the network per stage: all messages of a stage go in the
/// order that pipeline_messages.cc finds, and each pass begins when the one before it is computed.
///
/// Where such an edge of 1F1B orders a message of the forward pass and one of the backward pass,
/// everything else that reads the first waits for the second, too: both have been started before
/// what they brought is used. Weights that other stages use pass before the first micro batch,
/// their gradients behind the last one.
///
/// Source: mindspore/ccsrc/frontend/parallel/graph_util/pipeline_split_utils.cc (Reorder),
/// mindspore/ccsrc/frontend/parallel/pass/reorder_send_recv_between_fp_bp.cc
namespace drydock::strategies {
namespace {

/// Kernels at one border, per micro batch and part of the stage: number micro * parts + part.
using Border = std::vector<std::vector<KernelId>>;

/// Where the micro batches of a stage begin and end.
struct Borders {
  Border forward_start = {};
  Border forward_end = {};
  Border backward_start = {};
  Border backward_end = {};
  std::vector<KernelId> weights_passed = {};    ///< Weights of several stages, sent or received.
  std::vector<KernelId> gradients_passed = {};  ///< Their gradients.
  std::size_t parts = 1;                        ///< Of the network that this stage has.
};

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

/// What stands for a tensor that is only waited for.
constexpr std::string_view kZero = "0.000000";

/// Where the derivative of an operator is.
constexpr std::string_view kGradientScope = "Gradients/";

bool IsLeafLike(const KernelGraph& graph, KernelId id) {
  const KernelNode& node = graph.at(id);
  return IsLeaf(node.kind) || (node.kind != KernelKind::kKernel &&
                               std::ranges::all_of(node.inputs, [&graph](KernelId input) {
                                 return IsLeafLike(graph, input);
                               }));
}

/// A kernel of the derivative that waits for nothing.
bool IsSeed(const KernelGraph& graph, const Graph& local, const KernelNode& node) {
  if (node.kind != KernelKind::kKernel || node.origin == kNoNode) {
    return false;
  }
  const Node& origin = local.at(node.origin);
  return origin.phase == Phase::kBackward && origin.scope.starts_with(kGradientScope) &&
         PointToPointOf(origin) == PointToPoint::kNone &&
         std::ranges::all_of(node.inputs,
                             [&graph](KernelId input) { return IsLeafLike(graph, input); });
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
    const auto is_message = [this](KernelId id) {
      const NodeId origin = graph_.at(id).origin;
      return origin != kNoNode && PointToPointOf(local_.at(origin)) != PointToPoint::kNone;
    };
    std::vector<KernelId> messages;
    std::ranges::copy_if(kernels, std::back_inserter(messages), is_message);
    std::ranges::stable_sort(messages, {}, [this](KernelId id) {
      const Node& origin = local_.at(graph_.at(id).origin);
      const std::int64_t distance = IntAttr(origin.attrs, "rank_distance", 0).value_or(0);
      const bool sends = PointToPointOf(origin) == PointToPoint::kSends;
      return std::pair(sends ? distance : -distance,
                       IntAttr(origin.attrs, "sr_tag", 0).value_or(0));
    });
    std::size_t next = 0;
    for (KernelId& id : kernels) {
      id = is_message(id) ? messages[next++] : id;
    }
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
    }
  }

  /// Pieces of several inputs begin a micro batch in the order of a walk from the return node that
  /// goes through the last operand of a node first.
  void SortPieces() {
    const auto several = [](const std::vector<KernelId>& slot) { return slot.size() > 1; };
    if (std::ranges::none_of(found_.forward_start, several)) {
      return;
    }
    const std::vector<std::int32_t> places = PlacesOfWalk();
    for (std::vector<KernelId>& slot : found_.forward_start) {
      std::ranges::stable_sort(
          slot, {}, [&places](KernelId id) { return places[static_cast<std::size_t>(id)]; });
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
      found_.forward_end[Slot(0, part)].push_back(Behind(node.inputs[0]));
    }
    found_.forward_end[Slot(micro, part)].push_back(Behind(node.inputs[1]));
  }

  [[nodiscard]] KernelId Behind(KernelId id) const {
    while (graph_.at(id).kind == KernelKind::kDepend) {
      id = graph_.at(id).inputs.front();
    }
    return id;
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
};

/// Adds the edges.
class Ordering {
 public:
  Ordering(KernelGraph& graph, const Graph& local, Borders borders, std::int64_t stages,
           std::int64_t stage)
      : graph_(graph),
        local_(local),
        borders_(std::move(borders)),
        stages_(static_cast<std::size_t>(stages)),
        stage_(static_cast<std::size_t>(stage)),
        micros_(borders_.forward_start.size() / borders_.parts) {}

  [[nodiscard]] std::size_t parts() const { return borders_.parts; }

  /// 1F1B with one part per stage.
  void Run() {
    ChainAll();
    const bool last = stage_ + 1 == stages_;
    const std::size_t behind = stages_ - stage_;
    Warm(behind);
    Alternate(behind);
    if (!last) {
      Cross(behind);
    }
    for (std::size_t j = micros_ - behind + 1; j < micros_; ++j) {
      After(Last(borders_.backward_end[j - 1]), First(borders_.backward_start[j]));
    }
    if (!last) {
      After(Computed(behind - 1), First(borders_.backward_start[0]));
    } else if (!Reads(First(borders_.backward_end[0]), First(borders_.forward_start[0]))) {
      // The gradient of a linear network needs nothing of what the stage receives.
      After(Last(borders_.forward_start[0]), First(borders_.backward_end[0]));
    }
    PassWeights();
    ReorderReaders();
  }

  /// Any other schedule: messages in one order, tasks one behind the other.
  void Run(const std::vector<PipelineTask>& tasks, const std::vector<StageMessage>& messages) {
    ChainAll();
    for (std::size_t i = 1; i < messages.size(); ++i) {
      After(Last(MessageAt(messages[i - 1])), First(MessageAt(messages[i])));
    }
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      Follow(Computed(tasks[i - 1]), tasks[i]);
    }
    PassWeights();
  }

 private:
  [[nodiscard]] std::size_t SlotOf(const PipelineTask& task) const {
    return static_cast<std::size_t>(task.micro) * borders_.parts +
           static_cast<std::size_t>(task.chunk);
  }

  [[nodiscard]] const std::vector<KernelId>& MessageAt(const StageMessage& message) const {
    const bool backward = message.task.backward;
    const Border& border = message.sends
                               ? (backward ? borders_.backward_end : borders_.forward_end)
                               : (backward ? borders_.backward_start : borders_.forward_start);
    return border[SlotOf(message.task)];
  }

  /// What a task makes, before it is sent.
  [[nodiscard]] KernelId Computed(const PipelineTask& task) const {
    return BeforeSend(
        Last((task.backward ? borders_.backward_end : borders_.forward_end)[SlotOf(task)]));
  }

  /// A task begins when `prior` is done: whatever reads what it receives.
  void Follow(KernelId prior, const PipelineTask& task) {
    const KernelId start =
        First((task.backward ? borders_.backward_start : borders_.forward_start)[SlotOf(task)]);
    if (prior == kNoKernel || start == kNoKernel || HalfOf(start) == PointToPoint::kNone) {
      After(prior, start);
      return;
    }
    for (const KernelId reader : ReadersOf(start)) {
      if (graph_.at(reader).kind == KernelKind::kKernel) {
        After(prior, reader);
        return;
      }
    }
  }

  /// Of the program without the edges.
  const std::vector<KernelId>& ReadersOf(KernelId id) {
    if (readers_.empty()) {
      readers_.resize(graph_.nodes.size());
      for (std::size_t n = 0; n < readers_.size(); ++n) {
        for (const KernelId input : graph_.nodes[n].inputs) {
          if (static_cast<std::size_t>(input) < readers_.size()) {
            readers_[static_cast<std::size_t>(input)].push_back(
                KernelId{static_cast<std::int32_t>(n)});
          }
        }
      }
    }
    return readers_[static_cast<std::size_t>(id)];
  }

  /// True if `kernel` waits for `wanted`.
  [[nodiscard]] bool Reads(KernelId kernel, KernelId wanted) const {
    if (kernel == kNoKernel || wanted == kNoKernel) {
      return true;
    }
    std::vector<bool> seen(graph_.nodes.size(), false);
    std::vector<KernelId> waiting = {kernel};
    while (!waiting.empty()) {
      const KernelId id = waiting.back();
      waiting.pop_back();
      if (id == wanted) {
        return true;
      }
      for (const KernelId input : graph_.at(id).inputs) {
        if (!seen[static_cast<std::size_t>(input)]) {
          seen[static_cast<std::size_t>(input)] = true;
          waiting.push_back(input);
        }
      }
    }
    return false;
  }

  void ChainAll() {
    for (const Border* border : {&borders_.forward_start, &borders_.forward_end,
                                 &borders_.backward_start, &borders_.backward_end}) {
      for (const std::vector<KernelId>& kernels : *border) {
        Chain(kernels);
      }
    }
  }

  static KernelId First(const std::vector<KernelId>& kernels) {
    return kernels.empty() ? kNoKernel : kernels.front();
  }
  static KernelId Last(const std::vector<KernelId>& kernels) {
    return kernels.empty() ? kNoKernel : kernels.back();
  }

  void Chain(const std::vector<KernelId>& kernels) {
    for (std::size_t i = 1; i < kernels.size(); ++i) {
      After(kernels[i - 1], kernels[i]);
    }
  }

  void Warm(std::size_t behind) {
    for (std::size_t i = 1; i < behind && i < micros_; ++i) {
      After(Last(borders_.forward_end[i - 1]), First(borders_.forward_start[i]));
    }
  }

  void Alternate(std::size_t behind) {
    for (std::size_t i = behind; i < micros_; ++i) {
      After(Computed(i), First(borders_.backward_start[i - behind + 1]));
      After(Last(borders_.backward_end[i - behind]), First(borders_.forward_start[i]));
    }
  }

  void Cross(std::size_t behind) {
    for (std::size_t i = behind; i <= micros_; ++i) {
      After(Last(borders_.backward_start[i - behind]), First(borders_.forward_end[i - 1]));
      After(Last(borders_.forward_end[i - 1]), First(borders_.backward_end[i - behind]));
    }
  }

  void PassWeights() {
    Chain(borders_.weights_passed);
    Chain(borders_.gradients_passed);
    After(Last(borders_.weights_passed), First(borders_.forward_start[0]));
    After(Last(borders_.backward_end.back()), First(borders_.gradients_passed));
  }

  /// What the forward pass of a micro batch sends, or its end where nothing is sent.
  [[nodiscard]] KernelId Computed(std::size_t micro) const {
    return BeforeSend(Last(borders_.forward_end[micro]));
  }

  [[nodiscard]] KernelId BeforeSend(KernelId id) const {
    if (id == kNoKernel || HalfOf(id) == PointToPoint::kNone) {
      return id;
    }
    id = graph_.at(id).inputs.front();
    while (graph_.at(id).kind == KernelKind::kDepend) {
      id = graph_.at(id).inputs.front();
    }
    return id;
  }

  [[nodiscard]] PointToPoint HalfOf(KernelId id) const {
    const KernelNode& node = graph_.at(id);
    return node.kind == KernelKind::kKernel && node.origin != kNoNode
               ? PointToPointOf(local_.at(node.origin))
               : PointToPoint::kNone;
  }

  [[nodiscard]] bool IsBackward(KernelId id) const {
    return local_.at(graph_.at(id).origin).phase == Phase::kBackward;
  }

  KernelId Depend(KernelId value, KernelId prior) {
    graph_.nodes.push_back({.kind = KernelKind::kDepend, .inputs = {value, prior}});
    return KernelId{static_cast<std::int32_t>(graph_.nodes.size()) - 1};
  }

  /// Of a constant that starts a backward pass each micro batch has its own.
  KernelId OwnOperand(KernelId operand) {
    if (graph_.at(operand).kind != KernelKind::kConstant || graph_.at(operand).name == kZero) {
      return operand;
    }
    KernelNode copy = graph_.at(operand);
    graph_.nodes.push_back(std::move(copy));
    return KernelId{static_cast<std::int32_t>(graph_.nodes.size()) - 1};
  }

  /// `post` not before `prior`.
  void After(KernelId prior, KernelId post) {
    if (prior == kNoKernel || post == kNoKernel) {
      return;
    }
    const KernelId depend = Depend(OwnOperand(graph_.at(post).inputs.front()), prior);
    graph_.at(post).inputs.front() = depend;
    if (HalfOf(prior) != PointToPoint::kNone && HalfOf(post) != PointToPoint::kNone &&
        IsBackward(prior) != IsBackward(post)) {
      crossed_.push_back({.prior = prior, .post = post, .edge = depend});
    }
  }

  /// Readers of a message that another one is ordered behind wait for that one, too.
  void ReorderReaders() {
    std::vector<std::vector<KernelId>> readers(graph_.nodes.size());
    std::vector<bool> wanted(graph_.nodes.size(), false);
    std::vector<bool> edges(graph_.nodes.size(), false);
    for (const Crossed& crossed : crossed_) {
      wanted[static_cast<std::size_t>(crossed.prior)] = true;
      edges[static_cast<std::size_t>(crossed.edge)] = true;
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const KernelId input : graph_.nodes[n].inputs) {
        if (wanted[static_cast<std::size_t>(input)] && !edges[n]) {
          readers[static_cast<std::size_t>(input)].push_back(
              KernelId{static_cast<std::int32_t>(n)});
        }
      }
    }
    for (const Crossed& crossed : crossed_) {
      std::vector<KernelId>& users = readers[static_cast<std::size_t>(crossed.prior)];
      if (users.empty()) {
        continue;
      }
      const KernelId both = Depend(crossed.prior, crossed.post);
      for (const KernelId user : users) {
        std::ranges::replace(graph_.at(user).inputs, crossed.prior, both);
      }
      users.clear();
    }
  }

  /// A message ordered before another one of the other direction.
  struct Crossed {
    KernelId prior = kNoKernel;
    KernelId post = kNoKernel;
    KernelId edge = kNoKernel;  ///< The Depend.
  };

  KernelGraph& graph_;
  const Graph& local_;
  Borders borders_;
  std::size_t stages_;
  std::size_t stage_;
  std::size_t micros_;
  std::vector<Crossed> crossed_ = {};
  std::vector<std::vector<KernelId>> readers_ = {};
};

/// Sums of what a stage waits for at the end: that of micro batch 0, the gradient's, the others'.
void SortTokens(KernelGraph& graph, const Graph& local, std::size_t micros) {
  for (KernelNode& node : graph.nodes) {
    if (node.origin == kNoNode || node.kind != KernelKind::kKernel ||
        !local.at(node.origin).attrs.contains(kJoinsSends)) {
      continue;
    }
    // The gradient was lowered as the last operand.
    const KernelId gradient = node.inputs.back();
    node.inputs.pop_back();
    const auto first = static_cast<std::ptrdiff_t>(node.inputs.size() / micros);
    node.inputs.insert(node.inputs.begin() + first, gradient);
  }
}

/// What a stage returns instead of a loss waits for all that it sends: one tuple.
std::vector<KernelId> TieSends(KernelGraph& graph, const Graph& local) {
  std::vector<KernelId> ties;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const KernelNode& node = graph.nodes[n];
    if (node.origin == kNoNode || node.kind != KernelKind::kDepend ||
        node.micro_use != MicroUse::kAll || !local.at(node.origin).attrs.contains(kJoinsSends)) {
      continue;
    }
    std::vector<KernelId> sent(node.inputs.begin() + 1, node.inputs.end());
    graph.nodes.push_back({.kind = KernelKind::kMakeTuple, .inputs = std::move(sent)});
    const KernelId tuple{static_cast<std::int32_t>(graph.nodes.size()) - 1};
    graph.nodes[n].inputs = {graph.nodes[n].inputs.front(), tuple};
    ties.push_back(KernelId{static_cast<std::int32_t>(n)});
  }
  return ties;
}

/// Where no message was ordered behind one of the other direction, the last one stands for all.
/// Source: mindspore/ccsrc/backend/common/pass/erase_invalid_micro_depend.cc
void KeepLastSend(KernelGraph& graph, const std::vector<KernelId>& ties) {
  for (const KernelId tie : ties) {
    const std::vector<KernelId>& sent = graph.at(graph.at(tie).inputs.back()).inputs;
    const auto micro = [&graph](KernelId id) { return graph.at(id).micro; };
    if (!sent.empty() && std::ranges::all_of(sent, [&](KernelId id) {
          return graph.at(id).kind == KernelKind::kKernel && micro(id) >= 0;
        })) {
      graph.at(tie).inputs.back() = *std::ranges::max_element(sent, {}, micro);
    }
  }
}

}  // namespace

void RepeatSeeds(LoweredProgram& rolled, const Graph& local) {
  for (KernelNode& node : rolled.graph.nodes) {
    if (IsSeed(rolled.graph, local, node)) {
      node.micro_use = MicroUse::kEach;
    }
  }
}

Status OrderPipeline(KernelGraph& graph, const Graph& local, const JobConfig& config, StageId stage,
                     const std::vector<std::vector<KernelId>>& ends) {
  const auto micros = static_cast<std::size_t>(config.micro_batches);
  SortTokens(graph, local, micros);
  const std::vector<KernelId> ties = TieSends(graph, local);
  BorderFinder finder(graph, local, micros, ToInt(stage) == 0);
  Ordering ordering(graph, local, std::move(finder).Find(ends), config.pipeline_stages,
                    ToInt(stage));
  DRYDOCK_TRY(const PipelineScheduler scheduler, ParsePipelineScheduler(config.pipeline_scheduler));
  if (scheduler == PipelineScheduler::k1F1B && ordering.parts() == 1) {
    ordering.Run();
    KeepLastSend(graph, ties);
    return {};
  }
  const PipelineShape shape{.stages = config.pipeline_stages,
                            .micros = config.micro_batches,
                            .chunks = static_cast<std::int64_t>(ordering.parts())};
  DRYDOCK_TRY(const std::vector<std::vector<PipelineTask>> orders, ProvenOrders(scheduler, shape));
  const std::vector<std::vector<StageMessage>> messages = MessageOrders(scheduler, shape, orders);
  ordering.Run(orders[ToIndex(stage)], messages[ToIndex(stage)]);
  KeepLastSend(graph, ties);
  return {};
}

}  // namespace drydock::strategies
