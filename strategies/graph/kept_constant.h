#pragma once

#include <string_view>

#include "strategies/graph/kernel_graph.h"

/// Constants that no kernel reads and that lie in memory all the same: the back end took apart who
/// read them.
namespace drydock::strategies {

/// Attribute of local nodes that came late: their arguments are constants of their own, since equal
/// ones had been joined before.
inline constexpr std::string_view kOwnConstants = "own_constants";

inline void KeepUnread(KernelGraph& graph, KernelId constant) {
  graph.at(constant).runs_late = true;  // Of a kernel this is an order; of a constant it is free.
}

[[nodiscard]] inline bool IsKeptUnread(const KernelNode& node) {
  return node.kind == KernelKind::kConstant && node.runs_late;
}

}  // namespace drydock::strategies
