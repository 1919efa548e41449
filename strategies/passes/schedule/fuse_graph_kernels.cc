#include "strategies/passes/schedule/fuse_graph_kernels.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "strategies/passes/schedule/cluster_kernels.h"
#include "strategies/passes/schedule/fused_graph.h"
#include "strategies/passes/schedule/fused_waits.h"
#include "strategies/passes/schedule/simplify_basic.h"
#include "strategies/passes/schedule/split_kernels.h"

/// Fused kernels of jit_level O1.
///
/// MindSpore's graph kernel fusion goes over the kernels of a step once more:
///  1. what writes waits for the state of memory with one of its operands;
///  2. some kernels are taken apart into basic operations (GeLU, AddN, Adam: BasicFacts::expand);
///  3. kernels that the vector machine can compute are grouped with what they read
///     (cluster_kernels.cc), and each group becomes one kernel;
///  4. numbers are computed, and what changes nothing is left out (BasicFacts::simplify);
///  5. groups fall apart again where it does not pay (split_areas.cc).
/// What lies between the operations of a kernel needs no memory, nor do numbers.
///
/// Example: Add, Square, ReduceMean of a loss whose sum the backward pass reads becomes
/// GraphKernel_Add_Mul_ReduceSum_split with two results and GraphKernel_RealDiv_split.
///
/// Source: mindspore/ccsrc/backend/common/graph_kernel (adapter/graph_kernel_optimization.cc).
namespace drydock::strategies {
namespace {

using Source = BasicValue::Source;

bool IsState(const KernelNode& node) {
  return node.kind == KernelKind::kState || node.kind == KernelKind::kUpdateState;
}

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kBFloat16;
}

/// What the vector machine can hold.
bool IsHeld(DType dtype) {
  return IsFloat(dtype) || dtype == DType::kBool || dtype == DType::kInt32;
}

/// Numbers and arguments are smaller.
constexpr std::int64_t kMostKeptBytes = 512;

double NumberIn(std::string_view text) {
  if (text == "True" || text == "False") {
    return text == "True" ? 1.0 : 0.0;
  }
  double number = 0.0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole && !text.empty() ? number : std::numeric_limits<double>::quiet_NaN();
}

class GraphKernelFuser {
 public:
  GraphKernelFuser(KernelGraph graph, std::vector<std::int32_t> parts)
      : graph_(std::move(graph)), parts_(std::move(parts)) {}

  KernelGraph Run() && {
    CountConstants();
    SpreadWaits(graph_);
    Expand();
    Cluster();
    Simplify();
    ExtendWaits(graph_);
    SplitKernels(graph_);
    ExtendWaits(graph_);
    JoinWaits(graph_);
    const std::vector<KernelId> order = graph_.Order();
    OwnArguments(order);
    KeepConstants(order);
    for (const KernelId id : graph_.FusedKernels()) {
      graph_.at(id).name = graph_.Named("GraphKernel_" + graph_.at(id).name.str());
    }
    return std::move(graph_).Take(order);
  }

 private:
  // ---- 2. Taking apart

  [[nodiscard]] const TensorType& TypeOf(KernelId id) const {
    std::size_t item = 0;
    while (graph_.at(id).results.empty()) {
      const KernelNode& node = graph_.at(id);
      if (node.kind == KernelKind::kMakeTuple) {
        id = node.inputs[item];
        item = 0;
        continue;
      }
      if (node.kind == KernelKind::kTupleGetItem) {
        item = static_cast<std::size_t>(node.item);
      }
      id = node.inputs.front();
    }
    return graph_.at(id).results[item].type;
  }

  [[nodiscard]] bool IsConstant(KernelId id) const {
    return graph_.at(id).kind == KernelKind::kConstant;
  }

  /// A number that stands in a kernel itself.
  [[nodiscard]] bool IsNumber(KernelId id) const {
    return IsConstant(id) && ElementCount(TypeOf(id).shape).value_or(0) == 1;
  }

  [[nodiscard]] BasicValue ValueOf(KernelId id) const {
    return {.number = NumberIn(graph_.at(id).name), .type = TypeOf(id)};
  }

  [[nodiscard]] bool CanExpand(KernelId id) const {
    const KernelNode& node = graph_.at(id);
    const BasicFacts* facts = FindBasic(node.name);
    return facts != nullptr && facts->expand != nullptr && !node.view &&
           IsHeld(node.results.front().type.dtype) &&
           std::ranges::all_of(node.inputs, [this](KernelId input) {
             return IsConstant(input) || IsState(graph_.at(input)) || IsHeld(TypeOf(input).dtype);
           });
  }

