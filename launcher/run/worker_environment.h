#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/environment.h"
#include "launcher/msrun_options.h"
#include "launcher/run/job_spec.h"
#include "launcher/run/paddle_endpoints.h"

namespace drydock::launcher {

/// What all workers of this launcher share.
struct WorkerSetting {
  JoinRule join = {};
  HostFacts host = {};
  std::int64_t scheduler_port = 0;
  std::int64_t script_port = 0;  ///< MASTER_PORT: where rank 0 of other frameworks listens.
  PaddleEndpoints endpoints = {};
  std::string script_master_ip = {};  ///< MASTER_ADDR: node of rank 0.
  std::string job_mark = {};          ///< Value of kJobMarkName.
  std::int64_t restarts = 0;          ///< How often this worker failed before.
};

/// Variable by which every process of a job can be found, whatever group it moved to.
inline constexpr std::string_view kJobMarkName = "DRYDOCK_JOB";

/// The whole environment of one worker: ours, and what msrun, torchrun and paddle's launcher would
/// set.
///
/// A worker whose rank is not known gets no rank from our own environment either. Without
/// registration by the workers MS_ROLE and MS_SCHED_* are absent, since they would make MindSpore
/// look for a scheduler. Source: docs/launching.md
/// @param inherited  our own environment
[[nodiscard]] Environment WorkerEnvironment(const Environment& inherited,
                                            const MsrunOptions& options,
                                            const WorkerSetting& setting, const WorkerSpec& worker);

/// The same as "NAME=value" lines.
[[nodiscard]] std::vector<std::string> Assignments(const Environment& environment);

/// Variables of an earlier job or of another launcher in our own environment that the flags
/// overrule, for a warning. Source: docs/robustness.md R-65
[[nodiscard]] std::vector<std::string> StaleVariables(const Environment& inherited,
                                                      const MsrunOptions& options);

}  // namespace drydock::launcher
