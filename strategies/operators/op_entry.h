#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/graph/kernel_graph.h"
#include "strategies/operators/collective_facts.h"
#include "strategies/operators/op_contexts.h"
#include "strategies/operators/simplification.h"

namespace drydock::strategies {

struct LowerContext;  // strategies/operators/kernel_builder.h

using InferFn = Result<std::vector<TensorType>> (*)(const OpView&);
using ShardFn = Result<ShardRule> (*)(const OpView&, const Strategy&);
using DefaultStrategyFn = Result<Strategy> (*)(const OpView&, std::int64_t device_count);
/// One value per result, kNoValue for one that no layout describes: only its gradient may read it.
using LocalizeFn = Result<std::vector<ValueId>> (*)(const LocalizeContext&);
/// One value per input, kNoValue where there is no gradient.
using GradientFn = Result<std::vector<ValueId>> (*)(const GradientContext&);
using EvaluateFn = Result<std::vector<NdArray>> (*)(const EvaluateContext&);
/// Kernels that a node of a local program becomes; one value per result of the node.
using LowerFn = Result<std::vector<KernelId>> (*)(const LowerContext&);
/// Floating-point operations with the given (local) types; multiply-add = 2.
using FlopsFn = double (*)(const OpView&);

/// How the compiler treats an operator as a whole.
enum class OpKind : std::uint8_t {
  kCompute,      ///< A kernel.
  kView,         ///< No kernel: output 0 shares the storage of input 0 (Reshape, Depend, Load).
  kTransparent,  ///< A kernel without a sharding rule: local values in, local values out (Cast).
  kUpdate,  ///< Writes parameters in place (optimizers, Assign); outputs share storage of input 0.
  kCollective,  ///< Communication between the ranks of the node's group.
  kReshape,     ///< Layout decided by its neighbours (mindspore ops_info/reshape_info.cc).
  kGradient,    ///< Placeholder expanded by differentiation: (loss, wrt...) -> gradients.
  kDataset,     ///< Where data enters: strategy given by dataset_strategy.
  kNoGradient,  ///< Stops gradients (StopGradient): otherwise a view.
};

/// How one operator is derived for the strategy search.
/// Source: mindspore ccsrc/frontend/parallel/auto_parallel/operator_costmodel.cc.
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

/// What limits the kernels of an operator that computes; one without flops moves data.
enum class WorkKind : std::uint8_t {
  kVector,     ///< Element by element, reductions: memory, hardly ever the vector units.
  kProduct,    ///< Products of matrices and convolutions: the matrix units.
  kAttention,  ///< Products with what stands between them in one kernel.
};

/// What an operator makes of constants when the graph is simplified.
enum class Folding : std::uint8_t {
  kNever,        ///< Stays a kernel (Exp, Log, Pow).
  kElementwise,  ///< A constant, if its operands are constants of one shape.
  kSpread,       ///< A constant of the same numbers in another shape (Reshape, Tile, BroadcastTo).
  kWhole,        ///< A constant worked out from all elements (sums, Concat).
};

/// All facts about one operator. One definition per operator, in strategies/rules/<family>.cc.
/// Members stand in the order in which entries give them, whatever that costs in padding.
struct OpEntry {  // NOLINT(clang-analyzer-optin.performance.Padding)
  std::string_view name = {};
  std::string_view family = {};
  /// Constructor and call as a Python signature; `#` marks call arguments that become attributes,
  /// `?` optional tensors, `*` a tuple of tensors: "MatMul(transpose_a=False, transpose_b=False)(x,
  /// y)", "Reshape()(input, #shape)", "Concat(axis=0)(*tensors)".
  std::string_view signature = {};
  std::string_view aliases = {};  ///< Other primitive names, comma separated ("TensorAdd").
  OpKind kind = OpKind::kCompute;
  Folding folding = Folding::kNever;
  SimplifyFn simplify = nullptr;  ///< Null: nothing simpler is known.
  /// Its results depend on the types of the operands, not on their elements.
  bool knows_result = false;
  KernelFusion fusion = {};  ///< One kernel for the operator and the one before it.
  InferFn infer = nullptr;
  ShardFn shard = nullptr;  ///< Null: no sharding rule; passes/choose/assign.cc says what then.
  /// Without a rule: replicated even where the batch divides (mindspore stand_alone_info.cc).
  bool replicated_without_rule = false;
  DefaultStrategyFn default_strategy = nullptr;  ///< Null: the batch rule on input 0 (1.5).
  LocalizeFn localize = nullptr;                 ///< Null: the same operator on local values.
  /// Emits the gradient; what backward keeps of the forward pass is what these nodes read. Never
  /// null in the table: GradientNotNeeded and NoBackward say that there is none, and why.
  GradientFn gradient = nullptr;
  LowerFn lower = nullptr;  ///< Null: one kernel of its own name (LowerByDefault).
  /// Attributes that the kernel takes as value arguments, in order, comma separated; empty = all of
  /// the signature, "-" = none.
  std::string_view values = {};
  /// An update whose result optimizers return, so that the loss of a step waits for it.
  bool returns_success = false;
  /// Recomputation keeps its results whatever the script says: a second run would be another one
  /// (random masks, what another rank sends once).
  bool runs_once = false;
  /// Operator that stands for it where it is recomputed; its operands are the first operand and the
  /// last result of the first run, its result is the first one (Dropout: the mask is kept).
  std::string_view recomputed_as = {};
  /// Kernels of it that need no other kernel run just before their first user.
  bool runs_late = false;
  EvaluateFn evaluate = nullptr;
  FlopsFn flops = nullptr;  ///< Never null in the table: NoFlops where data only moves.
  CostFamily cost = CostFamily::kActivation;
  WorkKind work = WorkKind::kVector;
  /// Of its first operand it reads about as much as it writes (rows of a table, a slice).
  bool reads_part = false;
  bool elementwise = false;  ///< Follows its input's strategy in elementwise_op_strategy_follow.
  bool accepts_out_strategy = false;
  bool accepts_layout = false;       ///< Named layouts instead of a strategy.
  bool accepts_out_layout = false;   ///< And layouts of the results that differ from the inferred.
  bool accepts_interleaved = false;  ///< And layouts whose interleaved axis cuts (section 1.6).
  bool layouts_as_given = false;  ///< Takes layouts of all inputs and results as they are (Custom).
  std::string_view writes = {};   ///< Input positions written in place, comma separated: "0,1".
  std::string_view mirrored =
      {};  ///< Input positions that may get a mirror; empty = all; "-" = none.
  /// Its results differ from micro batch to micro batch whatever it reads: the cut of a batch.
  bool per_micro_batch = false;
  /// It is done once a step and reads what all micro batches gave.
  bool joins_micro_batches = false;
  /// A parameter among its operands is meant, not what it holds when the operator runs.
  bool takes_reference = false;
  /// And its result stands for the parameter that is its first operand.
  bool gives_reference = false;
  /// What it writes is in no order with other effects; who reads that waits for its results.
  bool unordered_effect = false;
  /// Behind the gradients: an integrated checkpoint, for which what of the operands is cut is
  /// gathered when the step is done.
  bool saves = false;
  /// Behind the gradients: where the sums of squares of all ranks are summed, if they were marked.
  bool roots_norm = false;
  /// What MindSpore's IR dumps show for the primitive that the signature does not say, separated by
  /// ';': "input_names=x1,x2" and repeated attributes, "transpose_x1=transpose_a".
  std::string_view ir_attrs = {};
  /// A small legal application where float tensors of one shape are none, as a call with types for
  /// operands: "(axis=0)((8, 6), int32(4, 2))"; None = an optional operand left out. See ExampleOf.
  std::string_view example = {};
  /// What a collective sends and does; never null for OpKind::kCollective, null for all others.
  const CollectiveFacts* collective = nullptr;
  /// A helper that only tells passes what to do (a mirror): not part of what a rank runs.
  bool steers = false;
  /// Stands in front of the users of a weight: its gradient is the sum over the ranks that share
  /// it.
  bool is_mirror = false;
  /// Layouts that the user gives hold as they are, and the strategy search leaves the node alone.
  bool given_layouts_stand_alone = false;
  /// The search decides nothing across a Reshape in front of it.
  bool ends_choice_at_reshape = false;
  /// A cast of a parameter counts as one user of it, whoever reads the result.
  bool is_cast = false;
  /// Attribute that IR dumps show as true where a redistribution inserted the operator.
  std::string_view ir_inserted_attr = {};

