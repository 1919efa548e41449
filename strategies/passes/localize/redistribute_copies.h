#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/localize/redistribute.h"

namespace drydock::strategies {

/// Redistribution between layouts over virtual ranks (strategies/layout/interleave.h), all copies
/// of a rank in lock step: what would be communication between copies of one rank is a local
/// Concat.
///
/// @param copies  one local value per copy, in layout `from`
/// @return one local value per copy, in layout `to`; equal ones are the same value
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/tensor_layout.cc.
[[nodiscard]] Result<std::vector<ValueId>> EmitCopyRedistribution(
    GraphBuilder& builder, const std::vector<ValueId>& copies, const TensorLayout& from,
    const TensorLayout& to, const RedistributionLabel& label, const NodeSpec& base);

/// Brings the nodes from `first_node` on, which speak of virtual ranks, to real ranks for one copy.
/// @error kUnsupported  a collective among them joins copies of one rank
[[nodiscard]] Status MapToCopy(Graph& graph, std::size_t first_node, std::int64_t copies,
                               std::int64_t copy);

}  // namespace drydock::strategies
