#include "strategies/passes/backward/simplify.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/prepare/rewrite.h"

/// Kernels that a program does not need, as MindSpore's front end leaves them out after
/// differentiation.
///
/// One walk in node order; for each node, until nothing changes: operands that were replaced are
/// replaced; a node whose operands are constants becomes a constant if its entry says that the
/// front end works it out (`folding`); the entry may name a simpler form (`simplify`). Forms by
/// another operator come behind all others, as the device's compiler chooses them. What nobody
/// reads goes at the end.
///
/// Example, the gradient of a mean over (16, 256): the seed 1 through Reshape and Tile is one
/// constant of 16 x 256 ones; RealDiv(constant, 4096) stays, because the front end works out
/// quotients of equal shapes only. Source: mindspore ccsrc/frontend/optimizer/irpass,
/// ops/infer/ops_frontend_func_impl (behaviour only).
namespace drydock::strategies {
namespace {

/// Constants of more elements are not worked out element by element: nothing depends on them.
constexpr std::int64_t kMostElements = 1 << 20;
/// A simpler form may have a simpler form; more than a few in a row are a mistake of ours.
constexpr int kMostRounds = 8;

class Simplifier {
 public:
  Simplifier(Graph graph, ConstantWork work)
      : builder_(std::move(graph)),
        work_(work),
        keep_(builder_.graph().nodes.size(), true),
        written_(builder_.graph().values.size(), false) {
    Grow();
    for (const Node& node : builder_.graph().nodes) {
      for (const ValueId input : node.inputs) {
        uses_[Slot(input)] += input == kNoValue ? 0 : 1;
      }
      for (const std::size_t operand : WrittenOperands(*node.entry)) {
        if (operand < node.inputs.size() && node.inputs[operand] != kNoValue) {
          written_[ToIndex(node.inputs[operand])] = true;
        }
      }
    }
    for (const ValueId output : builder_.graph().outputs) {
      uses_[Slot(output)] += 1;
    }
  }

  Graph Run() && {
    for (std::size_t n = 0; n < keep_.size(); ++n) {
      FollowOperands(n);
      for (int round = 0; keep_[n] && round < kMostRounds; ++round) {
        if (!Fold(n) && !ApplySimplerForm(n)) {
          break;
        }
      }
    }
    // Another operator in place of one is the device's choice: nothing is made simpler behind it.
    changes_operators_ = true;
    for (std::size_t n = 0; n < keep_.size(); ++n) {
      FollowOperands(n);
      if (keep_[n]) {
        ApplySimplerForm(n);
      }
    }
    return RemoveDeadNodes(Rewrite(std::move(builder_).Take(), keep_, replacement_));
  }

 private:
  [[nodiscard]] static std::size_t Slot(ValueId id) { return id == kNoValue ? 0 : ToIndex(id); }

  [[nodiscard]] Node& At(std::size_t n) { return builder_.mutable_graph().nodes[n]; }

  /// Tables per value also cover the constants that were added.
  void Grow() {
    replacement_.resize(builder_.graph().values.size(), kNoValue);
    uses_.resize(builder_.graph().values.size(), 0);
    written_.resize(builder_.graph().values.size(), false);
  }

  void SetOperands(Node& node, std::vector<ValueId> inputs) {
    for (const ValueId input : node.inputs) {
      uses_[Slot(input)] -= input == kNoValue ? 0 : 1;
    }
    for (const ValueId input : inputs) {
      uses_[Slot(input)] += input == kNoValue ? 0 : 1;
    }
    node.inputs = std::move(inputs);
  }

  void FollowOperands(std::size_t n) {
    Node& node = At(n);
    const bool any = std::ranges::any_of(node.inputs, [this](ValueId id) {
      return id != kNoValue && replacement_[ToIndex(id)] != kNoValue;
    });
    if (!any) {
      return;
    }
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& input : inputs) {
      if (input != kNoValue && replacement_[ToIndex(input)] != kNoValue) {
        input = replacement_[ToIndex(input)];
      }
    }
    SetOperands(node, std::move(inputs));
  }

  /// `to` is read in place of `from` by all nodes that follow.
  void Replace(ValueId from, ValueId to) {
    replacement_[ToIndex(from)] = to;
    uses_[ToIndex(to)] += uses_[ToIndex(from)];
    std::vector<Value>& values = builder_.mutable_graph().values;
    Value& value = values[ToIndex(to)];
    if (value.kind == ValueKind::kOutput && value.name.empty()) {
      value.name = values[ToIndex(from)].name;
    }
  }

