#include "strategies/passes/schedule/lower.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "strategies/graph/kept_constant.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/schedule/copy_reads.h"
#include "strategies/passes/schedule/effects.h"

/// From a local program to a kernel graph.
///
/// Node by node, each operator's entry says which kernels it becomes (OpEntry::lower). Readers of a
/// parameter read its Load, updates the parameter itself; the order of effects is kept by
/// EffectChain. What the step returns waits for the optimizer, the way that MindSpore's cells write
/// it:
///     loss -> Depend(loss, MakeTuple(Depend(True, update)...)) -> Depend(.., last state) -> Return
/// That shape matters: the order of kernels is found by a walk from the return node
/// (exec_order.cc).
///
/// Source: graphs "graph_build" of MindSpore 2.10.
namespace drydock::strategies {
namespace {

/// "0.125000", or all digits where six of them do not tell the number (1e-10 is not 0).
std::string TextOf(double number) {
  std::string text = std::to_string(number);
  if (std::stod(text) != number) {
    std::array<char, 32> digits = {};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text.assign(digits.data(), end);
  }
  return text;
}

class ProgramLowering {
 public:
  explicit ProgramLowering(const Graph& local)
      : local_(local),
        values_(local.values.size(), kNoKernel),
        chain_(builder_, AddParameters()),
        references_(local.values.size(), false) {}

  Result<LoweredProgram> Run(bool data_sink) && {
    if (data_sink && !local_.inputs.empty()) {
      FetchInputs();
    }
    for (const ValueId input : local_.inputs) {
      if (values_[ToIndex(input)] == kNoKernel) {
        values_[ToIndex(input)] = builder_.AddLeaf(KernelKind::kInput, local_.at(input).name,
                                                   local_.at(input).type, input);
      }
    }
    DRYDOCK_RETURN_IF_ERROR(CheckOperands());
    for (std::size_t n = 0; n < local_.nodes.size(); ++n) {
      if (!TakesSliceOfConstant(NodeId{static_cast<std::int32_t>(n)})) {
        DRYDOCK_RETURN_IF_ERROR(LowerNode(NodeId{static_cast<std::int32_t>(n)}));
      }
    }
    Return();
    LoweredProgram lowered{.copies = builder_.copies(), .micro_batch_ends = std::move(ends_)};
    lowered.graph = std::move(builder_.graph());
    if (lowered.copies.empty() && lowered.micro_batch_ends.empty()) {
      CopyReads(local_, lowered.graph);
    }
    return lowered;
  }

 private:
  /// A pass that leaves an operand in another stage is a fault of ours that is told, not met later.
  [[nodiscard]] Status CheckOperands() const {
    const auto made_before = [this](ValueId value, std::size_t n) {
      return value == kNoValue || local_.at(value).kind != ValueKind::kOutput ||
             (local_.at(value).producer != kNoNode && ToIndex(local_.at(value).producer) < n);
    };
    for (std::size_t n = 0; n < local_.nodes.size(); ++n) {
      for (const ValueId input : local_.nodes[n].inputs) {
        if (!made_before(input, n)) {
          return Fail(ErrorCode::kInternal, "'" + local_.nodes[n].op + "' in '" +
                                                local_.nodes[n].scope +
                                                "' reads what no operator before it makes");
        }
      }
    }
    for (const ValueId output : local_.outputs) {
      if (!made_before(output, local_.nodes.size())) {
        return Fail(ErrorCode::kInternal, "no operator makes what a stage returns");
      }
    }
    return {};
  }

  std::vector<KernelId> AddParameters() {
    std::vector<KernelId> leaves;
    for (const Parameter& parameter : local_.parameters) {
      const Value& value = local_.at(parameter.value);
      leaves.push_back(
          builder_.AddLeaf(KernelKind::kParameter, value.name, value.type, parameter.value));
      values_[ToIndex(parameter.value)] = leaves.back();
    }
    return leaves;
  }

