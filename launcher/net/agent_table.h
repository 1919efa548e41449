#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "launcher/net/agent.h"
#include "sim/cluster/job_keys.h"

/// What agents tell each other through the scheduler's metadata.
namespace drydock::launcher {

/// Key under which a rank's agent says where the rank is.
[[nodiscard]] std::string AgentRankKey(std::uint32_t rank);
/// Key of the whole job, written by the agent of rank 0.
inline constexpr std::string_view kAgentJobKey = sim::kJobKey;
/// Key of the first failure.
inline constexpr std::string_view kAgentFailureKey = sim::kJobFailureKey;

/// JSON text of one rank.
[[nodiscard]] std::string EncodeAgentRank(const AgentRank& rank);
/// @error kProtocol  another agent wrote something else
[[nodiscard]] Result<AgentRank> DecodeAgentRank(std::string_view text);
/// JSON text of `ranks` and `master`.
[[nodiscard]] std::string EncodeAgentJob(const AgentJob& job);
/// @error kProtocol  another agent wrote something else, or not `worker_num` ranks in order
[[nodiscard]] Result<AgentJob> DecodeAgentJob(std::string_view text, std::uint32_t worker_num);

}  // namespace drydock::launcher
