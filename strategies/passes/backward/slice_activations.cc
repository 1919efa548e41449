#include "strategies/passes/backward/slice_activations.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "strategies/graph/kept_constant.h"
#include "strategies/operators/builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/backward/in_order.h"
#include "strategies/passes/localize/redistribute.h"

/// What is kept for a second run is kept as a slice.
///
/// A recomputed Cell keeps what it was given: the result of the Cell before it, which ranks along
/// the model-parallel axis hold alike. Each keeps a part of the rows, and the second run reads an
/// AllGather of the parts. The slice is cut when the first reader in the forward pass is through;
/// the gathers run from the last one to the first.
///
/// Example: y = Add(..) is whole on 4 ranks; forward reads y, the second run reads
///     s = StridedSlice(y, my quarter of the rows); y2 = AllGather(s).
/// A result whose next reader was held back that way by the Cell before it is not cut: its readers
/// are no longer seen. Of a chain of Cells that add to what they are given it is every other one.
///
/// Source: mindspore/ccsrc/frontend/optimizer/slice_activation_in_recompute.cc, graphs of 2.10
namespace drydock::strategies {
namespace {

/// Attribute of nodes whose result is kept as a slice.
constexpr std::string_view kSliceActivation = "slice_activation";

class ActivationSlicer {
 public:
  ActivationSlicer(Graph local, const TracedPlan& plan)
      : plan_(plan), builder_(std::move(local)), users_(UsersOf(builder_.graph())) {
    VisitFromEnd();
  }

  Result<Graph> Run() && {
    const std::size_t count = visited_.size();
    for (std::size_t n = 0; n < count; ++n) {
      const Node& node = builder_.graph().nodes[n];
      if (node.attrs.contains(kSliceActivation) && !node.attrs.contains(kDuplicated)) {
        DRYDOCK_RETURN_IF_ERROR(Slice(n));
      }
    }
    HoldBack();
    return InOrder(std::move(builder_).Take());
  }

 private:
  /// A gathered activation.
  struct Gathered {
    std::size_t gather = 0;
    ValueId wait = kNoValue;  ///< Result of the Depend by which second runs read it, if any.
  };

  [[nodiscard]] Node& At(std::size_t n) { return builder_.mutable_graph().nodes[n]; }

  /// Numbers the nodes as a walk from what is returned meets them, operands from the left.
  void VisitFromEnd() {
    const Graph& graph = builder_.graph();
    visited_.assign(graph.nodes.size(), std::numeric_limits<std::size_t>::max());
    std::vector<ValueId> waiting(graph.outputs.rbegin(), graph.outputs.rend());
    std::size_t next = 0;
    while (!waiting.empty()) {
      const ValueId id = waiting.back();
      waiting.pop_back();
      if (id == kNoValue || graph.at(id).kind != ValueKind::kOutput ||
          visited_[ToIndex(graph.at(id).producer)] != std::numeric_limits<std::size_t>::max()) {
        continue;
      }
      visited_[ToIndex(graph.at(id).producer)] = next++;
      const std::vector<ValueId>& inputs = graph.at(graph.at(id).producer).inputs;
      waiting.insert(waiting.end(), inputs.rbegin(), inputs.rend());
    }
  }

  /// A second run, or what holds one back.
  [[nodiscard]] bool IsOfSecondRun(NodeId id) const {
    const Node& node = builder_.graph().at(id);
    return node.attrs.contains(kDuplicated) || node.attrs.contains(kRecomputeDepend);
  }

  Status Slice(std::size_t n) {
    const NodeId origin = builder_.graph().nodes[n].origin;
    const ValueId result = builder_.graph().nodes[n].outputs.front();
    if (origin == kNoNode || !plan_.plans[ToIndex(origin)].sharding || hidden_.contains(result)) {
      return {};
    }
    std::vector<NodeId> second;
    std::vector<NodeId> first;
    for (const NodeId user : users_[ToIndex(result)]) {
      (IsOfSecondRun(user) ? second : first).push_back(user);
    }
    const GroupPattern group =
        ReplicaPattern(plan_.plans[ToIndex(origin)].sharding->outputs.front());
    const std::int64_t ranks = GroupSize(group);
    const Shape shape = builder_.TypeOf(result).shape;
    if (second.empty() || first.empty() || ranks <= 1 || shape.empty() || shape[0] % ranks != 0) {
      return {};
    }
    DRYDOCK_TRY(const ValueId slice, CutSlice(result, ranks));
    DRYDOCK_TRY(const ValueId whole, Gather(slice, group));
    Gathered gathered{.gather = builder_.graph().nodes.size() - 1};
    for (const NodeId user : second) {
      Node& node = At(ToIndex(user));
      std::ranges::replace(node.inputs, result, whole);
      if (node.attrs.contains(kRecomputeDepend)) {
        gathered.wait = node.outputs.front();
      }
    }
    gathers_.push_back(gathered);
    const NodeId reader =
        *std::ranges::min_element(first, {}, [this](NodeId id) { return visited_[ToIndex(id)]; });
    return Delay(reader, slice);
  }