  /// One kernel takes all inputs of a step from the queue of the data set.
  void FetchInputs() {
    KernelSpec spec{.name = ops::kGetNext};
    for (const ValueId input : local_.inputs) {
      spec.results.push_back(local_.at(input).type);
    }
    const std::vector<KernelId> items = builder_.Results(builder_.Kernel(std::move(spec)));
    for (std::size_t i = 0; i < items.size(); ++i) {
      values_[ToIndex(local_.inputs[i])] = items[i];
      NameResult(items[i], local_.inputs[i]);
    }
  }

  /// Numbers of the parameters that a node writes.
  [[nodiscard]] std::vector<std::size_t> WrittenParameters(const Node& node) const {
    std::vector<std::size_t> written;
    if (node.entry->writes.empty() || node.entry->unordered_effect) {
      return written;
    }
    for (const std::size_t operand : WrittenOperands(*node.entry)) {
      if (operand < node.inputs.size() && node.inputs[operand] != kNoValue) {
        const Value& value = local_.at(node.inputs[operand]);
        if (value.kind == ValueKind::kParameter) {
          written.push_back(static_cast<std::size_t>(value.detail));
        }
      }
    }
    return written;
  }

  KernelId ConstantLeaf(ValueId id) {
    const Value& value = local_.at(id);
    std::string text;
    const std::optional<std::vector<double>>& data =
        local_.constants[static_cast<std::size_t>(value.detail)].data;
    if (data && data->size() == 1) {
      text = TextOf(data->front());
    }
    return builder_.Constant(value.type, std::move(text));
  }

  /// @param by_name  the parameter itself is wanted, not what it holds
  /// @param own      a constant of its own is wanted, as updates have them
  KernelId Operand(ValueId id, bool by_name, bool own = false) {
    const Value& value = local_.at(id);
    if (value.kind == ValueKind::kParameter && !by_name) {
      return chain_.Load(static_cast<std::size_t>(value.detail));
    }
    if (value.kind == ValueKind::kConstant && own) {
      return builder_.Constant(value.type, "");
    }
    if (value.kind == ValueKind::kOutput && !by_name && references_[ToIndex(id)]) {
      const auto known = loads_behind_.find(id);
      return known != loads_behind_.end()
                 ? known->second
                 : loads_behind_.emplace(id, chain_.LoadBehind(values_[ToIndex(id)])).first->second;
    }
    KernelId& known = values_[ToIndex(id)];
    if (known == kNoKernel && value.kind == ValueKind::kConstant) {
      known = ConstantLeaf(id);
    }
    return known;
  }

  /// What a node does to what it is given.
  enum class Effect : std::uint8_t {
    kNone,
    kParameter,  ///< Writes parameters.
    kTemporary,  ///< Writes what stands for a parameter, or another value.
  };

  [[nodiscard]] Effect EffectOf(const Node& node, const std::vector<std::size_t>& written) const {
    if (!written.empty()) {
      return Effect::kParameter;
    }
    if (node.entry->writes.empty() || node.entry->unordered_effect) {
      return Effect::kNone;
    }
    return Effect::kTemporary;
  }

  KernelId StateFor(Effect effect, const std::vector<std::size_t>& written) {
    switch (effect) {
      case Effect::kParameter:
        return chain_.StateBefore(written);
      case Effect::kTemporary:
        BeginWithResult();
        return chain_.StateOfTemporary();
      case Effect::kNone:
        break;
    }
    return kNoKernel;
  }

  /// What a stage hands on is there when its weights are gathered.
  [[nodiscard]] static bool SendsResult(const Node& node) {
    return node.phase == Phase::kForward && PointToPointOf(node) == PointToPoint::kSends;
  }

