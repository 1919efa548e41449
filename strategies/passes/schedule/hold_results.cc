#include "strategies/passes/schedule/hold_results.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/program/micro_nodes.h"

/// What the last cell of a network returns waits for its reads of parameters.
///
/// A cell that reads parameters returns its result behind the state of these reads:
/// Depend(result, UpdateState(U, loads)). MindSpore's front end removes that when the call is put
/// in place, because the caller's next state reads the call. In the last stage of a pipeline only
/// the last micro batch has a next state by then. In the others the Depend of the last cell that
/// reads parameters stays:
///     z = Square(Depend(y, UpdateState(U, MakeTuple(loads))))
///     gradient: PowTensorScalar(Depend(y, ...), 1)
/// Backward of a recomputed cell runs that again, behind nothing:
///     gradient: PowTensorScalar(Depend(Depend(y, MakeTuple()), U), 1)
///
/// Example: a network of two cells and Square behind them: what Square reads is held. Where the
/// last cell makes the loss itself, the losses are.
///
/// Source: mindspore/ccsrc/frontend/optimizer/irpass/updatestate_eliminate.cc, graphs
/// "graph_build" of MindSpore 2.10
namespace drydock::strategies {
namespace {

constexpr std::string_view kGradients = "Gradients/";
constexpr std::string_view kRecomputed = "recompute_";
constexpr std::string_view kListOfCells = "-CellList";

/// The Cell that the network `network` calls and that `scope` is in; empty: none.
std::string_view CellOf(std::string_view scope, std::string_view network) {
  for (const std::string_view prefix : {kGradients, kRecomputed}) {
    scope.remove_prefix(scope.starts_with(prefix) ? prefix.size() : 0);
  }
  if (!scope.starts_with(network)) {
    return {};
  }
  // The network itself, a list of Cells that nobody calls, the Cell.
  std::size_t end = scope.find('/', network.size() + 1);
  if (end == std::string_view::npos) {
    return {};
  }
  do {
    const std::size_t begin = end;
    end = scope.find('/', begin + 1);
    const std::string_view part = scope.substr(begin, end - begin);
    if (!part.ends_with(kListOfCells)) {
      return scope.substr(0, end);
    }
  } while (end != std::string_view::npos);
  return {};
}

class Holder {
 public:
  Holder(KernelGraph& graph, const Graph& local) : graph_(graph), local_(local) {}

  void Run(std::size_t micros) {
    const auto fold = std::ranges::find(graph_.nodes, MicroUse::kFold, &KernelNode::micro_use);
    if (fold == graph_.nodes.end() || fold->origin == kNoNode) {
      return;
    }
    network_ = local_.at(fold->origin).scope;
    FindReads();
    if (cell_.empty()) {
      return;
    }
    const std::size_t nodes = graph_.nodes.size();
    std::vector<KernelId> results(micros, kNoKernel);
    for (std::size_t n = 0; n < nodes; ++n) {
      NoteResult(graph_.nodes[n], results);
    }
    for (std::size_t m = 0; m + 1 < micros; ++m) {
      if (results[m] != kNoKernel) {
        Hold(results[m], nodes);
      }
    }
  }

 private:
  static KernelId IdOf(std::size_t n) { return KernelId{static_cast<std::int32_t>(n)}; }

  [[nodiscard]] bool IsForward(const KernelNode& node) const {
    return node.kind == KernelKind::kKernel && node.origin != kNoNode &&
           local_.at(node.origin).phase == Phase::kForward;
  }

  [[nodiscard]] bool IsInCell(const KernelNode& node) const {
    return CellOf(local_.at(node.origin).scope, network_) == cell_;
  }

  /// What stands for a parameter: its Load, or a weight that another stage sent.
  [[nodiscard]] bool IsRead(const KernelNode& node) const {
    return node.kind == KernelKind::kLoad ||
           (IsForward(node) && local_.at(node.origin).attrs.contains(kPassesWeight));
  }

