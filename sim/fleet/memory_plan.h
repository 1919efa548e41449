#pragma once

#include "sim/memory/plan.h"
#include "strategies/program/program.h"

namespace drydock::sim {

/// Buffers and kernel launches of one rank's program. Tags of buffers are value ids, tags of
/// kernels node ids of `program.local`.
///
/// Views and reshapes launch nothing and share their operand's storage; updates write their
/// operands. Source: spec memory-and-dump section 3.
[[nodiscard]] MemoryPlan PlanMemory(const strategies::CompiledProgram& program);

}  // namespace drydock::sim
