#pragma once

#include <string>

#include "reports/profile_report.h"
#include "strategies/program/local_program.h"

/// Forms that other programs draw.
namespace drydock::reports {

/// memory_trace.json: memory by kind as counters in Chrome's trace format, for ui.perfetto.dev; a
/// process per class of ranks. Time is the number of the kernel, one microsecond each.
[[nodiscard]] std::string MemoryTraceText(const ProfileReport& profile);

/// graph.dot: the network by layer, as Graphviz reads it. A node is a layer with its operators, an
/// edge the tensors that pass from one to the other, with their bytes on the whole job's shapes.
[[nodiscard]] std::string GraphDot(const RunReport& run, const strategies::LocalProgram& program);

}  // namespace drydock::reports
