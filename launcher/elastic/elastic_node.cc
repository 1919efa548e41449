// The rules by which nodes of a job come, go and go on. Example, --np=1:3: node a registers, waits
// for the settle time and starts round 1 alone; b registers, and after the settle time a publishes
// round 2 with a and b: both stop what runs and start it anew. b dies; its key vanishes with its
// lease, a stops and, after the settle time without another node, starts round 3 alone.
// What the store holds and the times are those of Paddle's elastic launcher
// (python/paddle/distributed/fleet/elastic/manager.py); plans and their rounds are ours, so that
// all nodes agree on who takes part.

#include "launcher/elastic/elastic_node.h"

#include <algorithm>
#include <set>

#include "launcher/exit_code.h"
#include "launcher/flags.h"

namespace drydock::launcher {
namespace {

using Kind = ElasticOrder::Kind;

constexpr std::int64_t kMostNodes = 65536;

std::string Listed(const std::vector<std::string>& hosts) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, hosts.size()); ++i) {
    text += (i == 0 ? "" : ", ") + hosts[i];
  }
  return hosts.size() > kMost ? text + " and " + std::to_string(hosts.size() - kMost) + " more"
                              : text;
}

bool SameHosts(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::set(a.begin(), a.end()) == std::set(b.begin(), b.end());
}

}  // namespace

std::vector<std::string> NextHosts(const std::vector<std::string>& before,
                                   const std::vector<std::string>& now, std::int64_t most) {
  const std::set<std::string> alive(now.begin(), now.end());
  const std::set<std::string> known(before.begin(), before.end());
  const std::size_t count = std::min(alive.size(), static_cast<std::size_t>(most));
  std::vector<std::string> places(count);
  std::vector<std::string> others;  // members without a place of their own, then newcomers
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (alive.contains(before[i])) {
      i < count ? void(places[i] = before[i]) : others.push_back(before[i]);
    }
  }
  for (const std::string& host : now) {
    if (!known.contains(host)) {
      others.push_back(host);
    }
  }
  auto next = others.begin();
  for (std::string& place : places) {
    if (place.empty() && next != others.end()) {
      place = *next++;
    }
  }
  return places;
}

Result<NodeRange> ReadNodeRange(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto least = ReadIntWord(text.substr(0, colon));
  const auto most = colon == std::string::npos ? least : ReadIntWord(text.substr(colon + 1));
  if (!least || !most || *least < 1 || *most < *least || *most > kMostNodes) {
    return FailCommand(FailureCode::kUsage,
                       "argument --np: '" + text + "' is not a number of nodes",
                       "write --np=2, or --np=2:4 for a job that may have 2 to 4 nodes");
  }
  return NodeRange{.least = *least, .most = *most};
}

bool ElasticNode::Has(const std::string& host) const {
  return std::ranges::find(hosts_, host) != hosts_.end();
}

void ElasticNode::Stop(std::string why, Orders& orders) {
  if (ranks_ == Ranks::kRunning) {
    ranks_ = Ranks::kStopping;
    orders.push_back({.kind = Kind::kSay, .text = std::move(why)});
    orders.push_back({.kind = Kind::kStop});
  }
}

/// Members by age. After an outage of the store those that are missing have a moment to come back.
void ElasticNode::TakeMembers(const ElasticView& view, TimePoint now, Orders& orders) {
  if (lost_at_ != kNever) {
    lost_at_ = kNever;
    trusts_at_ = AddSaturated(now, rules_.lease_time / 3 + std::chrono::seconds(2));
    orders.push_back({.kind = Kind::kSay, .text = "etcd answers again"});
  }
  std::vector<ElasticMember> members = view.members;
  std::ranges::sort(members, {}, &ElasticMember::created);
  std::vector<std::string> hosts;
  for (const ElasticMember& member : members) {
    if (std::ranges::find(hosts, member.host) == hosts.end()) {
      hosts.push_back(member.host);
    }
  }
  if (now < trusts_at_) {
    for (const std::string& host : hosts_) {
      if (std::ranges::find(hosts, host) == hosts.end()) {
        hosts.push_back(host);
      }
    }
  }
  if (!SameHosts(hosts, hosts_)) {
    changed_at_ = now;
    const std::string range =
        rules_.min_nodes == rules_.max_nodes
            ? std::to_string(rules_.max_nodes)
            : std::to_string(rules_.min_nodes) + " to " + std::to_string(rules_.max_nodes);
    orders.push_back({.kind = Kind::kSay,
                      .text = std::to_string(hosts.size()) + " nodes are there (" + Listed(hosts) +
                              "), the job takes " + range});
  }
  hosts_ = std::move(hosts);
}

void ElasticNode::TakePlan(const ElasticPlan& plan, Orders& orders) {
  if (plan.round <= plan_.round) {
    return;
  }
  plan_ = plan;
  failed_at_ = kNever;
  const bool takes_part = std::ranges::find(plan.hosts, rules_.host) != plan.hosts.end();
  const std::string text = "round " + std::to_string(plan.round) + " with " + Listed(plan.hosts);
  if (ranks_ == Ranks::kRunning) {
    Stop(text + ": the ranks are started anew", orders);
  }
  starts_when_ended_ = takes_part && ranks_ == Ranks::kStopping;
  if (!takes_part) {
    orders.push_back({.kind = Kind::kSay, .text = text + ": this node waits as a spare"});
  } else if (ranks_ != Ranks::kStopping) {
    ranks_ = Ranks::kRunning;
    orders.push_back({.kind = Kind::kSay, .text = text});
    orders.push_back({.kind = Kind::kStart, .plan = plan_});
  }
}

