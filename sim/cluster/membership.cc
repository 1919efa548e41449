#include "sim/cluster/membership.h"

#include <algorithm>
#include <utility>

#include "sim/cluster/job_keys.h"

namespace drydock::sim {
namespace {

/// Tables are not pre-sized beyond this, whatever number of workers is asked for.
constexpr std::uint32_t kMaxReservedNodes = 1U << 20U;

/// MindSpore's workers send heartbeats at least every 5 s: two may be late.
constexpr Duration kAliveTime = std::chrono::seconds(10);

std::size_t MaxRecords(std::uint32_t total) {
  return std::size_t{2} * total + 64;
}

std::string Quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

/// What no member may be called. Source: docs/robustness.md R-36
std::optional<std::string> TextObjection(const RegistrationRequest& request) {
  if (request.node_id.empty()) {
    return "The node id is empty; set MS_NODE_ID to a rank or a unique text.";
  }
  if (request.node_id.size() > kMaxNodeIdBytes || request.host_name.size() > kMaxHostNameBytes ||
      request.host_ip.size() > kMaxHostIpBytes) {
    return "The node id, host name or address is too long.";
  }
  if (HasControlCharacter(request.node_id) || HasControlCharacter(request.host_name)) {
    return "The node id or host name has control characters.";
  }
  if (!request.host_ip.empty() && !IsAddress(request.host_ip)) {
    return Quoted(request.host_ip) + " is not an IP address; check MS_WORKER_IP.";
  }
  return std::nullopt;
}

}  // namespace

Membership::Membership(const SchedulerOptions& options)
    : rules_(options.rules),
      recovery_(options.recovery),
      rank_table_(options.rank_table),
      total_(options.worker_num + options.server_num.value_or(0)),
      nodes_(MaxRecords(total_)) {
  role(Role::kWorker).expected = options.worker_num;
  role(Role::kServer).expected = options.server_num;
  role(Role::kParameterServer).expected = options.server_num;
  nodes_.Reserve(std::min(total_, kMaxReservedNodes));
}

std::optional<std::uint32_t> Membership::expected(Role kind) const {
  return role(kind).expected;
}

bool Membership::IsTaken(Role kind, std::uint32_t rank) const {
  const std::vector<RankUse>& use = role(kind).use;
  if (rank >= use.size()) {
    return false;
  }
  switch (rules_.duplicate_check) {
    case DuplicateRankCheck::kNone:
      return false;
    case DuplicateRankCheck::kAllIds:
      return use[rank].all > 0;
    case DuplicateRankCheck::kNumericIds:
      return ranks_final_ ? use[rank].all > 0 : use[rank].numeric > 0;
  }
  return false;
}

std::optional<std::uint32_t> Membership::FreeRank(Role kind) const {
  const RoleState& state = role(kind);
  for (std::uint32_t rank = 0; rank < state.expected.value_or(0); ++rank) {
    if (rank >= state.use.size() || state.use[rank].all == 0) {
      return rank;
    }
  }
  return std::nullopt;
}

std::uint32_t Membership::ProvisionalRank(Role kind, std::string_view node_id, bool building) {
  if (rules_.numeric_id_is_rank) {
    if (const auto rank = NumericId(node_id)) {
      return *rank;
    }
  }
  RoleState& state = role(kind);
  const std::uint32_t limit = state.expected.value_or(0);
  if (!state.last_counted) {
    state.last_counted = 0;
    return 0;
  }
  if (*state.last_counted + 1 < limit) {
    return ++*state.last_counted;
  }
  // The counter has reached its end. The reference refuses; we give a slot that became free again.
  if (rules_.frees_lost_slots && building && state.present < limit) {
    return FreeRank(kind).value_or(limit);
  }
  return limit;
}

std::optional<std::string> Membership::Objection(const RegistrationRequest& request, Role kind,
                                                 std::uint32_t rank) const {
  const std::uint32_t limit = role(kind).expected.value_or(0);
  const bool full = rules_.refuses_when_full && (role(kind).present >= limit || complete());
  if ((rules_.checks_rank_range && rank >= limit) || full) {
    return "This node is extra or rank id exceeds. Expected number of " +
           std::string(RoleName(kind)) + " nodes: " + std::to_string(limit) + ", rank id of node " +
           Quoted(request.node_id) + ": " + std::to_string(rank) +
           ". Start no more processes than --worker_num says.";
  }
  if (IsTaken(kind, rank)) {
    return "Rank id:" + std::to_string(rank) + " for role:" + std::string(RoleName(kind)) +
           " exists.";
  }
  return std::nullopt;
}

/// A member that was heard of a moment ago, on a connection that is open, is not replaced by a
/// process at another address, whatever that says.
bool Membership::IsAliveElsewhere(const Node& node, const Origin& origin, TimePoint now) const {
  return rules_.protects_members && node.state == NodeState::kRegistered && !node.peer_closed &&
         node.peer != kNoPeer && node.address_hash != 0 && !origin.address.empty() &&
         node.address_hash != AddressHash(origin.address) && now - node.last_heard < kAliveTime;
}

bool Membership::MaySpeakFor(NodeIndex index, const Origin& origin) const {
  const Node& node = nodes_.at(index);
  return !rules_.protects_members || node.address_hash == 0 || origin.address.empty() ||
         node.address_hash == AddressHash(origin.address);
}

bool Membership::MayBeRetry(const RegistrationRequest& request, const Origin& origin) const {
  const auto index = nodes_.Find(request.node_id);
  if (!index || !rules_.repeats_lost_reply || recovery_) {
    return false;
  }
  const Node& node = nodes_.at(*index);
  return node.holds_slot && node.state == NodeState::kRegistered && !node.heartbeat_seen &&
         !node.peer_closed && node.peer != origin.peer && node.host_name == request.host_name &&
         (request.host_ip.empty() || node.host_ip == request.host_ip) &&
         MaySpeakFor(*index, origin);
}

std::optional<NodeIndex> Membership::MemberOf(Role kind, std::uint32_t rank) const {
  std::optional<NodeIndex> found;
  nodes_.ForEach([&](NodeIndex index, const Node& node) {
    if (node.role == kind && node.rank == rank &&
        (node.holds_slot || node.state == NodeState::kLeft)) {
      found = index;
    }
  });
  return found;
}

bool Membership::IsAddressOfMember(const Origin& origin) const {
  const std::uint64_t hash = AddressHash(origin.address);
  bool found = hash == 0;
  nodes_.ForEach([&](NodeIndex, const Node& node) {
    found = found || ((node.holds_slot || node.state == NodeState::kLeft) &&
                      (node.address_hash == 0 || node.address_hash == hash));
  });
  return found;
}

RegistrationVerdict Membership::RegisterKnown(NodeIndex index, const RegistrationRequest& request,
                                              const Origin& origin, TimePoint now) {
  using Kind = RegistrationVerdict::Kind;
  Node& node = nodes_.at(index);
  if ((recovery_ || !rules_.refuses_known_id) && !IsAliveElsewhere(node, origin, now)) {
    node.host_ip = request.host_ip;
    node.address_hash = AddressHash(origin.address);
    node.last_heard = now;
    nodes_.SetPeer(index, origin.peer);
    return {.kind = Kind::kRecovered, .node = index, .rank = node.rank};
  }
  const bool same_process = node.host_name == request.host_name &&
                            node.host_ip == request.host_ip &&
                            RoleName(node.role) == request.role && !node.heartbeat_seen &&
                            (node.peer_closed || node.peer == origin.peer);
  if (rules_.repeats_lost_reply && same_process && node.state == NodeState::kRegistered) {
    nodes_.SetPeer(index, origin.peer);
    return {.kind = Kind::kRepeated, .node = index, .rank = node.rank};
  }
  std::string reason = "Repeated registration node: " + std::string(request.node_id) +
                       " to the scheduler. It is held by a process on host " +
                       Quoted(node.host_name) + " (" + node.host_ip +
                       "), and asked for by one on host " + Quoted(request.host_name) + " (" +
                       std::string(request.host_ip) + ")";
  reason += node.state == NodeState::kLost ? ", which fell silent." : ".";
  reason +=
      " Look for a scheduler of an earlier job with 'netstat -anp|grep <port>', or choose another "
      "port with --master_port.";
  return {.kind = Kind::kRefused, .node = index, .rank = node.rank, .reason = std::move(reason)};
}

void Membership::CountRank(const Node& node, bool add) {
  RoleState& state = role(node.role);
  if (node.rank >= state.expected.value_or(0)) {
    return;
  }
  if (node.rank >= state.use.size()) {
    state.use.resize(node.rank + std::size_t{1});
  }
  RankUse& use = state.use[node.rank];
  const bool numeric = rules_.numeric_id_is_rank && NumericId(node.id).has_value();
  use.all = add ? use.all + 1 : use.all - 1;
  if (numeric) {
    use.numeric = add ? use.numeric + 1 : use.numeric - 1;
  }
}

void Membership::TakeSlot(Node& node) {
  node.holds_slot = true;
  ++present_;
  ++role(node.role).present;
  CountRank(node, true);
}

void Membership::GiveUpSlot(NodeIndex index) {
  Node& node = nodes_.at(index);
  if (!node.holds_slot) {
    return;
  }
  node.holds_slot = false;
  --present_;
  --role(node.role).present;
  CountRank(node, false);
  nodes_.NoteInactive(index);
}

RegistrationVerdict Membership::Accept(const RegistrationRequest& request, Role kind,
                                       std::uint32_t rank) {
  const auto known = nodes_.Find(request.node_id);
  const NodeIndex index = known ? *known : nodes_.Add(request.node_id);
  Node& node = nodes_.at(index);
  node.host_name = request.host_name;
  node.host_ip = request.host_ip;
  node.role = kind;
  node.state = NodeState::kRegistered;
  node.heartbeat_seen = false;
  node.device_id = request.device_id;
  node.rank = rank;
  TakeSlot(node);
  return {.kind = RegistrationVerdict::Kind::kAccepted, .node = index, .rank = rank};
}

RegistrationVerdict Membership::Register(const RegistrationRequest& request, const Origin& origin,
                                         TimePoint now, bool building) {
  RegistrationRequest effective = request;
  if (effective.host_ip.empty()) {
    effective.host_ip = origin.address;  // workers of 2.0 do not send theirs
  }
  if (rules_.checks_texts) {
    if (auto reason = TextObjection(effective)) {
      return {.reason = *std::move(reason)};
    }
  }
  const auto known = nodes_.Find(request.node_id);
  if (known && nodes_.at(*known).holds_slot) {
    return RegisterKnown(*known, effective, origin, now);
  }
  const auto kind = ParseRole(request.role);
  if (!kind || !role(*kind).expected) {
    return rules_.checks_texts
               ? RegistrationVerdict{.reason = "The job expects no role " + Quoted(request.role) +
                                               "; check MS_ROLE and MS_SERVER_NUM."}
               : RegistrationVerdict{};
  }
  const bool returns = known && building && !NumericId(request.node_id) &&
                       nodes_.at(*known).role == *kind && PrepareReturn(nodes_.at(*known));
  const std::uint32_t rank =
      returns ? nodes_.at(*known).rank : ProvisionalRank(*kind, request.node_id, building);
  if (auto reason = Objection(effective, *kind, rank)) {
    return {.rank = rank, .reason = *std::move(reason)};
  }
  RegistrationVerdict verdict = Accept(effective, *kind, rank);
  nodes_.at(verdict.node).last_heard = now;
  nodes_.at(verdict.node).address_hash = AddressHash(origin.address);
  nodes_.SetPeer(verdict.node, origin.peer);
  return verdict;
}

Status Membership::Restore(const Node& node, TimePoint now, bool ranks_final) {
  if (node.id.empty() || nodes_.Find(node.id)) {
    return FailInput("Recovery:duplicate-node",
                     "stored node " + Quoted(node.id) + " has no id or is stored twice");
  }
  const bool member = node.state != NodeState::kLeft;
  const RoleState& state = role(node.role);
  const RankUse use = node.rank < state.use.size() ? state.use[node.rank] : RankUse{};
  const bool occupied = ranks_final ? use.all > 0 : NumericId(node.id) && use.numeric > 0;
  const bool fits = node.rank < state.expected.value_or(0) && !(member && (complete() || occupied));
  if (!fits) {
    return FailInput("Recovery:other-job",
                     "stored node " + Quoted(node.id) + " with rank " + std::to_string(node.rank) +
                         " does not fit a job of " + std::to_string(total_) + " nodes",
                     "remove the recovery file of an earlier job");
  }
  ranks_final_ = ranks_final;
  const NodeIndex index = nodes_.Add(node.id);
  Node& restored = nodes_.at(index);
  restored.host_name = node.host_name;
  restored.host_ip = node.host_ip;
  restored.role = node.role;
  restored.device_id = node.device_id;
  restored.rank = node.rank;
  restored.last_heard = now;
  restored.heartbeat_seen = true;  // unknown, so a second registration is no retry of the first
  restored.state = member ? NodeState::kRegistered : NodeState::kLeft;
  if (member) {
    TakeSlot(restored);
  }
  if (!NumericId(node.id)) {
    auto& last = role(node.role).last_counted;
    last = std::max(last.value_or(0), node.rank);
  }
  return {};
}

/// True if a node that gave up its slot may have one again. An id that is no number may get another
/// provisional rank: its worker learns the final one when the topology is complete.
bool Membership::PrepareReturn(Node& node) const {
  const RoleState& state = role(node.role);
  if (state.present >= state.expected.value_or(0) || complete()) {
    return false;
  }
  const RankUse use = node.rank < state.use.size() ? state.use[node.rank] : RankUse{};
  if (NumericId(node.id)) {
    return use.numeric == 0;
  }
  if (use.all > 0) {
    node.rank = FreeRank(node.role).value_or(node.rank);
  }
  return true;
}

void Membership::Hear(NodeIndex index, const Origin& origin, TimePoint now, bool building) {
  Node& node = nodes_.at(index);
  node.last_heard = now;
  node.heartbeat_seen = true;
  node.address_hash = node.address_hash == 0 ? AddressHash(origin.address) : node.address_hash;
  nodes_.SetPeer(index, origin.peer);
  if (node.state != NodeState::kLost) {
    return;
  }
  if (node.holds_slot) {
    node.state = NodeState::kRegistered;
    --abnormal_;
  } else if (building && PrepareReturn(node)) {
    node.state = NodeState::kRegistered;
    TakeSlot(node);
  }
}

void Membership::Leave(NodeIndex index) {
  Node& node = nodes_.at(index);
  if (node.state == NodeState::kLost && node.holds_slot) {
    --abnormal_;
  }
  node.state = NodeState::kLeft;
  GiveUpSlot(index);
}

void Membership::Lose(NodeIndex index, bool frees_slot) {
  Node& node = nodes_.at(index);
  if (node.state != NodeState::kRegistered) {
    return;
  }
  node.state = NodeState::kLost;
  if (frees_slot) {
    GiveUpSlot(index);
  } else {
    ++abnormal_;
  }
}

std::vector<NodeIndex> Membership::ClosePeer(PeerId peer, TimePoint now) {
  std::vector<NodeIndex> members;
  for (const NodeIndex index : nodes_.NodesOf(peer)) {
    Node& node = nodes_.at(index);
    node.peer_closed = true;
    node.closed_at = now;
    if (node.holds_slot && node.state == NodeState::kRegistered) {
      members.push_back(index);
    }
  }
  return members;
}

std::vector<RankChange> Membership::AssignFinalRanks() {
  std::vector<RankChange> changes;
  if (ranks_final_ || !rules_.numeric_id_is_rank) {
    ranks_final_ = true;
    return changes;
  }
  std::vector<NodeIndex> members;
  std::vector<RankingInput> inputs;
  nodes_.ForEach([&](NodeIndex index, const Node& node) {
    if (node.holds_slot) {
      members.push_back(index);
      inputs.push_back({node.id, node.host_ip, node.role, node.device_id, node.rank});
    }
  });
  std::optional<std::vector<std::uint32_t>> ranks;
  if (rank_table_) {
    auto by_table = RanksByTable(inputs, *rank_table_);
    if (by_table) {
      ranks = *std::move(by_table);
    } else {
      rank_table_error_ = std::move(by_table).error();
    }
  }
  if (!ranks) {
    ranks = FinalRanks(inputs);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if ((*ranks)[i] != inputs[i].rank) {
      changes.push_back({members[i], inputs[i].rank, (*ranks)[i]});
    }
  }
  for (const RankChange& change : changes) {
    CountRank(nodes_.at(change.node), false);
  }
  for (const RankChange& change : changes) {
    nodes_.at(change.node).rank = change.new_rank;
    CountRank(nodes_.at(change.node), true);
  }
  ranks_final_ = true;
  return changes;
}

std::vector<std::string_view> Membership::HostNames(Role kind) const {
  std::vector<const Node*> by_rank(role(kind).expected.value_or(0), nullptr);
  nodes_.ForEach([&](NodeIndex, const Node& node) {
    const bool member = node.holds_slot || node.state == NodeState::kLeft;
    if (node.role == kind && member && node.rank < by_rank.size() &&
        (by_rank[node.rank] == nullptr || node.holds_slot)) {
      by_rank[node.rank] = &node;
    }
  });
  std::vector<std::string_view> names;
  for (const Node* node : by_rank) {
    if (node != nullptr) {
      names.push_back(node->host_name);
    }
  }
  return names;
}

std::vector<std::uint32_t> Membership::MissingRanks(Role kind, std::size_t limit) const {
  const RoleState& state = role(kind);
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < state.expected.value_or(0) && missing.size() < limit;
       ++rank) {
    if (rank >= state.use.size() || state.use[rank].all == 0) {
      missing.push_back(rank);
    }
  }
  return missing;
}

}  // namespace drydock::sim
