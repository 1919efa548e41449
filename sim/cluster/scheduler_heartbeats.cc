// Answers to heartbeats, at once or when the topology is complete.
#include <algorithm>

#include "sim/cluster/scheduler_core.h"

namespace drydock::sim {

void SchedulerCore::AnswerHeartbeat(const Origin& to, const Node& node,
                                    SchedulerOutput& out) const {
  // A node whose slot went to another one must not wait for ever: it is told to end. With recovery
  // on it ignores that, so it must not hear that the topology is complete either.
  TopologyState topology = topology_state();
  std::uint32_t abnormal = membership_.abnormal();
  if (!node.holds_slot) {
    topology = TopologyState::kInitialising;
    abnormal = std::max(abnormal, 1U);
  } else if (state_ == SchedulerState::kAborting || state_ == SchedulerState::kAborted) {
    abnormal = std::max(abnormal, 1U);
  }
  const HeartbeatReply reply{.success = true,
                             .topo_state = static_cast<std::uint32_t>(topology),
                             .nodes_num = membership_.total(),
                             .abnormal_nodes_num = abnormal};
  out.replies.Add(to.peer, WireName(MessageName::kSuccess), options_.address,
                  [&reply](std::string& bytes) { EncodeBody(reply, bytes); });
}

void SchedulerCore::HoldHeartbeat(PeerId peer, NodeIndex node, TimePoint now) {
  held_[peer] = node;
  held_until_.push_back({AddSaturated(now, options_.heartbeat_hold), peer});
}

void SchedulerCore::AnswerHeld(PeerId peer, SchedulerOutput& out) {
  const auto held = held_.find(peer);
  if (held != held_.end()) {
    const NodeIndex node = held->second;
    held_.erase(held);
    AnswerHeartbeat({.peer = peer}, membership_.nodes().at(node), out);
  }
}

void SchedulerCore::AnswerAllHeld(SchedulerOutput& out) {
  for (const auto& [peer, node] : held_) {
    AnswerHeartbeat({.peer = peer}, membership_.nodes().at(node), out);
  }
  held_.clear();
  held_until_.clear();
}

void SchedulerCore::AnswerHeldUntil(TimePoint now, SchedulerOutput& out) {
  if (!IsBuilding()) {
    return AnswerAllHeld(out);
  }
  while (!held_until_.empty() && held_until_.front().due <= now) {
    const PeerId peer = held_until_.front().peer;
    held_until_.pop_front();
    AnswerHeld(peer, out);
  }
}

}  // namespace drydock::sim
