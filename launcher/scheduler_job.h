#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "launcher/environment.h"
#include "launcher/net/scheduler_server.h"
#include "sim/cluster/ranking.h"

namespace drydock::launcher {

/// What MindSpore's variables say about a job's scheduler: MS_WORKER_NUM, MS_SERVER_NUM,
/// MS_SCHED_HOST, MS_SCHED_PORT, MS_TOPO_TIMEOUT, MS_NODE_TIMEOUT, MS_DISABLE_HEARTBEAT,
/// MS_ENABLE_RECOVERY, MS_RECOVERY_PATH, RANK_TABLE_FILE. Those that are not set keep the values of
/// `defaults`. Source: docs/protocol.md.
/// @error USAGE, PORT_RANGE  a value that is no number or cannot be right
[[nodiscard]] Result<SchedulerServerOptions> SchedulerJobOf(const Environment& environment,
                                                            SchedulerServerOptions defaults);

/// Reads the file of RANK_TABLE_FILE or --rank_table_file.
/// @param whose  what names the file, for the message
/// @error USAGE  it cannot be read, or is no rank table
[[nodiscard]] Result<sim::RankTable> ReadRankTable(const std::string& path,
                                                   const std::string& whose);

}  // namespace drydock::launcher
