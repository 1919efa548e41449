#include "strategies/passes/schedule/unroll_micro.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "strategies/graph/kept_constant.h"

/// From the kernels of one micro batch to those of all.
///
/// A program is compiled for one micro batch. What depends on its piece of the batch is there once
/// for each of the M micro batches; what does not (weights, the seed of the backward pass) is there
/// once, in front of them; sums over all micro batches and what follows (optimizers) once, behind
/// them:
///     x0 = piece 0; y0 = MatMul(x0, w); ...        x1 = piece 1; y1 = MatMul(x1, w); ...
///     loss = Add(l0, l1); all = AddN(t0, t1); ...
/// KernelNode::micro_use says what a node is; a state behind reads and effects of the micro
/// batches reads all of them. Pieces themselves are made when the program is lowered.
///
/// A cell may write to a parameter of its own (a running mean, the keys of earlier parts of a
/// sequence), and what comes behind in the same micro batch waits for the state behind that: such
/// states are there for each micro batch, and so is what reads a parameter behind them, if the
/// micro batch uses it. What is used behind all micro batches only waits for the last of these
/// states. A parameter that is not written before all micro batches are done (the scale of the
/// loss) is read once, at the beginning.
///
/// Order: micro batch m begins when the backward pass of m - 1 is done with the first operator that
/// has a parameter: piece m reads Depend(batch, MakeTuple(these kernels)). So does what is there
/// for each micro batch and needs nothing of its piece: weights that are gathered again for each
/// (level 3 of a sharded optimizer) would all be gathered at once otherwise, and wait.
///
/// Linear in kernels times micro batches; nothing but numbers of nodes is looked up.
/// Source: mindspore/ccsrc/frontend/parallel/graph_util/grad_accumulation_utils.cc
/// (ReorderGradAccumulation), graphs "graph_build" of MindSpore 2.10
namespace drydock::strategies {
namespace {

enum class Part : std::uint8_t { kBefore, kEach, kAfter };

class Unrolling {
 public:
  Unrolling(LoweredProgram rolled, std::int64_t count)
      : rolled_(std::move(rolled)),
        count_(static_cast<std::size_t>(count)),
        parts_(rolled_.graph.nodes.size(), Part::kBefore),
        moved_(rolled_.graph.nodes.size(), kNoKernel),
        each_(rolled_.graph.nodes.size(), 0),
        of_piece_(rolled_.graph.nodes.size(), false),
        behind_last_(rolled_.graph.nodes.size(), false),
        repeated_(rolled_.graph.nodes.size(), false) {}

  Result<UnrolledProgram> Run(bool ordered) && {
    DRYDOCK_RETURN_IF_ERROR(FindParts());
    Move(Part::kBefore);
    for (std::size_t m = 0; m < count_; ++m) {
      CopyEach(m, ordered);
    }
    RepeatUnread();
    Move(Part::kAfter);
    UnrolledProgram program{.ends = Ends()};
    if (ordered) {
      OrderMicroBatches(program.ends);
    }
    Finish();
    program.graph = std::move(out_);
    return program;
  }

 private:
  [[nodiscard]] static std::size_t Index(KernelId id) { return static_cast<std::size_t>(id); }
  [[nodiscard]] const KernelNode& Node(std::size_t n) const { return rolled_.graph.nodes[n]; }
  [[nodiscard]] Part PartOf(KernelId id) const { return parts_[Index(id)]; }

  [[nodiscard]] static MicroUse UseOf(const KernelNode& node) {
    const bool state = node.kind == KernelKind::kUpdateState && node.micro_use != MicroUse::kEach;
    return state || node.kind == KernelKind::kReturn ? MicroUse::kAll : node.micro_use;
  }

  /// Where a node stands by what it is and what it reads.
  struct Wish {
    bool of_each = false;
    bool of_piece = false;  ///< Of each, and not just since it reads a state of each.
    bool once = false;
    bool behind_all = false;
  };

