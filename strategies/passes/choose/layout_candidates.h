#pragma once

#include <optional>
#include <vector>

#include "strategies/passes/choose/propagation_graph.h"

namespace drydock::strategies {

/// Layout that a decided neighbour offers for each tensor operand; nothing where it has none.
using OfferedLayouts = std::vector<std::optional<TensorLayout>>;

/// The candidate with the device matrix and tensor maps of an operator's neighbours, if they offer
/// layouts for all operands on one device matrix, and the cuts are those of another candidate.
///
/// Source: mindspore/ccsrc/frontend/parallel/ops_info/operator_info.cc
/// (AddSwcUnderPrevOpDevMatrixSingle, AddSwcUnderPrevOpDevMatrixMulti,
/// AddSwcUnderNextOpDevMatrixSingle)
[[nodiscard]] std::optional<Candidate> CandidateByLayout(const Graph& graph, const Node& node,
                                                         const JobConfig& config,
                                                         const std::vector<Candidate>& candidates,
                                                         const OfferedLayouts& offered);

}  // namespace drydock::strategies
