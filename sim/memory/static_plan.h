#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "sim/memory/lifetimes.h"
#include "sim/memory/plan.h"
#include "sim/memory/somas.h"

namespace drydock::sim {

/// Tensors beyond which no plan is made: every pair of them is looked at.
inline constexpr std::size_t kMaxStaticTensors = 16384;

/// True if `alloc_conf` of a job asks for memory that is planned before the first step
/// ("memory_optimize_level:O1").
[[nodiscard]] bool PlansMemoryBeforehand(std::string_view alloc_conf);

/// What is to be placed: all results of kernels and workspaces, and which of them may share memory.
/// @error kUnsupported  too many tensors
[[nodiscard]] Result<SomasProblem> StaticProblem(const MemoryPlan& plan, bool count_workspace);

/// As ProfileMemory, but all results of kernels lie where a plan says; the memory for it is placed
/// before the first kernel of a step and freed behind the last one.
/// @error kUnsupported  too many tensors
[[nodiscard]] Result<MemoryProfile> ProfileStaticMemory(const MemoryPlan& plan,
                                                        const LifetimeOptions& options);

}  // namespace drydock::sim
