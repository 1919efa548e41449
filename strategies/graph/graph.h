#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "strategies/graph/attr.h"
#include "strategies/graph/boxed.h"
#include "strategies/graph/dtype.h"
#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

struct OpEntry;

/// Cuts per tensor input (or per strategy entry of the operator): ((2, 4), (4, 1)).
using Strategy = std::vector<std::vector<std::int64_t>>;

/// No value: an optional operand that was not given.
inline constexpr ValueId kNoValue = ValueId{-1};
inline constexpr NodeId kNoNode = NodeId{-1};

/// What a value of a graph is.
enum class ValueKind : std::uint8_t {
  kInput,      ///< Fed by the data set at every step.
  kParameter,  ///< Lives for the whole job: weight, optimizer state, counter.
  kConstant,   ///< Known when the graph is built.
  kOutput,     ///< Result of a node.
};

/// Why a parameter exists; decides its line in the memory report.
enum class ParameterRole : std::uint8_t {
  kWeight,               ///< Owned by the network.
  kOptimizerState,       ///< Moment or accumulator cloned from a weight (`state_of`).
  kHyper,                ///< Learning rate, momentum, step counter: small and never cut.
  kAccumulatedGradient,  ///< Sum over the micro batches of a step (`state_of`); same layout.
};

/// A tensor of the graph, named once and used by any number of nodes.
struct Value {
  ValueKind kind = ValueKind::kOutput;
  TensorType type = {};
  std::string name = {};          ///< Input, parameter or variable name; may be empty.
  NodeId producer = kNoNode;      ///< For kOutput.
  std::int32_t output_index = 0;  ///< For kOutput: which result of the producer.
  std::int32_t detail = -1;  ///< Index in Graph::parameters or Graph::constants for those kinds.
};

/// What is known about a parameter beyond its value entry.
struct Parameter {
  ValueId value = kNoValue;
  ParameterRole role = ParameterRole::kWeight;
  ValueId state_of = kNoValue;  ///< The weight this state belongs to; same layout.
  bool requires_grad = true;
  bool layerwise_parallel = false;
  bool parallel_optimizer = true;
  std::int64_t comm_fusion = 1;
  std::int32_t place = -1;  ///< Index in Graph::stacks: where the user's script makes it.
};

/// Contents of a constant, if they are small enough to matter; row major.
struct Constant {
  ValueId value = kNoValue;
  std::optional<std::vector<double>> data = {};
  /// All elements are this number; `data` stays empty then.
  std::optional<double> number = {};
};

/// Part of a training step a node belongs to.
enum class Phase : std::uint8_t { kForward, kBackward, kOptimizer };

/// Why a collective or a helper node of a sharded program exists; shown to users.
enum class CommReason : std::uint8_t {
  kNone,                 ///< Not inserted by the compiler, or not a communication.
  kUser,                 ///< Written in the script.
  kPartialSum,           ///< Operator cut along a contracted or reduced dimension.
  kRedistribution,       ///< Producer and consumer want different layouts.
  kParameterGradient,    ///< Sum of a parameter's gradient over its replicas (mirror).
  kBackwardOfForward,    ///< Gradient of a forward collective.
  kStageBorder,          ///< Passes a tensor from one pipeline stage to another.
  kDataParallelReducer,  ///< Gradient averaging of data_parallel mode.
  kOptimizerShard        ///< A weight gathered from the shards of its replicas, and its gradient.
};

