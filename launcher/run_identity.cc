// Reports are copied, mailed and compared long after their run. Each says what it belongs to: the
// script by its digest, the flags, the release. The id is a digest of all that, so the same command
// on the same script has the same id wherever and whenever it runs, and two files of one folder
// belong together if their ids are equal.
#include "launcher/run_identity.h"

#include <array>

#include <openssl/evp.h>

#include "launcher/files.h"
#include "strategies/document/json_reader.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kIdDigits = 16;

}  // namespace

std::string Sha256Hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int size = 0;
  DRYDOCK_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) ==
                1);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[digest[i] / 16U];
    hex += kDigits[digest[i] % 16U];
  }
  return hex;
}

reports::RunReport IdentityOf(const MsrunOptions& options, const LoadedJob& job) {
  reports::RunReport run = {.drydock_version = std::string(Version()),
                            .subject = job.subject,
                            .arguments = options.script_args,
                            .flags = options.flags_given,
                            .compat = strategies::CompatText(job.settings.compat)};
  if (const auto text = ReadFile(job.subject, strategies::JsonLimits().bytes)) {
    run.subject_sha256 = Sha256Hex(*text);
  }
  std::string all;
  const auto add = [&all](std::string_view part) {
    all.append(std::to_string(part.size())).append(":").append(part);
  };
  for (const std::string* part :
       {&run.drydock_version, &run.subject, &run.subject_sha256, &run.compat}) {
    add(*part);
  }
  for (const auto* list : {&run.arguments, &run.flags}) {
    add(std::to_string(list->size()));
    for (const std::string& word : *list) {
      add(word);
    }
  }
  run.id = Sha256Hex(all).substr(0, kIdDigits);
  return run;
}

}  // namespace drydock::launcher
