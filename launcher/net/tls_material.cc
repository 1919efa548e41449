// Reads PKCS#12, PEM and revocation lists and checks them as MindSpore does before any connection.
// Source: docs/protocol.md, docs/robustness.md.
#include "launcher/net/tls_material.h"

#include <array>
#include <ctime>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509v3.h>

#include "launcher/exit_code.h"
#include "launcher/files.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kMaxTlsBytes = std::size_t{1} << 20U;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, FreeBio>;

tl::unexpected<Error> FailFile(const std::string& path, const std::string& reason) {
  return FailCommand(FailureCode::kTlsMaterial, (path.empty() ? "(no file)" : path) + ": " + reason,
                     "check the files and the password of the TLS configuration");
}

Result<BioPtr> Open(const std::string& path, const std::string& what) {
  if (path.empty()) {
    return FailFile(path, what + " is not configured");
  }
  const auto text = ReadFile(path, kMaxTlsBytes);
  if (!text) {
    return FailCommand(FailureCode::kTlsMaterial, text.error().message,
                       "check the files of the TLS configuration");
  }
  const std::string& pem = *text;
  BioPtr bio(BIO_new(BIO_s_mem()));
  BIO_write(bio.get(), pem.data(), static_cast<int>(pem.size()));
  return bio;
}

Status ReadKeyPair(const std::string& path, const std::string& password, TlsMaterial& material) {
  DRYDOCK_TRY(const BioPtr bio, Open(path, "the certificate with its key"));
  if (password.empty()) {
    return FailFile(path, "its password is empty");
  }
  PKCS12* packed = d2i_PKCS12_bio(bio.get(), nullptr);
  if (packed == nullptr) {
    return FailFile(path, "is not a PKCS#12 file: " + OpenSslReason());
  }
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
  STACK_OF(X509)* others = nullptr;
  const bool right = PKCS12_verify_mac(packed, password.c_str(), -1) == 1;
  const bool parsed =
      right && PKCS12_parse(packed, password.c_str(), &key, &certificate, &others) == 1;
  PKCS12_free(packed);
  material.key.reset(key);
  material.certificate.reset(certificate);
  const int extra = others == nullptr ? 0 : sk_X509_num(others);
  sk_X509_pop_free(others, X509_free);
  const std::string reason = OpenSslReason();
  if (!right) {
    return FailFile(path, "wrong password");
  }
  if (!parsed) {
    return FailFile(path, "cannot be read: " + reason);
  }
  if (key == nullptr || certificate == nullptr) {
    return FailFile(path, "has no certificate with its key");
  }
  if (extra > 0) {
    return FailFile(path, "has more than one certificate, MindSpore refuses that");
  }
  return {};
}

Status ReadAuthority(const std::string& path, TlsMaterial& material) {
  DRYDOCK_TRY(const BioPtr bio, Open(path, "the certificate of the authority"));
  material.authority.reset(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  return material.authority ? Status() : FailFile(path, "no certificate: " + OpenSslReason());
}

Status ReadRevocations(const std::string& path, TlsMaterial& material) {
  if (path.empty()) {
    return {};
  }
  DRYDOCK_TRY(const BioPtr bio, Open(path, "the revocation list"));
  material.revocations.reset(PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr));
  return material.revocations ? Status() : FailFile(path, "no revocation list: " + OpenSslReason());
}

std::string CommonName(const X509_NAME* name) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0) {
    return {};
  }
  const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string DateText(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    return "?";
  }
  std::array<char, 32> text = {};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text.data(), size};
}

/// Whole days from now until `time`, negative if it is past.
int DaysUntil(const ASN1_TIME* time) {
  int days = 0;
  int seconds = 0;
  ASN1_TIME_diff(&days, &seconds, nullptr, time);
  return seconds < 0 ? days - 1 : days;
}

Status CheckDates(const std::string& path, const X509* certificate, std::int64_t warn_days,
                  std::vector<std::string>& warnings) {
  const ASN1_TIME* from = X509_get0_notBefore(certificate);
  const ASN1_TIME* until = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(from) > 0 || X509_cmp_current_time(until) < 0) {
    return FailFile(path, "valid from " + DateText(from) + " to " + DateText(until) + " only");
  }
  if (const int days = DaysUntil(until); days < warn_days) {
    warnings.push_back(path + ": the certificate will expire in " + std::to_string(days) +
                       " days, at " + DateText(until));
  }
  return {};
}