  /// A stage that does not make the result of the step begins to write when it has sent all that
  /// it hands on, not when it has read its weights.
  void BeginWithResult() {
    const ValueId result = local_.outputs.empty() ? kNoValue : local_.outputs.front();
    if (result != kNoValue && local_.at(result).kind == ValueKind::kOutput &&
        local_.at(local_.at(result).producer).attrs.contains(kJoinsSends) &&
        values_[ToIndex(result)] != kNoKernel) {
      chain_.BeginWith(values_[ToIndex(result)]);
    }
  }

  /// A rank's slice of a constant is a constant; equal ones are one.
  bool TakesSliceOfConstant(NodeId id) {
    const Node& node = local_.at(id);
    const bool slices = node.instance_name == kSplitTensor ||
                        (node.reason == CommReason::kRedistribution && node.entry->reads_part);
    if (!slices || local_.at(node.inputs.front()).kind != ValueKind::kConstant) {
      return false;
    }
    std::string text = "slice of " + std::to_string(ToInt(node.inputs.front()));
    for (const auto& [name, attr] : node.attrs) {
      text += " " + name + "=" + AttrText(attr);
    }
    values_[ToIndex(node.outputs.front())] =
        builder_.Constant(local_.at(node.outputs.front()).type, std::move(text));
    return true;
  }

  Status LowerNode(NodeId id) {
    const Node& node = local_.at(id);
    builder_.SetOrigin(id);
    const std::vector<std::size_t> written = WrittenParameters(node);
    const Effect effect = EffectOf(node, written);
    const bool after_step = node.attrs.contains(kAfterStep);
    const bool shard = node.reason == CommReason::kOptimizerShard;
    // What is taken apart into several kernels, and what optimizers' kernels have in common, is
    // shared.
    const bool own =
        effect != Effect::kNone && node.entry->lower == nullptr && !node.entry->returns_success;
    // What moves statistics, and its gradient, name their parameters.
    DRYDOCK_TRY(const bool in_training, BoolAttr(node.attrs, "is_training", false));
    // A second run waits with what the parameter held, not with the parameter.
    const bool waits = node.attrs.contains(kRecomputeDepend);
    const bool by_name = after_step || shard || in_training || effect != Effect::kNone ||
                         (node.entry->takes_reference && !waits);
    std::vector<KernelId> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back(input == kNoValue ? kNoKernel : Operand(input, by_name, own));
    }
    const KernelId state = StateFor(effect, written);
    const std::size_t first = builder_.graph().nodes.size();
    const LowerContext context{
        .builder = builder_,
        .graph = local_,
        .node = node,
        .inputs = inputs,
        .state = state,
        .first_state = SendsResult(node) ? chain_.StateOfGathered() : chain_.FirstState()};
    DRYDOCK_TRY(const std::vector<KernelId> results, node.entry->lower != nullptr
                                                         ? node.entry->lower(context)
                                                         : LowerByDefault(context));
    if (results.size() != node.outputs.size()) {
      return Fail(ErrorCode::kInternal, "lowering of '" + node.op + "' gives " +
                                            std::to_string(results.size()) + " results");
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      NameResult(results[i], node.outputs[i]);
      values_[ToIndex(node.outputs[i])] =
          shard && node.group ? chain_.LoadGathered(results[i], node.phase == Phase::kForward,
                                                    !node.attrs.contains(kEachMicroBatch))
                              : results[i];
    }
    if (node.entry->gives_reference && !waits && IsReference(node.inputs.front())) {
      references_[ToIndex(node.outputs.front())] = true;
    }
    if (node.attrs.contains(kPassesWeight) && node.phase == Phase::kForward &&
        PointToPointOf(node) == PointToPoint::kReceives) {
      chain_.NoteReceived(results.front());
    }
    Finish(node, first, state, written, effect);
    if (effect == Effect::kNone && !node.entry->unordered_effect) {
      NoteMovedStatistics(first);
    }
    if (after_step) {
      builder_.graph().after_step.push_back(results.front());
    }
    return {};
  }

