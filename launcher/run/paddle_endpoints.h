#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/environment.h"

namespace drydock::launcher {

/// Where the ranks of a Paddle job listen; the same for all workers of a launcher, and long.
struct PaddleEndpoints {
  std::vector<std::string> of_rank = {};  ///< "10.0.0.1:6070", by rank; empty while not known.
  /// All of them for PADDLE_TRAINER_ENDPOINTS, separated by commas; empty if Linux would start no
  /// process with so long a variable (128 KiB, about 7,000 ranks).
  std::string joined = {};
};

/// Ports count up at each address from FLAGS_START_PORT, or 6070. Source: docs/launching.md
/// @param rank_ips  address of every rank's node, by rank
[[nodiscard]] PaddleEndpoints EndpointsOf(const std::vector<std::string>& rank_ips,
                                          const Environment& inherited);

/// The same at one address with ports that are free now.
[[nodiscard]] PaddleEndpoints FreeEndpointsAt(const std::string& ip, std::int64_t ranks);

}  // namespace drydock::launcher
