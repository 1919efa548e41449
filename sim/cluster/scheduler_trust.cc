// Who may say what: the job's secret, launchers' keys, and what looks odd about the members.
#include <map>
#include <set>

#include "sim/cluster/job_keys.h"
#include "sim/cluster/scheduler_core.h"

namespace drydock::sim {
namespace {

/// So many host names are spoken of.
constexpr std::size_t kNamedHosts = 4;

}  // namespace

/// True if the message is a proof; a wrong one ends the connection.
bool SchedulerCore::TakeProof(const Origin& from, const MetadataMessage& message,
                              SchedulerOutput& out) {
  if (message.name != kProofKey || !options_.rules.protects_members) {
    return false;
  }
  if (options_.proof.empty() || EqualSecrets(message.value, options_.proof)) {
    proven_.insert(from.peer);
  } else {
    RecordBroken(from, out);
  }
  return true;
}

bool SchedulerCore::IsProven(PeerId peer) const {
  return options_.proof.empty() || proven_.contains(peer);
}

bool SchedulerCore::MayChange(const Origin& from, const MetadataMessage& message,
                              bool erases) const {
  using Kind = KeyOwner::Kind;
  const KeyOwner owner = OwnerOf(message.name);
  if (!options_.rules.protects_members || owner.kind == Kind::kAnybody) {
    return true;
  }
  if (erases || owner.kind == Kind::kNobody || !IsProven(from.peer) ||
      metadata_.Read(message.name)) {
    return false;
  }
  if (owner.kind == Kind::kMember) {
    return IsBuilding() || membership_.IsAddressOfMember(from);
  }
  const auto member = membership_.MemberOf(Role::kWorker, owner.rank);
  return member && membership_.MaySpeakFor(*member, from);
}

void SchedulerCore::WarnOfHostNames(SchedulerOutput& out) const {
  if (!options_.records_events) {
    return;
  }
  std::map<std::string_view, std::set<std::string_view>> addresses_of;
  membership_.nodes().ForEach([&addresses_of](NodeIndex, const Node& node) {
    if (node.holds_slot && !node.host_name.empty()) {
      addresses_of[node.host_name].insert(node.host_ip);
    }
  });
  std::size_t named = 0;
  for (const auto& [host_name, addresses] : addresses_of) {
    if (addresses.size() < 2 || named++ == kNamedHosts) {
      continue;
    }
    std::string list;
    for (const std::string_view address : addresses) {
      if (list.size() < 200) {
        list.append(list.empty() ? "" : ", ").append(address);
      }
    }
    Record({.kind = SchedulerEventKind::kHostNameShared,
            .host_name = std::string(host_name),
            .detail = list},
           out);
  }
}

}  // namespace drydock::sim
