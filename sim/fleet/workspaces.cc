#include "sim/fleet/workspaces.h"

#include "sim/memory/alignment.h"

namespace drydock::sim {
namespace {

WorkspaceTable::Key KeyOf(const strategies::LocalProgram& program, const MemoryPlan& plan,
                          const PlannedKernel& kernel) {
  WorkspaceTable::Key key{.kernel = program.kernels.nodes[kernel.tag].name.str()};
  for (const std::int32_t output : kernel.outputs) {
    const PlannedBuffer& buffer = plan.buffers[static_cast<std::size_t>(output)];
    if (buffer.alias_of < 0) {
      key.result_bytes.push_back(AlignedBytes(buffer.bytes));
    }
  }
  return key;
}

}  // namespace

WorkspaceCover ApplyWorkspaces(const WorkspaceTable& table, const strategies::LocalProgram& program,
                               MemoryPlan& plan) {
  WorkspaceCover cover;
  for (PlannedKernel& kernel : plan.kernels) {
    if (const auto bytes = table.Find(KeyOf(program, plan, kernel))) {
      kernel.workspace_bytes = *bytes;
      ++cover.known;
    } else {
      ++cover.unknown;
    }
  }
  for (PlannedKernel& kernel : plan.later_kernels) {
    kernel.workspace_bytes = table.Find(KeyOf(program, plan, kernel)).value_or(0);
  }
  return cover;
}

}  // namespace drydock::sim