  void Drop(std::size_t n) {
    keep_[n] = false;
    for (const ValueId input : At(n).inputs) {
      uses_[Slot(input)] -= input == kNoValue ? 0 : 1;
    }
  }

  void ReplaceByNumber(std::size_t n, double number) {
    const ValueId from = At(n).outputs.front();
    const ValueId to = *builder_.AddConstant(builder_.TypeOf(from), std::nullopt);
    Graph& graph = builder_.mutable_graph();
    Constant& constant = graph.constants.back();
    if (builder_.TypeOf(to).shape.empty()) {
      constant.data = std::vector<double>{number};
    } else {
      constant.number = number;
    }
    Grow();
    Replace(from, to);
    Drop(n);
  }

  // ---- Constants

  /// Contents of a constant in full; empty if they are not known or too many.
  [[nodiscard]] std::optional<NdArray> ContentsOf(ValueId id) const {
    const Graph& graph = builder_.graph();
    const Value& value = graph.at(id);
    if (value.kind != ValueKind::kConstant ||
        ElementCount(value.type.shape).value_or(kMostElements + 1) > kMostElements) {
      return std::nullopt;
    }
    const Constant& constant = graph.constants[static_cast<std::size_t>(value.detail)];
    if (constant.number) {
      return FilledArray(value.type.shape, *constant.number);
    }
    return constant.data ? std::optional(NdArray{.shape = value.type.shape, .data = *constant.data})
                         : std::nullopt;
  }

  bool Fold(std::size_t n) {
    const Node& node = At(n);
    if (node.entry->folding == Folding::kNever || node.outputs.size() != 1 || node.inputs.empty() ||
        std::ranges::any_of(node.inputs, [this](ValueId id) {
          return id == kNoValue || builder_.graph().at(id).kind != ValueKind::kConstant;
        })) {
      return false;
    }
    if (node.entry->folding == Folding::kElementwise && !ShapesAgree(node)) {
      return false;
    }
    const ValueId result = node.outputs.front();
    if (work_ == ConstantWork::kOneStep && ReadsWorkedOut(node)) {
      return false;
    }
    const std::optional<double> number = UniformResult(node);
    if (number) {
      ReplaceByNumber(n, *number);
    } else if (!FoldContents(n)) {
      return false;
    }
    if (replacement_[ToIndex(result)] != kNoValue) {
      worked_out_.insert(replacement_[ToIndex(result)]);
    }
    return true;
  }

  [[nodiscard]] bool ReadsWorkedOut(const Node& node) const {
    return std::ranges::any_of(node.inputs,
                               [this](ValueId id) { return worked_out_.contains(id); });
  }

  [[nodiscard]] bool ShapesAgree(const Node& node) const {
    const Shape& shape = builder_.TypeOf(node.outputs.front()).shape;
    return std::ranges::all_of(node.inputs,
                               [&](ValueId id) { return builder_.TypeOf(id).shape == shape; });
  }

  /// The number that all elements of the result are, if that follows from the operands' numbers.
  [[nodiscard]] std::optional<double> UniformResult(const Node& node) const {
    std::vector<NdArray> operands;
    for (const ValueId input : node.inputs) {
      const std::optional<double> number = UniformNumber(builder_.graph(), input);
      if (!number) {
        return std::nullopt;
      }
      operands.push_back({.shape = {}, .data = {*number}});
    }
    if (node.entry->folding == Folding::kSpread) {
      return operands.front().data.front();
    }
    if (node.entry->folding != Folding::kElementwise) {
      return std::nullopt;
    }
    const std::vector<NdArray> results = Evaluate(node, operands, true);
    return results.empty() ? std::nullopt : std::optional(results.front().data.front());
  }

  /// A constant worked out element by element; contents that are not known stay so.
  bool FoldContents(std::size_t n) {
    const Node& node = At(n);
    const TensorType type = builder_.TypeOf(node.outputs.front());
    std::optional<std::vector<double>> contents = ContentsOfResult(node, type);
    if (!contents && node.entry->folding == Folding::kWhole) {
      return false;
    }
    const ValueId from = node.outputs.front();
    const auto same =
        contents ? unknown_.end() : std::ranges::find_if(unknown_, [&](const Unknown& one) {
          return one.entry == node.entry && one.inputs == node.inputs && one.attrs == node.attrs &&
                 builder_.TypeOf(one.result) == type;
        });
    if (same != unknown_.end()) {
      Replace(from, same->result);
      Drop(n);
      return true;
    }
    const bool known = contents.has_value();
    const Result<ValueId> to = builder_.AddConstant(type, std::move(contents));
    Grow();
    if (to) {
      if (!known) {
        unknown_.push_back(
            {.entry = node.entry, .inputs = node.inputs, .attrs = node.attrs, .result = *to});
      }
      Replace(from, *to);
      Drop(n);
    }
    return to.has_value();
  }

