#pragma once

#include <string_view>

#include "strategies/graph/kernel_graph.h"

/// Constants of a program's kernels that are there or not whatever reads them.
///
/// Some that no kernel reads lie in memory all the same: the back end took apart who read them. Of
/// one that is cut, a rank has its slice only.
namespace drydock::strategies {

/// Attribute of local nodes that came late: their arguments are constants of their own, since equal
/// ones had been joined before.
inline constexpr std::string_view kOwnConstants = "own_constants";

/// Attribute of local nodes that are recomputed though nobody reads what that makes again: the back
/// end takes the second one apart before it finds that out.
inline constexpr std::string_view kCopyUnread = "copy_unread";

/// Instance name of local nodes that take a rank's slice of a constant: done when the network is
/// compiled, so the slice is the constant.
inline constexpr std::string_view kSplitTensor = "split_tensor";

inline void KeepUnread(KernelGraph& graph, KernelId constant) {
  graph.at(constant).runs_late = true;  // Of a kernel this is an order; of a constant it is free.
}

/// What an operator of a micro batch becomes has a constant of its own in each micro batch, also in
/// a pipeline, and also where all micro batches share the kernel that reads it.
inline void RepeatForMicroBatches(KernelGraph& graph, KernelId constant) {
  graph.at(constant).micro = 0;
}

inline void ShareConstantsOfMicroBatches(KernelGraph& graph) {
  for (KernelNode& node : graph.nodes) {
    if (node.kind == KernelKind::kConstant) {
      node.micro = -1;
    }
  }
}

[[nodiscard]] inline bool IsRepeatedForMicroBatches(const KernelNode& node) {
  return node.kind == KernelKind::kConstant && node.micro == 0;
}

[[nodiscard]] inline bool IsKeptUnread(const KernelNode& node) {
  return node.kind == KernelKind::kConstant && node.runs_late;
}

}  // namespace drydock::strategies
