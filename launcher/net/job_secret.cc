#include "launcher/net/job_secret.h"

#include <sys/stat.h>

#include "launcher/exit_code.h"
#include "launcher/files.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kMostBytes = 4096;
constexpr std::size_t kLeastBytes = 16;

tl::unexpected<Error> FailSecret(std::string message) {
  return FailCommand(FailureCode::kUsage, std::move(message),
                     "(umask 077; openssl rand -hex 32 > secret), the same file on all nodes");
}

}  // namespace

Result<std::string> ReadJobSecret(const std::string& file, const Environment& environment) {
  std::string secret = Variable(environment, kSecretName).value_or("");
  const std::string from =
      file.empty() ? std::string(kSecretName) : "argument --job_secret: " + file;
  if (!file.empty()) {
    struct stat facts = {};
    if (::stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && (facts.st_mode & 077) != 0) {
      return FailSecret(from + " can be read by others");
    }
    auto text = ReadFile(file, kMostBytes);
    if (!text) {
      return FailSecret("argument --job_secret: " + text.error().message);
    }
    secret = text->substr(0, text->find('\n'));
  }
  if ((!file.empty() || !secret.empty()) && secret.size() < kLeastBytes) {
    return FailSecret(from + " has fewer than " + std::to_string(kLeastBytes) + " bytes");
  }
  return secret;
}

}  // namespace drydock::launcher