/// One operator application.
struct Node {
  std::string op = {};               ///< Primitive name, e.g. "MatMul".
  const OpEntry* entry = nullptr;    ///< Table entry; UnknownOp() outside the table.
  std::vector<ValueId> inputs = {};  ///< Tensor operands; kNoValue for an absent optional one.
  std::vector<ValueId> outputs = {};
  AttrMap attrs = {};
  std::string scope = {};          ///< "Default/network-WithLossCell/_backbone-Net".
  std::string instance_name = {};  ///< Attribute that holds the primitive, e.g. "matmul".
  std::int32_t place = -1;         ///< Index in Graph::stacks: where the user's script applies it.
  std::int32_t shard_place = -1;   ///< The same for the line that gives it its strategy.
  Phase phase = Phase::kForward;
  std::int32_t stage = -1;    ///< Pipeline stage, -1 if not set.
  std::int32_t segment = -1;  ///< Which of the parts that a stage runs one after the other.
  Boxed<Strategy> in_strategy = {};
  Boxed<Strategy> out_strategy = {};
  /// Layouts given by the user instead of a strategy; shapes are filled in by the compiler.
  Boxed<std::vector<TensorLayout>> in_layout = {};
  Boxed<std::vector<TensorLayout>> out_layout = {};

  // Filled in sharded programs only.
  Boxed<GroupPattern> group = {};  ///< Ranks that take part in a collective.
  CommReason reason = CommReason::kNone;
  std::string reason_text = {};  ///< "partial sum of MatMul-op0 over k", "gradient of w".
  NodeId origin = kNoNode;       ///< Node of the traced graph this one comes from.
  /// Number that a forward node shares with the nodes of its derivative, -1 = it has none.
  std::int32_t pair = -1;
};

/// Where a script is when it applies an operator.
struct SourceStack {
  SourceStack() = default;
  SourceStack(std::initializer_list<SourcePlace> list) : frames(list) {}
  friend bool operator==(const SourceStack&, const SourceStack&) = default;

  /// Source frames, innermost (the operator's own line) first.
  std::vector<SourcePlace> frames = {};
  /// The line that makes the layer, where no line of the script's applies it: a loss that
  /// `Model.train` calls, a layer of a SequentialCell.
  std::optional<SourcePlace> layer = {};
};

/// Operators in execution order with their tensors: what a script computes in one step.
///
/// Nodes are topologically ordered: every operand is defined before its use. Training steps contain
/// gradient nodes (OpEntry kind kGradient): loss first, then the values to differentiate by;
/// outputs are the gradients. A sharded program is the same type with local shapes.
struct Graph {
  std::string name = {};
  std::vector<Value> values = {};
  std::vector<Node> nodes = {};
  std::vector<ValueId> inputs = {};
  std::vector<Parameter> parameters = {};
  std::vector<Constant> constants = {};
  std::vector<ValueId> outputs = {};
  std::vector<SourceStack> stacks = {};

  [[nodiscard]] const Value& at(ValueId id) const { return values[ToIndex(id)]; }
  [[nodiscard]] const Node& at(NodeId id) const { return nodes[ToIndex(id)]; }
};

/// True if both nodes apply the operator of the same name. Which operator that is nobody has to
/// ask: what there is to know of it is in its entry.
[[nodiscard]] bool SameOperator(const Node& a, const Node& b);

/// Place of the user's line that holds a node, if known: the one that applies it, or else the one
/// that makes its layer.
[[nodiscard]] std::optional<SourcePlace> PlaceOf(const Graph& graph, const Node& node);

/// Place of the innermost line of the user's that runs when a node is applied.
[[nodiscard]] std::optional<SourcePlace> AppliedPlaceOf(const Graph& graph, const Node& node);

/// Place of the user's line that makes a parameter; nothing for other values.
[[nodiscard]] std::optional<SourcePlace> MadePlaceOf(const Graph& graph, ValueId value);

/// Place of the user's line that gives a node its strategy; that of its use if only this is known.
[[nodiscard]] std::optional<SourcePlace> ShardPlaceOf(const Graph& graph, const Node& node);

/// Full names of all nodes, "<scope>/<op>-op<n>"; n counts per scope and operator in node order.
/// Source: docs/compatibility.md.
[[nodiscard]] std::vector<std::string> FullNames(const Graph& graph);

/// True for what is applied in a Cell that the script recomputes: scopes of such Cells begin with
/// "recompute_".
[[nodiscard]] bool IsInRecomputedScope(const Node& node);

/// Nodes that consume each value, in node order.
[[nodiscard]] std::vector<std::vector<NodeId>> UsersOf(const Graph& graph);

}  // namespace drydock::strategies
