#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "sim/cluster/id_index.h"
#include "sim/cluster/ranking.h"

namespace drydock::sim {

/// A connection to the scheduler; never used twice in one run.
enum class PeerId : std::uint64_t {};
/// No connection: nodes restored from a snapshot have none until they are heard of.
inline constexpr PeerId kNoPeer = static_cast<PeerId>(~std::uint64_t{0});

/// Position of a node in its table.
enum class NodeIndex : std::uint32_t {};

/// What a known node is doing.
enum class NodeState : std::uint8_t {
  kRegistered,  ///< Member, heard of recently enough.
  kLost,        ///< Silent for too long.
  kLeft,        ///< Has unregistered.
};

/// A node that registered at least once.
struct Node {
  std::string id = {};
  std::string host_name = {};
  std::string host_ip = {};
  Role role = Role::kWorker;
  NodeState state = NodeState::kRegistered;
  bool holds_slot = false;      ///< Counts towards the expected number of members.
  bool heartbeat_seen = false;  ///< Since its latest registration.
  bool peer_closed = false;     ///< The connection `peer` is closed.
  bool in_use = false;          ///< False for a record that waits for a new node.
  bool noted_inactive = false;  ///< Waits among the records that may be given up.
  std::uint32_t device_id = 0;
  std::uint32_t rank = 0;          ///< Provisional until the topology is complete.
  PeerId peer = kNoPeer;           ///< Connection of the latest registration or heartbeat.
  std::uint64_t address_hash = 0;  ///< Of the address it speaks from; 0: not known.
  TimePoint last_heard = {};
  TimePoint closed_at = {};  ///< When `peer` closed.
};

/// All nodes, by id and by connection. Grows with accepted registrations only; once more than
/// `max_records` are known, the records of nodes without a slot are given up, oldest first.
class NodeTable {
 public:
  explicit NodeTable(std::size_t max_records) : max_records_(max_records) {}
  NodeTable(NodeTable&&) = default;
  NodeTable& operator=(NodeTable&&) = default;
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;
  ~NodeTable() = default;

  /// Room for so many nodes without rehashing.
  void Reserve(std::size_t nodes);
  /// The node of an id, nothing if unknown.
  [[nodiscard]] std::optional<NodeIndex> Find(std::string_view id) const;
  /// A new record for an id that is not known yet.
  NodeIndex Add(std::string_view id);
  /// The record at a position.
  [[nodiscard]] Node& at(NodeIndex index) { return nodes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const Node& at(NodeIndex index) const {
    return nodes_[static_cast<std::size_t>(index)];
  }
  /// Notes that the node gave up its slot, so that its record may be reused one day.
  void NoteInactive(NodeIndex index);
  /// Says which connection a node speaks on now.
  void SetPeer(NodeIndex index, PeerId peer);
  /// The nodes whose latest connection is `peer`.
  [[nodiscard]] std::vector<NodeIndex> NodesOf(PeerId peer) const;
  /// Calls `fn(index, node)` for every record, in the order the records were made.
  void ForEach(const std::function<void(NodeIndex, const Node&)>& fn) const;

 private:
  void MakeRoom();
  void Detach(NodeIndex index);

  std::size_t max_records_;
  std::deque<Node> nodes_;  // a deque: references to nodes survive growth
  std::vector<NodeIndex> free_;
  std::deque<NodeIndex> inactive_;
  IdIndex by_id_;
  std::unordered_multimap<std::uint64_t, NodeIndex> by_peer_;
};

}  // namespace drydock::sim
