#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace drydock::sim {

/// What a buffer holds; the parts of a memory report.
enum class BufferKind : std::uint8_t {
  kParameter,            ///< Weights, learning rate, global step.
  kOptimizerState,       ///< Moments and the like.
  kAccumulatedGradient,  ///< "accu_grads" of gradient accumulation and pipelines.
  kConstant,             ///< Tensors that are part of the graph.
  kInput,                ///< Data of a step.
  kActivation,           ///< Kernel outputs of the forward program.
  kGradient,             ///< Kernel outputs of the backward program and the optimizer.
  kCommunication,        ///< Outputs of collectives.
  kOutput,               ///< Loss and returned tensors.
  kWorkspace,            ///< Scratch memory of one kernel.
};
inline constexpr std::size_t kBufferKindCount = 10;

/// Stable name for reports: "parameters", "optimizer_state", ...
[[nodiscard]] std::string_view BufferKindName(BufferKind kind);

/// A tensor of one rank.
///
/// A buffer no kernel produces is filled before the first kernel: it is persistent, or a graph
/// input if its kind is kInput. A buffer with `alias_of` has no storage of its own (in-place and
/// "ref" outputs, Reshape, Load, Depend); chains of aliases are fine.
struct PlannedBuffer {
  std::int64_t bytes = 0;  ///< Before rounding, >= 0.
  BufferKind kind = BufferKind::kActivation;
  std::int32_t alias_of = -1;  ///< Buffer whose storage this one shares, -1 = none.
  bool graph_output = false;   ///< Returned to the caller: never freed by the graph.
  /// Filled beforehand, but in the memory of the host: each kernel that uses it gets a copy for its
  /// time.
  bool on_host = false;
  std::int32_t held_until = -1;  ///< Kernel until which it is not freed, whoever uses it last.
  std::uint32_t tag = 0;         ///< The caller's id, not looked at.
};

/// One end of an event between two streams.
///
/// Where computation waits, what the other stream was given up to and including a kernel no longer
/// holds memory.
struct PlannedEvent {
  bool records = false;             ///< A stream notes how far it is; else one waits for that.
  std::int32_t stream = 0;          ///< Where computation waits: the other stream.
  std::int32_t release_up_to = -1;  ///< Index of that kernel in the plan; -1 = releases nothing.
  friend bool operator==(const PlannedEvent&, const PlannedEvent&) = default;
};

/// One kernel launch; kernels run in the order of the plan.
struct PlannedKernel {
  std::vector<std::int32_t> inputs = {};   ///< Buffers read, in order; the same one may come twice.
  std::vector<std::int32_t> outputs = {};  ///< Buffers produced, in order; aliases included.
  std::int64_t workspace_bytes = 0;        ///< 0 = none.
  /// Fused collective: its inputs (outputs) share one continuous buffer, which is requested in full
  /// when the first of them is produced. Means nothing for fewer than two tensors.
  bool continuous_inputs = false;
  bool continuous_outputs = false;
  /// 0 = computation. What a kernel of another stream reads and makes stays until that stream was
  /// waited for, or to the end of the step.
  std::int32_t stream = 0;
  std::vector<PlannedEvent> events = {};  ///< Just before this kernel is launched.
  std::uint32_t tag = 0;                  ///< The caller's id, not looked at.
};

/// What one rank keeps in device memory during one step, independent of graphs and operators.
struct MemoryPlan {
  std::vector<PlannedBuffer> buffers = {};
  std::vector<PlannedKernel> kernels = {};
  /// The same kernels in the order in which steps behind the first one run them; empty = as the
  /// first.
  std::vector<PlannedKernel> later_kernels = {};
  std::vector<PlannedEvent> last_events = {};  ///< Behind the last kernel.
  /// The first kernel that runs when the script has the results of the step and no longer those of
  /// the step before (a checkpoint's gathers); -1 = none.
  std::int32_t first_after_step = -1;
  /// Data sinking: graph inputs are outputs of GetNext (common pool) instead of copies of host
  /// tensors (persistent pool).
  bool sink_inputs = false;

  /// Kernels of a step in order; 0 is the first step.
  [[nodiscard]] const std::vector<PlannedKernel>& KernelsOf(std::int64_t step) const {
    return step == 0 || later_kernels.empty() ? kernels : later_kernels;
  }
};

}  // namespace drydock::sim
