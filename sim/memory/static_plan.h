#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "sim/memory/lifetimes.h"
#include "sim/memory/plan.h"
#include "sim/memory/somas.h"

namespace drydock::sim {

/// Most tensors a static plan may have; conflicts are kept as a square of bits.
inline constexpr std::size_t kMaxStaticTensors = 30'000;

/// Tensors and conflicts of a plan whose kernels run in order on one stream.
///
/// Tensors are numbered by kernel: its own outputs in order, then its workspace if workspaces
/// count. Two may share memory iff the last kernel that uses the one comes before the kernel that
/// makes the other; graph outputs are used until the end. Continuous tensors become chains.
/// @error kInternal     the plan contradicts itself (see ResolveStorage)
/// @error kUnsupported  more than kMaxStaticTensors tensors
/// Source: spec memory-and-dump 4.1 and 4.2
[[nodiscard]] Result<SomasProblem> StaticProblem(const MemoryPlan& plan, bool count_workspace);

/// Runs one step of `plan` with the static plan (`optimize_level=O1`): everything kernels make lies
/// in one common buffer, taken with the first kernel's outputs and kept to the end of the step.
///
/// In the breakdown that buffer counts as activations (as outputs if the graph returns a tensor);
/// placements of kernel outputs are that of the buffer.
/// @error as StaticProblem and ProfileMemory
[[nodiscard]] Result<MemoryProfile> ProfileStaticMemory(const MemoryPlan& plan,
                                                        const LifetimeOptions& options);

}  // namespace drydock::sim
