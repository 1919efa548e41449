#include "launcher/run/paddle_endpoints.h"

#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "launcher/flags.h"
#include "launcher/run/network.h"

namespace drydock::launcher {
namespace {

constexpr std::int64_t kStartPort = 6070;
/// Bytes of "NAME=value" with its end: MAX_ARG_STRLEN of Linux.
constexpr std::size_t kVariableBytes = std::size_t{128} << 10U;
constexpr std::size_t kNameBytes = std::string_view("PADDLE_TRAINER_ENDPOINTS=").size() + 1;

}  // namespace

PaddleEndpoints FreeEndpointsAt(const std::string& ip, std::int64_t ranks) {
  constexpr std::int64_t kTriesPerRank = 100;
  std::set<std::int64_t> ports;
  for (std::int64_t left = kTriesPerRank * ranks; left > 0 && std::ssize(ports) < ranks; --left) {
    ports.insert(AnyFreePort(ip));
  }
  PaddleEndpoints endpoints;
  for (const std::int64_t port : ports) {
    endpoints.of_rank.push_back(HostAndPort(ip, port));
    endpoints.joined.append(endpoints.joined.empty() ? "" : ",").append(endpoints.of_rank.back());
  }
  return endpoints;
}

PaddleEndpoints EndpointsOf(const std::vector<std::string>& rank_ips,
                            const Environment& inherited) {
  std::int64_t start_port = kStartPort;
  if (const auto text = Variable(inherited, "FLAGS_START_PORT"); text) {
    start_port = ReadIntWord(*text).value_or(kStartPort);
  }
  PaddleEndpoints endpoints;
  std::map<std::string_view, std::int64_t> ranks_at;
  for (const std::string& ip : rank_ips) {
    endpoints.of_rank.push_back(HostAndPort(ip, start_port + ranks_at[ip]++));
    endpoints.joined.append(endpoints.joined.empty() ? "" : ",").append(endpoints.of_rank.back());
  }
  if (endpoints.joined.size() + kNameBytes > kVariableBytes) {
    endpoints.joined.clear();
  }
  return endpoints;
}

}  // namespace drydock::launcher
