// Keys below /paddle/<job>: those of Paddle's elastic launcher (the key itself "0" or "1" when
// complete, nodes/<tag> with a lease, np, endpoints), and ours: job (what the nodes run), plan,
// failed/<round>, over.

#include "launcher/elastic/elastic_store.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/random.h>

#include "launcher/exit_code.h"
#include "launcher/paddle_job.h"
#include "launcher/run/network.h"
#include "launcher/run/supervisor.h"

namespace drydock::launcher {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kFirstPatience{6};  ///< With an etcd that does not answer at all.

std::string RandomTag() {
  std::string tag(6, 'a');
  if (::getrandom(tag.data(), tag.size(), 0) < 0) {
    return tag;
  }
  for (char& letter : tag) {
    letter = static_cast<char>('a' + static_cast<unsigned char>(letter) % 26);
  }
  return tag;
}

std::string Short(std::string_view text) {
  return OneLine(text, 120);
}

}  // namespace

ElasticStore::ElasticStore(const ElasticRequest& request, const Context& context)
    : request_(request), context_(context), base_("/paddle/" + request.job_id) {}

Status ElasticStore::Open(const EtcdAccess& access) {
  DRYDOCK_TRY(etcd_, EtcdClient::Open(access));
  return {};
}

/// Registers, if the job is ours to take part in. @error ETCD_UNREACHABLE, USAGE
Status ElasticStore::Enter(ElasticRules& rules, std::int64_t ttl_s) {
  ttl_s_ = ttl_s;
  host_ = rules.host;
  DRYDOCK_TRY(std::vector<EtcdEntry> entries, FirstTree());
  const bool has_nodes = std::ranges::any_of(
      entries, [this](const EtcdEntry& entry) { return entry.key.starts_with(base_ + "/nodes/"); });
  if (!has_nodes && !entries.empty()) {
    SayOfJob(context_, request_.job_id,
             "the id '" + request_.job_id + "' was used by a job without nodes: it begins anew");
    DRYDOCK_RETURN_IF_ERROR(etcd_.DeleteTree(base_));
    entries.clear();
  }
  const std::string own = Json({{"np", request_.np}, {"script", request_.script}})
                              .dump(-1, ' ', false, Json::error_handler_t::replace);
  DRYDOCK_RETURN_IF_ERROR(CheckJob(entries, own));
  DRYDOCK_RETURN_IF_ERROR(CheckNumber(entries, rules));
  DRYDOCK_RETURN_IF_ERROR(ReplaceDeadSelf(entries));
  if (entries.empty()) {
    DRYDOCK_RETURN_IF_ERROR(etcd_.Put(base_, "0"));
  }
  DRYDOCK_RETURN_IF_ERROR(etcd_.Put(base_ + "/job", own));
  own_key_ = base_ + "/nodes/" + RandomTag() +
             std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  return Register();
}

/// etcd may come up beside us.
Result<std::vector<EtcdEntry>> ElasticStore::FirstTree() {
  const TimePoint until = MonotonicNow() + kFirstPatience;
  while (true) {
    auto entries = etcd_.Tree(base_);
    if (entries || FailureCodeOf(entries.error()) != FailureCode::kEtcdUnreachable ||
        MonotonicNow() > until) {
      return entries;
    }
    std::this_thread::sleep_for(kStorePause);  // a stop signal ends the process meanwhile
  }
}

/// Two jobs with one id are none. @error USAGE
Status ElasticStore::CheckJob(const std::vector<EtcdEntry>& entries, const std::string& own) const {
  const std::string key = base_ + "/job";
  for (const EtcdEntry& entry : entries) {
    if (entry.key == base_ && entry.value == "1") {
      return FailCommand(
          FailureCode::kUsage,
          "the job '" + request_.job_id + "' has just ended, and its nodes are still leaving",
          "wait for them, or give another --job_id");
    }
    if (entry.key == key && !SameJob(entry.value, own)) {
      return FailCommand(FailureCode::kUsage,
                         "the job '" + request_.job_id + "' runs something else: " +
                             Short(entry.value) + ", here: " + Short(own),
                         "give another --job_id, or the same script and --np on all nodes");
    }
  }
  return {};
}

