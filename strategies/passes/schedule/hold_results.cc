#include "strategies/passes/schedule/hold_results.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// What a recomputed cell returns waits for its reads.
///
/// A cell that reads parameters returns its result behind the state of these reads:
/// Depend(result, UpdateState(U, loads)). MindSpore's front end removes that when the call is put
/// in place, because the caller's next state reads the call. Calls of recomputed cells are put in
/// place behind differentiation. In a stage of a pipeline only the last micro batch has a next
/// state by then; in the others the Depend stays where it is the last one, and its derivative,
/// recomputed, waits for nothing:
///     z = Square(Depend(y, UpdateState(U, MakeTuple(loads))))
///     gradient: PowTensorScalar(Depend(Depend(y, MakeTuple()), U), 1)
///
/// Example: of two recomputed cells and Square behind them only what Square reads is held. Nothing
/// is where a cell that is not recomputed reads parameters behind the last recomputed one.
///
/// Source: mindspore/ccsrc/frontend/optimizer/irpass/updatestate_eliminate.cc, graphs
/// "graph_build" of MindSpore 2.10
namespace drydock::strategies {
namespace {

class Holder {
 public:
  Holder(KernelGraph& graph, const Graph& local) : graph_(graph), local_(local) {}

  void Run(std::size_t micros) {
    FindReads();
    if (last_reader_ == kNoKernel || !IsInRecomputedScope(OriginOf(last_reader_))) {
      return;
    }
    const std::size_t nodes = graph_.nodes.size();
    for (std::size_t m = 0; m + 1 < micros; ++m) {
      if (const KernelId result = ResultOf(static_cast<std::int32_t>(m), nodes);
          result != kNoKernel) {
        Hold(result, nodes);
      }
    }
  }

 private:
  static KernelId IdOf(std::size_t n) { return KernelId{static_cast<std::int32_t>(n)}; }

  [[nodiscard]] const Node& OriginOf(KernelId id) const { return local_.at(graph_.at(id).origin); }

  [[nodiscard]] bool IsForward(const KernelNode& node) const {
    return node.kind == KernelKind::kKernel && node.origin != kNoNode &&
           local_.at(node.origin).phase == Phase::kForward;
  }

  /// Loads of the first micro batch, cell after cell, those of a cell from the last to the first.
  void FindReads() {
    std::vector<bool> seen(graph_.nodes.size(), false);
    const std::string* scope = nullptr;
    std::size_t of_cell = 0;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const KernelNode& node = graph_.nodes[n];
      if (node.micro > 0 || !IsForward(node)) {
        continue;
      }
      for (const KernelId input : node.inputs) {
        if (graph_.at(input).kind != KernelKind::kLoad || seen[static_cast<std::size_t>(input)]) {
          continue;
        }
        seen[static_cast<std::size_t>(input)] = true;
        last_reader_ = IdOf(n);
        state_ = graph_.at(input).inputs.back();
        if (scope == nullptr || *scope != local_.at(node.origin).scope) {
          scope = &local_.at(node.origin).scope;
          of_cell = loads_.size();
        }
        loads_.insert(loads_.begin() + static_cast<std::ptrdiff_t>(of_cell), input);
      }
    }
  }

  /// What the last recomputed cell returns.
  [[nodiscard]] KernelId ResultOf(std::int32_t micro, std::size_t nodes) const {
    KernelId result = kNoKernel;
    for (std::size_t n = 0; n < nodes; ++n) {
      const KernelNode& node = graph_.nodes[n];
      if (node.micro != micro || !IsForward(node) || IsInRecomputedScope(local_.at(node.origin))) {
        continue;
      }
      for (const KernelId input : node.inputs) {
        const KernelNode& made = graph_.at(input);
        if (made.micro == micro && IsForward(made) && IsInRecomputedScope(local_.at(made.origin))) {
          result = std::max(result, input);
        }
      }
    }
    return result;
  }

  KernelId Virtual(KernelKind kind, std::vector<KernelId> inputs) {
    graph_.nodes.push_back({.kind = kind, .inputs = std::move(inputs)});
    return IdOf(graph_.nodes.size() - 1);
  }

  void Hold(KernelId result, std::size_t nodes) {
    if (behind_loads_ == kNoKernel) {
      behind_loads_ =
          Virtual(KernelKind::kUpdateState, {state_, Virtual(KernelKind::kMakeTuple, loads_)});
    }
    const KernelId forward = Virtual(KernelKind::kDepend, {result, behind_loads_});
    const KernelId nothing = Virtual(KernelKind::kMakeTuple, {});
    const KernelId again = Virtual(KernelKind::kDepend, {result, nothing});
    const KernelId backward = Virtual(KernelKind::kDepend, {again, state_});
    for (std::size_t n = 0; n < nodes; ++n) {
      KernelNode& node = graph_.nodes[n];
      if (node.kind != KernelKind::kKernel || node.origin == kNoNode) {
        continue;
      }
      const Node& origin = local_.at(node.origin);
      if (!IsInRecomputedScope(origin)) {
        std::ranges::replace(node.inputs, result,
                             origin.phase == Phase::kBackward ? backward : forward);
      }
    }
  }

  KernelGraph& graph_;
  const Graph& local_;
  std::vector<KernelId> loads_ = {};
  KernelId last_reader_ = kNoKernel;
  KernelId state_ = kNoKernel;         ///< That the loads read.
  KernelId behind_loads_ = kNoKernel;  ///< The state behind them.
};

}  // namespace

void HoldResults(KernelGraph& graph, const Graph& local, std::size_t micros) {
  if (micros > 1 && std::ranges::any_of(local.nodes, IsInRecomputedScope)) {
    Holder(graph, local).Run(micros);
  }
}

}  // namespace drydock::strategies
