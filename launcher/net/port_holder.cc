#include "launcher/net/port_holder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

namespace fs = std::filesystem;

/// State of a listening socket in /proc/net/tcp.
constexpr std::string_view kListening = "0A";
constexpr std::size_t kShownBytes = 80;

/// Inodes of the sockets that listen at `port`, as "socket:[4711]".
std::set<std::string> ListeningSockets(std::uint16_t port) {
  std::set<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    std::string line;
    while (std::getline(lines, line)) {
      // sl local remote state tx:rx tr:tm retrnsmt uid timeout inode
      std::array<std::string, 10> words = {};
      std::istringstream reader(line);
      for (std::string& word : words) {
        reader >> word;
      }
      const std::string digits = words[1].substr(std::min(words[1].find(':'), words[1].size()));
      unsigned number = 0;
      if (digits.size() > 1) {
        std::from_chars(digits.data() + 1, digits.data() + digits.size(), number, 16);
      }
      if (number == port && words[3] == kListening) {
        sockets.insert("socket:[" + words[9] + "]");
      }
    }
  }
  return sockets;
}

bool HoldsOneOf(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  fs::directory_iterator it(process / "fd", error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code unreadable;
    if (sockets.contains(fs::read_symlink(it->path(), unreadable).string())) {
      return true;
    }
  }
  return false;
}

std::string CommandLine(const fs::path& process) {
  std::ifstream file(process / "cmdline");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::replace(text.begin(), text.end(), '\0', ' ');
  while (!text.empty() && text.back() == ' ') {
    text.pop_back();
  }
  return OneLine(text, kShownBytes);
}

}  // namespace

std::string PortHolderText(std::uint16_t port) {
  const std::set<std::string> sockets = ListeningSockets(port);
  std::error_code error;
  fs::directory_iterator it("/proc", error);
  for (; !sockets.empty() && !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        HoldsOneOf(it->path(), sockets)) {
      return ", held by process " + name + " (" + CommandLine(it->path()) + ")";
    }
  }
  return {};
}

}  // namespace drydock::launcher
