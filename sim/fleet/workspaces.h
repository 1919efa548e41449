#pragma once

#include <cstdint>

#include "sim/calibration/workspace_table.h"
#include "sim/memory/plan.h"
#include "strategies/program/local_program.h"

namespace drydock::sim {

/// How many kernels of a plan a table of workspaces knows.
struct WorkspaceCover {
  std::int64_t known = 0;
  std::int64_t unknown = 0;  ///< They count as nothing.
};

/// Gives the kernels of a plan that sim::PlanMemory made of `program` the workspaces of the table.
WorkspaceCover ApplyWorkspaces(const WorkspaceTable& table, const strategies::LocalProgram& program,
                               MemoryPlan& plan);

}  // namespace drydock::sim