  /// A kernel that its operator's entry marked changes parameters, too, but waits for no state.
  void NoteMovedStatistics(std::size_t first) {
    for (std::size_t i = first; i < builder_.graph().nodes.size(); ++i) {
      if (builder_.graph().nodes[i].update) {
        builder_.graph().nodes[i].update = false;
        (void)chain_.StateBefore({});
        chain_.NoteEffect(KernelId{static_cast<std::int32_t>(i)}, {});
        return;
      }
    }
  }

  [[nodiscard]] bool IsReference(ValueId id) const {
    return local_.at(id).kind == ValueKind::kParameter || references_[ToIndex(id)];
  }

  void NameResult(KernelId id, ValueId value) {
    const std::vector<KernelOperand> real = RealOperands(builder_.graph(), id);
    if (real.size() != 1) {
      return;
    }
    KernelNode& kernel = builder_.graph().at(real.front().node);
    const auto index = static_cast<std::size_t>(real.front().item);
    if (kernel.kind == KernelKind::kKernel && index < kernel.results.size() &&
        kernel.results[index].value == kNoValue) {
      KernelResult result = kernel.results[index];
      result.value = value;
      kernel.results.Set(index, std::move(result));
    }
  }

  /// What follows from the kernels that a node became: who read parameters, who wrote them.
  void Finish(const Node& node, std::size_t first, KernelId state,
              const std::vector<std::size_t>& written, Effect effect) {
    KernelId last = kNoKernel;
    bool state_taken = false;
    // Entries that put other kernels around a collective say which of them it is.
    const bool told =
        std::any_of(builder_.graph().nodes.begin() + static_cast<std::ptrdiff_t>(first),
                    builder_.graph().nodes.end(),
                    [](const KernelNode& kernel) { return kernel.communication; });
    for (std::size_t i = first; i < builder_.graph().nodes.size(); ++i) {
      const KernelId id{static_cast<std::int32_t>(i)};
      KernelNode& kernel = builder_.graph().at(id);
      for (const KernelId input : kernel.inputs) {
        chain_.NoteUse(input, id);
        state_taken = state_taken || (state != kNoKernel && input == state);
      }
      if (kernel.kind != KernelKind::kKernel) {
        continue;
      }
      last = id;
      if (node.group && !kernel.view && (!told || kernel.communication)) {
        MarkCollective(node, kernel);
      }
    }
    if (last != kNoKernel && node.attrs.contains(kEndsMicroBatch)) {
      // Of an operator with several results the last one, as of a scale and a shift.
      ends_.push_back(node.outputs.size() > 1 ? values_[ToIndex(node.outputs.back())] : last);
    }
    if (effect != Effect::kNone && last != kNoKernel) {
      if (!state_taken) {
        builder_.graph().at(last).inputs.push_back(state);
      }
      NoteWriter(node, last, written, effect);
    }
  }

  static void MarkCollective(const Node& node, KernelNode& kernel) {
    kernel.communication = true;
    kernel.group = node.group;
    kernel.fusible = IntAttr(node.attrs, "fusion", 0).value_or(0) != 0;
    if (node.attrs.contains(kEachMicroBatch)) {
      kernel.micro_use = MicroUse::kEach;
    }
  }

  /// `last` of the kernels of a node writes what the node writes.
  void NoteWriter(const Node& node, KernelId last, const std::vector<std::size_t>& written,
                  Effect effect) {
    builder_.graph().at(last).update = true;
    if (node.attrs.contains(kEachMicroBatch)) {
      builder_.graph().at(last).micro_use = MicroUse::kEach;
    }
    if (node.attrs.contains(kClears)) {
      clears_.push_back(last);
    }
    if (effect == Effect::kTemporary) {
      chain_.NoteTemporary(last);
      return;
    }
    const KernelId end{static_cast<std::int32_t>(builder_.graph().nodes.size()) - 1};
    const KernelKind kind = builder_.graph().at(end).kind;
    const bool named = kind == KernelKind::kMakeTuple || kind == KernelKind::kDepend;
    chain_.NoteEffect(named ? end : last, written);
    if (node.entry->returns_success) {
      const bool waits = kind == KernelKind::kDepend;
      successes_.push_back({.parameter = written.front(), .update = waits ? end : last});
    }
  }

