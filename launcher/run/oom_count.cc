#include "launcher/run/oom_count.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace drydock::launcher {
namespace {

/// The number behind "oom_kill " in a file.
std::optional<std::int64_t> CounterIn(const std::string& path) {
  std::ifstream file(path);
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value) {
    if (name == "oom_kill") {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> OomKills(std::string_view own_groups, const std::string& mounts) {
  std::istringstream lines{std::string(own_groups)};
  for (std::string line; std::getline(lines, line);) {
    // "0::/user.slice" in version 2, "4:memory:/docker/ab" in version 1
    const std::size_t first = std::min(line.find(':'), line.size());
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    // A container sees its own group at the top, but its number of the whole machine.
    for (const std::string& at : {group, std::string()}) {
      std::string path = mounts;
      if (controllers.empty()) {
        path.append(at).append("/memory.events");
      } else {
        path.append("/memory").append(at).append("/memory.oom_control");
      }
      const bool counts = controllers.empty() || controllers.find("memory") != std::string::npos;
      if (const auto value = counts ? CounterIn(path) : std::nullopt; value) {
        return value;
      }
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> OwnOomKills() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream text;
  text << file.rdbuf();
  return OomKills(text.str(), "/sys/fs/cgroup");
}

}  // namespace drydock::launcher
