#include "strategies/passes/schedule/dataflow_order.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

/// Kernels as actors.
///
/// Where a graph has collectives, MindSpore's runtime makes each kernel wait for the one before it
/// in the order of exec_order.cc. Where it has none, each kernel is an actor that runs when it got
/// a message from everything it needs: data from the kernels whose results it reads, a control
/// message from those that its state (UpdateState, Load, Depend) names. An actor that ran sends
/// data first, in the order in which its readers were compiled, then control messages.
///
///   first step: a message puts its receiver behind the others that have messages, unless it waits
///     there already. A chain of actors, each the only receiver of the one before, is one actor:
///     inside of it a message is a call. All data for one receiver go together, at the place of the
///     last.
///   later steps: a message is a call, so that all that became ready runs before the next message
///     is sent - unless the graph has more than 100 kernels or the device loops by itself.
///
/// Example: b and c read a, which reads an input; q and r read p, which reads a parameter. In the
/// first step a p b c q r, later a b c p q r.
///
/// That is what one thread for actors does, which is what a dry run has on a small machine. With
/// several threads MindSpore's order is not the same in each run.
///
/// Source: mindspore/ccsrc/runtime/graph_scheduler/graph_scheduler.cc (LinkDataArrowInNonSinkMode,
/// LinkControlArrowByAutoMonad, SetActorExecutionStrategy), optimizer/multi_actor_fusion.cc,
/// optimizer/batch_data_arrow_fusion.cc
namespace drydock::strategies {
namespace {

using ActorId = std::size_t;

/// The data set's actor comes first, then one per kernel, in compiled order.
constexpr ActorId kSource = 0;
constexpr std::size_t kMostFused = 1000;
constexpr std::size_t kMostForCalls = 100;

/// Who sends to whom, in order of sending.
struct Actors {
  std::vector<std::vector<ActorId>> data = {};
  std::vector<std::vector<ActorId>> control = {};
  std::vector<std::size_t> waits_for = {};
  std::vector<ActorId> first = {};  ///< Those that the step begins with.
  ActorId outside = 0;              ///< Takes what the step returns and the news of its end.
};

bool IsMonad(KernelKind kind) {
  return kind == KernelKind::kDepend || kind == KernelKind::kUpdateState ||
         kind == KernelKind::kLoad || kind == KernelKind::kMakeTuple;
}

class Linker {
 public:
  Linker(const KernelGraph& graph, const std::vector<KernelId>& order)
      : graph_(graph), order_(order), actor_of_(graph.nodes.size(), 0) {
    actors_.data.resize(order.size() + 1);
    actors_.control.resize(order.size() + 1);
    actors_.waits_for.assign(order.size() + 1, 0);
    actors_.outside = order.size() + 1;
    for (std::size_t i = 0; i < order.size(); ++i) {
      actor_of_[Index(order[i])] = i + 1;
    }
  }

  Actors Link() && {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      LinkKernel(order_[i], i + 1);
    }
    for (const KernelId output : graph_.outputs) {
      for (const KernelOperand& operand : RealOperands(graph_, output)) {
        if (const std::optional<ActorId> from = SenderOf(operand.node)) {
          actors_.data[*from].push_back(actors_.outside);
        }
      }
    }
    actors_.first = {kSource};
    for (ActorId actor = 1; actor <= order_.size(); ++actor) {
      if (actors_.waits_for[actor] == 0) {
        actors_.first.push_back(actor);
      }
      if (actors_.data[actor].empty() && actors_.control[actor].empty()) {
        actors_.control[actor].push_back(actors_.outside);
      }
    }
    return std::move(actors_);
  }

 private:
  [[nodiscard]] static std::size_t Index(KernelId id) { return static_cast<std::size_t>(id); }

  /// The actor that sends what a node makes; none of parameters and constants.
  [[nodiscard]] std::optional<ActorId> SenderOf(KernelId id) const {
    switch (graph_.at(id).kind) {
      case KernelKind::kInput:
        return kSource;
      case KernelKind::kKernel:
        return actor_of_[Index(id)];
      default:
        return std::nullopt;
    }
  }

