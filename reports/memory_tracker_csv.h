#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/memory/tracker.h"

namespace drydock::reports {

/// Names of one kernel in the tracker's files.
struct KernelLabel {
  std::string task_name = {};   ///< Actor or operator.
  std::string node_name = {};   ///< Full name with scope.
  std::string graph_name = {};  ///< "kernel_graph_0".
  std::string file_name = {};   ///< Where the user's script asked for it; may be empty.
  std::int32_t line = 0;        ///< 0 = unknown.
  std::string python_stack = {};
};

/// What the tracker's files say about the pool.
struct TrackerFileOptions {
  std::string pool_name = "DefaultEnhancedAscendMemoryPool";
  std::string graph_name = "kernel_graph_0";          ///< For tasks that are no kernels.
  std::int64_t base_address = std::int64_t{1} << 44;  ///< Added to the addresses of the trace.
};

/// memory_block.csv of a step: one row per allocation, columns and their order as MindSpore writes
/// them, every field followed by a comma, nothing quoted.
///
/// Commas and line breaks inside names become semicolons and blanks. `labels` holds one entry per
/// kernel of the plan; kernels beyond it have empty names.
/// Source: spec memory-and-dump 5
[[nodiscard]] std::string MemoryBlockCsv(const sim::MemoryTrace& trace,
                                         std::span<const KernelLabel> labels,
                                         const TrackerFileOptions& options);

/// task.csv of the same step: one row per task.
[[nodiscard]] std::string TaskCsv(const sim::MemoryTrace& trace,
                                  std::span<const KernelLabel> labels,
                                  const TrackerFileOptions& options);

}  // namespace drydock::reports
