// What stands for TLS and the proof of a job's secret in the program `msrun`, which has no OpenSSL:
// more than half of a start would be to load it. A job that has either is started by `drydock`
// (start_main.cc), so nothing here is ever called.
#include "launcher/net/job_secret.h"
#include "launcher/net/tls_session.h"

namespace drydock::launcher {

void WipePasswords(TlsFiles& /*files*/) {}

struct TlsContext::Native {};
struct TlsSession::Native {};

TlsContext::~TlsContext() = default;
TlsSession::~TlsSession() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::Load(const TlsFiles& /*files*/, TlsSide /*side*/) {
  return Fail(ErrorCode::kInternal, "this program has no TLS");
}

TlsSession::TlsSession(const TlsContext& /*context*/) {}

Status TlsSession::Receive(std::span<const std::byte> /*bytes*/, std::string& /*plain*/,
                           std::string& /*to_network*/) {
  return Fail(ErrorCode::kInternal, "this program has no TLS");
}

Status TlsSession::Send(std::string_view /*plain*/, std::string& /*to_network*/) {
  return Fail(ErrorCode::kInternal, "this program has no TLS");
}

bool TlsSession::established() const {
  return false;
}

std::string ProofOf(const std::string& secret) {
  DRYDOCK_CHECK(secret.empty());
  return {};
}

}  // namespace drydock::launcher