  /// Write(to, what, state) -> Write(Depend(to, state), what). A kernel whose first operand waits
  /// for the state already has no state of its own.
  void WaitWithOperand(KernelId id, std::size_t operand) {
    const std::vector<KernelId> inputs = graph_.at(id).inputs;
    const KernelNode& first = graph_.at(inputs.front());
    KernelId state = kNoKernel;
    if (IsState(graph_.at(inputs.back()))) {
      state = inputs.back();
      graph_.at(id).inputs.pop_back();
    } else if (operand > 0 && first.kind == KernelKind::kDepend &&
               IsState(graph_.at(first.inputs.back()))) {
      state = first.inputs.back();
    }
    if (state != kNoKernel) {
      const KernelId waits = graph_.AddVirtual(KernelKind::kDepend, {inputs[operand], state});
      graph_.at(id).inputs[operand] = waits;
    }
  }

  void Expand() {
    const std::size_t count = graph_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const KernelId id{static_cast<std::int32_t>(i)};
      const BasicFacts* facts =
          graph_.at(id).kind == KernelKind::kKernel ? FindBasic(graph_.at(id).name) : nullptr;
      const bool expands = facts != nullptr && CanExpand(id);
      if (facts != nullptr && facts->waits_with >= 0 && (facts->tensors > 0 || expands)) {
        WaitWithOperand(id, static_cast<std::size_t>(facts->waits_with));
      }
      if (expands) {
        TakeApart(id, *facts);
      }
    }
  }

  void TakeApart(KernelId id, const BasicFacts& facts) {
    BasicProgram program;
    std::vector<BasicValue> values;
    std::vector<KernelId> operands;
    for (const KernelId input : graph_.at(id).inputs) {
      if (IsNumber(input)) {
        values.push_back(ValueOf(input));
        continue;
      }
      const auto index = static_cast<std::int32_t>(operands.size());
      values.push_back({.source = Source::kOperand, .index = index});
      operands.push_back(input);
      program.operands.push_back(IsState(graph_.at(input)) ? TensorType{} : TypeOf(input));
    }
    std::vector<TensorType> types;
    for (const KernelResult& result : graph_.at(id).results) {
      types.push_back(result.type);
    }
    BasicBuilder builder(program, std::move(values), std::move(types));
    program.results = facts.expand(builder);
    if (program.results.empty()) {
      return;
    }
    graph_.SetProgram(id, std::move(program), operands, graph_.Named(std::string(facts.kernel)));
  }

  // ---- 3. Grouping

  [[nodiscard]] bool TensorsAre(const KernelNode& node, std::size_t first, std::size_t last,
                                DType dtype) const {
    return std::all_of(
        node.inputs.begin() + static_cast<std::ptrdiff_t>(first),
        node.inputs.begin() + static_cast<std::ptrdiff_t>(last),
        [&](KernelId input) { return IsNumber(input) || TypeOf(input).dtype == dtype; });
  }

