#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "strategies/layout/optimizer_shard.h"
#include "strategies/operators/builder.h"
#include "strategies/passes/localize/wanted_layout.h"

/// The program of a rank while passes make it.
///
/// Every traced value has a local counterpart and, in the modes that cut operators, a layout. A
/// pass translates some of the traced nodes: it appends local nodes to the builder and says which
/// local values stand for the results. What a pass needs to know of the others is here, nothing
/// else: layouts of values, the mirror behind a weight.
namespace drydock::strategies {

/// A traced value in the local program.
struct Counterpart {
  ValueId id = kNoValue;                  ///< kNoValue while only copies exist.
  SharedValue<TensorLayout> layout = {};  ///< Absent: every rank has its own, or nothing is cut.
  std::vector<ValueId> copies = {};       ///< One per copy if `layout` is interleaved.
};

/// A traced value of another stage, in the stage that received it.
struct Arrived {
  ValueId id = kNoValue;
  ValueId mirrored = kNoValue;  ///< Behind its mirror there.
};

/// A weight of which a rank holds some rows only, as a sharded optimizer has it.
struct WeightShard {
  SharedValue<TensorLayout> used = {};  ///< As the operators of the network want it.
  OptimizerShard shard = {};            ///< As it is stored; Counterpart::layout of the parameter.
  ValueId gathered = kNoValue;  ///< Local value in layout `used`, once somebody asked for it.
};

/// Nodes that stand one behind the other and belong to one part of the step.
struct NodeRange {
  Region region = Region::kForward;
  std::size_t first = 0;
  std::size_t end = 0;  ///< Behind the last one.
};

/// Refers to what it is made of, which must outlive it.
struct LocalDraft {
  const Graph& traced;
  const std::vector<Region>& regions;  ///< Per traced node.
  const std::vector<NodePlan>& plans;  ///< Per traced node.
  const JobConfig& config;
  WantedLayouts wanted;
  std::vector<std::string> full_names;  ///< Per traced node.
  GraphBuilder builder;
  std::vector<Counterpart> locals;    ///< Per traced value.
  std::vector<ValueId> mirrored;      ///< Per traced value: local value behind the mirror.
  std::vector<ValueId> accumulators;  ///< Per traced value: parameter that sums its gradients.
  std::vector<bool> differentiated;   ///< Per traced value: a gradient is asked for.
  std::vector<NodeId> loss_nodes;     ///< Traced nodes that make a loss.
  std::vector<bool> norm_parts;       ///< Per traced value: part of the norm of all gradients.
  std::map<ValueId, WeightShard> shards = {};  ///< By traced parameter.
  /// Local values that somebody wants in another layout, with the layout as text: each counts once.
  std::set<std::pair<ValueId, std::string>> redistributed = {};
  std::vector<std::int32_t> owners = {};  ///< Per traced parameter: stage that has it; -1 = all.
  /// By the traced value and the stage that received it.
  std::map<std::pair<ValueId, std::int32_t>, Arrived> arrived = {};
  /// By the two stages: how many tensors pass from one to the other.
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> border_tags = {};
  std::int64_t redistribution_count = 0;
  std::vector<Diagnostic> diagnostics = {};

  [[nodiscard]] Counterpart& Of(ValueId value) { return locals[ToIndex(value)]; }
  [[nodiscard]] const Counterpart& Of(ValueId value) const { return locals[ToIndex(value)]; }
};

[[nodiscard]] LocalDraft StartDraft(const TracedPlan& plan, const std::vector<Region>& regions);

/// The traced nodes in order, cut where the region changes: forward, gradient, what stands behind.
[[nodiscard]] std::vector<NodeRange> PartsOf(const std::vector<Region>& regions);

/// Translates the nodes of a part one by one. Errors get the node's place, new local nodes their
/// origin.
[[nodiscard]] Status ForEachNode(LocalDraft& draft, const NodeRange& part,
                                 const std::function<Status(NodeId)>& translate);

/// Operator, attributes, name and place of a traced node, without operands.
[[nodiscard]] NodeSpec SpecOf(const LocalDraft& draft, NodeId id);

/// Full name of the node that makes a value, name of a leaf.
[[nodiscard]] std::string NameOf(const LocalDraft& draft, ValueId value);
/// "MatMul-op0".
[[nodiscard]] std::string ShortNameOf(const LocalDraft& draft, NodeId id);
/// The same, name of a leaf.
[[nodiscard]] std::string ShortNameOf(const LocalDraft& draft, ValueId value);

/// Layout in which a rank holds a value: whole if nothing else is said, joined if it has copies.
[[nodiscard]] SharedValue<TensorLayout> LayoutOf(const LocalDraft& draft, ValueId value);

/// True if the rank holds a part of the value only.
[[nodiscard]] bool IsCut(const LocalDraft& draft, ValueId value);

/// Local counterparts of a node's results, laid out as `sharding` says if there is one.
void SetOutputs(LocalDraft& draft, NodeId id, const std::vector<ValueId>& ids,
                const SharedValue<OpSharding>& sharding);

/// Translates a node of which every rank computes what was traced: whole tensors, or element by
/// element.
[[nodiscard]] Status EmitAsTraced(LocalDraft& draft, NodeId id, NodeSpec spec);

}  // namespace drydock::strategies