  [[nodiscard]] Wish WishOf(std::size_t n) const {
    const MicroUse use = UseOf(Node(n));
    const KernelKind kind = Node(n).kind;
    const bool may_repeat = kind == KernelKind::kKernel || kind == KernelKind::kUpdateState;
    Wish wish{.of_each = use == MicroUse::kEach && may_repeat};
    wish.of_piece = wish.of_each;
    bool behind_state = false;  // That of the last micro batch will do.
    for (const KernelId input : Node(n).inputs) {
      const bool of_each = PartOf(input) == Part::kEach && !IsStateOfEach(input);
      wish.behind_all = wish.behind_all || PartOf(input) == Part::kAfter;
      behind_state = behind_state || IsStateOfEach(input);
      wish.of_each = wish.of_each || of_each;
      wish.of_piece = wish.of_piece || (of_each && of_piece_[Index(input)]);
    }
    wish.behind_all = wish.behind_all || (behind_state && behind_last_[n]);
    wish.of_each = wish.of_each || (behind_state && !wish.behind_all);
    // What names reads of all parts of a step does so for a state behind them.
    wish.once = use == MicroUse::kAll || use == MicroUse::kFold ||
                (wish.behind_all && kind == KernelKind::kMakeTuple);
    return wish;
  }

  /// A state of a micro batch waits for no read that comes behind all of them.
  void ForgetLaterReads(std::size_t n) {
    KernelNode& node = rolled_.graph.nodes[n];
    const auto is_load = [this](KernelId id) {
      return rolled_.graph.at(id).kind == KernelKind::kLoad;
    };
    const auto of_each = [this](KernelId id) { return PartOf(id) == Part::kEach; };
    const bool reads = node.kind == KernelKind::kMakeTuple &&
                       std::ranges::all_of(node.inputs, is_load) &&
                       std::ranges::any_of(node.inputs, of_each);
    if (reads || (node.kind == KernelKind::kUpdateState && node.micro_use == MicroUse::kEach)) {
      std::erase_if(node.inputs, [this](KernelId id) { return behind_last_[Index(id)]; });
    }
  }

  /// From node `from` on. Operands have smaller numbers than what uses them.
  Status PartsFrom(std::size_t from) {
    for (std::size_t n = from; n < parts_.size();) {
      ForgetLaterReads(n);
      ReadAtBeginning(n);
      const Wish wish = WishOf(n);
      const bool of_each = wish.of_each && !wish.once;
      if (of_each && wish.behind_all) {
        DRYDOCK_TRY(n, SplitStates(n, wish.of_piece));
        continue;
      }
      of_piece_[n] = wish.of_piece;
      parts_[n] = of_each                           ? Part::kEach
                  : wish.behind_all || wish.of_each ? Part::kAfter
                                                    : Part::kBefore;
      ++n;
    }
    return {};
  }

  /// What reads states of each micro batch and is used by none of them waits for the last one.
  /// @return the first such node
  std::size_t ReadLastStates() {
    std::vector<bool> used(parts_.size(), false);
    std::size_t first = parts_.size();
    for (std::size_t n = parts_.size(); n-- > 0;) {
      if (parts_[n] != Part::kEach) {
        continue;
      }
      if (!of_piece_[n] && !used[n] && Node(n).kind != KernelKind::kUpdateState) {
        behind_last_[n] = true;
        first = n;
        continue;
      }
      for (const KernelId input : Node(n).inputs) {
        used[Index(input)] = true;
      }
    }
    return first;
  }

  /// Parameters that may be written before all micro batches are done.
  void FindWritten() {
    std::vector<bool> behind_all(parts_.size(), false);
    for (std::size_t n = 0; n < parts_.size(); ++n) {
      const KernelNode& node = Node(n);
      if (node.kind == KernelKind::kState && first_state_ == kNoKernel) {
        first_state_ = KernelId{static_cast<std::int32_t>(n)};
      }
      const bool joins = node.micro_use == MicroUse::kAll || node.micro_use == MicroUse::kFold;
      behind_all[n] = node.kind != KernelKind::kUpdateState &&
                      (joins || std::ranges::any_of(node.inputs, [&behind_all](KernelId input) {
                         return behind_all[Index(input)];
                       }));
      for (std::size_t i = 0; node.update && !behind_all[n] && i < node.inputs.size(); ++i) {
        for (const KernelOperand& operand : RealOperands(rolled_.graph, node.inputs[i])) {
          written_.insert(operand.node);
        }
      }
    }
  }

  /// A parameter that no micro batch writes, read behind a state of each of them.
  void ReadAtBeginning(std::size_t n) {
    KernelNode& node = rolled_.graph.nodes[n];
    if (node.kind != KernelKind::kLoad || !IsStateOfEach(node.inputs.back())) {
      return;
    }
    const std::vector<KernelOperand> read = RealOperands(rolled_.graph, node.inputs.front());
    if (std::ranges::none_of(read, [this](const KernelOperand& operand) {
          return written_.contains(operand.node) ||
                 rolled_.graph.at(operand.node).kind != KernelKind::kParameter;
        })) {
      node.inputs.back() = first_state_;
    }
  }