  void LinkKernel(KernelId kernel, ActorId actor) {
    senders_.clear();
    for (const KernelId input : graph_.at(kernel).inputs) {
      const KernelKind kind = graph_.at(input).kind;
      if (IsMonad(kind) && kind != KernelKind::kMakeTuple) {
        seen_.clear();
        LinkState(input, actor);
      }
      for (const KernelOperand& operand : RealOperands(graph_, input)) {
        if (const std::optional<ActorId> from = SenderOf(operand.node)) {
          actors_.data[*from].push_back(actor);
          ++actors_.waits_for[actor];
          senders_.insert(*from);
        }
      }
    }
  }

  [[nodiscard]] KernelId BehindItem(KernelId id) const {
    while (graph_.at(id).kind == KernelKind::kTupleGetItem) {
      id = graph_.at(id).inputs.front();
    }
    return id;
  }

  /// Control messages to `actor` from the kernels that a state names.
  void LinkState(KernelId from, ActorId actor) {
    const KernelId id = BehindItem(from);
    if (!seen_.insert(id).second) {
      return;
    }
    const KernelNode& node = graph_.at(id);
    std::size_t begin = 0;
    std::size_t end = node.inputs.size();
    if (node.kind == KernelKind::kUpdateState) {
      begin = FollowsFromOthers(node) ? 1 : 0;
    } else if (node.kind == KernelKind::kLoad || node.kind == KernelKind::kDepend) {
      end = std::min<std::size_t>(end, 2);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const KernelId input = BehindItem(node.inputs[i]);
      if (IsMonad(graph_.at(input).kind)) {
        LinkState(input, actor);
      } else if (graph_.at(input).kind == KernelKind::kKernel) {
        AddControl(actor_of_[Index(input)], actor);
      }
    }
  }

  void AddControl(ActorId from, ActorId to) {
    if (!senders_.contains(from) && controls_.emplace(from, to).second) {
      actors_.control[from].push_back(to);
      ++actors_.waits_for[to];
    }
  }

  /// Whether what else a state names waits for the state before.
  [[nodiscard]] bool FollowsFromOthers(const KernelNode& state) const {
    const KernelId before = state.inputs.front();
    if (graph_.at(before).kind != KernelKind::kUpdateState) {
      return false;
    }
    std::set<KernelId> seen;
    std::vector<KernelId> open(state.inputs.begin() + 1, state.inputs.end());
    while (!open.empty()) {
      const KernelId id = open.back();
      open.pop_back();
      for (const KernelId input : graph_.at(id).inputs) {
        if (input == before) {
          return true;
        }
        // Operands have smaller numbers than what uses them.
        if (input > before && seen.insert(input).second) {
          open.push_back(input);
        }
      }
    }
    return false;
  }

  const KernelGraph& graph_;
  const std::vector<KernelId>& order_;
  Actors actors_ = {};
  std::vector<ActorId> actor_of_;
  std::set<ActorId> senders_ = {};  ///< Of data to the kernel at hand.
  std::set<KernelId> seen_ = {};
  std::set<std::pair<ActorId, ActorId>> controls_ = {};
};

/// Actors that are one: chains in which each is the only receiver of the one before.
class Fusion {
 public:
  explicit Fusion(const Actors& actors)
      : actors_(actors), met_(actors.outside + 1, false), of_(actors.outside + 1) {
    for (ActorId actor = 0; actor < of_.size(); ++actor) {
      of_[actor] = actor;
    }
  }

  /// Per actor the first of those that it is one with; itself if it is alone.
  std::vector<ActorId> Run() && {
    std::deque<ActorId> seeds(actors_.first.begin(), actors_.first.end());
    for (const ActorId seed : seeds) {
      met_[seed] = true;
    }
    while (!seeds.empty()) {
      const ActorId seed = seeds.front();
      seeds.pop_front();
      FollowChain(seed, seeds);
    }
    return std::move(of_);
  }

 private:
  void FollowChain(ActorId seed, std::deque<ActorId>& seeds) {
    std::size_t length = 0;
    ActorId head = seed;
    for (ActorId actor = seed; actor != actors_.outside; ++length) {
      head = length % kMostFused == 0 ? actor : head;
      of_[actor] = head;
      const auto [receivers, all_new] = NewReceivers(actor);
      if (!all_new || receivers.size() != 1) {
        seeds.insert(seeds.end(), receivers.begin(), receivers.end());
        return;
      }
      actor = receivers.front();
    }
  }

