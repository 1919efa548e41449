#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/cluster/messages/registration.h"
#include "sim/cluster/node_table.h"
#include "sim/cluster/scheduler_options.h"

namespace drydock::sim {

/// Where a message comes from.
struct Origin {
  PeerId peer = {};
  std::string_view address = {};  ///< Address of the peer without port, where the shell knows it.
};

/// Decision about a registration.
struct RegistrationVerdict {
  enum class Kind : std::uint8_t {
    kAccepted,   ///< A new member.
    kRepeated,   ///< The same registration again, since its answer was lost.
    kRecovered,  ///< A known id came back; recovery is on.
    kRefused,    ///< No.
  };
  Kind kind = Kind::kRefused;
  NodeIndex node = {};
  std::uint32_t rank = 0;   ///< Provisional.
  std::string reason = {};  ///< Of a refusal; the reference has none for an unknown role.
};

/// Rank of a member that changed when the topology was completed.
struct RankChange {
  NodeIndex node = {};
  std::uint32_t old_rank = 0;
  std::uint32_t new_rank = 0;
};

/// Who belongs to the job and under which rank. Knows no messages, timers or replies.
class Membership {
 public:
  explicit Membership(const SchedulerOptions& options);

  /// Decides about a registration and notes an accepted one.
  /// @param building  the topology was not complete yet
  RegistrationVerdict Register(const RegistrationRequest& request, const Origin& origin,
                               TimePoint now, bool building);
  /// Restores one member of a snapshot; `ranks_final` if it was taken when the topology was
  /// complete.
  /// @error kInvalidArgument  it fits no slot
  Status Restore(const Node& node, TimePoint now, bool ranks_final);
  /// True if `origin` may speak for a node: it is at the node's address, or that is not known.
  [[nodiscard]] bool MaySpeakFor(NodeIndex index, const Origin& origin) const;
  /// True for a registration that repeats one whose connection may have been closed already, though
  /// nobody has told us yet: the end of the old connection and the new registration may be read in
  /// any order.
  [[nodiscard]] bool MayBeRetry(const RegistrationRequest& request, const Origin& origin) const;
  /// The member of a role with this rank; nothing if there is none.
  [[nodiscard]] std::optional<NodeIndex> MemberOf(Role role, std::uint32_t rank) const;
  /// True if some member, present or gone, speaks from the address of `origin`, or that is not
  /// known.
  [[nodiscard]] bool IsAddressOfMember(const Origin& origin) const;
  /// A sign of life. A lost node without a slot gets one again if it is still free while building.
  void Hear(NodeIndex index, const Origin& origin, TimePoint now, bool building);
  /// The node unregistered.
  void Leave(NodeIndex index);
  /// The node is lost; `frees_slot` makes room for another one.
  void Lose(NodeIndex index, bool frees_slot);
  /// Notes that a connection closed; returns the members that spoke on it last.
  std::vector<NodeIndex> ClosePeer(PeerId peer, TimePoint now);

  /// Makes all ranks final. @return changes, by the rule that was applied
  std::vector<RankChange> AssignFinalRanks();
  /// Why the rank table was not used in AssignFinalRanks, if it was not.
  [[nodiscard]] const std::optional<Error>& rank_table_error() const { return rank_table_error_; }

  /// Everybody who registered.
  [[nodiscard]] const NodeTable& nodes() const { return nodes_; }
  /// Members that hold a slot.
  [[nodiscard]] std::uint32_t present() const { return present_; }
  /// Members that hold a slot but are lost.
  [[nodiscard]] std::uint32_t abnormal() const { return abnormal_; }
  /// Expected members.
  [[nodiscard]] std::uint32_t total() const { return total_; }
  /// Nobody is missing.
  [[nodiscard]] bool complete() const { return present_ == total_; }
  /// AssignFinalRanks has been called.
  [[nodiscard]] bool ranks_final() const { return ranks_final_; }
  /// Expected members of a role, nothing if the job has no such role.
  [[nodiscard]] std::optional<std::uint32_t> expected(Role role) const;
  /// Host names of a role in rank order, of everybody who was a member of the complete topology.
  [[nodiscard]] std::vector<std::string_view> HostNames(Role role) const;
  /// Ranks of a role nobody has registered for, at most `limit`.
  [[nodiscard]] std::vector<std::uint32_t> MissingRanks(Role role, std::size_t limit) const;

 private:
  /// How many slot holders have a rank.
  struct RankUse {
    std::uint32_t all = 0;
    std::uint32_t numeric = 0;
  };
  struct RoleState {
    std::optional<std::uint32_t> expected;
    std::optional<std::uint32_t> last_counted;  ///< Last rank given by the order of arrival.
    std::uint32_t present = 0;
    std::vector<RankUse> use;  ///< By rank; grows on demand up to `expected`.
  };

  [[nodiscard]] RoleState& role(Role role) { return roles_[static_cast<std::size_t>(role)]; }
  [[nodiscard]] const RoleState& role(Role role) const {
    return roles_[static_cast<std::size_t>(role)];
  }
  RegistrationVerdict RegisterKnown(NodeIndex index, const RegistrationRequest& request,
                                    const Origin& origin, TimePoint now);
  [[nodiscard]] bool IsAliveElsewhere(const Node& node, const Origin& origin, TimePoint now) const;
  RegistrationVerdict Accept(const RegistrationRequest& request, Role role, std::uint32_t rank);
  std::uint32_t ProvisionalRank(Role role, std::string_view node_id, bool building);
  [[nodiscard]] std::optional<std::uint32_t> FreeRank(Role role) const;
  [[nodiscard]] std::optional<std::string> Objection(const RegistrationRequest& request, Role role,
                                                     std::uint32_t rank) const;
  [[nodiscard]] bool IsTaken(Role role, std::uint32_t rank) const;
  void TakeSlot(Node& node);
  void GiveUpSlot(NodeIndex index);
  void CountRank(const Node& node, bool add);
  bool PrepareReturn(Node& node) const;

  SchedulerRules rules_;
  bool recovery_ = false;
  std::optional<RankTable> rank_table_;
  std::optional<Error> rank_table_error_;
  bool ranks_final_ = false;
  std::uint32_t total_ = 0;
  std::uint32_t present_ = 0;
  std::uint32_t abnormal_ = 0;
  std::array<RoleState, kRoleCount> roles_;
  NodeTable nodes_;
};

}  // namespace drydock::sim
