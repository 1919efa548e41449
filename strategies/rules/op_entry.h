#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/graph/builder.h"
#include "strategies/graph/graph.h"
#include "strategies/reference/nd_array.h"

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
/// Notation of spec operators section 2, with axes numbered in device-matrix order. A dimension
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
  std::int64_t loss_divisor = 1;  ///< Ranks that hold the same slice of the loss output.
  std::vector<GroupPattern> axis_groups = {};  ///< Group of each rule axis (repeat excluded).
  std::vector<RankDigit> axis_digits = {};     ///< Digit of each rule axis.
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

using InferFn = Result<std::vector<TensorType>> (*)(const OpView&);
using ShardFn = Result<ShardRule> (*)(const OpView&, const Strategy&);
using DefaultStrategyFn = Result<Strategy> (*)(const OpView&, std::int64_t device_count);
using LocalizeFn = Result<std::vector<ValueId>> (*)(const LocalizeContext&);
/// One value per input, kNoValue where there is no gradient.
using GradientFn = Result<std::vector<ValueId>> (*)(const GradientContext&);
using EvaluateFn = Result<std::vector<NdArray>> (*)(const EvaluateContext&);
/// Floating-point operations with the given (local) types; multiply-add = 2.
using FlopsFn = double (*)(const OpView&);

/// How the compiler treats an operator as a whole.
enum class OpKind : std::uint8_t {
  kCompute,      ///< A kernel.
  kView,         ///< No kernel: output 0 shares the storage of input 0 (Reshape, Depend, Load).
  kTransparent,  ///< A kernel without a sharding rule: local values in, local values out (Cast).
  kUpdate,  ///< Writes parameters in place (optimizers, Assign); outputs share storage of input 0.
  kCollective,  ///< Communication between the ranks of the node's group.
  kReshape,     ///< Layout decided by its neighbours (spec layout-and-redistribution 8.8).
  kGradient,    ///< Placeholder expanded by differentiation: (loss, wrt...) -> gradients.
  kDataset,     ///< Where data enters: strategy given by dataset_strategy.
  kNoGradient,  ///< Stops gradients (StopGradient): otherwise a view.
};

/// How one operator is derived for the strategy search.
/// Source: spec compiler-passes 4.2.
enum class CostFamily : std::uint8_t {
  kCast,          ///< comp S(in0), backward par(0)
  kActivation,    ///< comp S(in0), backward par(0)
  kSoftmax,       ///< comp S(out0)
  kArithmetic,    ///< comp S(0)+S(1), backward par(0)+par(1)
  kMatMul,        ///< comp S(A)+S(B) (+S(out) if contraction cut)
  kReduce,        ///< comp S(in0) (+S(out) if a reduced dimension is cut)
  kNorm,          ///< comp sum of inputs
  kOneHot,        ///< comp S(in0), no communication
  kCrossEntropy,  ///< comp S(0)+S(1), no communication
  kGather,        ///< table and indices
  kFree,          ///< no cost
};

/// All facts about one operator. One definition per operator, in strategies/rules/<family>.cc.
struct OpEntry {
  std::string_view name = {};
  std::string_view family = {};
  /// Constructor and call as a Python signature; `#` marks call arguments that become attributes,
  /// `?` optional tensors, `*` a tuple of tensors: "MatMul(transpose_a=False, transpose_b=False)(x,
  /// y)", "Reshape()(input, #shape)", "Concat(axis=0)(*tensors)".
  std::string_view signature = {};
  std::string_view aliases = {};  ///< Other primitive names, comma separated ("TensorAdd").
  OpKind kind = OpKind::kCompute;
  InferFn infer = nullptr;
  ShardFn shard = nullptr;  ///< Null: no sharding rule (fallback of spec operators 1.1).
  DefaultStrategyFn default_strategy = nullptr;  ///< Null: the batch rule on input 0 (1.5).
  LocalizeFn localize = nullptr;                 ///< Null: the same operator on local values.
  GradientFn gradient = nullptr;                 ///< Null: no gradient flows through.
  EvaluateFn evaluate = nullptr;
  FlopsFn flops = nullptr;  ///< Null: 0 (data movement).
  CostFamily cost = CostFamily::kActivation;
  bool elementwise = false;  ///< Follows its input's strategy in elementwise_op_strategy_follow.
  bool accepts_out_strategy = false;
  bool accepts_layout = false;   ///< Named layouts instead of a strategy (spec operators 1.6).
  std::string_view writes = {};  ///< Input positions written in place, comma separated: "0,1".
  std::string_view mirrored =
      {};  ///< Input positions that may get a mirror; empty = all; "-" = none.
  /// What MindSpore's IR dumps show for the primitive that the signature does not say, separated by
  /// ';': "input_names=x1,x2" and repeated attributes, "transpose_x1=transpose_a".
  std::string_view ir_attrs = {};

  const OpEntry* next = nullptr;  ///< Registration list; set by OpRegistrar.
};

/// Adds an entry to the table during static initialisation; use DRYDOCK_OP.
struct OpRegistrar {
  explicit OpRegistrar(OpEntry& entry);
};

/// Defines the entry of operator `id`: DRYDOCK_OP(MatMul, .family = "matmul", .infer = ...).
#define DRYDOCK_OP(id, ...) DRYDOCK_OP_NAMED(id, #id, __VA_ARGS__)
/// The same where the name is no C++ identifier of ours ("_VirtualDataset").
#define DRYDOCK_OP_NAMED(id, op_name, ...)                                       \
  ::drydock::strategies::OpEntry op_entry_##id = {.name = op_name, __VA_ARGS__}; \
  const ::drydock::strategies::OpRegistrar op_registrar_##id(op_entry_##id)

/// Entry by name or alias, null if there is none.
[[nodiscard]] const OpEntry* FindOp(std::string_view name);

/// All entries by name.
[[nodiscard]] std::span<const OpEntry* const> AllOps();

/// Operand positions an operator writes in place, from OpEntry::writes.
[[nodiscard]] std::vector<std::size_t> WrittenOperands(const OpEntry& entry);

/// Operator and attributes of a node as the table functions see it. `storage` keeps the types
/// alive.
struct OpViewStorage {
  std::vector<TensorType> inputs = {};
  std::vector<TensorType> outputs = {};
};
[[nodiscard]] OpView ViewOf(const Graph& graph, const Node& node, OpViewStorage& storage);

}  // namespace drydock::strategies
