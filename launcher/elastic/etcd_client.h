#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/elastic/etcd_access.h"

namespace drydock::launcher {

/// One key of the store.
struct EtcdEntry {
  std::string key = {};
  std::string value = {};
  std::int64_t created = 0;   ///< Revision of the store when it was made.
  std::int64_t modified = 0;  ///< And when it was last written.
  std::int64_t lease = 0;
  friend bool operator==(const EtcdEntry&, const EtcdEntry&) = default;
};

/// Speaks etcd's version 3 interface by its JSON gateway over HTTP or HTTPS, one request per
/// connection, as a user if there is one.
/// Every call takes at most a few seconds. Source: etcd.io/docs, "gRPC gateway"
///
/// All functions: @error ETCD_UNREACHABLE  no connection, no answer, or an answer that is none;
/// ETCD_REFUSED  it asks for TLS, a certificate or a password that is not ours
class EtcdClient {
 public:
  /// Of nowhere.
  EtcdClient() = default;
  /// Connects to nobody yet. @error TLS_MATERIAL
  [[nodiscard]] static Result<EtcdClient> Open(const EtcdAccess& access);

  /// The key itself and all below it ("KEY/...").
  [[nodiscard]] Result<std::vector<EtcdEntry>> Tree(const std::string& key) const;
  /// @param lease  0: for ever
  [[nodiscard]] Status Put(const std::string& key, const std::string& value,
                           std::int64_t lease = 0) const;
  /// Writes if the key was last written at revision `modified` (0: is not there); false if not.
  [[nodiscard]] Result<bool> PutIf(const std::string& key, const std::string& value,
                                   std::int64_t modified) const;
  [[nodiscard]] Status Delete(const std::string& key) const;
  /// The key itself and all below it.
  [[nodiscard]] Status DeleteTree(const std::string& key) const;
  [[nodiscard]] Result<std::int64_t> GrantLease(std::int64_t seconds) const;
  /// False if there is no such lease any more.
  [[nodiscard]] Result<bool> KeepAlive(std::int64_t lease) const;
  /// Seconds that a lease still has; negative if there is none.
  [[nodiscard]] Result<std::int64_t> SecondsLeft(std::int64_t lease) const;
  [[nodiscard]] Status Revoke(std::int64_t lease) const;

  /// Where it is, for messages.
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  [[nodiscard]] Result<std::string> Call(const std::string& path, const std::string& body) const;
  [[nodiscard]] Result<std::string> Post(const std::string& path, const std::string& body) const;
  [[nodiscard]] Status Authenticate() const;

  EtcdLink link_ = {};
  std::string endpoint_ = {};
  std::string user_ = {};
  std::string password_ = {};
  mutable std::string token_ = {};  ///< Of the user; a client belongs to one thread.
};

/// Body of an answer of HTTP/1.0 or 1.1 that ends with its connection.
/// @error kProtocol  no such answer, another status than 200 (with what the server said)
[[nodiscard]] Result<std::string> HttpBody(std::string_view answer);

/// Entries of an answer to /v3/kv/range. @error kProtocol
[[nodiscard]] Result<std::vector<EtcdEntry>> ParseRange(std::string_view json);

}  // namespace drydock::launcher
