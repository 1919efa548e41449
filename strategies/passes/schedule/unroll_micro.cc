#include "strategies/passes/schedule/unroll_micro.h"

#include <algorithm>
#include <cstddef>
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
/// A cell may write to a parameter of its own (a running mean), and what comes behind in the same
/// micro batch waits for the state behind that: such states are there for each micro batch.
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
    bool once = false;
    bool behind_all = false;
  };

  [[nodiscard]] Wish WishOf(std::size_t n) const {
    const MicroUse use = UseOf(Node(n));
    const KernelKind kind = Node(n).kind;
    const bool may_repeat = kind == KernelKind::kKernel || kind == KernelKind::kUpdateState;
    Wish wish{.of_each = use == MicroUse::kEach && may_repeat};
    bool behind_state = false;  // That of the last micro batch will do.
    for (const KernelId input : Node(n).inputs) {
      wish.behind_all = wish.behind_all || PartOf(input) == Part::kAfter;
      behind_state = behind_state || IsStateOfEach(input);
      wish.of_each = wish.of_each || (PartOf(input) == Part::kEach && !IsStateOfEach(input));
    }
    wish.of_each = wish.of_each || (behind_state && !wish.behind_all);
    // What names reads of all parts of a step does so for a state behind them.
    wish.once = use == MicroUse::kAll || use == MicroUse::kFold ||
                (wish.behind_all && kind == KernelKind::kMakeTuple);
    return wish;
  }

  /// Operands have smaller numbers than what uses them.
  Status FindParts() {
    for (std::size_t n = 0; n < parts_.size();) {
      const Wish wish = WishOf(n);
      const bool of_each = wish.of_each && !wish.once;
      if (of_each && wish.behind_all) {
        DRYDOCK_TRY(n, SplitStates(n));
        continue;
      }
      parts_[n] = of_each                           ? Part::kEach
                  : wish.behind_all || wish.of_each ? Part::kAfter
                                                    : Part::kBefore;
      ++n;
    }
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

  /// Node `n` of a micro batch waits for states behind all of them: each gets its own. Gives the
  /// first of these states, from which on parts are found anew.
  Result<std::size_t> SplitStates(std::size_t n) {
    std::vector<std::size_t> waiting = {n};
    std::size_t first = parts_.size();
    while (!waiting.empty()) {
      const std::size_t at = waiting.back();
      waiting.pop_back();
      for (const KernelId input : Node(at).inputs) {
        if (PartOf(input) != Part::kAfter) {
          continue;
        }
        KernelNode& node = rolled_.graph.at(input);
        if (node.kind == KernelKind::kKernel || node.micro_use == MicroUse::kEach) {
          return Fail(ErrorCode::kUnsupported,
                      "'" + Node(n).name.str() + "' of a micro batch needs what '" +
                          node.name.str() + "' makes of all micro batches: not modelled");
        }
        if (node.kind == KernelKind::kUpdateState) {
          node.micro_use = MicroUse::kEach;
          first = std::min(first, Index(input));
        }
        waiting.push_back(Index(input));
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
  std::vector<Part> parts_;         ///< Per rolled node.
  std::vector<KernelId> moved_;     ///< Per rolled node that is there once: where.
  std::vector<std::int32_t> each_;  ///< Per rolled node of each micro batch: its number.
  std::vector<bool> repeated_;      ///< Per rolled constant: copies of kernels read their own.
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
