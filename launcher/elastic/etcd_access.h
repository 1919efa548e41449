#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "launcher/environment.h"

struct ssl_ctx_st;

namespace drydock::launcher {

/// Where an etcd is and as whom it is asked: --elastic_server, and the variables of etcdctl, which
/// its users have anyway (ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY, ETCDCTL_USER,
/// ETCDCTL_PASSWORD).
/// Source: etcd.io/docs, "How to use etcdctl", "Transport security model"
struct EtcdAccess {
  std::string host = {};  ///< Name or address, without brackets.
  std::string port = {};
  bool tls = false;            ///< "https://...", or ETCDCTL_CACERT or _CERT is set.
  std::string ca_file = {};    ///< Empty: the system's authorities.
  std::string cert_file = {};  ///< Shown to the server; empty: none.
  std::string key_file = {};
  std::string user = {};  ///< Empty: nobody.
  std::string password = {};
};

/// Reads "10.0.0.9:2379", "http://...", "https://...".
/// @error USAGE  no address with a port; a certificate without a key; a user without a password
[[nodiscard]] Result<EtcdAccess> EtcdAccessOf(std::string_view server,
                                              const Environment& environment);

/// Sends requests to one server, each over a connection of its own, plain or TLS.
class EtcdLink {
 public:
  /// Nowhere.
  EtcdLink() = default;
  /// @error TLS_MATERIAL  a file that cannot be used
  [[nodiscard]] static Result<EtcdLink> Make(const EtcdAccess& access);

  /// Sends all and takes all that comes until the other side closes, within seconds.
  /// @error kIo  the reason alone: "connection refused", "certificate verify failed"
  [[nodiscard]] Result<std::string> Exchange(std::string_view request) const;

 private:
  std::string host_ = {};
  std::string port_ = {};
  std::shared_ptr<ssl_ctx_st> tls_ = {};  ///< Shared by copies of the client; null: plain.
};

}  // namespace drydock::launcher
