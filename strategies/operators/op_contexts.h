#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/operators/builder.h"
#include "strategies/operators/nd_array.h"

namespace drydock::strategies {

/// What the table functions of an operator see: operand types and attributes, nothing else.
struct OpView {
  std::string_view op = {};
  std::span<const TensorType> inputs = {};   ///< Absent optional operands are left out.
  std::span<const TensorType> outputs = {};  ///< Empty during inference.
  const AttrMap* attrs = nullptr;
  const Strategy* out_strategy = nullptr;  ///< Cuts of the outputs if the user gave them.
  std::int64_t device_count = 0;           ///< Ranks of the stage while sharding, else 0.
  std::uint64_t absent = 0;  ///< Bit i: tensor i of the call is optional and was not given.
  /// Layouts that cut the operator, if they were given in place of a strategy.
  const std::vector<TensorLayout>* in_layouts = nullptr;
};

/// Position of tensor `operand` of the call among the tensors that are there; -1 if it was not
/// given or lies behind the last one.
[[nodiscard]] std::ptrdiff_t PresentIndex(const OpView& op, std::size_t operand);

/// OpView::absent of a list of operands.
[[nodiscard]] std::uint64_t AbsentBits(std::span<const ValueId> operands);

/// Axis of an operator's iteration space, index in device-matrix order (0 = slowest varying).
using AxisIndex = std::int32_t;
/// Axes that cut one tensor dimension, outermost first; empty = never cut.
using DimAxes = std::vector<AxisIndex>;
/// One DimAxes per dimension.
using TensorAxes = std::vector<DimAxes>;

/// How partial results of an operator become complete.
struct ForwardCommunication {
  enum class Kind : std::uint8_t { kAllReduce, kReduceScatter };
  Kind kind = Kind::kAllReduce;
  std::int32_t output = 0;           ///< Which result.
  std::string reduce_op = "sum";     ///< sum, max, min, prod.
  std::vector<AxisIndex> axes = {};  ///< Nothing is emitted while these are uncut.
  bool mean = false;                 ///< Divide by the number of ranks afterwards.
};

/// Where the dimensions of an operator's tensors lie in its iteration space.
///
/// As of an einsum, with axes numbered in device-matrix order. A dimension
/// tied to axis `a` takes that axis' cut; equal axes tie strategies. Extents of 1 that broadcast
/// are left uncut (empty DimAxes) by the rule function, which sees the shapes. Example: MatMul
/// [m,k],[k,n] -> [m,n]: axis_count 3, inputs {{{0},{1}},{{1},{2}}}, outputs {{{0},{2}}}, forward
/// AllReduce over axis 1.
struct ShardRule {
  std::int32_t axis_count = 0;
  std::vector<TensorAxes> inputs = {};
  std::vector<TensorAxes> outputs = {};
  /// Axes of each strategy entry; empty = the entries describe the inputs, dimension by dimension.
  std::vector<TensorAxes> strategy_entries = {};
  /// Axes that must have cut 1, with what to call them in the message ("the normalised dimension").
  struct Uncut {
    AxisIndex axis = 0;
    std::string what = {};
  };
  std::vector<Uncut> uncut = {};
  std::vector<AxisIndex> not_searched = {};  ///< Axes that users may cut; the search does not.
  std::vector<ForwardCommunication> communication = {};
  std::int32_t loss_output = 0;  ///< Output whose replication gives the loss divisor.
  bool repeat_on_left = false;  ///< Repeated calculation prepends its axis instead of appending it.
  bool loss_divisor_is_one = false;  ///< Rules that never divide a loss.
};

/// Result of the rule engine for one operator under one strategy (all layouts have equal devices).
struct OpSharding {
  Strategy strategy = {};  ///< Per strategy entry, as used.
  std::vector<std::int64_t> device_matrix = {};
  std::vector<TensorLayout> inputs = {};
  std::vector<TensorLayout> outputs = {};  ///< After forward communication.
  struct Communication {
    ForwardCommunication what = {};
    GroupPattern group = {};
  };
  std::vector<Communication> communication = {};
  /// Above 1: the operator is done this many times per rank on parts of its slices, and everything
  /// here speaks of virtual ranks (strategies/layout/interleave.h).
  std::int64_t interleave = 1;
  std::int64_t loss_divisor = 1;  ///< Ranks that hold the same slice of the loss output.
  std::vector<GroupPattern> axis_groups = {};  ///< Group of each rule axis (repeat excluded).
  /// Which part of each rule axis the rank has, counted from 0; several device axes may cut one.
  std::vector<RankExpr> axis_parts = {};
};

/// What an operator may do to the local program instead of being copied with its attributes.
struct LocalizeContext {
  GraphBuilder& builder;  ///< Program of one rank, symbolic in the rank.
  const OpView& global;   ///< The operator as traced.
  const OpSharding& sharding;
  const NodeSpec& spec;  ///< Spec of the plain local copy: local inputs, global attributes.
};

/// Everything a gradient function may use.
struct GradientContext {
  GraphBuilder& builder;                      ///< The same local program; new nodes are appended.
  const Node& node;                           ///< Forward node (a copy: the graph may grow).
  std::span<const ValueId> output_gradients;  ///< kNoValue where no gradient arrives.
  std::span<const bool> wanted;               ///< Per input: is its gradient needed?
  const NodeSpec& spec;                       ///< Scope, place, phase of nodes to emit.
  /// Appends a backward node of one output.
  [[nodiscard]] Result<ValueId> Emit(std::string_view op, std::vector<ValueId> inputs,
                                     AttrMap attrs = {}) const;
  /// Appends a backward collective over `group`; sets the group, its size and the reason.
  [[nodiscard]] Result<ValueId> EmitCollective(std::string_view op, ValueId input,
                                               const GroupPattern& group, AttrMap attrs = {}) const;
  [[nodiscard]] const TensorType& TypeOf(ValueId id) const { return builder.TypeOf(id); }
};

/// Inputs of a reference evaluation; attributes are resolved for the rank.
struct EvaluateContext {
  std::span<const NdArray> inputs;
  std::span<const TensorType> input_types;
  std::span<const TensorType> output_types;
  const AttrMap& attrs;
  std::uint64_t absent = 0;  ///< As in OpView.
  /// Operator and operands as the other table functions see them; `op` stays empty.
  [[nodiscard]] OpView View() const;
};

}  // namespace drydock::strategies
