#include "strategies/passes/schedule/shared_calls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "strategies/graph/kept_constant.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/schedule/call_table.h"
#include "strategies/passes/schedule/call_tensors.h"
#include "strategies/program/micro_nodes.h"

/// Calls of a graph that all micro batches share.
///
/// A network with lazy_inline stays a graph of its own until kernels are chosen; each micro batch
/// calls it, forward and backward, part by part. When the calls are put in place of their names,
///   * what a call is given waits for the call before: Depend(input, barrier), where the barrier of
///     a call copies a number that waits for all that the call gives:
///     TensorMove(Depend(1, MakeTuple(results)))
///   * a weight that the backward call reads, too, is copied in each forward call unless the
///     backward call comes next and reads no results of operators that have several: the results
///     of the call hold what was read, not where it lies: TensorMove(Load(weight)). What recomputed
///     cells read is not copied, what no optimizer writes always is
///   * what a part sends waits for the reads of its weights
///   * gradients of the weights of a part are there when its backward calls are: one sum of
///     numbers, AddN(Depend(0, MakeTuple(results)), ...), stands for all of them
///   * what the backward call reads from outside, accumulators included, are results of the forward
///     call. Readers of results are led to what is behind them, but every second one is missed (as
///     in tuples.cc; what is handed out first, then the last result first): it reads
///     TupleGetItem(MakeTuple(results), i)
///   * constants of a called graph stay in memory beside those of its calls, whatever the number of
///     micro batches: one for each use, as each use has its own until equal ones are joined behind
///     the calls. So it is where the graph is typed anew at the very end: where a call and its
///     backward call lie apart, and where accumulated backward calls read weights again, to
///     recompute or to gather them, while forward ones read others that they do not
///   * readers of tensors have constants of their own (call_tensors.cc)
///
/// Example, two micro batches of y = MatMul(x, w), the first two calls:
///     t0 = TensorMove(Load(w)); y0 = MatMul(x0, t0); r0 = MakeTuple(y0, t0)
///     b0 = TensorMove(Depend(1, r0))
///     t1 = TensorMove(Load(Depend(w, b0))); y1 = MatMul(Depend(x1, b0), t1); ...
///
/// Accumulated micro batches without stages call their graph in the same way, each forward call
/// and its backward call behind it; the next piece of the batch waits for the latter.
///
/// Messages and pieces of the batch stay outside. Edges of the schedule (call_order.cc) hold a call
/// back by one of its inputs.
///
/// Cost: kernels times micro batches.
/// Source: mindspore/ccsrc/plugin/device/ascend/hal/hardware/ge_kernel_executor.cc
/// (InlineSubGraph), graphs "hwopt_d_before_inline_graph" and "graph_build" of MindSpore 2.10
namespace drydock::strategies {
namespace {

constexpr std::string_view kCopy = "TensorMove";
/// Zeros that a backward graph returns for what has no gradient; records have two to five.
constexpr std::size_t kOwnOfBackward = 3;

class CallForm : private CallTable {
 public:
  using CallTable::CallTable;

  void Run() {
    FindState();
    FindWritten();
    Label();
    FindReaders();
    const std::vector<Use> uses = UsesOfConstants();
    for (const CallSpot& spot : order_.calls) {
      Expand(SlotOf(spot), spot);
    }
    CallTensors tensors(graph_, local_);
    for (const Call& call : calls_) {
      tensors.Split(call.nodes);
    }
    if (KeepsEachUse()) {
      KeepReplaced(uses, tensors);
    }
    ReplaceTokens();
    OrderMessages();
    SortTies();
  }

