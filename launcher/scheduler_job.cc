#include "launcher/scheduler_job.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "launcher/exit_code.h"
#include "launcher/files.h"
#include "launcher/flags.h"
#include "sim/cluster/ranking.h"

namespace drydock::launcher {
namespace {

constexpr std::int64_t kMinPort = 1024;
constexpr std::int64_t kMaxPort = 65535;
constexpr std::size_t kMaxRankTableBytes = std::size_t{64} << 20U;

/// A number in a variable, nothing if it is not set. @error USAGE  no number, or out of range
Result<std::optional<std::int64_t>> Number(const Environment& environment, std::string_view name,
                                           std::int64_t least, std::int64_t most) {
  const auto text = Variable(environment, name);
  if (!text) {
    return std::optional<std::int64_t>();
  }
  const auto number = ReadIntWord(*text);
  if (!number || *number < least || *number > most) {
    return FailCommand(FailureCode::kUsage,
                       std::string(name) + "='" + *text + "' is not a number from " +
                           std::to_string(least) + " to " + std::to_string(most),
                       "set it to the same value in all processes of the job");
  }
  return std::optional<std::int64_t>(*number);
}

/// A time in seconds; negative: for ever.
Status ReadTime(const Environment& environment, std::string_view name,
                std::optional<Duration>& time) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  DRYDOCK_TRY(const auto seconds, Number(environment, name, -kMost, kMost));
  if (seconds) {
    time = *seconds < 0 ? std::nullopt : std::optional<Duration>(std::chrono::seconds(*seconds));
  }
  return {};
}

/// Workers that pause that long before they reconnect are silent for at least two pauses if the
/// first attempt fails. Source: mindspore ccsrc/distributed/cluster/topology/compute_graph_node.cc
/// (behaviour only)
Status ReadRetryInterval(const Environment& environment, sim::SchedulerOptions& job) {
  constexpr std::int64_t kMost = 1'000'000;
  DRYDOCK_TRY(const auto upper, Number(environment, "MS_RETRY_INTERVAL_UPPER", 0, kMost));
  if (upper && job.node_timeout) {
    job.node_timeout = std::max<Duration>(*job.node_timeout, std::chrono::seconds(2 * *upper + 5));
  }
  return {};
}

bool IsOn(const Environment& environment, std::string_view name) {
  return Variable(environment, name) == "1";
}

Status ReadMembers(const Environment& environment, sim::SchedulerOptions& job) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24U;
  DRYDOCK_TRY(const auto workers, Number(environment, "MS_WORKER_NUM", 0, kMost));
  DRYDOCK_TRY(const auto servers, Number(environment, "MS_SERVER_NUM", 0, kMost));
  if (workers) {
    job.worker_num = static_cast<std::uint32_t>(*workers);
  }
  if (servers) {
    job.server_num = static_cast<std::uint32_t>(*servers);
  }
  return {};
}

Status ReadPlace(const Environment& environment, Endpoint& bind) {
  if (const auto host = Variable(environment, "MS_SCHED_HOST")) {
    bind.address = *host;
  }
  DRYDOCK_TRY(const auto port, Number(environment, "MS_SCHED_PORT", 0, kMaxPort));
  if (port && *port != 0 && *port < kMinPort) {
    return FailCommand(FailureCode::kPortRange,
                       "MS_SCHED_PORT=" + std::to_string(*port) + " is not from 1024 to 65535",
                       "choose a free port of that range");
  }
  if (port) {
    bind.port = static_cast<std::uint16_t>(*port);
  }
  return {};
}

}  // namespace

Result<sim::RankTable> ReadRankTable(const std::string& path, const std::string& whose) {
  const auto text = ReadFile(path, kMaxRankTableBytes);
  if (!text) {
    return FailUsage(whose + ": " + text.error().message, "name a rank table, or leave it out");
  }
  Result<sim::RankTable> table = sim::ParseRankTable(*text);
  if (!table) {
    return FailUsage(whose + ": " + path + ": " + table.error().message, table.error().hint);
  }
  return table;
}

Result<SchedulerServerOptions> SchedulerJobOf(const Environment& environment,
                                              SchedulerServerOptions defaults) {
  SchedulerServerOptions options = std::move(defaults);
  DRYDOCK_RETURN_IF_ERROR(ReadMembers(environment, options.job));
  DRYDOCK_RETURN_IF_ERROR(ReadPlace(environment, options.bind));
  DRYDOCK_RETURN_IF_ERROR(ReadTime(environment, "MS_TOPO_TIMEOUT", options.job.build_timeout));
  DRYDOCK_RETURN_IF_ERROR(ReadTime(environment, "MS_NODE_TIMEOUT", options.job.node_timeout));
  DRYDOCK_RETURN_IF_ERROR(ReadRetryInterval(environment, options.job));
  if (const auto path = Variable(environment, "RANK_TABLE_FILE")) {
    DRYDOCK_TRY(options.job.rank_table, ReadRankTable(*path, "RANK_TABLE_FILE"));
  }
  options.job.recovery = options.job.recovery || IsOn(environment, "MS_ENABLE_RECOVERY");
  options.job.heartbeat_disabled =
      options.job.heartbeat_disabled || IsOn(environment, "MS_DISABLE_HEARTBEAT");
  // A member whose answer waits is silent meanwhile. Those that look whether a scheduler that was
  // started again still knows them are answered at once.
  options.job.heartbeat_hold =
      options.job.recovery
          ? Duration{}
          : std::min<Duration>(sim::kHeartbeatHold,
                               options.job.node_timeout.value_or(4 * sim::kHeartbeatHold) / 4);
  if (const auto folder = Variable(environment, "MS_RECOVERY_PATH")) {
    options.recovery_folder = *folder;
  }
  return options;
}

}  // namespace drydock::launcher