Status CheckIssued(const std::string& path, const std::string& authority_path,
                   const TlsMaterial& material) {
  X509* certificate = material.certificate.get();
  X509* authority = material.authority.get();
  if (X509_check_private_key(certificate, material.key.get()) != 1) {
    return FailFile(path, "the key does not belong to the certificate");
  }
  if (X509_check_ca(authority) != 1) {
    return FailFile(authority_path, "is not the certificate of an authority (basicConstraints)");
  }
  if (CommonName(X509_get_issuer_name(certificate)) !=
      CommonName(X509_get_subject_name(authority))) {
    return FailFile(path, "is issued by '" + CommonName(X509_get_issuer_name(certificate)) +
                              "', the authority is '" +
                              CommonName(X509_get_subject_name(authority)) + "'");
  }
  if (X509_verify(certificate, X509_get0_pubkey(authority)) != 1) {
    (void)OpenSslReason();
    return FailFile(path, "is not signed by the authority in " + authority_path);
  }
  const ASN1_OCTET_STRING* subject_key = X509_get0_subject_key_id(authority);
  const ASN1_OCTET_STRING* issuer_key = X509_get0_authority_key_id(certificate);
  if (subject_key == nullptr || issuer_key == nullptr ||
      ASN1_OCTET_STRING_cmp(subject_key, issuer_key) != 0) {
    return FailFile(path,
                    "its authorityKeyIdentifier is not the subjectKeyIdentifier of the "
                    "authority; both must be there");
  }
  return {};
}

Status CheckRevocations(const std::string& path, TlsMaterial& material) {
  X509_CRL* list = material.revocations.get();
  if (list == nullptr) {
    return {};
  }
  if (X509_cmp_current_time(X509_CRL_get0_lastUpdate(list)) > 0) {
    return FailFile(path, "not valid before " + DateText(X509_CRL_get0_lastUpdate(list)));
  }
  if (X509_CRL_verify(list, X509_get0_pubkey(material.authority.get())) != 1) {
    (void)OpenSslReason();
    return FailFile(path, "is not signed by the authority");
  }
  const ASN1_TIME* until = X509_CRL_get0_nextUpdate(list);
  if (until != nullptr && X509_cmp_current_time(until) < 0) {
    material.warnings.push_back(path + ": the revocation list expired at " + DateText(until));
  }
  return {};
}

}  // namespace

std::string OpenSslReason() {
  const unsigned long first = ERR_peek_error();  // NOLINT(google-runtime-int): OpenSSL's type
  const char* reason = first == 0 ? nullptr : ERR_reason_error_string(first);
  ERR_clear_error();
  return reason == nullptr ? "unknown reason" : reason;
}

Result<TlsMaterial> ReadTlsMaterial(const TlsFiles& files, TlsSide side) {
  const bool server = side == TlsSide::kServer;
  const std::string& path = server ? files.server_certificate : files.client_certificate;
  TlsMaterial material;
  DRYDOCK_RETURN_IF_ERROR(
      ReadKeyPair(path, server ? files.server_password : files.client_password, material));
  DRYDOCK_RETURN_IF_ERROR(ReadAuthority(files.ca_certificate, material));
  DRYDOCK_RETURN_IF_ERROR(ReadRevocations(files.revocation_list, material));
  DRYDOCK_RETURN_IF_ERROR(CheckIssued(path, files.ca_certificate, material));
  DRYDOCK_RETURN_IF_ERROR(
      CheckDates(path, material.certificate.get(), files.warn_days, material.warnings));
  DRYDOCK_RETURN_IF_ERROR(CheckDates(files.ca_certificate, material.authority.get(),
                                     files.warn_days, material.warnings));
  DRYDOCK_RETURN_IF_ERROR(CheckRevocations(files.revocation_list, material));
  return material;
}

}  // namespace drydock::launcher