  [[nodiscard]] bool TensorsAreFloats(const KernelNode& node, std::size_t count) const {
    return std::all_of(node.inputs.begin(),
                       node.inputs.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](KernelId input) { return IsFloat(TypeOf(input).dtype); });
  }

  [[nodiscard]] bool TypesFit(const KernelNode& node, const BasicFacts& facts) const {
    const DType made = node.results.front().type.dtype;
    const DType read = TypeOf(node.inputs.front()).dtype;
    const auto count = static_cast<std::size_t>(facts.tensors);
    const bool number = IsFloat(made) || made == DType::kInt32;
    switch (facts.types) {
      case FusedTypes::kFloats:
        return IsFloat(made) && TensorsAre(node, 0, count, made);
      case FusedTypes::kFloatsOrInt32:
        return number && TensorsAre(node, 0, count, made);
      case FusedTypes::kMixed:
        return (IsFloat(made) && TensorsAreFloats(node, count)) ||
               (number && TensorsAre(node, 0, count, made));
      case FusedTypes::kFirst:
        return IsFloat(made) && read == made;
      case FusedTypes::kFirstOrInt32:
        return number && read == made;
      case FusedTypes::kCompared:
        return IsFloat(read) || read == DType::kInt32;
      case FusedTypes::kTested:
        return IsFloat(read);
      case FusedTypes::kConverted:
        return IsHeld(made) && IsHeld(read);
      case FusedTypes::kChosen:
        return read == DType::kBool && IsFloat(made) && TensorsAre(node, 1, count, made);
      case FusedTypes::kMoved:
        return made == DType::kFloat16 || made == DType::kFloat32;
    }
    return false;
  }

  [[nodiscard]] bool CanJoin(KernelId id) {
    const KernelNode& node = graph_.at(id);
    if (node.kind != KernelKind::kKernel) {
      return false;
    }
    if (graph_.ProgramOf(id) != nullptr) {
      return true;
    }
    const BasicFacts* facts = FindBasic(node.name);
    return facts != nullptr && facts->tensors > 0 && !node.communication && !node.view &&
           node.inputs.size() >= static_cast<std::size_t>(facts->tensors) &&
           ElementCount(node.results.front().type.shape).value_or(0) > 0 && TypesFit(node, *facts);
  }

  void Cluster() {
    const std::vector<KernelId> order = graph_.Order();
    std::vector<std::uint32_t> position(graph_.size(), 0);
    ClusterGraph clusters;
    clusters.inputs.reserve(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      position[IndexOf(order[i])] = static_cast<std::uint32_t>(i);
      const KernelNode& node = graph_.at(order[i]);
      clusters.inputs.emplace_back().reserve(node.inputs.size());
      for (const KernelId input : node.inputs) {
        if (!IsLeaf(graph_.at(input).kind)) {
          clusters.inputs.back().push_back(position[IndexOf(input)]);
        }
      }
      clusters.joins.push_back(CanJoin(order[i]));
      const bool item = node.kind == KernelKind::kTupleGetItem;
      const std::size_t kernel = IndexOf(item ? node.inputs.front() : order[i]);
      clusters.is_item.push_back(item);
      clusters.part.push_back(kernel < parts_.size() ? parts_[kernel] : 0);
    }
    const std::vector<bool> joins = clusters.joins;
    std::vector<std::vector<std::size_t>> groups = ClusterKernels(std::move(clusters));
    FindReadByOthers(groups, order);
    known_.assign(graph_.size(), {});
    for (const std::vector<std::size_t>& members : groups) {
      std::vector<KernelId> kernels;
      std::ranges::transform(members, std::back_inserter(kernels),
                             [&order](std::size_t member) { return order[member]; });
      if (joins[members.front()] && BecomesOne(kernels)) {
        Fuse(kernels);
      }
    }
    graph_.Resolve();
  }

  /// Members of groups that others read.
  void FindReadByOthers(const std::vector<std::vector<std::size_t>>& groups,
                        const std::vector<KernelId>& order) {
    std::vector<std::int32_t> group_of(graph_.size(), -1);
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (const std::size_t member : groups[group]) {
        group_of[IndexOf(order[member])] = static_cast<std::int32_t>(group);
      }
    }
    read_by_others_.assign(graph_.size(), false);
    for (const KernelId id : order) {
      const std::int32_t group = group_of[IndexOf(id)];
      for (const KernelId input : graph_.at(id).inputs) {
        if (group < 0 || group_of[IndexOf(input)] != group) {
          read_by_others_[IndexOf(input)] = true;
        }
      }
    }
  }

  [[nodiscard]] bool BecomesOne(const std::vector<KernelId>& kernels) {
    const auto count = std::ranges::count_if(
        kernels, [this](KernelId id) { return graph_.at(id).kind == KernelKind::kKernel; });
    if (count != 1) {
      return true;
    }
    return graph_.ProgramOf(kernels.front()) == nullptr &&
           !FindBasic(graph_.at(kernels.front()).name)->never_alone;
  }

  /// The program of a group while it is put together.
  struct Group {
    std::int32_t number = 0;
    BasicProgram program = {};
    std::vector<KernelId> operands = {};
    std::vector<KernelId> constants = {};  ///< Of several elements: operands behind the others.
    std::vector<BasicValue> made = {};     ///< Results of the members so far.
  };

  /// What a node is to the group that was put together last.
  struct Known {
    std::int32_t group = -1;
    std::int32_t results = 0;  ///< Of a member; 0: it is an operand.
    std::int32_t number = 0;   ///< Of the operand; a member's first result in Group::made.
  };

  /// What the members so far made of a result; null if it is not of one.
  [[nodiscard]] const BasicValue* MadeOf(const Group& group, KernelId id) const {
    const KernelNode& node = graph_.at(id);
    const bool is_item = node.kind == KernelKind::kTupleGetItem;
    const Known& maker = known_[IndexOf(is_item ? node.inputs.front() : id)];
    const std::int32_t item = is_item ? node.item : 0;
    return maker.group == group.number && item < maker.results
               ? &group
                      .made[static_cast<std::size_t>(maker.number) + static_cast<std::size_t>(item)]
               : nullptr;
  }

  /// What a member of the group reads. Constants are numbered from -1 downwards until all operands
  /// are known.
  BasicValue Read(Group& group, KernelId id) {
    if (const BasicValue* made = MadeOf(group, id)) {
      return *made;
    }
    if (IsNumber(id)) {
      return ValueOf(id);
    }
    Known& known = known_[IndexOf(id)];
    if (known.group != group.number) {
      std::vector<KernelId>& list = IsConstant(id) ? group.constants : group.operands;
      list.push_back(id);
      const auto count = static_cast<std::int32_t>(list.size());
      known = {.group = group.number, .number = IsConstant(id) ? -count : count - 1};
    }
    return {.source = Source::kOperand, .index = known.number};
  }

  /// The kernel's own program, if it has one, becomes part of the group's.
  void AddMember(Group& group, KernelId id) {
    const KernelNode& node = graph_.at(id);
    const auto base = static_cast<std::int32_t>(group.program.ops.size());
    const auto first = static_cast<std::int32_t>(group.made.size());
    if (graph_.ProgramOf(id) != nullptr) {
      BasicProgram inner = graph_.TakeProgram(id);
      std::vector<BasicValue> operands;
      for (const KernelId input : node.inputs) {
        operands.push_back(Read(group, input));
      }
      const auto renamed = [&](BasicValue value) {
        if (value.source == Source::kOperand) {
          return operands[static_cast<std::size_t>(value.index)];
        }
        value.index += value.source == Source::kResult ? base : 0;
        return value;
      };
      for (BasicOp& op : inner.ops) {
        std::ranges::transform(op.inputs, op.inputs.begin(), renamed);
        group.program.ops.push_back(std::move(op));
      }
      std::ranges::transform(inner.results, std::back_inserter(group.made), renamed);
    } else {
      const BasicFacts* facts = FindBasic(node.name);
      BasicOp op{.facts = facts, .type = node.results.front().type, .from = id};
      for (std::int32_t i = 0; i < facts->tensors; ++i) {
        op.inputs.push_back(Read(group, node.inputs[static_cast<std::size_t>(i)]));
      }
      group.program.ops.push_back(std::move(op));
      group.made.push_back({.source = Source::kResult, .index = base});
    }
    known_[IndexOf(id)] = {.group = group.number,
                           .results = static_cast<std::int32_t>(group.made.size()) - first,
                           .number = first};
  }

  /// Constants become the last operands.
  void PlaceConstants(Group& group) const {
    const auto count = static_cast<std::int32_t>(group.operands.size());
    for (BasicOp& op : group.program.ops) {
      for (BasicValue& input : op.inputs) {
        if (input.source == Source::kOperand && input.index < 0) {
          input.index = count - input.index - 1;
        }
      }
    }
    group.operands.insert(group.operands.end(), group.constants.begin(), group.constants.end());
    for (const KernelId operand : group.operands) {
      group.program.operands.push_back(TypeOf(operand));
    }
  }

  void Fuse(const std::vector<KernelId>& kernels) {
    std::vector<KernelId> outputs;
    std::ranges::copy_if(kernels, std::back_inserter(outputs), [this](KernelId id) {
      const KernelNode& node = graph_.at(id);
      return read_by_others_[IndexOf(id)] &&
             (node.kind == KernelKind::kTupleGetItem || node.results.size() <= 1);
    });
    if (outputs.empty()) {
      return;
    }
    Group group{.number = groups_++};
    std::string name;
    KernelNode fused = {.kind = KernelKind::kKernel};
    for (const KernelId id : kernels) {
      const KernelNode& node = graph_.at(id);
      if (node.kind == KernelKind::kKernel) {
        AddMember(group, id);
        name += std::string_view(node.name);
        name += '_';
        fused.origin = node.origin;
        fused.micro = node.micro;
      }
    }
    PlaceConstants(group);
    std::vector<KernelResult> results;
    for (const KernelId id : outputs) {
      const KernelNode& node = graph_.at(id);
      const bool item = node.kind == KernelKind::kTupleGetItem;
      const KernelNode& kernel = item ? graph_.at(node.inputs.front()) : node;
      const BasicValue* made = MadeOf(group, id);
      DRYDOCK_CHECK(made != nullptr);
      group.program.results.push_back(*made);
      results.push_back(kernel.results[static_cast<std::size_t>(item ? node.item : 0)]);
    }
    fused.results = std::move(results);
    const KernelId id = graph_.Add(std::move(fused));
    graph_.SetProgram(id, std::move(group.program), group.operands, graph_.Named(name + "fusion"));
    const std::vector<KernelId> items = graph_.Items(id);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      graph_.Replace(outputs[i], items[i]);
    }
  }

  // ---- 4. Simplifying

  void Simplify() {
    for (const KernelId id : graph_.FusedKernels()) {
      BasicProgram program = graph_.TakeProgram(id);
      SimplifyBasic(program);
      const std::vector<KernelId> operands = graph_.at(id).inputs;
      graph_.SetProgram(id, std::move(program), operands, graph_.at(id).name);
    }
  }

  // ---- 6. Constants

  /// How often the network names each constant: of the kernels of one operator, the first one that
  /// reads it counts.
  void CountConstants() {
    uses_.assign(graph_.size(), 0);
    std::vector<KernelId> last(graph_.size(), kNoKernel);
    for (const KernelId id : graph_.Order()) {
      for (const KernelId input : graph_.at(id).inputs) {
        KernelId& known = last[IndexOf(input)];
        const bool same = known != kNoKernel && known != id && graph_.at(id).origin != kNoNode &&
                          graph_.at(known).origin == graph_.at(id).origin;
        uses_[IndexOf(input)] += same ? 0 : 1;
        known = id;
      }
    }
  }

  /// A number or argument that was named more than once stays in memory, though it is not read any
  /// more; tables do not.
  void KeepConstants(const std::vector<KernelId>& order) {
    std::vector<bool> read(uses_.size(), false);
    for (const KernelId id : order) {
      for (const KernelId input : graph_.at(id).inputs) {
        if (IndexOf(input) < read.size() && graph_.at(id).kind == KernelKind::kKernel) {
          read[IndexOf(input)] = true;
        }
      }
    }
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      const KernelId id{static_cast<std::int32_t>(i)};
      if (IsConstant(id) && uses_[i] > 1 && !read[i] && ByteSize(TypeOf(id)) <= kMostKeptBytes) {
        graph_.Keep(id);
      }
    }
  }

  [[nodiscard]] bool OwnsArgument(const BasicFacts& facts, std::size_t index, KernelId id) const {
    return IsConstant(id) && facts.own_from > 0 &&
           index >= static_cast<std::size_t>(facts.own_from);
  }

  /// Arguments of some kernels are constants of their own.
  void OwnArguments(const std::vector<KernelId>& order) {
    for (const KernelId id : order) {
      const BasicFacts* facts =
          graph_.at(id).kind == KernelKind::kKernel ? FindBasic(graph_.at(id).name) : nullptr;
      if (facts == nullptr || graph_.ProgramOf(id) != nullptr) {
        continue;
      }
      const std::vector<KernelId> inputs = graph_.at(id).inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (OwnsArgument(*facts, i, inputs[i])) {
          KernelNode own = graph_.at(inputs[i]);
          own.runs_late = false;
          const KernelId argument = graph_.Add(std::move(own));
          graph_.at(id).inputs[i] = argument;
        }
      }
    }
  }

  FusedGraph graph_;
  const std::vector<std::int32_t> parts_;  ///< Per node of the graph as it came.
  std::vector<std::int32_t> uses_ = {};    ///< Per node of the graph as it came.
  // Per node while groups become kernels.
  std::vector<bool> read_by_others_ = {};  ///< By others than members of its group.
  std::vector<Known> known_ = {};
  std::int32_t groups_ = 0;  ///< That became kernels so far.
};

}  // namespace

KernelGraph FuseGraphKernels(KernelGraph graph, std::vector<std::int32_t> parts) {
  return GraphKernelFuser(std::move(graph), std::move(parts)).Run();
}

}  // namespace drydock::strategies