  Status FindParts() {
    FindWritten();
    DRYDOCK_RETURN_IF_ERROR(PartsFrom(0));
    DRYDOCK_RETURN_IF_ERROR(PartsFrom(ReadLastStates()));
    for (std::size_t n = 0; n < parts_.size(); ++n) {
      each_[n] = parts_[n] == Part::kEach ? static_cast<std::int32_t>(each_count_++) : 0;
    }
    SkipOtherPieces();
    FindFree();
    copied_.resize(each_count_ * count_, kNoKernel);
    // With room for what orders them: memory that is not written to costs nothing.
    const std::size_t nodes = parts_.size() + each_count_ * (count_ - 1);
    out_.nodes.reserve(nodes + nodes / 4);
    return {};
  }

  [[nodiscard]] bool IsStateOfEach(KernelId id) const {
    return rolled_.graph.at(id).kind == KernelKind::kUpdateState && PartOf(id) == Part::kEach;
  }

  /// Node `n` of a micro batch waits for states behind all of them, maybe through kernels that read
  /// a parameter behind such a state: each gets its own. Gives the first of these states, from
  /// which on parts are found anew. Where it waits for more than states and nothing of its own
  /// depends on a piece, it is behind all of them instead.
  Result<std::size_t> SplitStates(std::size_t n, bool of_piece) {
    std::vector<std::size_t> waiting = {n};
    std::vector<bool> seen(n, false);
    std::vector<std::size_t> states;
    while (!waiting.empty()) {
      const std::size_t at = waiting.back();
      waiting.pop_back();
      for (const KernelId input : Node(at).inputs) {
        if (PartOf(input) != Part::kAfter || seen[Index(input)]) {
          continue;
        }
        seen[Index(input)] = true;
        if (IsOfAll(Index(input))) {
          return of_piece ? NeedsAll(n, Index(input)) : WaitForLast(n);
        }
        if (Node(Index(input)).kind == KernelKind::kUpdateState) {
          states.push_back(Index(input));
        }
        waiting.push_back(Index(input));
      }
    }
    for (const std::size_t state : states) {
      rolled_.graph.nodes[state].micro_use = MicroUse::kEach;
    }
    return states.empty() ? NeedsAll(n, n) : *std::ranges::min_element(states);
  }

  /// Of a node behind all micro batches: it is more than a state, or what waits for one.
  [[nodiscard]] bool IsOfAll(std::size_t n) const {
    const KernelNode& node = Node(n);
    return node.micro_use == MicroUse::kEach ||
           (node.kind == KernelKind::kKernel && node.micro_use != MicroUse::kFollow);
  }

  [[nodiscard]] Result<std::size_t> NeedsAll(std::size_t n, std::size_t of_all) const {
    return Fail(ErrorCode::kUnsupported,
                "'" + Node(n).name.str() + "' of a micro batch needs what '" +
                    Node(of_all).name.str() + "' makes of all micro batches: not modelled");
  }

  /// Node `n` reads parameters behind states of each micro batch: that of the last one will do.
  Result<std::size_t> WaitForLast(std::size_t n) {
    std::vector<std::size_t> waiting = {n};
    std::size_t first = n;
    behind_last_[n] = true;
    while (!waiting.empty()) {
      const std::size_t at = waiting.back();
      waiting.pop_back();
      for (const KernelId input : Node(at).inputs) {
        const std::size_t read = Index(input);
        if (PartOf(input) == Part::kEach && !IsStateOfEach(input) && !behind_last_[read]) {
          behind_last_[read] = true;
          first = std::min(first, read);
          waiting.push_back(read);
        }
      }
    }
    return first;
  }

  /// Kernels of each micro batch that read nothing of it, but what is computed or a parameter.
  void FindFree() {
    for (std::size_t n = 0; n < parts_.size(); ++n) {
      const std::vector<KernelId>& inputs = Node(n).inputs;
      const auto of_each = [this](KernelId input) { return PartOf(input) == Part::kEach; };
      const auto constant = [this](KernelId input) {
        return rolled_.graph.at(input).kind == KernelKind::kConstant;
      };
      if (parts_[n] == Part::kEach && Node(n).kind == KernelKind::kKernel && !inputs.empty() &&
          !constant(inputs.front()) && std::ranges::none_of(inputs, of_each) &&
          !rolled_.copies.contains(KernelId{static_cast<std::int32_t>(n)}) &&
          !std::ranges::binary_search(skipped_, KernelId{static_cast<std::int32_t>(n)})) {
        free_.push_back(n);
      }
    }
  }

