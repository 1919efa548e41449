// The hosts of a spread dry run are launchers of a job whose ranks exist only as members: the same
// scheduler, the same registration, the same agreement as `msrun --rendezvous=launcher`
// (launcher/net/agent.h), and in place of processes a visit of each rank to its program. Example:
// 64 ranks on 4 hosts: host 2 registers ranks 32 to 47 over 32 connections and says in its note
// what script, flags and results it has; the launcher of rank 0 collects all notes, so every host
// finds the same first difference, or none.
#include "launcher/spread.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <utility>
#include <vector>

#include "launcher/exit_code.h"
#include "launcher/net/job_secret.h"
#include "launcher/net/tls_session.h"
#include "launcher/run/job_summary.h"
#include "launcher/run/network.h"
#include "launcher/run/supervisor.h"
#include "launcher/run_identity.h"
#include "reports/report_json.h"
#include "sim/fleet/dry_run.h"

namespace drydock::launcher {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a host that gives up stays for the others to hear of it; they ask twice a second.
constexpr auto kTellTime = std::chrono::seconds(3);
constexpr int kPollMs = 200;
constexpr std::int64_t kConnectionsPerRank = 2;
/// Files, listener, events.
constexpr std::int64_t kOwnDescriptors = 128;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The scheduler of a dry run keeps nothing and serves workers only.
Environment WithoutRecovery(Environment environment) {
  for (const char* name :
       {"MS_ENABLE_RECOVERY", "MS_RECOVERY_PATH", "RANK_TABLE_FILE", "MS_DISABLE_HEARTBEAT"}) {
    environment.erase(name);
  }
  return environment;
}

/// The options as a real job of these nodes has them.
MsrunOptions RealOptions(MsrunOptions options, const SpreadPlace& place, bool with_log) {
  options.local_worker_num = ShareOf(0, place.hosts, options.worker_num).rank_count;
  options.node_rank = place.host;
  options.join = true;
  options.rank_table_file.clear();
  options.log_layout = with_log ? LogLayout::kMsrun : LogLayout::kConsole;
  return options;
}

std::vector<WorkerSpec> MembersOf(const SpreadPlace& place) {
  std::vector<WorkerSpec> members;
  for (std::int64_t i = 0; i < place.rank_count; ++i) {
    members.push_back({.local_index = i, .rank = place.first_rank + i});
  }
  return members;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line.append(line.empty() ? "" : " ").append(word);
  }
  return line;
}

/// What the run of a host is and found; the list of files that it would write is its own affair.
SpreadFacts FactsOf(reports::ReportSet set) {
  set.summary.files.clear();
  const reports::RunReport& run = set.summary.run;
  std::string result = reports::ReportJson(set.summary);
  if (set.communication) {
    result += reports::ReportJson(*set.communication);
  }
  if (set.memory) {
    result += reports::ReportJson(*set.memory);
  }
  if (set.timeline) {
    result += reports::ReportJson(*set.timeline);
  }
  return {{"release of Drydock", run.drydock_version},
          {"name of the script", run.subject},
          {"digest of the script", run.subject_sha256},
          {"arguments of the script", Joined(run.arguments)},
          {"flags", Joined(run.flags)},
          {"release of MindSpore", run.compat},
          {"result", Sha256Hex(result)}};
}

Status CheckIsFirst(const SpreadPlace& place, const HostFacts& host, const MsrunOptions& options) {
  if (place.host > 0 || host.is_master) {
    return {};
  }
  return FailCommand(FailureCode::kUsage,
                     "host 0 (" + host.host_name + ") does not have the address " +
                         options.master_addr + " (" + host.master_ip + ")",
                     "give the address of host 0 with --master_addr on all hosts");
}

}  // namespace

Spread::Spread(MsrunOptions options, const Context& context, CheckedJob job, SpreadPlace place)
    : options_(std::move(options)),
      context_(context),
      environment_(WithoutRecovery(context.environment)),
      job_(std::move(job)),
      place_(place) {}

Result<std::unique_ptr<Spread>> Spread::Open(const MsrunOptions& options, const Context& context,
                                             bool with_log) {
  DRYDOCK_TRY(const SpreadPlace place, SpreadPlaceOf(options));
  MsrunOptions real = RealOptions(options, place, with_log);
  CheckedJob job{.join = {.workers_register = false}, .joins_later = true};
  DRYDOCK_TRY(job.tls, ReadTlsFiles(options.tls_config, options.tls_password_file));
  DRYDOCK_TRY(job.secret, ReadJobSecret(options.job_secret, context.environment));
  DRYDOCK_TRY(job.host, FindHost(real, context, false));
  DRYDOCK_RETURN_IF_ERROR(CheckIsFirst(place, job.host, options));
  job.host.is_master = place.host == 0;
  const std::int64_t served = job.host.is_master ? options.worker_num : 0;
  DRYDOCK_TRY(job.child_file_limit,
              RaiseFileLimit(kOwnDescriptors + kConnectionsPerRank * (place.rank_count + served)));
  job.workers = MembersOf(place);
  std::unique_ptr<Spread> spread(new Spread(std::move(real), context, std::move(job), place));
  DRYDOCK_TRY(spread->cluster_,
              Cluster::Start(spread->options_, spread->environment_, spread->job_, 0));
  return spread;
}