/// The number of nodes may differ where --scale or --force says so.
bool ElasticStore::SameJob(const std::string& theirs, const std::string& own) const {
  const Json a = Json::parse(theirs, nullptr, false);
  const Json b = Json::parse(own, nullptr, false);
  const bool may_change = request_.scale != 0 || request_.force;
  return a.is_object() && a.value("script", Json()) == b.value("script", Json()) &&
         (may_change || a.value("np", Json()) == b.value("np", Json()));
}

/// --scale and --force change the number of nodes of a job of fixed size. @error USAGE
Status ElasticStore::CheckNumber(const std::vector<EtcdEntry>& entries, ElasticRules& rules) {
  if (rules.min_nodes != rules.max_nodes) {
    return {};
  }
  const std::int64_t wanted = rules.max_nodes + request_.scale;
  const auto known = std::ranges::find(entries, base_ + "/np", &EtcdEntry::key);
  const std::int64_t before = known == entries.end() ? 0 : ReadIntWord(known->value).value_or(0);
  const bool is_allowed = before == 0 || request_.force || before == wanted ||
                          (request_.scale != 0 && before == rules.max_nodes);
  if (wanted < 1 || !is_allowed) {
    return FailCommand(FailureCode::kUsage,
                       "--np=" + request_.np + " and --scale=" + std::to_string(request_.scale) +
                           " make " + std::to_string(wanted) + " nodes, the job has " +
                           std::to_string(before),
                       "give --np as the job has it, or --force=true");
  }
  rules.min_nodes = rules.max_nodes = wanted;
  fixed_nodes_ = wanted;
  return before == wanted ? Status() : etcd_.Put(base_ + "/np", std::to_string(wanted));
}

/// A node that died and is started again finds its own old key: one whose lease nobody refreshes
/// goes at once. @error USAGE  a live node has this address
Status ElasticStore::ReplaceDeadSelf(const std::vector<EtcdEntry>& entries) {
  for (const EtcdEntry& entry : entries) {
    if (!entry.key.starts_with(base_ + "/nodes/") || entry.value != host_) {
      continue;
    }
    DRYDOCK_TRY(std::int64_t left, etcd_.SecondsLeft(entry.lease));
    // It is refreshed each third of its time: a living node's never falls to this.
    const std::int64_t dead = ttl_s_ - ttl_s_ / 3 - std::max<std::int64_t>(3, ttl_s_ / 10);
    const TimePoint until = MonotonicNow() + std::chrono::seconds(ttl_s_ + 3);
    bool is_alive = false;
    while (left > dead && left >= 0 && !is_alive) {
      std::this_thread::sleep_for(kStorePause);
      DRYDOCK_TRY(const std::int64_t now, etcd_.SecondsLeft(entry.lease));
      is_alive = now > left || (now >= 0 && MonotonicNow() > until);
      left = now;
    }
    if (is_alive) {
      return FailCommand(
          FailureCode::kUsage,
          "the job '" + request_.job_id + "' has a node " + host_ + " already, and it lives",
          "give each node an address of its own with --host");
    }
    if (left >= 0) {
      DRYDOCK_RETURN_IF_ERROR(etcd_.Revoke(entry.lease));
    }
  }
  return {};
}

Status ElasticStore::Register() {
  DRYDOCK_TRY(lease_, etcd_.GrantLease(ttl_s_));
  refresh_at_ = MonotonicNow() + std::chrono::seconds(ttl_s_) / 3;
  return etcd_.Put(own_key_, host_, lease_);
}

Result<ElasticView> ElasticStore::Refreshed() {
  if (MonotonicNow() >= refresh_at_) {
    DRYDOCK_TRY(const bool is_alive, etcd_.KeepAlive(lease_));
    refresh_at_ = MonotonicNow() + std::chrono::seconds(ttl_s_) / 3;
    if (!is_alive) {
      DRYDOCK_RETURN_IF_ERROR(Register());
    }
  }
  DRYDOCK_TRY(const std::vector<EtcdEntry> entries, etcd_.Tree(base_));
  ElasticView view = ViewOf(entries);
  const auto is_own = [this](const EtcdEntry& entry) { return entry.key == own_key_; };
  if (std::ranges::none_of(entries, is_own)) {
    DRYDOCK_RETURN_IF_ERROR(Register());  // etcd lost it: it came back without its data
    view.members.push_back({.host = host_, .created = INT64_MAX});
  }
  return view;
}

