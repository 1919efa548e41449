#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "launcher/exit_code.h"
#include "launcher/files.h"
#include "launcher/net/tls_session.h"

namespace drydock::launcher {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxPasswordBytes = 4096;
// Source: docs/protocol.md.
constexpr std::int64_t kMinWarnDays = 7;
constexpr std::int64_t kMaxWarnDays = 180;

tl::unexpected<Error> FailConfig(const std::string& path, const std::string& reason) {
  return FailCommand(FailureCode::kTlsMaterial, path + ": " + reason,
                     "keys are server_cert_path, client_cert_path, ca_cert_path, crl_path, "
                     "cipher_list, cert_expire_warning_time_in_day");
}

Result<std::string> ReadKey(const Json& config, const std::string& path, const char* key) {
  const auto it = config.find(key);
  if (it == config.end() || !it->is_string()) {
    return FailConfig(path, std::string("'") + key + "' is missing or no text");
  }
  return it->get<std::string>();
}

}  // namespace

Result<TlsFiles> ReadTlsConfig(const std::string& path) {
  const auto text = ReadFile(path, kMaxConfigBytes);
  if (!text) {
    return FailCommand(FailureCode::kTlsMaterial, text.error().message,
                       "name the TLS configuration file");
  }
  const Json config = Json::parse(*text, nullptr, false);
  if (!config.is_object()) {
    return FailConfig(path, "is not a JSON object");
  }
  TlsFiles files;
  DRYDOCK_TRY(files.server_certificate, ReadKey(config, path, "server_cert_path"));
  DRYDOCK_TRY(files.client_certificate, ReadKey(config, path, "client_cert_path"));
  DRYDOCK_TRY(files.ca_certificate, ReadKey(config, path, "ca_cert_path"));
  DRYDOCK_TRY(files.ciphers, ReadKey(config, path, "cipher_list"));
  if (config.contains("crl_path")) {
    DRYDOCK_TRY(files.revocation_list, ReadKey(config, path, "crl_path"));
  }
  if (const auto days = config.find("cert_expire_warning_time_in_day"); days != config.end()) {
    if (!days->is_number_integer() || days->get<std::int64_t>() < kMinWarnDays ||
        days->get<std::int64_t>() > kMaxWarnDays) {
      return FailConfig(path, "'cert_expire_warning_time_in_day' is not a number from 7 to 180");
    }
    files.warn_days = days->get<std::int64_t>();
  }
  return files;
}

Result<std::optional<TlsFiles>> ReadTlsFiles(const std::string& config,
                                             const std::string& password_file) {
  if (config.empty() && password_file.empty()) {
    return std::optional<TlsFiles>();
  }
  if (config.empty()) {
    return FailCommand(FailureCode::kUsage, "--tls_password_file without --tls_config",
                       "name the configuration of TLS, too");
  }
  DRYDOCK_TRY(TlsFiles files, ReadTlsConfig(config));
  auto text = ReadFile(password_file, kMaxPasswordBytes);
  if (!text) {
    return FailCommand(FailureCode::kTlsMaterial, "password file: " + text.error().message,
                       "name a file with the password with --tls_password_file");
  }
  const std::size_t end = std::min(text->find('\n'), text->size());
  files.server_password = text->substr(0, end);
  const std::string second = end < text->size() ? text->substr(end + 1) : std::string();
  files.client_password = second.substr(0, second.find('\n'));
  if (files.client_password.empty()) {
    files.client_password = files.server_password;
  }
  return std::optional(std::move(files));
}

std::vector<std::string> OpenSecrets(const TlsFiles& files, const std::string& password_file) {
  constexpr mode_t kOthers = 077;
  std::vector<std::string> warnings;
  for (const std::string& path :
       {password_file, files.server_certificate, files.client_certificate}) {
    struct stat facts = {};
    if (::stat(path.c_str(), &facts) == 0 && (facts.st_mode & kOthers) != 0) {
      std::array<char, 8> mode = {};
      (void)std::snprintf(mode.data(), mode.size(), "%04o", facts.st_mode & 07777);
      std::string warning = path;
      warning.append(" is open to others (")
          .append(mode.data())
          .append("): chmod 600 ")
          .append(path);
      warnings.push_back(std::move(warning));
    }
  }
  return warnings;
}

}  // namespace drydock::launcher
