#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/cluster/ranking.h"

namespace drydock::sim {

/// One member as it must survive a restart of the scheduler.
struct NodeSnapshot {
  std::string node_id = {};
  std::string host_name = {};
  std::string host_ip = {};
  Role role = Role::kWorker;
  std::uint32_t rank = 0;
  std::uint32_t device_id = 0;
  bool left = false;  ///< Has unregistered; its host name and rank are still readable.
  friend bool operator==(const NodeSnapshot&, const NodeSnapshot&) = default;
};

/// What a scheduler needs in order to go on after a restart, sorted by node id.
struct SchedulerSnapshot {
  bool topology_ready = false;  ///< Ranks are final; otherwise members may be missing.
  std::vector<NodeSnapshot> nodes = {};
  friend bool operator==(const SchedulerSnapshot&, const SchedulerSnapshot&) = default;
};

/// Text of `recovery.dat`: a JSON object whose text member "compute_node_states" holds another JSON
/// document, as MindSpore reads it. What MindSpore does not know (members of a topology that is not
/// complete, members that left) stands in members of its own. Source: docs/protocol.md.
[[nodiscard]] std::string EncodeSnapshot(const SchedulerSnapshot& snapshot);

/// Reads such a text; empty text and `{}` are a first start: no nodes.
/// @error kInvalidArgument  not of this form
[[nodiscard]] Result<SchedulerSnapshot> DecodeSnapshot(std::string_view text);

}  // namespace drydock::sim