/// What news of the cluster mean where there are hosts instead of nodes.
Status Spread::MeaningOf(const Error& error) const {
  const FailureCode code = FailureCodeOf(error);
  if (code == FailureCode::kRankFailed) {
    return FailCommand(FailureCode::kHostFailed, error.message);
  }
  const auto forming = cluster_->Forming();
  if (code == FailureCode::kBuildTimeout && forming && !forming->missing.empty()) {
    const std::int64_t host =
        HostOfRank(forming->missing.front(), place_.hosts, options_.worker_num);
    const SpreadPlace share = ShareOf(host, place_.hosts, options_.worker_num);
    return FailCommand(FailureCode::kBuildTimeout,
                       "host " + std::to_string(host) + " of " + std::to_string(place_.hosts) +
                           " (ranks " + std::to_string(share.first_rank) + " to " +
                           std::to_string(share.first_rank + share.rank_count - 1) +
                           ") did not come within " + std::to_string(options_.cluster_time_out_s) +
                           " s: " + std::to_string(forming->present) + " of " +
                           std::to_string(forming->expected) + " ranks are there",
                       "start msrun on that host, check that it reaches " +
                           HostAndPort(job_.host.master_ip, options_.master_port) +
                           ", or wait longer with --cluster_time_out");
  }
  return tl::unexpected(error);
}

Status Spread::WaitUntil(bool (Spread::*done)() const) {
  while (!(this->*done)()) {
    std::vector<pollfd> watched;
    for (const int fd : cluster_->fds()) {
      watched.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
    (void)::poll(watched.data(), watched.size(), kPollMs);
    SayWhoIsMissing();
    for (const ClusterNews& news : cluster_->Take()) {
      if (news.kind == ClusterNews::Kind::kFormed) {
        formed_ = true;
      } else if (news.error && news.kind != ClusterNews::Kind::kRefused) {
        return MeaningOf(*news.error);
      }
    }
  }
  return {};
}

void Spread::SayWhoIsMissing() {
  const TimePoint now = MonotonicNow();
  const auto forming = formed_ ? std::nullopt : cluster_->Forming();
  if (forming && now >= notice_at_) {
    notice_at_ = now + kNoticePause;
    context_.log.Warning(FormingText(forming->present, forming->expected, forming->missing, -1));
  }
}

std::vector<SpreadHost> Spread::HostsOf(const Agreement& agreement) const {
  std::vector<SpreadHost> hosts;
  for (std::int64_t host = 0; host < place_.hosts; ++host) {
    const SpreadPlace share = ShareOf(host, place_.hosts, options_.worker_num);
    const auto first = static_cast<std::size_t>(share.first_rank);
    hosts.push_back({.name = agreement.rank_hosts[first],
                     .address = agreement.rank_ips[first],
                     .note = agreement.rank_notes[first]});
  }
  return hosts;
}

void Spread::Note(const std::vector<SpreadHost>& hosts) {
  report_.scheduler = HostAndPort(job_.host.master_ip, options_.master_port);
  report_.ranks = options_.worker_num;
  report_.connections = kConnectionsPerRank * options_.worker_num;
  report_.specialised_ranks = options_.worker_num;  // a host leaves once its ranks have
  for (const SpreadHost& host : hosts) {
    const auto number = static_cast<std::int64_t>(report_.hosts.size());
    const SpreadPlace share = ShareOf(number, place_.hosts, options_.worker_num);
    const strategies::RankSet ranks = {
        .ranges = {{.first = share.first_rank, .last = share.first_rank + share.rank_count - 1}}};
    report_.hosts.push_back({.host = number,
                             .name = host.name,
                             .address = host.address,
                             .ranks = strategies::RankSetText(ranks)});
  }
}

Status Spread::Play(const reports::ReportSet& set, const strategies::JobProgram& job) {
  if (job.config.world_size != options_.worker_num) {
    return FailCommand(FailureCode::kUsage,
                       "argument --sim_spread: the graph is one of " +
                           std::to_string(job.config.world_size) + " ranks, and the hosts play " +
                           std::to_string(options_.worker_num),
                       "give --worker_num=" + std::to_string(job.config.world_size));
  }
  job_.note = SpreadNote(FactsOf(set));
  const Clock::time_point begin = Clock::now();
  notice_at_ = MonotonicNow() + kFirstNotice;
  DRYDOCK_RETURN_IF_ERROR(cluster_->Join(options_, environment_, job_));
  DRYDOCK_RETURN_IF_ERROR(WaitUntil(&Spread::HasFormed));
  report_.formed_seconds = SecondsSince(begin);
  const std::vector<SpreadHost> hosts = HostsOf(cluster_->Agreed());
  // Who found a difference leaves as the others do: all of them have to hear of it.
  const Status equal = CompareHosts(hosts);
  const std::vector<std::int64_t> own = cluster_->Agreed().own_ranks;
  DRYDOCK_CHECK(!equal || sim::SpecialiseRanks(job, own) == place_.rank_count);
  const Clock::time_point formed = Clock::now();
  cluster_->Leave();
  DRYDOCK_RETURN_IF_ERROR(WaitUntil(&Spread::HasFinished));
  over_ = true;
  DRYDOCK_RETURN_IF_ERROR(equal);
  report_.left_seconds = SecondsSince(formed);
  report_.run = set.summary.run;
  Note(hosts);
  return {};
}

void Spread::Tell(const Error& error) {
  const bool knows_from_others = FailureCodeOf(error) == FailureCode::kHostFailed;
  if (over_ || (knows_from_others && place_.host > 0)) {
    return;
  }
  cluster_->TellFailure({}, "host " + std::to_string(place_.host) + " (" + job_.host.host_name +
                                "): " + OneLine(error.message));
  cluster_->Abandon();
  // Host 0 serves what was told until nobody else is connected.
  const Clock::time_point until = Clock::now() + kTellTime;
  while (!cluster_->finished() && Clock::now() < until) {
    (void)::poll(nullptr, 0, kPollMs);
    (void)cluster_->Take();
  }
}

}  // namespace drydock::launcher
