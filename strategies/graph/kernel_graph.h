#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/graph/boxed.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/shared_list.h"
#include "strategies/graph/shared_text.h"

namespace drydock::strategies {

/// Position of a node in KernelGraph::nodes.
enum class KernelId : std::int32_t {};
inline constexpr KernelId kNoKernel = KernelId{-1};

/// What a node of a kernel graph is. Only kKernel is launched; what stands behind it is virtual:
/// it steers the order of kernels and passes storage on.
enum class KernelKind : std::uint8_t {
  kParameter,     ///< Weight or optimizer state: lives for the whole job.
  kInput,         ///< Data of a step.
  kConstant,      ///< Value node: a scalar argument or a tensor known when the graph is built.
  kState,         ///< The state of memory at the beginning of a step; holds nothing.
  kKernel,        ///< Launched on the device.
  kLoad,          ///< Reads a parameter: (parameter, state).
  kUpdateState,   ///< State behind effects and reads: (state, what was done...).
  kDepend,        ///< First operand, not before the others.
  kMakeTuple,     ///< Names several values in one.
  kTupleGetItem,  ///< Result `item` of a kernel.
  kReturn,        ///< End of the graph.
};

/// True for nodes that others are computed from but that nothing computes.
[[nodiscard]] inline bool IsLeaf(KernelKind kind) {
  return kind <= KernelKind::kState;
}

/// One result of a node.
struct KernelResult {
  TensorType type = {};
  /// Operand whose storage the result shares (in-place updates, Reshape); -1 = has its own.
  std::int32_t shares = -1;
  ValueId value = kNoValue;  ///< The same tensor in the local program, if it has it.
  friend bool operator==(const KernelResult&, const KernelResult&) = default;
};

/// How often a node is there when a step has several micro batches
/// (strategies/passes/schedule/unroll_micro.h).
enum class MicroUse : std::uint8_t {
  kFollow,  ///< Once for each micro batch if an operand is, else once.
  kEach,    ///< Once for each micro batch.
  kAll,     ///< Once; reads each operand of every micro batch.
  kFold,    ///< Once for each micro batch but the first: its result so far, the next operand.
};

/// One node of a kernel graph.
///
/// A job has millions of them (stages x micro batches x kernels): 64 bytes, and what micro batches
/// have in common is shared.
struct KernelNode {
  KernelKind kind = KernelKind::kKernel;
  bool communication : 1 = false;
  bool update : 1 = false;     ///< Writes parameters.
  bool runs_late : 1 = false;  ///< Runs just before its first user if it needs no other kernel.
  bool fusible : 1 = false;    ///< A collective that may be part of a fused one.
  bool view : 1 = false;  ///< Moves nothing (Reshape): not launched where it shares its operand.
  MicroUse micro_use = MicroUse::kFollow;
  std::int32_t micro = -1;  ///< The micro batch that it belongs to, -1 = none.
  std::int32_t item = 0;    ///< kTupleGetItem: which result.
  NodeId origin = kNoNode;  ///< Node of the local program it comes from: scope, place, group.
  SharedText name = {};     ///< "MatMul"; of a leaf its name, of a constant its text.
  std::vector<KernelId> inputs = {};      ///< In order, value arguments and states included.
  SharedList<KernelResult> results = {};  ///< None of virtual nodes but leaves.
  Boxed<GroupPattern> group = {};         ///< Of a collective.
  friend bool operator==(const KernelNode&, const KernelNode&) = default;
};

/// What is handed to a stream: a kernel, or one end of an event between two streams.
struct Launch {
  enum class Kind : std::uint8_t { kKernel, kSend, kReceive };
  Kind kind = Kind::kKernel;
  KernelId kernel = kNoKernel;  ///< kKernel.
  std::int32_t stream = 0;      ///< 0 = computation; collectives have one per group.
  std::int32_t event = -1;      ///< Number of the event, which a send and a receive share.
  std::int32_t other = -1;      ///< kReceive: stream that sent.
  friend bool operator==(const Launch&, const Launch&) = default;
};

/// The kernels that one rank launches in a step, as MindSpore's back end has them: what a local
/// program (strategies/program/local_program.h) becomes after operators have been taken apart into
/// kernels, scalar arguments have become constants and effects on parameters have been put in
/// order.
///
/// Example, y = MatMul(x, w) followed by ApplyMomentum(w, m, lr, g, momentum):
///     %3 = Load(w, U); %4 = MatMul(x, %3, False, True); ...; %8 = UpdateState(U, %3);
///     %9 = UpdateState(%8, %4, ...); ApplyMomentum(w, m, lr, g, momentum, %9); ...
/// so the update waits for all that read the weight before.
struct KernelGraph {
  std::vector<KernelNode> nodes = {};
  KernelId result = kNoKernel;  ///< The kReturn node.
  /// What the step gives back to the script, in order: kernels or TupleGetItems, leaves.
  std::vector<KernelId> outputs = {};
  std::vector<Launch> launches = {};  ///< Kernels and events, in order.
  /// The same kernels as steps behind the first one launch them; empty = as the first.
  std::vector<KernelId> later_launches = {};
  /// Kernels that run one after the other when the step is done; the return node does not know
  /// them.
  std::vector<KernelId> after_step = {};

  [[nodiscard]] const KernelNode& at(KernelId id) const {
    return nodes[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] KernelNode& at(KernelId id) { return nodes[static_cast<std::size_t>(id)]; }
};

/// A tensor that a kernel reads: result `item` of a kernel, or a leaf.
struct KernelOperand {
  KernelId node = kNoKernel;
  std::int32_t item = 0;
  friend bool operator==(const KernelOperand&, const KernelOperand&) = default;
};

/// What stands behind an operand when Load, Depend and TupleGetItem are looked through; the members
/// of a tuple; nothing for a state.
[[nodiscard]] std::vector<KernelOperand> RealOperands(const KernelGraph& graph, KernelId operand);

/// The same of all operands of a kernel, in order.
[[nodiscard]] std::vector<KernelOperand> TensorsRead(const KernelGraph& graph, KernelId kernel);

}  // namespace drydock::strategies