  const OpEntry* next = nullptr;  ///< Registration list; set by OpRegistrar.
};

/// Adds an entry to the table during static initialisation; use DRYDOCK_OP.
struct OpRegistrar {
  explicit OpRegistrar(OpEntry& entry);
};

/// GradientFn of operators through which no gradient has to flow: results that are integers or
/// constant in the operands, updates, kernels of the backward pass, steps whose successor's
/// gradient covers them.
[[nodiscard]] Result<std::vector<ValueId>> GradientNotNeeded(const GradientContext& context);

/// GradientFn of operators that have no backward form, in the reference neither (inference kernels,
/// the user's own): a gradient that arrives ends there, and the diagnostics say so.
[[nodiscard]] Result<std::vector<ValueId>> NoBackward(const GradientContext& context);

/// FlopsFn of operators that only move data.
[[nodiscard]] double NoFlops(const OpView& op);

/// Defines the entry of operator `id`: DRYDOCK_OP(MatMul, .family = "matmul", .infer = ...).
#define DRYDOCK_OP(id, ...) DRYDOCK_OP_NAMED(id, #id, __VA_ARGS__)
/// The same where the name is no C++ identifier of ours ("_VirtualDataset").
#define DRYDOCK_OP_NAMED(id, op_name, ...)                                                    \
  /* The registration list runs through the entries. */                                       \
  ::drydock::strategies::OpEntry op_entry_##id /* NOLINT */ = {.name = op_name, __VA_ARGS__}; \
  const ::drydock::strategies::OpRegistrar op_registrar_##id(op_entry_##id)

/// Entry by name or alias, null if there is none.
[[nodiscard]] const OpEntry* FindOp(std::string_view name);

/// Stands for every operator outside the table: nothing is known but the types of its results.
[[nodiscard]] const OpEntry& UnknownOp();

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