  [[nodiscard]] std::optional<std::vector<double>> ContentsOfResult(const Node& node,
                                                                    const TensorType& type) const {
    std::vector<NdArray> operands;
    for (const ValueId input : node.inputs) {
      std::optional<NdArray> contents = ContentsOf(input);
      if (!contents) {
        return std::nullopt;
      }
      operands.push_back(*std::move(contents));
    }
    if (ElementCount(type.shape).value_or(kMostElements + 1) > kMostElements) {
      return std::nullopt;
    }
    std::vector<NdArray> results = Evaluate(node, operands, false);
    return results.empty() ? std::nullopt : std::optional(std::move(results.front().data));
  }

  /// Results by the operator's own reference execution, empty if there is none or it fails.
  /// @param scalars  work on one element: all shapes are ()
  [[nodiscard]] std::vector<NdArray> Evaluate(const Node& node, std::span<const NdArray> operands,
                                              bool scalars) const {
    if (node.entry->evaluate == nullptr) {
      return {};
    }
    const auto types_of = [&](std::span<const ValueId> ids) {
      std::vector<TensorType> types;
      for (const ValueId id : ids) {
        types.push_back(builder_.TypeOf(id));
        types.back().shape = scalars ? Shape() : types.back().shape;
      }
      return types;
    };
    const std::vector<TensorType> inputs = types_of(node.inputs);
    const std::vector<TensorType> outputs = types_of(node.outputs);
    Result<std::vector<NdArray>> results = node.entry->evaluate(EvaluateContext{
        .inputs = operands, .input_types = inputs, .output_types = outputs, .attrs = node.attrs});
    return results ? *std::move(results) : std::vector<NdArray>();
  }

  // ---- Simpler forms

  /// A parameter that an update writes is not what a copy of it was.
  [[nodiscard]] bool MayStandFor(const Node& node, ValueId result) const {
    return node.phase != Phase::kOptimizer || !written_[ToIndex(result)];
  }

  bool ApplySimplerForm(std::size_t n) {
    Node& node = At(n);
    if (node.entry->simplify == nullptr) {
      return false;
    }
    std::optional<Simplification> simpler =
        node.entry->simplify({.graph = builder_.graph(), .node = node, .uses = uses_});
    if (!simpler || simpler->op.empty() == changes_operators_) {
      return false;
    }
    if (simpler->number) {
      ReplaceByNumber(n, *simpler->number);
      return true;
    }
    if (simpler->result != kNoValue) {
      if (!MayStandFor(node, simpler->result)) {
        return false;
      }
      Replace(node.outputs.front(), simpler->result);
      Drop(n);
      return true;
    }
    if (simpler->last_operand) {
      const DType dtype = builder_.TypeOf(simpler->inputs.front()).dtype;
      simpler->inputs.push_back(builder_.AddScalar(*simpler->last_operand, dtype));
      Grow();
    }
    SetOperands(node, std::move(simpler->inputs));
    node.attrs = std::move(simpler->attrs);
    if (!simpler->op.empty()) {
      node.entry = FindOp(simpler->op);
      DRYDOCK_CHECK(node.entry != nullptr);
      node.op = node.entry->name;
    }
    return true;
  }

  /// A constant whose contents are not known: the same work on the same operands gives the same.
  struct Unknown {
    const OpEntry* entry = nullptr;
    std::vector<ValueId> inputs = {};
    AttrMap attrs = {};
    ValueId result = kNoValue;
  };

  GraphBuilder builder_;
  ConstantWork work_;
  std::vector<Unknown> unknown_ = {};
  std::set<ValueId> worked_out_ = {};  ///< Constants that were results of operators.
  bool changes_operators_ = false;     ///< Only forms by another operator are taken.
  std::vector<bool> keep_;
  std::vector<bool> written_;              ///< Per value: some node writes it in place.
  std::vector<ValueId> replacement_ = {};  ///< Per value: what is read in its place.
  std::vector<std::int32_t> uses_ = {};    ///< Per value.
};

}  // namespace

Graph SimplifyGraph(Graph graph, ConstantWork work) {
  return Simplifier(std::move(graph), work).Run();
}

}  // namespace drydock::strategies