  std::pair<std::vector<ActorId>, bool> NewReceivers(ActorId actor) {
    std::vector<ActorId> receivers;
    bool all_new = true;
    for (const auto* sent : {&actors_.data[actor], &actors_.control[actor]}) {
      for (const ActorId to : *sent) {
        if (std::ranges::find(receivers, to) != receivers.end()) {
          continue;
        }
        all_new = all_new && !met_[to] && to != actors_.outside;
        if (!met_[to]) {
          met_[to] = true;
          receivers.push_back(to);
        }
      }
    }
    return {std::move(receivers), all_new};
  }

  const Actors& actors_;
  std::vector<bool> met_;
  std::vector<ActorId> of_;
};

/// Lets the actors of one step run.
class Run {
 public:
  Run(const Actors& actors, const std::vector<ActorId>& fused, bool calls)
      : actors_(actors),
        fused_(fused),
        calls_(calls),
        waits_for_(actors.waits_for),
        letters_(actors.outside + 1),
        waiting_(actors.outside + 1, false) {}

  /// Actors of kernels in the order in which they ran.
  std::vector<ActorId> Step() && {
    for (const ActorId actor : actors_.first) {
      waits_for_[actor] = 1;
    }
    for (const ActorId actor : actors_.first) {
      Send(actor, {actor});
    }
    while (!queue_.empty()) {
      const ActorId box = queue_.front();
      queue_.pop_front();
      while (!letters_[box].empty()) {
        for (const ActorId to : std::exchange(letters_[box], {})) {
          Receive(to);
        }
      }
      waiting_[box] = false;
    }
    return std::move(ran_);
  }

 private:
  void Send(ActorId to, const std::vector<ActorId>& letters) {
    if (calls_) {
      std::ranges::for_each(letters, [this](ActorId one) { Receive(one); });
      return;
    }
    const ActorId box = fused_[to];
    letters_[box].insert(letters_[box].end(), letters.begin(), letters.end());
    if (!waiting_[box]) {
      waiting_[box] = true;
      queue_.push_back(box);
    }
  }

  void Receive(ActorId actor) {
    if (actor != actors_.outside && --waits_for_[actor] == 0) {
      if (actor != kSource) {
        ran_.push_back(actor);
      }
      SendResults(actor);
    }
  }

  void SendResults(ActorId actor) {
    std::map<ActorId, std::vector<ActorId>> batches;
    for (const ActorId to : actors_.data[actor]) {
      batches[fused_[to]].push_back(to);
    }
    std::map<ActorId, std::size_t> sent;
    for (const ActorId to : actors_.data[actor]) {
      const std::vector<ActorId>& batch = batches[fused_[to]];
      if (++sent[fused_[to]] == batch.size()) {
        SendOrCall(actor, to, batch);
      }
    }
    for (const ActorId to : actors_.control[actor]) {
      SendOrCall(actor, to, {to});
    }
  }

  void SendOrCall(ActorId from, ActorId to, const std::vector<ActorId>& letters) {
    if (fused_[from] == fused_[to]) {
      std::ranges::for_each(letters, [this](ActorId one) { Receive(one); });
    } else {
      Send(to, letters);
    }
  }

  const Actors& actors_;
  const std::vector<ActorId>& fused_;
  bool calls_;
  std::vector<std::size_t> waits_for_;
  std::vector<std::vector<ActorId>> letters_;  ///< Per actor, or first of several that are one.
  std::vector<bool> waiting_;                  ///< In the queue or at work.
  std::deque<ActorId> queue_ = {};
  std::vector<ActorId> ran_ = {};
};

}  // namespace

bool RunsAsDataflow(const KernelGraph& graph, const std::vector<KernelId>& order) {
  return std::ranges::none_of(order, [&](KernelId id) { return graph.at(id).communication; });
}

DataflowOrders DataflowOrder(const KernelGraph& graph, const std::vector<KernelId>& order,
                             bool data_sink) {
  const Actors actors = Linker(graph, order).Link();
  const std::vector<ActorId> fused = Fusion(actors).Run();
  const auto kernels = [&](const std::vector<ActorId>& ran) {
    std::vector<KernelId> found;
    found.reserve(ran.size());
    for (const ActorId actor : ran) {
      found.push_back(order[actor - 1]);
    }
    return found;
  };
  DataflowOrders orders{.first_step = kernels(Run(actors, fused, false).Step())};
  if (!data_sink && order.size() <= kMostForCalls) {
    orders.later_steps = kernels(Run(actors, fused, true).Step());
  }
  return orders;
}

}  // namespace drydock::strategies
