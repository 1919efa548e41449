#include "launcher/mindspore_release.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "launcher/exit_code.h"
#include "launcher/files.h"
#include "sim/tracer/child_process.h"

namespace drydock::launcher {
namespace {

namespace fs = std::filesystem;

/// version.py is one line, pyvenv.cfg a few.
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10U;
constexpr std::size_t kMaxFolders = 64;  ///< Of Python versions under one prefix.

using Folders = std::vector<fs::path>;

/// What stands between the first two quotes behind `name`.
std::string QuotedAfter(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  const std::size_t open = text.find_first_of("'\"", at);
  if (at == std::string_view::npos || open == std::string_view::npos) {
    return {};
  }
  const std::size_t close = text.find(text[open], open + 1);
  return close == std::string_view::npos ? std::string()
                                         : std::string(text.substr(open + 1, close - open - 1));
}

/// "2.7.1" of "2.7.1.post1" and "2.7.1rc1".
std::string NumbersOf(std::string_view text) {
  std::size_t end = 0;
  for (int dots = 0; end < text.size(); ++end) {
    const bool dot = text[end] == '.';
    if ((dot && ++dots == 3) || (!dot && (text[end] < '0' || text[end] > '9'))) {
      break;
    }
  }
  return std::string(text.substr(0, end));
}

/// Release of the package that lies in this folder, empty if there is none.
std::string ReleaseIn(const fs::path& folder) {
  const auto text = ReadFile((folder / "mindspore" / "version.py").string(), kMaxTextBytes);
  const std::string release = NumbersOf(text ? QuotedAfter(*text, "__version__") : "");
  return sim::ParseProtocolVersion(release) ? release : std::string();
}

/// Folders of packages under a prefix: "lib/python3.11/site-packages" and Debian's.
Folders PackageFolders(const fs::path& prefix) {
  Folders folders;
  std::error_code error;
  for (const char* library : {"lib", "lib64", "local/lib"}) {
    Folders pythons;
    for (fs::directory_iterator it(prefix / library, error), end;
         !error && it != end && pythons.size() < kMaxFolders; it.increment(error)) {
      if (it->path().filename().string().starts_with("python3")) {
        pythons.push_back(it->path());
      }
    }
    std::ranges::sort(pythons);
    for (const fs::path& python : pythons) {
      folders.push_back(python / "site-packages");
      folders.push_back(python / "dist-packages");
    }
  }
  return folders;
}

/// Value of a line "key = value" of pyvenv.cfg.
std::string SettingOf(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (line.starts_with(key) && equals != std::string_view::npos) {
      const std::size_t value = line.find_first_not_of(" \t", equals + 1);
      return value == std::string_view::npos ? std::string() : std::string(line.substr(value));
    }
  }
  return {};
}

/// Places in the order in which Python looks; a later one counts only if earlier ones have nothing.
std::vector<Folders> Places(const fs::path& program, const Environment& environment) {
  std::vector<Folders> places;
  const std::string list = Variable(environment, "PYTHONPATH").value_or("");
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    places.push_back({list.substr(begin, end - begin)});
    begin = end + 1;
  }
  const fs::path prefix = program.parent_path().parent_path();
  const auto venv = ReadFile((prefix / "pyvenv.cfg").string(), kMaxTextBytes);
  if (const auto home = Variable(environment, "HOME");
      home && (!venv || SettingOf(*venv, "include-system-site-packages") == "true")) {
    places.push_back(PackageFolders(fs::path(*home) / ".local"));
  }
  places.push_back(PackageFolders(prefix));
  if (venv && SettingOf(*venv, "include-system-site-packages") == "true") {
    places.push_back(PackageFolders(fs::path(SettingOf(*venv, "home")).parent_path()));
  }
  return places;
}

bool ChoosesAnotherProgram(const std::string& program) {
  const std::string name = fs::path(program).filename().string();
  const auto text = name.starts_with("python") ? ReadFile(program, kMaxTextBytes)
                                               : Result<std::string>(std::string());
  return text && text->starts_with("#!");  // an interpreter itself is longer, so not read
}

}  // namespace

std::optional<std::string> InstalledMindSpore(const std::string& program,
                                              const Environment& environment) {
  if (program.find('/') == std::string::npos || ChoosesAnotherProgram(program)) {
    return std::nullopt;
  }
  for (const Folders& place : Places(fs::path(program), environment)) {
    std::set<std::string> found;
    for (const fs::path& folder : place) {
      if (std::string release = ReleaseIn(folder); !release.empty()) {
        found.insert(std::move(release));
      }
    }
    if (!found.empty()) {
      return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
    }
  }
  return std::nullopt;
}

bool LacksMindSpore(const std::string& program, const std::string& script_folder,
                    const Environment& environment) {
  if (!fs::path(program).filename().string().starts_with("python") ||
      program.find('/') == std::string::npos || ChoosesAnotherProgram(program)) {
    return false;
  }
  std::vector<Folders> places = Places(fs::path(program), environment);
  places.push_back({fs::path(script_folder)});
  std::error_code error;
  for (const Folders& place : places) {
    for (const fs::path& folder : place) {
      if (fs::exists(folder / "mindspore", error) || fs::exists(folder / "mindspore.py", error)) {
        return false;
      }
    }
  }
  return true;
}

std::optional<std::string> FindMindSpore(std::vector<std::string> programs,
                                         const Environment& environment) {
  const std::string path = Variable(environment, "PATH").value_or("/usr/bin:/bin");
  for (const char* name : {"python", "python3"}) {
    programs.push_back(sim::FindExecutable(name, path));
  }
  for (const std::string& program : programs) {
    if (auto release = InstalledMindSpore(program, environment)) {
      return release;
    }
  }
  return std::nullopt;
}

Result<sim::MetadataAnswerRule> MetadataAnswersFor(const std::string& named,
                                                   const std::optional<std::string>& installed) {
  if (!named.empty()) {
    const auto version = sim::ParseProtocolVersion(named);
    if (!version) {
      return FailCommand(FailureCode::kUsage, "'" + named + "' is not a release of MindSpore",
                         "give a release such as 2.7.0");
    }
    return sim::ReferenceRules(*version).metadata_answers;
  }
  const auto version = sim::ParseProtocolVersion(installed.value_or(""));
  const bool since_add = version && sim::ReferenceRules(*version).metadata_answers ==
                                        sim::MetadataAnswerRule::kSinceAdd;
  return since_add ? sim::MetadataAnswerRule::kLearnSinceAdd : sim::MetadataAnswerRule::kLearn;
}

}  // namespace drydock::launcher