  /// True, not before the update was done; or what the operator says itself.
  KernelId Success(KernelId update) {
    if (builder_.graph().at(update).kind == KernelKind::kDepend) {
      return update;
    }
    const std::vector<KernelId> items = builder_.Results(update);
    const KernelId what =
        items.size() == 1 ? items.front() : builder_.Virtual(KernelKind::kMakeTuple, items);
    return builder_.Virtual(KernelKind::kDepend, {builder_.Argument(true), what});
  }

  void Return() {
    builder_.SetOrigin(kNoNode);
    std::vector<KernelId> outputs;
    for (const ValueId output : local_.outputs) {
      outputs.push_back(Operand(output, false));
    }
    builder_.graph().outputs = outputs;
    KernelId result = outputs.size() == 1
                          ? outputs.front()
                          : builder_.Virtual(KernelKind::kMakeTuple, std::move(outputs));
    if (!successes_.empty()) {
      // Optimizers that go through their parameters backwards return the results forwards.
      if (successes_.front().parameter > successes_.back().parameter) {
        std::ranges::reverse(successes_);
      }
      std::vector<KernelId> all;
      for (const Update& update : successes_) {
        all.push_back(Success(update.update));
      }
      result = builder_.Virtual(KernelKind::kDepend,
                                {result, builder_.Virtual(KernelKind::kMakeTuple, std::move(all))});
    }
    if (!clears_.empty()) {
      result = builder_.Virtual(KernelKind::kDepend,
                                {result, builder_.Virtual(KernelKind::kMakeTuple, clears_)});
    }
    if (chain_.HasEffects()) {
      result = builder_.Virtual(KernelKind::kDepend, {result, chain_.FinalState()});
    }
    result = builder_.Virtual(KernelKind::kMakeTuple, {result});
    builder_.graph().result = builder_.Virtual(KernelKind::kReturn, {result});
    KeepIndices();
  }

  /// The number of a result that is taken out of several is a constant, though no kernel reads it.
  /// The back end takes results out of updates, where that is none.
  void KeepIndices() {
    std::vector<bool> seen(builder_.graph().nodes.size(), false);
    std::vector<KernelId> waiting = {builder_.graph().result};
    std::set<std::int32_t> items;
    while (!waiting.empty()) {
      const KernelId id = waiting.back();
      const KernelNode& node = builder_.graph().at(id);
      waiting.pop_back();
      if (builder_.results_of_operators().contains(id)) {
        items.insert(node.item);
      }
      for (const KernelId input : node.inputs) {
        if (!seen[static_cast<std::size_t>(input)]) {
          seen[static_cast<std::size_t>(input)] = true;
          waiting.push_back(input);
        }
      }
    }
    for (const std::int32_t item : items) {
      KeepUnread(builder_.graph(), builder_.Argument(std::int64_t{item}));
    }
  }

  struct Update {
    std::size_t parameter = 0;  ///< Number of the first one it writes.
    KernelId update = kNoKernel;
  };

  const Graph& local_;
  KernelBuilder builder_;
  std::vector<KernelId> values_;  ///< Per local value.
  EffectChain chain_;
  std::vector<Update> successes_ = {};
  std::vector<bool> references_;                   ///< Per value: it stands for a parameter.
  std::map<ValueId, KernelId> loads_behind_ = {};  ///< What is read of such a value.
  std::vector<KernelId> clears_ = {};              ///< Clear accumulators at the end.
  std::vector<KernelId> ends_ = {};                ///< Last kernels of a micro batch.
};

}  // namespace

Result<LoweredProgram> LowerProgram(const Graph& local, bool data_sink) {
  return ProgramLowering(local).Run(data_sink);
}

}  // namespace drydock::strategies
