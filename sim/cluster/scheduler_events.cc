#include "sim/cluster/scheduler_events.h"

namespace drydock::sim {
namespace {

std::string Member(const SchedulerEvent& event) {
  return event.node_id + "(role: " + event.role + "), rank id: " + std::to_string(event.rank) +
         ", device id: " + std::to_string(event.device_id) + ", hostname: " + event.host_name +
         ", ip: " + event.host_ip;
}

std::string Count(const SchedulerEvent& event) {
  return "Currently registered node number: " + std::to_string(event.present) +
         ", expected node number: " + std::to_string(event.expected);
}

std::string AssignedText(const SchedulerEvent& event) {
  return "Assign rank id of node id: " + event.node_id + ", role: " + event.role +
         ", old rank id: " + std::to_string(event.old_rank) +
         ", new rank id: " + std::to_string(event.rank);
}

}  // namespace

EventLevel LevelOf(SchedulerEventKind kind) {
  switch (kind) {
    case SchedulerEventKind::kNodeLost:
    case SchedulerEventKind::kLossReported:
    case SchedulerEventKind::kBuildTimedOut:
      return EventLevel::kError;
    case SchedulerEventKind::kMessageIgnored:
      return EventLevel::kInfo;
    default:
      return EventLevel::kWarning;
  }
}

std::string EventText(const SchedulerEvent& event) {
  switch (event.kind) {
    case SchedulerEventKind::kRegistered:
      return "The new node: " + Member(event) + " is registered successfully. " + Count(event);
    case SchedulerEventKind::kRegistrationRepeated:
      return "The answer to the registration of node: " + event.node_id +
             " was lost, the same answer is given again.";
    case SchedulerEventKind::kRecovered:
      return "The node: " + Member(event) + " have been recovered.";
    case SchedulerEventKind::kRefused:
      return "Rejecting registration request for node: " + event.node_id + "(role: " + event.role +
             "). Reason: " + event.detail;
    case SchedulerEventKind::kRefusedKnownId:
      return "The node: " + event.node_id + " is registered repeatedly. Reason: " + event.detail;
    case SchedulerEventKind::kRankAssigned:
      return AssignedText(event);
    case SchedulerEventKind::kRankTableUnusable:
      return "The rank table is not used: " + event.detail;
    case SchedulerEventKind::kTopologyReady:
      return "The cluster topology has been constructed. " + Count(event);
    case SchedulerEventKind::kNodeLost:
      return "The node: " + event.node_id + " is timed out. " + event.detail;
    case SchedulerEventKind::kNodeReturned:
      return "The node: " + event.node_id + " is heard of again.";
    case SchedulerEventKind::kNodeLeft:
      return "Node " + event.node_id + " has unregistered.";
    case SchedulerEventKind::kLossReported:
      return "The total number of timed out node is " + std::to_string(event.present) +
             ". Timed out node list is: [" + event.detail + "].";
    case SchedulerEventKind::kFinished:
      return "All nodes have unregistered, the job is finished.";
    case SchedulerEventKind::kBuildTimedOut:
      return "Failed to initialize distributed job cluster because some processes did not register "
             "in time. " +
             Count(event) + ", missing: " + event.detail;
    case SchedulerEventKind::kHostNameShared:
      return "Members at several addresses (" + event.detail + ") have the host name '" +
             event.host_name +
             "': MindSpore numbers the devices of a machine by its host name. Give the machines "
             "names of "
             "their own.";
    case SchedulerEventKind::kMessageIgnored:
      return "A message is ignored: " + event.detail;
  }
  return {};
}

}  // namespace drydock::sim
