#pragma once

#include <string_view>

#include "base/result.h"
#include "sim/calibration/workspace_table.h"

namespace drydock::sim {

/// Workspaces of the kernels in a memory_block.csv that MindSpore's memory tracker wrote on a
/// device.
///
/// Columns are found by their names, which stand in another order in other releases.
/// @error kInvalidArgument  another file, a column is missing, a row that ends early, no kernels
[[nodiscard]] Result<WorkspaceTable> WorkspacesOfBlocks(std::string_view text,
                                                        std::string_view file);

}  // namespace drydock::sim
