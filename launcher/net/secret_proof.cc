// The proof of a job's secret: the HMAC with SHA-256 of a fixed text under it, in hexadecimal.
// Apart from the reading of secrets (job_secret.cc), since only this needs OpenSSL, which the
// program msrun lacks.
#include <array>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "launcher/net/job_secret.h"

namespace drydock::launcher {
namespace {

/// What is signed: no proof of this is one of anything else.
constexpr std::string_view kText = "drydock.job/1";

}  // namespace

std::string ProofOf(const std::string& secret) {
  if (secret.empty()) {
    return {};
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(kText.data()), kText.size(), digest.data(), &size);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[digest.at(i) / 16];
    text += kDigits[digest.at(i) % 16];
  }
  return text;
}

}  // namespace drydock::launcher