  /// Only the first of several pieces stands for them; the others are copied with it.
  void SkipOtherPieces() {
    for (const auto& [first, kernels] : rolled_.copies) {
      for (const KernelId kernel : kernels) {
        if (kernel != first) {
          skipped_.push_back(kernel);
        }
      }
    }
    std::ranges::sort(skipped_);
  }

  [[nodiscard]] KernelId& Copied(std::size_t n, std::size_t m) {
    return copied_[m * each_count_ + static_cast<std::size_t>(each_[n])];
  }

  KernelId Add(KernelNode node) {
    out_.nodes.push_back(std::move(node));
    return KernelId{static_cast<std::int32_t>(out_.nodes.size()) - 1};
  }

  /// What `input` is for micro batch `m`.
  [[nodiscard]] KernelId MapOf(KernelId input, std::size_t m) {
    return PartOf(input) == Part::kEach ? Copied(Index(input), m) : moved_[Index(input)];
  }

  void Move(Part part) {
    for (std::size_t n = 0; n < parts_.size(); ++n) {
      if (parts_[n] == part) {
        moved_[n] = UseOf(Node(n)) == MicroUse::kFold ? Fold(n) : MoveOnce(n);
      }
    }
  }

  KernelId MoveOnce(std::size_t n) {
    KernelNode node = std::move(rolled_.graph.nodes[n]);
    node.inputs = OperandsOfAll(node.inputs, node.kind != KernelKind::kUpdateState);
    return Add(std::move(node));
  }

  /// Operands of a node that is there once: those of micro batches one micro batch after the other;
  /// with `last_state` the last one of a state.
  [[nodiscard]] std::vector<KernelId> OperandsOfAll(const std::vector<KernelId>& inputs,
                                                    bool last_state) {
    std::vector<KernelId> operands;
    for (std::size_t i = 0; i < inputs.size();) {
      const auto alone = [&](std::size_t k) { return last_state && IsStateOfEach(inputs[k]); };
      if (alone(i)) {
        operands.push_back(Copied(Index(inputs[i++]), count_ - 1));
        continue;
      }
      std::size_t end = i;
      while (end < inputs.size() && PartOf(inputs[end]) == Part::kEach && !alone(end)) {
        ++end;
      }
      for (std::size_t m = 0; end > i && m < count_; ++m) {
        for (std::size_t k = i; k < end; ++k) {
          operands.push_back(Copied(Index(inputs[k]), m));
        }
      }
      if (end == i) {
        operands.push_back(moved_[Index(inputs[end++])]);
      }
      i = end;
    }
    return operands;
  }

  /// Sums one after the other: those of micro batches 0 and 1, that and 2, ...
  KernelId Fold(std::size_t n) {
    const KernelNode node = std::move(rolled_.graph.nodes[n]);
    const KernelId operand = node.inputs.front();
    KernelId result = MapOf(operand, 0);
    for (std::size_t m = 1; m < count_ && PartOf(operand) == Part::kEach; ++m) {
      KernelNode step = node;
      step.inputs = {result, MapOf(operand, m)};
      step.micro = static_cast<std::int32_t>(m);
      result = Add(std::move(step));
    }
    return result;
  }

  /// Constants that the back end makes for a kernel are there for each copy of it: recorded of
  /// accumulation, of pipelines some of them (graph/kept_constant.h).
  [[nodiscard]] bool IsOwnConstant(KernelId id, bool own_constants) const {
    const KernelNode& node = out_.at(id);
    return node.kind == KernelKind::kConstant && node.micro_use == MicroUse::kEach &&
           (own_constants || IsRepeatedForMicroBatches(node));
  }

  /// Where no copy of a kernel reads the constant of its micro batch, it stays all the same.
  void RepeatUnread() {
    for (std::size_t n = 0; n < parts_.size(); ++n) {
      if (parts_[n] == Part::kBefore && !repeated_[n] &&
          IsRepeatedForMicroBatches(out_.at(moved_[n]))) {
        for (std::size_t m = 1; m < count_; ++m) {
          KeepUnread(out_, Add(KernelNode(out_.at(moved_[n]))));
        }
      }
    }
  }

