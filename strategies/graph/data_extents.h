#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"

namespace drydock::strategies {

/// Where an extent comes from that `message` names and no line of the script has: the rows that a
/// script gives are those of one rank, what the compiler sees are those of all. Nothing if no
/// operand has such an extent.
///
/// Example: "data of shape (2, 4) on each rank have shape (16, 4) in the network, which
/// dataset_strategy cuts by (8, 1)".
[[nodiscard]] std::optional<std::string> DataExtentNote(std::string_view message,
                                                        const Graph& graph,
                                                        std::span<const ValueId> operands,
                                                        const JobConfig& config);

}  // namespace drydock::strategies