std::vector<ElasticOrder> ElasticNode::OnView(const ElasticView& view, TimePoint now) {
  Orders orders;
  if (view.np) {
    rules_.min_nodes = rules_.max_nodes = *view.np;
  }
  TakeMembers(view, now, orders);
  if (!view.over.empty()) {
    if (ranks_ == Ranks::kRunning) {
      Stop(view.over, orders);
    } else if (ranks_ != Ranks::kStopping) {
      orders.push_back({.kind = Kind::kFinish, .text = view.over, .status = 1});
    }
    return orders;
  }
  if (view.is_complete) {
    // Others leave because their ranks are done, and ours are about to be.
    if (ranks_ == Ranks::kNone) {
      orders.push_back({.kind = Kind::kFinish, .text = "the job is complete"});
    }
    return orders;
  }
  if (view.plan) {
    TakePlan(*view.plan, orders);
  }
  if (view.failed_round == plan_.round && plan_.round > 0 && failed_at_ == kNever) {
    failed_at_ = now;
  }
  const auto gone =
      std::ranges::find_if_not(plan_.hosts, [this](const std::string& host) { return Has(host); });
  if (gone != plan_.hosts.end() && Has(rules_.host)) {
    starts_when_ended_ = false;
    Stop("node " + *gone + " is gone: the ranks are ended until the job forms again", orders);
  }
  if (!hosts_.empty() && hosts_.front() == rules_.host) {
    Lead(view, now, orders);
  }
  return orders;
}

void ElasticNode::Lead(const ElasticView& view, TimePoint now, Orders& orders) {
  const std::vector<std::string> next = NextHosts(plan_.hosts, hosts_, rules_.max_nodes);
  if (view.plan && SameHosts(next, plan_.hosts)) {
    return LeadAfterFailure(view, now, orders);
  }
  const auto count = std::ssize(next);
  const bool is_settled = now >= AddSaturated(changed_at_, rules_.settle_time);
  if (count == rules_.max_nodes || (count >= rules_.min_nodes && is_settled)) {
    orders.push_back(
        {.kind = Kind::kPublish,
         .plan = {.round = plan_.round + 1, .restarts = plan_.restarts, .hosts = next}});
  }
}

/// Ranks failed and the members are the same: either one of them is dead and its lease still lives,
/// or the script fails by itself.
void ElasticNode::LeadAfterFailure(const ElasticView& view, TimePoint now, Orders& orders) {
  if (failed_at_ == kNever) {
    return;
  }
  if (view.asks_for_restart) {
    orders.push_back(
        {.kind = Kind::kPublish,
         .plan = {.round = plan_.round + 1, .restarts = plan_.restarts, .hosts = plan_.hosts}});
  } else if (now < AddSaturated(failed_at_, rules_.lease_time + std::chrono::seconds(1))) {
    return;
  } else if (plan_.restarts < rules_.max_restarts) {
    orders.push_back(
        {.kind = Kind::kPublish,
         .plan = {.round = plan_.round + 1, .restarts = plan_.restarts + 1, .hosts = plan_.hosts}});
  } else {
    orders.push_back({.kind = Kind::kTellOver,
                      .text = view.failure + "; the job was started again " +
                              std::to_string(plan_.restarts) + " times (--max_restart)"});
  }
}

std::vector<ElasticOrder> ElasticNode::OnEnded(const ElasticEnd& end, TimePoint now) {
  Orders orders;
  if (ranks_ == Ranks::kStopping) {
    ranks_ = Ranks::kNone;
    if (starts_when_ended_) {
      starts_when_ended_ = false;
      ranks_ = Ranks::kRunning;
      orders.push_back({.kind = Kind::kStart, .plan = plan_});
    }
    return orders;
  }
  if (end.status == 0) {
    ranks_ = Ranks::kNone;
    orders.push_back({.kind = Kind::kFinish});
    return orders;
  }
  ranks_ = Ranks::kFailed;
  failed_at_ = now;
  if (end.status == static_cast<int>(ExitCode::kUsage) ||
      end.status == static_cast<int>(ExitCode::kPreflight) ||
      end.status == static_cast<int>(ExitCode::kUnsupported)) {
    // It would be refused in every round.
    orders.push_back({.kind = Kind::kTellOver, .text = "node " + rules_.host + ": " + end.text});
    orders.push_back({.kind = Kind::kFinish, .text = end.text, .status = end.status});
    return orders;
  }
  orders.push_back({.kind = Kind::kTellFailure,
                    .plan = plan_,
                    .text = end.text,
                    .status = end.asks_for_restart ? 1 : 0});
  return orders;
}

std::vector<ElasticOrder> ElasticNode::OnLost(const std::string& why, TimePoint now) {
  Orders orders;
  if (lost_at_ == kNever) {
    lost_at_ = now;
    orders.push_back(
        {.kind = Kind::kSay, .text = why + (is_running() ? "; the ranks go on without it" : "")});
  }
  if (!is_running() && ranks_ != Ranks::kStopping &&
      now >= AddSaturated(lost_at_, rules_.settle_time)) {
    orders.push_back({.kind = Kind::kFinish, .text = why, .status = 4});
  }
  return orders;
}

}  // namespace drydock::launcher
