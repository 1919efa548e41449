#pragma once

#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"

namespace drydock::strategies {

/// Joins collectives of the same ranks - sums, gathers of sharded weights, their scattered sums -
/// into one with several tensors, if the job asks for it.
///
/// FusionGroups says which. Such a node stands at the place of its last member; the order of
/// everything else stays as near to the old one as the data allow. It takes and gives one
/// continuous buffer. Source: mindspore/ccsrc/backend/common/pass/communication_op_fusion.cc.
[[nodiscard]] Graph FuseCollectives(Graph local, const JobConfig& config);

}  // namespace drydock::strategies