ElasticView ElasticStore::ViewOf(const std::vector<EtcdEntry>& entries) {
  ElasticView view;
  plan_modified_ = 0;
  for (const EtcdEntry& entry : entries) {
    const std::string name = entry.key.substr(std::min(entry.key.size(), base_.size() + 1));
    if (name.starts_with("nodes/")) {
      view.members.push_back({.host = entry.value, .created = entry.created});
    } else if (name == "plan") {
      view.plan = DecodePlan(entry.value);
      plan_modified_ = entry.modified;
    } else if (name == "over") {
      view.over = OneLine(entry.value);
    } else if (name == "np" && fixed_nodes_) {
      view.np = ReadIntWord(entry.value).value_or(*fixed_nodes_);
    } else if (name.starts_with("failed/")) {
      const std::int64_t round = ReadIntWord(name.substr(7)).value_or(0);
      if (round > view.failed_round) {
        view.failed_round = round;
        view.asks_for_restart = entry.value.starts_with("restart ");
        view.failure = OneLine(entry.value.substr(view.asks_for_restart ? 8 : 0));
      }
    } else if (name.empty()) {
      view.is_complete = entry.value == "1";
    }
  }
  return view;
}

void ElasticStore::Publish(const ElasticPlan& plan) {
  const auto written = etcd_.PutIf(base_ + "/plan", EncodePlan(plan), plan_modified_);
  if (written && *written) {
    std::string endpoints;
    std::string ips;
    for (const std::string& host : plan.hosts) {
      endpoints += (endpoints.empty() ? "" : ",") + host;
      ips += (ips.empty() ? "" : ",") + HostOf(host);
    }
    (void)etcd_.Put(base_ + "/endpoints", endpoints + "|" + ips);
  }
}

/// This node's key goes, and with the last one everything.
void ElasticStore::CleanUp() {
  (void)etcd_.Revoke(lease_);
  (void)etcd_.Delete(own_key_);
  const auto rest = etcd_.Tree(base_ + "/nodes");
  if (rest && rest->empty()) {
    (void)etcd_.DeleteTree(base_);
  }
}

void ElasticStore::TellFailure(std::int64_t round, const std::string& text) {
  (void)etcd_.PutIf(base_ + "/failed/" + std::to_string(round), text, 0);
}

void ElasticStore::TellOver(const std::string& text) {
  (void)etcd_.PutIf(base_ + "/over", text, 0);
}

void ElasticStore::TellComplete() {
  (void)etcd_.Put(base_, "1");
}

void ElasticStore::Withdraw() {
  (void)etcd_.Delete(own_key_);
}

void SayOfJob(const Context& context, const std::string& job_id, const std::string& text) {
  std::cerr << context.program << ": [" << PrintableText(job_id) << "] " << PrintableText(text)
            << "\n"
            << std::flush;
}

std::string EncodePlan(const ElasticPlan& plan) {
  return Json({{"round", plan.round}, {"restarts", plan.restarts}, {"hosts", plan.hosts}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ElasticPlan> DecodePlan(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("hosts") || !json["hosts"].is_array()) {
    return std::nullopt;
  }
  const auto number = [&json](const char* name) {
    const auto it = json.find(name);
    return it != json.end() && it->is_number_unsigned() &&
                   it->get<std::uint64_t>() < (std::uint64_t{1} << 40U)
               ? it->get<std::int64_t>()
               : 0;
  };
  ElasticPlan plan{.round = number("round"), .restarts = number("restarts")};
  for (const Json& host : json["hosts"]) {
    if (!host.is_string()) {
      return std::nullopt;
    }
    plan.hosts.push_back(host.get<std::string>());
  }
  return plan.round > 0 && !plan.hosts.empty() ? std::optional(std::move(plan)) : std::nullopt;
}

}  // namespace drydock::launcher
