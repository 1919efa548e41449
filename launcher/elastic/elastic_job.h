#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "launcher/command.h"
#include "launcher/elastic/elastic_node.h"
#include "launcher/environment.h"

namespace drydock::launcher {

/// A job of Paddle whose nodes come and go, as one node is told of it.
struct ElasticRequest {
  std::string server = {};  ///< etcd's "host:port".
  std::string job_id = {};
  std::string np = {};     ///< "2", "2:4"
  std::string host = {};   ///< This node's address; empty: the one that reaches etcd.
  std::int64_t scale = 0;  ///< Nodes more (or, negative, fewer) than --np.
  bool force = false;      ///< --np holds, whatever the job had.
  std::int64_t max_restarts = 3;
  std::int64_t scheduler_port = 8118;  ///< Of the first round; the others follow.
  std::string pre_hook = {};           ///< Shell command before each round.
  std::string log_dir = {};
  std::string script = {};              ///< With its arguments, as people call it.
  std::vector<std::string> flags = {};  ///< Of a round's launcher, without those above.
  std::vector<std::string> script_words = {};
};

/// Registers this node, runs the local ranks in every round it takes part in, and stays until the
/// job is over. @return as the job: kOk, or
/// @error ETCD_UNREACHABLE, USAGE, RANK_FAILED, or that of a signal
[[nodiscard]] Result<ExitCode> RunElasticJob(const ElasticRequest& request, const Context& context);

}  // namespace drydock::launcher