  /// Parameters that the first micro batch reads, and the Cell that is the last to read one.
  void FindReads() {
    std::vector<bool> seen(graph_.nodes.size(), false);
    for (const KernelNode& node : graph_.nodes) {
      if (node.micro > 0 || !IsForward(node)) {
        continue;
      }
      for (const KernelId input : node.inputs) {
        const KernelNode& read = graph_.at(input);
        if (!seen[static_cast<std::size_t>(input)] && IsRead(read)) {
          seen[static_cast<std::size_t>(input)] = true;
          reads_.push_back(input);
          cell_ = CellOf(local_.at(node.origin).scope, network_);
          state_ = read.kind == KernelKind::kLoad ? read.inputs.back() : state_;
        }
      }
    }
  }

  /// What is made in the Cell and read outside of it, or summed over micro batches.
  void NoteResult(const KernelNode& node, std::vector<KernelId>& results) const {
    if (!IsForward(node) || (node.micro_use != MicroUse::kFold && IsInCell(node))) {
      return;
    }
    for (const KernelId input : node.inputs) {
      const KernelNode& made = graph_.at(input);
      if (IsForward(made) && made.micro >= 0 && made.micro_use != MicroUse::kFold &&
          IsInCell(made)) {
        KernelId& result = results[static_cast<std::size_t>(made.micro)];
        result = std::max(result, input);
      }
    }
  }

  KernelId Virtual(KernelKind kind, std::vector<KernelId> inputs) {
    graph_.nodes.push_back({.kind = kind, .inputs = std::move(inputs)});
    return IdOf(graph_.nodes.size() - 1);
  }

  /// The state behind all reads. Where one of them is not a Load it is there already.
  KernelId StateBehindReads() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const KernelNode& node = graph_.nodes[n];
      const KernelId read = node.kind == KernelKind::kUpdateState ? node.inputs.back() : kNoKernel;
      if (read != kNoKernel && graph_.at(read).kind == KernelKind::kMakeTuple &&
          std::ranges::any_of(graph_.at(read).inputs, [this](KernelId id) {
            return graph_.at(id).kind == KernelKind::kKernel && IsRead(graph_.at(id));
          })) {
        return IdOf(n);
      }
    }
    return Virtual(KernelKind::kUpdateState, {state_, Virtual(KernelKind::kMakeTuple, reads_)});
  }

  void Hold(KernelId result, std::size_t nodes) {
    behind_reads_ = behind_reads_ == kNoKernel ? StateBehindReads() : behind_reads_;
    const KernelId forward = Virtual(KernelKind::kDepend, {result, behind_reads_});
    KernelId backward = forward;
    if (IsInRecomputedScope(local_.at(graph_.at(result).origin))) {
      const KernelId nothing = Virtual(KernelKind::kMakeTuple, {});
      const KernelId again = Virtual(KernelKind::kDepend, {result, nothing});
      backward = Virtual(KernelKind::kDepend, {again, state_});
    }
    for (std::size_t n = 0; n < nodes; ++n) {
      KernelNode& node = graph_.nodes[n];
      const bool reads = node.kind == KernelKind::kKernel && node.origin != kNoNode &&
                         (node.micro_use == MicroUse::kFold || !IsInCell(node));
      if (reads) {
        std::ranges::replace(node.inputs, result, IsForward(node) ? forward : backward);
      }
    }
  }

  KernelGraph& graph_;
  const Graph& local_;
  std::string_view network_ = {};  ///< Scope of what calls the network for each micro batch.
  std::string_view cell_ = {};     ///< The last that reads parameters.
  std::vector<KernelId> reads_ = {};
  KernelId state_ = kNoKernel;         ///< That the reads see.
  KernelId behind_reads_ = kNoKernel;  ///< The state behind them.
};

}  // namespace

void HoldResults(KernelGraph& graph, const Graph& local, std::size_t micros) {
  if (!CallsSharedGraph(local)) {
    Holder(graph, local).Run(micros);
  }
}

}  // namespace drydock::strategies
