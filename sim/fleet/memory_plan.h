#pragma once

#include <cstdint>

#include "sim/memory/plan.h"
#include "strategies/program/local_program.h"

namespace drydock::sim {

/// Buffers and kernel launches of one rank's program, from its kernel graph.
///
/// Tags are positions in `program.kernels.nodes`: of a kernel its node, of a buffer the node that
/// makes or is it; the buffers of a node stand next to each other, in the order of its results.
/// Views (Reshape) share their operand's storage where the back end lets them; updates write their
/// operands. Source:
/// mindspore/ccsrc/runtime/graph_scheduler/graph_compiler.cc (OptimizeNopNode)
[[nodiscard]] MemoryPlan PlanMemory(const strategies::LocalProgram& program);

/// Which result of its node a buffer of such a plan is.
[[nodiscard]] std::size_t ResultOf(const MemoryPlan& plan, std::size_t buffer);

/// True if the job asks for memory that is planned beforehand (see static_plan.h) and its step has
/// no branch: with one it is several graphs, each with a plan of its own, which is not followed.
[[nodiscard]] bool PlansMemoryBeforehand(const strategies::LocalProgram& program);

}  // namespace drydock::sim
