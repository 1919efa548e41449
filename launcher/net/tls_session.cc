#include "launcher/net/tls_session.h"

#include <algorithm>
#include <array>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/byte_reader.h"
#include "launcher/exit_code.h"
#include "launcher/net/stranger.h"
#include "launcher/net/tls_material.h"

namespace drydock::launcher {
namespace {

/// 128 bits and more: RSA from 3072 on, no SHA-1, forward secrecy. Source: docs/protocol.md.
constexpr int kSecurityLevel = 3;

/// The suites MindSpore accepts in a configuration. Source: docs/protocol.md.
constexpr std::array<std::string_view, 9> kAllowedCiphers = {
    "ECDHE-RSA-AES128-GCM-SHA256",   "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",   "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305",   "ECDHE-PSK-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-CCM",        "ECDHE-ECDSA-AES256-CCM",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
};

tl::unexpected<Error> FailCiphers(const std::string& what) {
  std::string names;
  for (const std::string_view name : kAllowedCiphers) {
    names += (names.empty() ? "" : ":") + std::string(name);
  }
  return FailCommand(FailureCode::kTlsMaterial, "cipher_list: " + what, "use names of " + names);
}

Status CheckCiphers(std::string_view list) {
  if (list.empty()) {
    return FailCiphers("is empty");
  }
  while (true) {
    const std::string_view name = list.substr(0, list.find(':'));
    if (std::ranges::find(kAllowedCiphers, name) == kAllowedCiphers.end()) {
      return FailCiphers("'" + std::string(name) + "' is not allowed");
    }
    if (name.size() == list.size()) {
      return {};
    }
    list.remove_prefix(name.size() + 1);
  }
}

}  // namespace

struct TlsContext::Native {
  struct Free {
    void operator()(SSL_CTX* pointer) const { SSL_CTX_free(pointer); }
  };
  std::unique_ptr<SSL_CTX, Free> context;
};

namespace {

tl::unexpected<Error> FailSetUp(const std::string& what) {
  return FailCommand(FailureCode::kTlsMaterial, what + ": " + OpenSslReason(),
                     "check the files of the TLS configuration");
}

/// Keys and trust. Only the configured authority is trusted, not the system's.
Status UseMaterial(SSL_CTX* context, const TlsMaterial& material, const std::string& path) {
  if (SSL_CTX_use_certificate(context, material.certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, material.key.get()) != 1) {
    return FailSetUp(path);
  }
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  X509_STORE_add_cert(store, material.authority.get());
  if (material.revocations) {
    X509_STORE_add_crl(store, material.revocations.get());
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
  }
  SSL_CTX_add_client_CA(context, material.authority.get());
  return {};
}

/// An old revocation list is better than none: the reference warns only.
int AcceptOldRevocations(int accepted, X509_STORE_CTX* check) {
  return X509_STORE_CTX_get_error(check) == X509_V_ERR_CRL_HAS_EXPIRED ? 1 : accepted;
}

void SetRules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     AcceptOldRevocations);
}

}  // namespace

void WipePasswords(TlsFiles& files) {
  for (std::string* password : {&files.server_password, &files.client_password}) {
    OPENSSL_cleanse(password->data(), password->size());
    password->clear();
  }
}

TlsContext::TlsContext(std::unique_ptr<Native> native, TlsSide side)
    : native_(std::move(native)), side_(side) {}
TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::Load(const TlsFiles& files, TlsSide side) {
  DRYDOCK_RETURN_IF_ERROR(CheckCiphers(files.ciphers));
  DRYDOCK_TRY(const TlsMaterial material, ReadTlsMaterial(files, side));
  const bool server = side == TlsSide::kServer;
  auto native = std::make_unique<Native>();
  native->context.reset(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
  SSL_CTX* context = native->context.get();
  if (context == nullptr) {
    return FailSetUp("OpenSSL");
  }
  SetRules(context);
  if (SSL_CTX_set_cipher_list(context, files.ciphers.c_str()) != 1) {
    return FailSetUp("cipher_list");
  }
  DRYDOCK_RETURN_IF_ERROR(
      UseMaterial(context, material, server ? files.server_certificate : files.client_certificate));
  std::unique_ptr<TlsContext> result(new TlsContext(std::move(native), side));
  result->warnings_ = material.warnings;
  return result;
}

struct TlsSession::Native {
  struct Free {
    void operator()(SSL* pointer) const { SSL_free(pointer); }
  };
  std::unique_ptr<SSL, Free> session;
  BIO* in = nullptr;   ///< Owned by the session.
  BIO* out = nullptr;  ///< Owned by the session.

  void MoveOut(std::string& to_network) const {
    std::array<char, 4096> piece = {};
    int count = 0;
    while ((count = BIO_read(out, piece.data(), static_cast<int>(piece.size()))) > 0) {
      to_network.append(piece.data(), static_cast<std::size_t>(count));
    }
  }
  [[nodiscard]] std::string Why() const {
    // NOLINTNEXTLINE(google-runtime-int): OpenSSL's type
    const long verdict = SSL_get_verify_result(session.get());
    const std::string reason = OpenSslReason();
    if (verdict != X509_V_OK) {
      return std::string("certificate refused: ") + X509_verify_cert_error_string(verdict);
    }
    return "TLS: " + reason;
  }
};

TlsSession::TlsSession(const TlsContext& context) : native_(std::make_unique<Native>()) {
  native_->session.reset(SSL_new(context.native().context.get()));
  DRYDOCK_CHECK(native_->session != nullptr);
  native_->in = BIO_new(BIO_s_mem());
  native_->out = BIO_new(BIO_s_mem());
  SSL_set_bio(native_->session.get(), native_->in, native_->out);
  if (context.side() == TlsSide::kServer) {
    SSL_set_accept_state(native_->session.get());
  } else {
    SSL_set_connect_state(native_->session.get());
  }
}

TlsSession::~TlsSession() = default;

bool TlsSession::established() const {
  return SSL_is_init_finished(native_->session.get()) == 1;
}

Status TlsSession::Receive(std::span<const std::byte> bytes, std::string& plain,
                           std::string& to_network) {
  SSL* session = native_->session.get();
  ERR_clear_error();
  if (!bytes.empty()) {
    BIO_write(native_->in, bytes.data(), static_cast<int>(bytes.size()));
  }
  std::array<char, 16384> piece = {};
  int count = 0;
  std::string stranger;
  if (!established()) {
    stranger = StrangerAtTlsPort(AsText(bytes));
    count = SSL_do_handshake(session);
  }
  if (established()) {
    while ((count = SSL_read(session, piece.data(), static_cast<int>(piece.size()))) > 0) {
      plain.append(piece.data(), static_cast<std::size_t>(count));
    }
  }
  const int error = SSL_get_error(session, count);
  native_->MoveOut(to_network);
  if (count > 0 || error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    return {};
  }
  if (error == SSL_ERROR_ZERO_RETURN) {
    return Fail(ErrorCode::kIo, "closed by the other side");
  }
  return Fail(ErrorCode::kProtocol, stranger.empty() ? native_->Why() : stranger);
}

Status TlsSession::Send(std::string_view plain, std::string& to_network) {
  ERR_clear_error();
  while (!plain.empty()) {
    std::size_t taken = 0;
    if (SSL_write_ex(native_->session.get(), plain.data(), plain.size(), &taken) != 1) {
      return Fail(ErrorCode::kProtocol, native_->Why());
    }
    plain.remove_prefix(taken);
  }
  native_->MoveOut(to_network);
  return {};
}

}  // namespace drydock::launcher