 private:
  void FindState() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].kind == KernelKind::kState) {
        state_ = KernelId{static_cast<std::int32_t>(n)};
        return;
      }
    }
  }

  void FindWritten() {
    for (const KernelNode& node : graph_.nodes) {
      if (node.origin != kNoNode && local_.at(node.origin).phase == Phase::kOptimizer) {
        written_.insert(node.inputs.begin(), node.inputs.end());
      }
    }
  }

  void Label() {
    for (std::size_t n = 0; n < call_of_.size(); ++n) {
      call_of_[n] = CallAt(graph_.nodes[n]);
      if (call_of_[n] != kOutside) {
        calls_[call_of_[n]].nodes.push_back(KernelId{static_cast<std::int32_t>(n)});
      }
    }
  }

  [[nodiscard]] std::size_t CallAt(const KernelNode& node) const {
    const bool once = node.micro_use == MicroUse::kAll || node.micro_use == MicroUse::kFold;
    if (node.micro < 0 || node.origin == kNoNode || once || IsLeaf(node.kind)) {
      return kOutside;
    }
    const Node& origin = local_.at(node.origin);
    if (origin.entry->per_micro_batch || PointToPointOf(origin) != PointToPoint::kNone ||
        origin.attrs.contains(kJoinsSends)) {
      return kOutside;
    }
    const bool backward = origin.phase == Phase::kBackward || origin.attrs.contains(kDuplicated);
    const std::size_t part = origin.segment >= 0 ? static_cast<std::size_t>(origin.segment)
                                                 : PartOfOperands(node, backward);
    return Slot(backward, static_cast<std::size_t>(node.micro), std::min(part, borders_.parts - 1));
  }

  /// Of a sum of gradients and the like: where the last of its operands is made or arrives. What
  /// waits for no gradient begins the backward pass of a loss outside of all cells, so it belongs
  /// to the last part.
  [[nodiscard]] std::size_t PartOfOperands(const KernelNode& node, bool backward) const {
    std::optional<std::size_t> part;
    for (const KernelId input : node.inputs) {
      const std::optional<std::size_t> of_input = PartOfOperand(input, backward);
      if (of_input) {
        part = !part      ? *of_input
               : backward ? std::min(*part, *of_input)
                          : std::max(*part, *of_input);
      }
    }
    return part.value_or(backward ? borders_.parts - 1 : 0);
  }

  [[nodiscard]] std::optional<std::size_t> PartOfOperand(KernelId id, bool backward) const {
    const std::size_t slot = Index(id) < call_of_.size() ? call_of_[Index(id)] : kOutside;
    if (slot != kOutside) {
      return IsBackward(slot) == backward ? std::optional(slot % borders_.parts) : std::nullopt;
    }
    const NodeId origin = graph_.at(id).origin;
    if (origin == kNoNode || PointToPointOf(local_.at(origin)) != PointToPoint::kReceives ||
        (local_.at(origin).phase == Phase::kBackward) != backward) {
      return std::nullopt;
    }
    return static_cast<std::size_t>(IntAttr(local_.at(origin).attrs, kToPart, 0).value_or(0));
  }

  /// What backward calls read of forward ones, and who reads results from outside.
  void FindReaders() {
    for (std::size_t n = 0; n < call_of_.size(); ++n) {
      const std::size_t slot = call_of_[n];
      if (slot == kOutside) {
        ForgetReads(graph_.nodes[n]);
      }
      for (const KernelId input : graph_.nodes[n].inputs) {
        const std::size_t from = call_of_[Index(input)];
        if (from != kOutside && from != slot) {
          outside_readers_[input].push_back(KernelId{static_cast<std::int32_t>(n)});
        }
        if (slot != kOutside && graph_.at(input).kind == KernelKind::kLoad) {
          const std::pair<std::size_t, KernelId> read{slot % borders_.parts, input};
          if (IsBackward(slot)) {
            read_backward_.insert(read);
            reads_again_ =
                reads_again_ || local_.at(graph_.nodes[n].origin).attrs.contains(kDuplicated);
          } else if (!IsToBeRecomputed(local_.at(graph_.nodes[n].origin))) {
            read_forward_.insert(read);
          }
        }
      }
    }
  }

  /// Who reads or writes a parameter in a call does so before the call is done, and the state of
  /// the graph that calls knows nothing of it: no state waits for that.
  void ForgetReads(KernelNode& node) const {
    for (KernelId& input : node.inputs) {
      if (graph_.at(input).kind == KernelKind::kUpdateState && call_of_[Index(input)] != kOutside) {
        input = state_;
      }
    }
    if (node.kind == KernelKind::kUpdateState) {
      std::erase_if(node.inputs,
                    [this](KernelId input) { return call_of_[Index(input)] != kOutside; });
    }
  }

  // One call.

  void Expand(std::size_t slot, const CallSpot& spot) {
    Call& call = calls_[slot];
    const KernelId held = HoldBack(slot, spot);
    for (const KernelId id : call.nodes) {
      std::vector<KernelId> inputs = graph_.at(id).inputs;
      const bool seed = IsBackward(slot) && IsSeed(graph_.at(id));
      for (KernelId& input : inputs) {
        input = Entry(slot, input);
      }
      if (seed) {
        const KernelId begun =
            Virtual(KernelKind::kDepend, {inputs.front(), calls_[TwinOf(slot)].results});
        inputs.front() = BehindBarrier(begun);
      }
      graph_.at(id).inputs = std::move(inputs);
    }
    if (IsBackward(slot)) {
      call.results = Virtual(KernelKind::kMakeTuple, BackwardResults(slot));
    } else {
      std::vector<KernelId> results = ForwardResults(slot, held);
      graph_.at(call.results).inputs = std::move(results);
    }
    const KernelId one = Number(DType::kInt32);
    const KernelId barrier = Virtual(KernelKind::kDepend, {one, call.results});
    barrier_ = Add({.name = std::string(kCopy),
                    .inputs = {barrier},
                    .results = {{.type = {.shape = {}, .dtype = DType::kInt32}}}});
  }

  /// A kernel that begins the backward pass: with a number.
  [[nodiscard]] bool IsSeed(const KernelNode& node) const {
    return node.kind == KernelKind::kKernel &&
           std::ranges::all_of(node.inputs, [this](KernelId input) {
             return graph_.at(input).kind == KernelKind::kConstant;
           });
  }

  /// `what`, not before the call before.
  KernelId BehindBarrier(KernelId what) {
    return barrier_ == kNoKernel ? what : Virtual(KernelKind::kDepend, {what, barrier_});
  }

  KernelId Entry(std::size_t slot, KernelId input) {
    if (IsBackward(slot)) {
      const std::map<KernelId, KernelId>& handed = calls_[TwinOf(slot)].handed;
      if (const auto result = handed.find(input); result != handed.end()) {
        return EntryOf(slot, input, result->second);
      }
    }
    const KernelKind kind = graph_.at(input).kind;
    if (kind == KernelKind::kLoad) {
      return LoadIn(slot, input);
    }
    const bool inside = Index(input) < call_of_.size() && call_of_[Index(input)] == slot;
    const bool state = kind == KernelKind::kState && !IsBackward(slot);
    const bool of_step =
        kind != KernelKind::kParameter && kind != KernelKind::kState && graph_.at(input).micro < 0;
    if (inside || state || of_step || Index(input) >= call_of_.size()) {
      return input;
    }
    return EntryOf(slot, input, input);
  }

  /// How the call reads `input`, which `what` stands for.
  KernelId EntryOf(std::size_t slot, KernelId input, KernelId what) {
    const auto [place, added] = calls_[slot].entries.try_emplace(input, kNoKernel);
    if (added) {
      place->second = BehindBarrier(what);
    }
    return place->second;
  }

  KernelId LoadIn(std::size_t slot, KernelId load) {
    std::map<KernelId, KernelId>& loads = calls_[slot].loads;
    if (const auto known = loads.find(load); known != loads.end()) {
      return known->second;
    }
    const KernelId own = OwnLoad(slot, load);
    loads[load] = own;
    return own;
  }

  KernelId OwnLoad(std::size_t slot, KernelId load) {
    KernelNode copy = graph_.at(load);
    copy.inputs.front() = BehindBarrier(copy.inputs.front());
    KernelId own = Add(std::move(copy));
    if ((order_.copies || IsFrozen(load)) && !IsBackward(slot) && IsParameter(load) &&
        read_backward_.contains({slot % borders_.parts, load}) &&
        read_forward_.contains({slot % borders_.parts, load})) {
      own = Add(
          {.name = std::string(kCopy), .inputs = {own}, .results = {{.type = TypeBehind(load)}}});
    }
    calls_[slot].read.push_back(own);
    return own;
  }

  /// A weight that no optimizer writes is copied in any case.
  [[nodiscard]] bool IsFrozen(KernelId load) const {
    return !written_.contains(RealOperands(graph_, load).front().node);
  }

  /// Not so for a sharded weight: what is gathered is nobody else's.
  [[nodiscard]] bool IsParameter(KernelId load) const {
    const std::vector<KernelOperand> operands = RealOperands(graph_, load);
    return graph_.at(operands.front().node).kind == KernelKind::kParameter;
  }

  [[nodiscard]] TensorType TypeBehind(KernelId id) const {
    const std::vector<KernelOperand> operands = RealOperands(graph_, id);
    const KernelNode& node = graph_.at(operands.front().node);
    return node.results[static_cast<std::size_t>(operands.front().item)].type;
  }

  /// What a forward call gives, first what is sent or the loss.
  std::vector<KernelId> ForwardResults(std::size_t slot, KernelId held) {
    Call& call = calls_[slot];
    const KernelId reads = ReadsOf(call);
    std::vector<KernelId> results;
    for (const KernelId id : call.nodes) {
      const auto readers = outside_readers_.find(id);
      if (readers == outside_readers_.end()) {
        continue;
      }
      for (const KernelId reader : readers->second) {
        if (call_of_[Index(reader)] == kOutside) {
          results.push_back(HandOut(id, reader, reads));
        }
      }
    }
    const std::size_t handed_out = results.size();
    const std::vector<KernelId> wanted = WantedBackward(slot);
    for (const KernelId id : wanted) {
      const bool holds =
          held != kNoKernel && graph_.at(id).kind == KernelKind::kParameter && id == HandedOn(slot);
      results.push_back(holds ? held : Entry(slot, id));
    }
    NameResults(call, wanted, results, handed_out);
    KeepNumbers(slot, results.size());
    if (held != kNoKernel && std::ranges::find(results, held) == results.end()) {
      results.push_back(held);
    }
    return results;
  }

  /// What the backward call reads that is there in the forward call, in order.
  [[nodiscard]] std::vector<KernelId> WantedBackward(std::size_t slot) const {
    std::vector<KernelId> wanted;
    std::set<KernelId> seen;
    for (const KernelId id : calls_[TwinOf(slot)].nodes) {
      for (const KernelId input : graph_.at(id).inputs) {
        if (IsThereForward(slot, input) && seen.insert(input).second) {
          wanted.push_back(input);
        }
      }
    }
    return wanted;
  }

  [[nodiscard]] bool IsThereForward(std::size_t slot, KernelId input) const {
    const Call& call = calls_[slot];
    const KernelKind kind = graph_.at(input).kind;
    const bool inside = Index(input) < call_of_.size() && call_of_[Index(input)] == slot;
    return kind == KernelKind::kParameter || inside || call.loads.contains(input) ||
           call.entries.contains(input);
  }

  /// How the backward call reads results: every second one by its number. Who reads what is handed
  /// out reads it first.
  void NameResults(Call& call, const std::vector<KernelId>& wanted,
                   const std::vector<KernelId>& results, std::size_t handed_out) {
    call.results = Virtual(KernelKind::kMakeTuple, {});
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::size_t before = handed_out + wanted.size() - 1 - i;
      KernelId result = results[handed_out + i];
      if (before % 2 == 1) {
        result = Virtual(KernelKind::kTupleGetItem, {call.results});
        graph_.at(result).item = static_cast<std::int32_t>(handed_out + i);
      }
      call.handed[wanted[i]] = result;
    }
  }

  /// Whether constants of called graphs stay for each use.
  [[nodiscard]] bool KeepsEachUse() const {
    return order_.apart || (order_.pieces_wait && reads_again_ && !read_forward_.empty());
  }

  /// Else only numbers of results stay beside those of the calls.
  void KeepNumbers(std::size_t slot, std::size_t results) {
    if (slot < borders_.parts && !KeepsEachUse()) {
      KeepUnused(results / 2, {.shape = {}, .dtype = DType::kInt64});
    }
  }

  /// A kernel and a constant that it reads.
  using Use = std::pair<KernelId, KernelId>;

  /// What the graphs that the first micro batch calls read of constants.
  [[nodiscard]] std::vector<Use> UsesOfConstants() const {
    std::vector<Use> uses;
    for (std::size_t part = 0; part < borders_.parts; ++part) {
      for (const std::size_t slot : {part, TwinOf(part)}) {
        for (const KernelId id : calls_[slot].nodes) {
          for (const KernelId input : graph_.at(id).inputs) {
            if (graph_.at(input).kind == KernelKind::kConstant) {
              uses.emplace_back(id, input);
            }
          }
        }
      }
    }
    return uses;
  }

  /// Those that others took the place of: of equal tensors the first of their type did.
  void KeepReplaced(const std::vector<Use>& uses, const CallTensors& tensors) {
    std::size_t numbers = borders_.parts * kOwnOfBackward;
    std::map<KernelId, std::size_t> shared;
    for (const auto& [reader, constant] : uses) {
      if (!tensors.IsTensor(reader, constant)) {
        ++numbers;
      } else if (tensors.IsShared(constant)) {
        ++shared[constant];
      }
    }
    KeepUnused(numbers, {.shape = {}, .dtype = DType::kInt64});
    for (const auto& [tensor, count] : shared) {
      const TensorType type = graph_.at(tensor).results.front().type;
      KeepUnused(count - 1, type);
    }
  }

  void KeepUnused(std::size_t constants, const TensorType& type) {
    for (std::size_t i = 0; i < constants; ++i) {
      KeepUnread(graph_, Add({.kind = KernelKind::kConstant,
                              .micro_use = MicroUse::kEach,
                              .results = {{.type = type}}}));
    }
  }

  /// State behind what a call read of weights.
  KernelId ReadsOf(const Call& call) {
    if (call.read.empty()) {
      return state_;
    }
    const KernelId all =
        call.read.size() == 1 ? call.read.front() : Virtual(KernelKind::kMakeTuple, call.read);
    return Virtual(KernelKind::kUpdateState, {state_, all});
  }

  /// Result `id` as `reader` outside gets it.
  KernelId HandOut(KernelId id, KernelId reader, KernelId reads) {
    if (graph_.at(reader).kind == KernelKind::kDepend && graph_.at(reader).inputs.size() == 2 &&
        graph_.at(reader).inputs.front() == id) {
      graph_.at(reader).inputs.back() = reads;
      return reader;
    }
    const KernelId result = Virtual(KernelKind::kDepend, {id, reads});
    std::ranges::replace(graph_.at(reader).inputs, id, result);
    return result;
  }

  /// What a backward call gives: that gradients are added up, and what is sent back.
  std::vector<KernelId> BackwardResults(std::size_t slot) {
    std::vector<KernelId> tokens;
    std::vector<KernelId> results;
    for (const KernelId id : calls_[slot].nodes) {
      const auto readers = outside_readers_.find(id);
      if (readers == outside_readers_.end()) {
        continue;
      }
      const bool once = std::ranges::any_of(
          readers->second, [this](KernelId reader) { return graph_.at(reader).micro < 0; });
      (once ? tokens : results).push_back(id);
      if (once) {
        tokens_.emplace(id, slot);
      }
    }
    if (!tokens.empty()) {
      const KernelId all = Virtual(KernelKind::kMakeTuple, std::move(tokens));
      results.insert(results.begin(), Virtual(KernelKind::kDepend, {Number(DType::kFloat32), all}));
    }
    return results;
  }

  // What holds calls and messages back.

  /// Edges to a call: on what comes back to it, on its state, or on something that it hands on.
  /// @return what a forward call hands on behind them
  KernelId HoldBack(std::size_t slot, const CallSpot& spot) {
    KernelId held = kNoKernel;
    const std::vector<KernelId> arrived = MessagesAt(
        {.what = CallSpot::What::kReceive, .backward = spot.backward, .index = spot.index});
    const KernelId first = !spot.backward    ? HandedOn(slot)
                           : arrived.empty() ? state_
                                             : arrived.front();
    for (const auto& [prior, post] : order_.edges) {
      if (SlotOf(post) != slot || !MessagesAt(post).empty() || SameSpot(prior, post)) {
        continue;
      }
      const KernelId done = DoneAt(prior);
      if (done != kNoKernel) {
        held = Virtual(KernelKind::kDepend, {held == kNoKernel ? first : held, done});
      }
    }
    if (!spot.backward && spot.index == 0 && arrived.empty() && !borders_.weights_passed.empty()) {
      held = Virtual(KernelKind::kDepend, {first, borders_.weights_passed.back()});
    }
    if (held == kNoKernel) {
      return kNoKernel;
    }
    held = BehindBarrier(held);
    if (spot.backward) {
      calls_[slot].entries[first] = held;
      return kNoKernel;
    }
    return held;
  }

  /// A parameter that a forward call only hands on to its backward call.
  KernelId HandedOn(std::size_t slot) {
    for (const KernelId id : calls_[TwinOf(slot)].nodes) {
      for (const KernelId input : graph_.at(id).inputs) {
        if (graph_.at(input).kind == KernelKind::kParameter) {
          return input;
        }
      }
    }
    return Number(DType::kFloat32);
  }

  void OrderMessages() {
    for (const CallSpot::What what : {CallSpot::What::kReceive, CallSpot::What::kSend}) {
      for (const bool backward : {false, true}) {
        for (std::size_t i = 0; i < order_.forward.size(); ++i) {
          const std::vector<KernelId> messages =
              MessagesAt({.what = what, .backward = backward, .index = i});
          for (std::size_t m = 1; m < messages.size(); ++m) {
            After(messages[m - 1], messages[m]);
          }
        }
      }
    }
    for (const auto& [prior, post] : order_.edges) {
      const std::vector<KernelId> messages = MessagesAt(post);
      if (!messages.empty()) {
        After(DoneAt(prior), messages.front());
      }
    }
    PassWeights();
    for (std::size_t micro = 1; order_.pieces_wait && micro < micros_; ++micro) {
      for (const KernelId piece : borders_.forward_start[micro * borders_.parts]) {
        After(calls_[Slot(true, micro - 1, 0)].results, piece);
      }
    }
  }

  /// Weights of several stages pass before the first micro batch, their gradients behind the last.
  void PassWeights() {
    for (const std::vector<KernelId>* passed :
         {&borders_.weights_passed, &borders_.gradients_passed}) {
      for (std::size_t i = 1; i < passed->size(); ++i) {
        After((*passed)[i - 1], (*passed)[i]);
      }
    }
    const std::vector<KernelId> first = MessagesAt({.what = CallSpot::What::kReceive});
    if (!borders_.weights_passed.empty() && !first.empty()) {
      After(borders_.weights_passed.back(), first.front());
    }
    if (!borders_.gradients_passed.empty()) {
      After(DoneAt({.what = CallSpot::What::kSend,
                    .backward = true,
                    .index = order_.backward.size() - 1}),
            borders_.gradients_passed.front());
    }
  }

  void After(KernelId prior, KernelId post) {
    const KernelId operand = graph_.at(post).inputs.front();
    // What comes forward reads one number for all; what comes back has one for each wait.
    const bool number = graph_.at(operand).kind == KernelKind::kConstant &&
                        graph_.at(operand).results[0].type.shape.empty();
    graph_.at(post).inputs.front() =
        number ? ZeroBehind(prior) : Virtual(KernelKind::kDepend, {operand, prior});
  }

  // What is there once, behind all calls.

  /// Sums over micro batches read that their calls are done; those of one part are one.
  void ReplaceTokens() {
    std::map<std::pair<DType, std::vector<KernelId>>, KernelId> sums;
    std::map<KernelId, KernelId> merged;
    for (std::size_t n = 0; n < call_of_.size(); ++n) {
      KernelNode& node = graph_.nodes[n];
      bool sum = false;
      std::vector<KernelId> inputs = node.inputs;
      for (KernelId& input : inputs) {
        const auto token = call_of_[n] == kOutside ? tokens_.find(input) : tokens_.end();
        const auto other = merged.find(input);
        if (token != tokens_.end()) {
          input = ZeroBehind(calls_[token->second].results);
          sum = true;
        } else if (other != merged.end()) {
          input = other->second;
        }
      }
      const KernelId id{static_cast<std::int32_t>(n)};
      if (sum) {
        const DType dtype = node.results.empty() ? DType::kFloat32 : node.results[0].type.dtype;
        const auto [place, added] = sums.try_emplace({dtype, inputs}, id);
        if (!added) {
          merged[id] = place->second;
        }
      }
      graph_.nodes[n].inputs = std::move(inputs);
    }
  }

  /// Gradients wait for all that is sent back: part by part, the last micro batch first.
  void SortTies() {
    for (std::size_t n = 0; n < call_of_.size(); ++n) {
      KernelNode& node = graph_.nodes[n];
      if (node.kind != KernelKind::kMakeTuple || node.origin == kNoNode ||
          !local_.at(node.origin).attrs.contains(kJoinsSends) ||
          local_.at(node.origin).phase != Phase::kBackward) {
        continue;
      }
      std::vector<KernelId> sent;
      for (std::size_t part = 0; part < borders_.parts; ++part) {
        for (std::size_t micro = micros_; micro-- > 0;) {
          for (const KernelId send : borders_.backward_end[micro * borders_.parts + part]) {
            sent.push_back(send);
          }
        }
      }
      std::vector<KernelId> inputs;
      for (const KernelId send : sent) {
        if (PointToPointOf(local_.at(graph_.at(send).origin)) != PointToPoint::kNone) {
          inputs.push_back(ZeroBehind(send));
        }
      }
      graph_.nodes[n].inputs = std::move(inputs);
    }
  }

  std::map<KernelId, std::vector<KernelId>> outside_readers_ = {};  ///< Of nodes in calls.
  std::set<std::pair<std::size_t, KernelId>> read_backward_ = {};   ///< Part and Load.
  std::set<std::pair<std::size_t, KernelId>> read_forward_ = {};    ///< Not by what is recomputed.
  bool reads_again_ = false;  ///< Backward calls read weights to recompute or gather them.
  std::map<KernelId, std::size_t> tokens_ = {};  ///< What sums read, and its call.
  std::set<KernelId> written_ = {};              ///< Parameters that are trained, among others.
  KernelId state_ = kNoKernel;                   ///< At the beginning of the step.
  KernelId barrier_ = kNoKernel;                 ///< Of the call before.
};

}  // namespace

void FormCalls(KernelGraph& graph, const Graph& local, const Borders& borders, std::size_t micros,
               const CallOrder& order) {
  CallForm(graph, local, borders, micros, order).Run();
}

}  // namespace drydock::strategies
