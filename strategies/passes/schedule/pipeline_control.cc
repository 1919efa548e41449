#include "strategies/passes/schedule/pipeline_control.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/schedule/call_order.h"
#include "strategies/passes/schedule/pipeline_borders.h"
#include "strategies/passes/schedule/pipeline_messages.h"
#include "strategies/passes/schedule/sequence_calls.h"
#include "strategies/passes/schedule/shared_calls.h"
#include "strategies/program/micro_nodes.h"

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
/// Interleaved parts, and micro batches that share a graph, call it: shared_calls.cc,
/// call_order.cc, sequence_calls.cc. Other schedulers, and those of them that would wait forever:
/// all messages of a stage go in the order that pipeline_messages.cc finds, and each pass begins
/// when the one before it is computed.
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
    if (graph_.at(operand).kind != KernelKind::kConstant || graph_.at(operand).name == kZeroText) {
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

/// Micro batches that share a graph go as in seqpipe where there is one part per stage, which is
/// 1F1B with other edges; all others go as in 1F1B there.
/// Source: mindspore/ccsrc/pipeline/jit/ps/pipeline_split.cc (HandleInterleavedPipeline); gpipe and
/// seqsmartvpp with one part: recorded
PipelineScheduler SchedulerOfStage(PipelineScheduler asked, bool interleaves, bool shared) {
  const PipelineScheduler scheduler = SchedulerInForce(asked, interleaves);
  if (interleaves || scheduler == PipelineScheduler::kZeroBubbleV) {
    return scheduler;
  }
  return shared ? PipelineScheduler::kSeqPipe : PipelineScheduler::k1F1B;
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
  const Borders borders = FindBorders(graph, local, micros, ToInt(stage) == 0, ends);
  Ordering ordering(graph, local, borders, config.pipeline_stages, ToInt(stage));
  DRYDOCK_TRY(const PipelineScheduler asked, ParsePipelineScheduler(config.pipeline_scheduler));
  const bool shared = StageCallsSharedGraph(local);
  const bool interleaves = config.pipeline_interleave && ordering.parts() > 1;
  const PipelineScheduler scheduler = SchedulerOfStage(asked, interleaves, shared);
  const bool calls = shared && scheduler != PipelineScheduler::kZeroBubbleV;
  const PipelineShape shape{.stages = config.pipeline_stages,
                            .micros = config.micro_batches,
                            .chunks = static_cast<std::int64_t>(ordering.parts())};
  if (scheduler == PipelineScheduler::k1F1B && ordering.parts() == 1 && !calls) {
    const auto possible = PipelineOrder(scheduler, shape, ToInt(stage));
    if (!possible) {
      return tl::unexpected(possible.error());
    }
    ordering.Run();
    KeepLastSend(graph, ties);
    return {};
  }
  if (calls && !IsBySequences(scheduler)) {
    FormCalls(graph, local, borders, micros, OrderOfCalls(scheduler, shape, ToInt(stage)));
    return {};
  }
  if (calls && SequenceCallsMeet(scheduler, shape)) {
    DRYDOCK_TRY(const std::vector<PipelineTask> tasks,
                PipelineOrder(scheduler, shape, ToInt(stage)));
    CallOrder order = OrderOfSequenceCalls(scheduler, shape, ToInt(stage), tasks);
    order.copies = order.copies || CallsHandOverTuples(local);
    FormCalls(graph, local, borders, micros, order);
    if (!config.pipeline_interleave) {
      KeepLastSend(graph, ties);
    }
    return {};
  }
  DRYDOCK_TRY(const std::vector<std::vector<PipelineTask>> orders, ProvenOrders(scheduler, shape));
  const std::vector<std::vector<StageMessage>> messages = MessageOrders(scheduler, shape, orders);
  ordering.Run(orders[ToIndex(stage)], messages[ToIndex(stage)]);
  KeepLastSend(graph, ties);
  return {};
}

}  // namespace drydock::strategies
