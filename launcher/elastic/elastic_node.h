#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace drydock::launcher {

/// A node that is registered: its key in the store is alive.
struct ElasticMember {
  std::string host = {};     ///< "10.0.0.1:6170"
  std::int64_t created = 0;  ///< When it registered, in the store's own count.
  friend bool operator==(const ElasticMember&, const ElasticMember&) = default;
};

/// Who takes part in one round of a job, in order of nodes.
struct ElasticPlan {
  std::int64_t round = 0;     ///< 1 for the first one.
  std::int64_t restarts = 0;  ///< Rounds that were begun because the one before failed by itself.
  std::vector<std::string> hosts = {};
  friend bool operator==(const ElasticPlan&, const ElasticPlan&) = default;
};

/// All that the store says about a job.
struct ElasticView {
  std::vector<ElasticMember> members = {};
  std::optional<ElasticPlan> plan = {};
  std::int64_t failed_round = 0;        ///< A node's ranks failed in this round; 0: none did.
  bool asks_for_restart = false;        ///< They failed with a status that asks for another round.
  std::string failure = {};             ///< What failed first in that round.
  std::string over = {};                ///< Why nobody goes on; empty while somebody does.
  bool is_complete = false;             ///< A node's ranks have all ended well.
  std::optional<std::int64_t> np = {};  ///< Number of nodes, where it was changed.
};

/// What a node was told.
struct ElasticRules {
  std::string host = {};       ///< Its own, as in ElasticMember.
  std::int64_t min_nodes = 1;  ///< Fewer wait.
  std::int64_t max_nodes = 1;  ///< More wait as spares.
  Duration settle_time =
      std::chrono::seconds(120);                   ///< How long fewer than the most wait for more.
  Duration lease_time = std::chrono::seconds(60);  ///< After it a dead node is gone.
  std::int64_t max_restarts = 3;
};

/// One thing to do.
struct ElasticOrder {
  enum class Kind : std::uint8_t {
    kStart,        ///< The local ranks of `plan`.
    kStop,         ///< The local ranks; OnEnded follows.
    kPublish,      ///< `plan`, if the store still has the plan of the view.
    kTellFailure,  ///< `text`, of the round of `plan`; the first one counts.
    kTellOver,     ///< `text`: nobody goes on.
    kSay,          ///< `text`, to people.
    kFinish,       ///< With `status`; `text` is why, if that is not 0.
  };
  Kind kind = Kind::kSay;
  ElasticPlan plan = {};
  std::string text = {};
  int status = 0;
};

/// How the local ranks ended.
struct ElasticEnd {
  int status = 0;
  bool asks_for_restart = false;  ///< A rank ended with a status that asks for another round.
  std::string text = {};          ///< What failed first.
};

/// A node of a job that changes its size, as a state machine: views of the store, ends of the local
/// ranks and time come in, orders come out. No sockets, no processes, no clock.
///
/// The node that registered first leads: it alone publishes plans. A plan holds the members of the
/// last one that are still there at their places, the tail moved into holes, newcomers behind; a
/// new one is due when members changed or ranks failed.
class ElasticNode {
 public:
  explicit ElasticNode(ElasticRules rules) : rules_(std::move(rules)) {}

  [[nodiscard]] std::vector<ElasticOrder> OnView(const ElasticView& view, TimePoint now);
  /// The local ranks ended, told to or not.
  [[nodiscard]] std::vector<ElasticOrder> OnEnded(const ElasticEnd& end, TimePoint now);
  /// The store cannot be reached. Ranks go on without it.
  [[nodiscard]] std::vector<ElasticOrder> OnLost(const std::string& why, TimePoint now);

  /// Local ranks run.
  [[nodiscard]] bool is_running() const { return ranks_ == Ranks::kRunning; }

 private:
  enum class Ranks : std::uint8_t { kNone, kRunning, kStopping, kFailed };
  using Orders = std::vector<ElasticOrder>;

  void TakeMembers(const ElasticView& view, TimePoint now, Orders& orders);
  void TakePlan(const ElasticPlan& plan, Orders& orders);
  void Lead(const ElasticView& view, TimePoint now, Orders& orders);
  void LeadAfterFailure(const ElasticView& view, TimePoint now, Orders& orders);
  void Stop(std::string why, Orders& orders);
  [[nodiscard]] bool Has(const std::string& host) const;

  ElasticRules rules_;
  Ranks ranks_ = Ranks::kNone;
  ElasticPlan plan_ = {};                ///< The last one that was obeyed.
  bool starts_when_ended_ = false;       ///< `plan_` waits for the ranks of the one before.
  std::vector<std::string> hosts_ = {};  ///< Of the members, oldest first.
  TimePoint changed_at_ = {};
  TimePoint failed_at_ = kNever;  ///< When this node saw that the round of `plan_` failed.
  TimePoint lost_at_ = kNever;
  TimePoint trusts_at_ = {};  ///< Members that are missing before it may only be late.
};

/// Hosts of the next plan: those of `before` that are still there keep their places where the plan
/// is long enough, the others move into holes, and newcomers follow by age.
/// Example: before a b c d, now b c d: "d b c".
[[nodiscard]] std::vector<std::string> NextHosts(const std::vector<std::string>& before,
                                                 const std::vector<std::string>& now,
                                                 std::int64_t most);

/// "2" or "2:4". @error USAGE
struct NodeRange {
  std::int64_t least = 1;
  std::int64_t most = 1;
};
[[nodiscard]] Result<NodeRange> ReadNodeRange(const std::string& text);

}  // namespace drydock::launcher