  /// The rank's part of the rows. The reference counts parts by the number of the rank alone, as if
  /// the group were always neighbours.
  Result<ValueId> CutSlice(ValueId whole, std::int64_t ranks) {
    const Shape shape = builder_.TypeOf(whole).shape;
    const std::int64_t rows = shape[0] / ranks;
    const RankExpr begin = DigitTimes({.stride = 1, .extent = ranks}, rows);
    Attr::List begins(shape.size(), Attr(std::int64_t{0}));
    Attr::List ends;
    for (const std::int64_t extent : shape) {
      ends.emplace_back(extent);
    }
    begins.front() = Attr(begin);
    ends.front() = Attr(Plus(begin, RankExpr{.constant = rows}));
    return builder_.Emit({.op = ops::kStridedSlice,
                          .inputs = {whole},
                          .attrs = {{"begin", begins},
                                    {"end", ends},
                                    {"strides", std::vector<std::int64_t>(shape.size(), 1)},
                                    {std::string(kOwnConstants), true}},
                          .scope = "Default"});
  }

  Result<ValueId> Gather(ValueId slice, const GroupPattern& group) {
    return EmitCollective(builder_,
                          {.op = ops::kAllGather,
                           .inputs = {slice},
                           .scope = "Default",
                           .instance_name = "recompute_slice_allgather",
                           .phase = Phase::kBackward},
                          group, CommReason::kRedistribution, "slices of a kept activation");
  }

  /// What reads the results of node `reader` reads them when the slice is cut.
  Status Delay(NodeId reader, ValueId slice) {
    const ValueId result = builder_.graph().at(reader).outputs.front();
    DRYDOCK_TRY(const ValueId delayed,
                builder_.Emit({.op = ops::kDepend, .inputs = {result, slice}, .scope = "Default"}));
    for (const NodeId user : users_[ToIndex(result)]) {
      std::ranges::replace(At(ToIndex(user)).inputs, result, delayed);
    }
    std::ranges::replace(builder_.mutable_graph().outputs, result, delayed);
    hidden_[result] = delayed;
    return {};
  }

  /// The last gather waits for the gradient that its second run waits for, each other one for the
  /// one behind it.
  void HoldBack() {
    if (gathers_.empty()) {
      return;
    }
    const Graph& graph = builder_.graph();
    for (std::size_t i = 0; i + 1 < gathers_.size(); ++i) {
      const ValueId later = graph.nodes[gathers_[i + 1].gather].outputs.front();
      Node& gather = At(gathers_[i].gather);
      gather.inputs.front() = Wait(gather.inputs.front(), later);
    }
    const Gathered& last = gathers_.back();
    if (last.wait == kNoValue) {
      return;
    }
    // Depend(AllGather(slice), gradients) becomes AllGather(Depend(slice, gradients)).
    Node& gather = At(last.gather);
    Node& wait = At(ToIndex(graph.at(last.wait).producer));
    const ValueId whole = gather.outputs.front();
    wait.inputs.front() = gather.inputs.front();
    gather.inputs.front() = last.wait;
    builder_.mutable_graph().values[ToIndex(last.wait)].type = graph.at(wait.inputs.front()).type;
    for (const NodeId user : users_[ToIndex(last.wait)]) {
      std::ranges::replace(At(ToIndex(user)).inputs, last.wait, whole);
    }
  }

  ValueId Wait(ValueId value, ValueId other) {
    // A Depend has the type of its first operand: building it cannot fail.
    return *builder_.Emit({.op = ops::kDepend,
                           .inputs = {value, other},
                           .scope = "Default",
                           .phase = Phase::kBackward});
  }

  const TracedPlan& plan_;
  GraphBuilder builder_;
  std::vector<std::vector<NodeId>> users_;  ///< Per value, before anything was changed.
  std::vector<std::size_t> visited_ = {};
  std::map<ValueId, ValueId> hidden_ = {};  ///< Results that are read through a Depend.
  std::vector<Gathered> gathers_ = {};      ///< In node order.
};

}  // namespace

Result<Graph> SliceActivations(Graph local, const TracedPlan& plan) {
  const bool any = std::ranges::any_of(
      local.nodes, [](const Node& node) { return node.attrs.contains(kSliceActivation); });
  if (!any) {
    return local;
  }
  return ActivationSlicer(std::move(local), plan).Run();
}

}  // namespace drydock::strategies