  void CopyEach(std::size_t m, bool own_constants) {
    const bool last = m + 1 == count_;
    for (std::size_t n = 0; n < parts_.size(); ++n) {
      const KernelId id{static_cast<std::int32_t>(n)};
      if (parts_[n] != Part::kEach || std::ranges::binary_search(skipped_, id)) {
        continue;
      }
      const auto pieces = rolled_.copies.find(id);
      const std::size_t from = pieces == rolled_.copies.end() ? n : Index(pieces->second[m]);
      KernelNode node = last ? std::move(rolled_.graph.nodes[from]) : rolled_.graph.nodes[from];
      for (KernelId& input : node.inputs) {
        const KernelId rolled = std::exchange(input, MapOf(input, m));
        if (m > 0 && IsOwnConstant(input, own_constants)) {
          input = Add(KernelNode(out_.at(input)));
          repeated_[Index(rolled)] = true;
        }
      }
      node.micro = static_cast<std::int32_t>(m);
      Copied(n, m) = Add(std::move(node));
    }
  }

  std::vector<std::vector<KernelId>> Ends() {
    std::vector<std::vector<KernelId>> ends(count_);
    for (std::size_t m = 0; m < count_; ++m) {
      for (const KernelId end : rolled_.micro_batch_ends) {
        if (PartOf(end) == Part::kEach) {
          ends[m].push_back(Copied(Index(end), m));
        }
      }
    }
    return ends;
  }

  void OrderMicroBatches(const std::vector<std::vector<KernelId>>& ends) {
    for (std::size_t m = 1; m < count_ && !rolled_.micro_batch_ends.empty(); ++m) {
      const KernelId all = Add({.kind = KernelKind::kMakeTuple, .inputs = ends[m - 1]});
      const auto wait = [&](KernelId kernel) {
        const KernelId operand = out_.at(kernel).inputs.front();
        const KernelId depend = Add({.kind = KernelKind::kDepend, .inputs = {operand, all}});
        out_.at(kernel).inputs.front() = depend;
      };
      for (const auto& [first, kernels] : rolled_.copies) {
        wait(Copied(Index(first), m));
      }
      for (const std::size_t n : free_) {
        wait(Copied(n, m));
      }
    }
  }

  void Finish() {
    out_.result = moved_[Index(rolled_.graph.result)];
    for (const KernelId output : rolled_.graph.outputs) {
      out_.outputs.push_back(MapOf(output, count_ - 1));
    }
    for (const KernelId kernel : rolled_.graph.after_step) {
      out_.after_step.push_back(MapOf(kernel, count_ - 1));
    }
  }

  LoweredProgram rolled_;
  std::size_t count_;
  KernelGraph out_ = {};
  std::vector<Part> parts_;          ///< Per rolled node.
  std::vector<KernelId> moved_;      ///< Per rolled node that is there once: where.
  std::vector<std::int32_t> each_;   ///< Per rolled node of each micro batch: its number.
  std::vector<bool> of_piece_;       ///< Per rolled node: of its micro batch by more than a state.
  std::set<KernelId> written_ = {};  ///< Before all micro batches are done: leaves, others too.
  KernelId first_state_ = kNoKernel;
  std::vector<bool> behind_last_;  ///< Per rolled node: reads the last state of micro batches.
  std::vector<bool> repeated_;     ///< Per rolled constant: copies of kernels read their own.
  std::size_t each_count_ = 0;
  std::vector<KernelId> copied_ = {};   ///< Per micro batch and such a node: where.
  std::vector<KernelId> skipped_ = {};  ///< Ascending.
  std::vector<std::size_t> free_ = {};  ///< Ascending.
};

}  // namespace

Result<UnrolledProgram> UnrollMicroBatches(LoweredProgram rolled, std::int64_t micro_batches,
                                           bool ordered) {
  const bool repeats = std::ranges::any_of(
      rolled.graph.nodes, [](const KernelNode& node) { return node.micro_use == MicroUse::kEach; });
  if (micro_batches <= 1 || !repeats) {
    return UnrolledProgram{.graph = std::move(rolled.graph)};
  }
  return Unrolling(std::move(rolled), micro_batches).Run(ordered);
}

}  // namespace drydock::strategies
