#pragma once

#include <cstdint>
#include <vector>

#include "strategies/program/local_program.h"

namespace drydock::strategies {

/// A collective of a program.
struct CollectiveUse {
  NodeId node = kNoNode;  ///< In LocalProgram::local.
  GroupPattern group = {};
  std::int64_t payload_bytes = 0;  ///< Local input, bytes.
  std::int64_t sent_bytes = 0;     ///< By each rank in a ring algorithm, rounded up.
  /// By the rank that sends least: less than `sent_bytes` only where ranks at an edge have fewer
  /// neighbours to exchange border rows with.
  std::int64_t least_sent_bytes = 0;
};

/// False for what is done after some steps only: the gathers of a checkpoint that is not saved at
/// each.
[[nodiscard]] bool RunsEachStep(const Node& node);

/// Collectives of a step in issue order.
[[nodiscard]] std::vector<CollectiveUse> CollectivesOf(const LocalProgram& program);

}  // namespace drydock::strategies
