#include "launcher/net/stranger.h"

#include <algorithm>
#include <array>

namespace drydock::launcher {
namespace {

constexpr std::array<std::string_view, 6> kHttpMethods = {"GET ", "HEAD ",    "POST ",
                                                          "PUT ", "OPTIONS ", "CONNECT "};
/// A record of a handshake, any version.
constexpr std::string_view kTlsHandshake = "\x16\x03";

std::string OtherProgram(std::string_view bytes) {
  if (std::any_of(kHttpMethods.begin(), kHttpMethods.end(),
                  [bytes](std::string_view method) { return bytes.starts_with(method); })) {
    return "an HTTP request";
  }
  return bytes.starts_with("SSH-") ? "an SSH client" : "";
}

}  // namespace

std::string StrangerAtPlainPort(std::string_view first_bytes) {
  if (first_bytes.starts_with(kTlsHandshake)) {
    return "TLS_MISMATCH: a TLS handshake, but this scheduler serves plain TCP; give it "
           "--tls_config, or turn TLS off in the workers";
  }
  return OtherProgram(first_bytes);
}

std::string StrangerAtTlsPort(std::string_view first_bytes) {
  if (first_bytes.starts_with("RPC0")) {
    return "TLS_MISMATCH: a worker without TLS, but this scheduler serves TLS; turn TLS on in the "
           "workers, or leave --tls_config out";
  }
  return OtherProgram(first_bytes);
}

}  // namespace drydock::launcher
