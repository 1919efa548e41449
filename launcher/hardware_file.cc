// From `--hardware NAME|FILE` to a profile: a name is a file of share/drydock/hardware, anything
// that ends in .json is a file of the user's; the pure reader in sim/timing says what is wrong
// inside.

#include "launcher/hardware_file.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/text.h"
#include "launcher/exit_code.h"
#include "launcher/files.h"
#include "launcher/install_paths.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kMaxProfileBytes = 1 << 20;
constexpr std::string_view kSuffix = ".json";

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string HardwareFolder() {
  const Result<std::string> program = ProgramPath();
  return program ? PathsFor(*program).hardware_folder : std::string();
}

tl::unexpected<Error> UnknownHardware(const std::string& name) {
  const std::vector<std::string> names = HardwareNames();
  std::string list;
  for (const std::string& one : names) {
    list += (list.empty() ? "" : ", ") + one;
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string nearest = NearestWord(name, candidates);
  return FailCommand(FailureCode::kUsage, "there is no hardware profile '" + name + "'",
                     (nearest.empty() ? "" : "did you mean '" + nearest + "'? ") + "known are " +
                         list + "; or give a file, '.json' at its end");
}

}  // namespace

std::vector<std::string> HardwareNames() {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(HardwareFolder(), error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == kSuffix) {
      names.push_back(it->path().stem().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

Result<sim::HardwareProfile> LoadHardware(const std::string& name_or_file,
                                          std::int64_t devices_per_node) {
  std::string file = name_or_file;
  if (!name_or_file.ends_with(kSuffix)) {
    const std::vector<std::string> names = HardwareNames();
    const auto found = std::ranges::find(names, Lower(name_or_file), Lower);
    if (found == names.end()) {
      return UnknownHardware(name_or_file);
    }
    file = PathIn(HardwareFolder(), *found + std::string(kSuffix));
  }
  const Result<std::string> text = ReadFile(file, kMaxProfileBytes);
  if (!text) {
    return FailCommand(FailureCode::kHardware, "hardware profile: " + text.error().message);
  }
  Result<sim::HardwareProfile> profile = sim::ParseHardwareProfile(*text, file);
  if (profile && devices_per_node > 0) {
    profile = sim::WithDevicesPerNode(*std::move(profile), devices_per_node);
  }
  if (!profile) {
    return tl::unexpected(WithCode(std::move(profile).error(), FailureCode::kHardware));
  }
  return profile;
}

}  // namespace drydock::launcher
