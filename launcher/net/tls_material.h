#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/x509.h>

#include "base/result.h"
#include "launcher/net/tls_session.h"

/// Internal to the TLS files: the only headers of this folder that name OpenSSL are this one.
namespace drydock::launcher {

/// Frees OpenSSL objects.
struct FreeX509 {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeRevocations {
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
};
using CertificatePtr = std::unique_ptr<X509, FreeX509>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeKey>;
using RevocationsPtr = std::unique_ptr<X509_CRL, FreeRevocations>;

/// What one side shows and believes, read from its files and checked against each other.
struct TlsMaterial {
  KeyPtr key = {};
  CertificatePtr certificate = {};
  CertificatePtr authority = {};
  RevocationsPtr revocations = {};  ///< Null: none.
  std::vector<std::string> warnings = {};
};

/// Reads and checks. @error TLS_MATERIAL  "<file>: <reason>"
[[nodiscard]] Result<TlsMaterial> ReadTlsMaterial(const TlsFiles& files, TlsSide side);

/// The oldest reason OpenSSL has noted; forgets all of them.
[[nodiscard]] std::string OpenSslReason();

}  // namespace drydock::launcher
