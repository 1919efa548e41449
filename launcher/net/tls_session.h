#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drydock::launcher {

/// Which side of a connection.
enum class TlsSide : std::uint8_t { kServer, kClient };

/// Where TLS material is and what opens it. Passwords are wiped when the files have been read.
/// Source: docs/protocol.md.
struct TlsFiles {
  std::string server_certificate = {};  ///< PKCS#12 with one key and one certificate.
  std::string client_certificate = {};  ///< The same, for workers.
  std::string ca_certificate = {};      ///< PEM, one certificate.
  std::string revocation_list = {};     ///< PEM; empty: none.
  std::string ciphers = {};             ///< Names of TLS 1.2 suites, separated by colons.
  std::int64_t warn_days = 90;          ///< Warn when a certificate expires within so many days.
  std::string server_password = {};
  std::string client_password = {};
};

/// Overwrites the passwords.
void WipePasswords(TlsFiles& files);

/// Reads MindSpore's configuration file: `server_cert_path`, `client_cert_path`, `ca_cert_path`,
/// `crl_path`, `cipher_list`, `cert_expire_warning_time_in_day`.
/// @error TLS_MATERIAL  not JSON, a key is missing, a value out of range
[[nodiscard]] Result<TlsFiles> ReadTlsConfig(const std::string& path);

/// TLS by MindSpore's configuration file and a file with one password on each of the first two
/// lines: the server's and the client's (one line: both are the same). Nothing without a
/// configuration file.
/// @error TLS_MATERIAL  a file cannot be read or is wrong
/// @error USAGE         passwords without a configuration file
[[nodiscard]] Result<std::optional<TlsFiles>> ReadTlsFiles(const std::string& config,
                                                           const std::string& password_file);

/// What people should know: keys and passwords that others can read or write.
[[nodiscard]] std::vector<std::string> OpenSecrets(const TlsFiles& files,
                                                   const std::string& password_file);

/// Keys, certificates and rules of one side, checked. Shared by its sessions, which it outlives.
class TlsContext {
 public:
  /// @error TLS_MATERIAL  "<file>: <reason>": unreadable, wrong password, no key, not signed by the
  ///                      authority, expired or not valid yet, cipher not allowed
  [[nodiscard]] static Result<std::unique_ptr<TlsContext>> Load(const TlsFiles& files,
                                                                TlsSide side);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  /// What the user should know: a certificate expires soon, the revocation list is old.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  [[nodiscard]] TlsSide side() const { return side_; }

  struct Native;
  [[nodiscard]] Native& native() const { return *native_; }

 private:
  TlsContext(std::unique_ptr<Native> native, TlsSide side);
  std::unique_ptr<Native> native_;
  TlsSide side_;
  std::vector<std::string> warnings_;
};

/// One TLS connection as a filter without sockets: bytes of the network in, plain bytes out, and
/// the other way round.
class TlsSession {
 public:
  /// `context` must outlive the session.
  explicit TlsSession(const TlsContext& context);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Takes bytes of the network (none: begins the handshake); appends plain bytes to `plain` and
  /// bytes for the network to `to_network`, also when it fails (an alert).
  /// @error kProtocol  no TLS, no common rules, certificate refused: with OpenSSL's reason
  [[nodiscard]] Status Receive(std::span<const std::byte> bytes, std::string& plain,
                               std::string& to_network);
  /// Encrypts; only once established. @error kProtocol  the connection is broken
  [[nodiscard]] Status Send(std::string_view plain, std::string& to_network);
  /// The handshake is complete and the peer's certificate accepted.
  [[nodiscard]] bool established() const;

 private:
  struct Native;
  std::unique_ptr<Native> native_;
};

}  // namespace drydock::launcher
