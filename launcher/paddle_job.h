#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drydock::launcher {

/// What a process does in a job of Paddle with parameter servers.
enum class PaddleRole : std::uint8_t { kServer, kTrainer, kHeterTrainer };

/// One process of such a job.
struct PaddleProcess {
  PaddleRole role = PaddleRole::kTrainer;
  std::int64_t index = 0;     ///< Among those of its role in the whole job.
  std::int64_t log = 0;       ///< Among those of its role on this node.
  std::string endpoint = {};  ///< "10.0.0.1:6170"
  friend bool operator==(const PaddleProcess&, const PaddleProcess&) = default;
};

/// What paddle.distributed.launch tells a job beyond ranks.
struct PaddleJob {
  std::vector<std::string> devices = {};  ///< Of --gpus, one per local rank; empty: 0, 1, ...
  bool is_on_one_machine = false;         ///< All nodes have loopback addresses.
  bool on_cpu = false;                    ///< No accelerator here: gloo carries collectives.
  // With parameter servers only; endpoints of the whole job.
  std::vector<std::string> servers = {};
  std::vector<std::string> trainers = {};
  std::vector<std::string> heter_trainers = {};
  std::vector<PaddleProcess> own = {};  ///< Processes of this node, servers first.
  std::int64_t http_port = 0;           ///< Of gloo's rendezvous at the first server.
};

/// "a,b , c" without spaces and empty words.
[[nodiscard]] std::vector<std::string> SplitList(std::string_view text);

/// Port behind the last colon; 0 if there is none.
[[nodiscard]] std::int64_t PortOf(std::string_view endpoint);
/// What stands before it.
[[nodiscard]] std::string HostOf(std::string_view endpoint);

/// Fills `job.own` with the processes at addresses of this node, in order of the lists.
/// @error USAGE  none is, or two have one endpoint
[[nodiscard]] Status TakeOwnProcesses(PaddleJob& job,
                                      const std::vector<std::string>& own_addresses);

/// "serverlog.0", "workerlog.1", "heterlog.0"
[[nodiscard]] std::string PaddleLogName(const PaddleProcess& process);
/// "server 1", "trainer 0"
[[nodiscard]] std::string PaddleName(const PaddleProcess& process);

/// What Paddle's launcher says when ranks failed: "ABORT!!! Out of all 8 trainers, the trainer
/// process with rank=[2, 3] was aborted. Please check its log."
[[nodiscard]] std::string AbortText(std::int64_t ranks, const std::vector<std::int64_t>& failed);

/// Contents of endpoints.log.
[[nodiscard]] std::string EndpointsText(const std::vector<std::string>& endpoints);

}  // namespace drydock::launcher
