// Bodies of every message: the first byte chooses the decoder, the rest is the body. What is
// accepted must encode to a body that decodes to the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sim/cluster/messages/heartbeat.h"
#include "sim/cluster/messages/host_names.h"
#include "sim/cluster/messages/metadata.h"
#include "sim/cluster/messages/node_port_ranges.h"
#include "sim/cluster/messages/registration.h"
#include "sim/cluster/messages/unregistration.h"
#include "sim/cluster/ranking.h"
#include "sim/cluster/snapshot.h"

namespace {

using namespace drydock::sim;  // NOLINT(google-build-using-namespace): a test program of one file

template <typename Decode>
void CheckRoundTrip(std::string_view body, const Decode& decode) {
  if (const auto message = decode(body)) {
    std::string again;
    EncodeBody(*message, again);
    const auto decoded = decode(again);
    if (!decoded || !(*decoded == *message)) {
      std::abort();
    }
  }
}

void CheckPorts(std::string_view body) {
  if (const auto ranges = DecodeNodePortRanges(body)) {
    std::string again;
    EncodeNodePortRanges(*ranges, again);
    if (DecodeNodePortRanges(again).value() != *ranges) {
      std::abort();
    }
  }
}

void CheckSnapshot(std::string_view body) {
  if (const auto snapshot = DecodeSnapshot(body)) {
    (void)DecodeSnapshot(EncodeSnapshot(*snapshot)).value();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view body(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 10) {
    case 0:
      CheckRoundTrip(body, DecodeRegistration);
      break;
    case 1:
      CheckRoundTrip(body, DecodeUnregistration);
      break;
    case 2:
      CheckRoundTrip(body, DecodeHeartbeat);
      break;
    case 3:
      CheckRoundTrip(body, DecodeRegistrationReply);
      break;
    case 4:
      CheckRoundTrip(body, DecodeHeartbeatReply);
      break;
    case 5:
      CheckRoundTrip(body, DecodeMetadata);
      break;
    case 6:
      CheckPorts(body);
      break;
    case 7:
      (void)DecodeHostNames(body);
      break;
    case 8:
      (void)ParseRankTable(body);
      break;
    default:
      CheckSnapshot(body);
  }
  return 0;
}
