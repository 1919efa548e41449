#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/memory/plan.h"
#include "sim/memory/tracker.h"
#include "strategies/program/local_program.h"

namespace drydock::reports {

/// Names of a kernel or of a prepared tensor in the tracker's files.
struct TrackedName {
  std::string task_name = {};
  std::string node_name = {};     ///< Full name with scope, or the parameter's.
  std::string python_stack = {};  ///< Line of the script; may be empty.
};

/// Names by index in a memory plan.
struct TrackedNames {
  std::vector<TrackedName> kernels = {};
  std::vector<TrackedName> buffers = {};  ///< Empty for what kernels make.
};

/// Names of a plan that sim::PlanMemory made of `program`.
[[nodiscard]] TrackedNames NamesOfPlan(const strategies::LocalProgram& program,
                                       const sim::MemoryPlan& plan);

/// What the tracker's files say about the pool.
struct TrackerFileOptions {
  std::string pool_name = "DefaultEnhancedAscendMemoryPool";
  std::int64_t base_address = std::int64_t{1} << 44;  ///< Added to the addresses of the trace.
};

/// memory_block.csv of the steps that were run: one row per allocation, columns and their order as
/// MindSpore 2.10 writes them, every field followed by a comma, nothing quoted.
///
/// Commas and line breaks inside names become semicolons and blanks. `file_name` and `line_num` are
/// the places in MindSpore that ask for such memory, as tools group by them; the line of the script
/// is in `python_stack`.
/// Source: mindspore/ccsrc/memory/mem_pool/mem_tracker.cc
[[nodiscard]] std::string MemoryBlockCsv(const sim::MemoryTrace& trace, const TrackedNames& names,
                                         const TrackerFileOptions& options);

/// task.csv of the same steps: one row per task.
[[nodiscard]] std::string TaskCsv(const sim::MemoryTrace& trace, const TrackedNames& names);

}  // namespace drydock::reports
