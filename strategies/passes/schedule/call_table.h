#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "strategies/graph/kernel_graph.h"
#include "strategies/passes/schedule/call_order.h"
#include "strategies/passes/schedule/pipeline_borders.h"

namespace drydock::strategies {

/// The calls of a graph that all micro batches share, by number: forward ones first, micro batch by
/// micro batch and part by part. Who forms them (shared_calls.cc) finds here which call a spot of
/// the schedule stands for, which messages pass there and when it is done.
class CallTable {
 public:
  CallTable(KernelGraph& graph, const Graph& local, const Borders& borders, std::size_t micros,
            const CallOrder& order)
      : graph_(graph),
        local_(local),
        borders_(borders),
        micros_(micros),
        order_(order),
        call_of_(graph.nodes.size(), kOutside),
        calls_(2 * micros * borders.parts) {}

 protected:
  static constexpr std::size_t kOutside = static_cast<std::size_t>(-1);

  struct Call {
    std::vector<KernelId> nodes = {};
    std::map<KernelId, KernelId> entries = {};  ///< What is read from outside: behind the barrier.
    std::map<KernelId, KernelId> loads = {};    ///< Loads of the step: those of the call.
    std::vector<KernelId> read = {};            ///< The latter, in order.
    std::map<KernelId, KernelId> handed = {};   ///< What the backward call reads: how.
    KernelId results = kNoKernel;               ///< MakeTuple.
  };

  [[nodiscard]] static std::size_t Index(KernelId id) { return static_cast<std::size_t>(id); }

  KernelId Add(KernelNode node) {
    graph_.nodes.push_back(std::move(node));
    return KernelId{static_cast<std::int32_t>(graph_.nodes.size()) - 1};
  }
  KernelId Virtual(KernelKind kind, std::vector<KernelId> inputs) {
    return Add({.kind = kind, .inputs = std::move(inputs)});
  }
  KernelId Number(DType dtype) {
    return Add({.kind = KernelKind::kConstant,
                .micro_use = MicroUse::kEach,
                .results = {{.type = {.shape = {}, .dtype = dtype}}}});
  }

  [[nodiscard]] const PipelineTask& TaskOf(const CallSpot& spot) const {
    return (spot.backward ? order_.backward : order_.forward)[spot.index];
  }
  [[nodiscard]] std::size_t Slot(bool backward, std::size_t micro, std::size_t part) const {
    return ((backward ? micros_ : 0) + micro) * borders_.parts + part;
  }
  [[nodiscard]] std::size_t SlotOf(const CallSpot& spot) const {
    const PipelineTask& task = TaskOf(spot);
    return Slot(spot.backward, static_cast<std::size_t>(task.micro),
                static_cast<std::size_t>(task.chunk));
  }
  [[nodiscard]] bool IsBackward(std::size_t slot) const { return slot >= micros_ * borders_.parts; }
  /// The backward call of a forward one.
  [[nodiscard]] std::size_t TwinOf(std::size_t slot) const {
    const std::size_t half = micros_ * borders_.parts;
    return IsBackward(slot) ? slot - half : slot + half;
  }

  /// Messages of a spot; none: the call stands for it.
  [[nodiscard]] std::vector<KernelId> MessagesAt(const CallSpot& spot) const;
  [[nodiscard]] KernelId DoneAt(const CallSpot& spot) const;
  [[nodiscard]] bool SameSpot(const CallSpot& a, const CallSpot& b) const;
  /// Zero, not before something: equal ones are one.
  KernelId ZeroBehind(KernelId prior);

  KernelGraph& graph_;
  const Graph& local_;
  const Borders& borders_;
  std::size_t micros_;
  const CallOrder& order_;
  std::vector<std::size_t> call_of_;  ///< Per node that was there: its call, or kOutside.
  std::vector<Call> calls_;
  std::map<KernelId, KernelId> zeros_ = {};
  KernelId zero_ = kNoKernel;  ///< What they read.
};

}  // namespace drydock::strategies
