#include "launcher/mpirun_hosts.h"

#include <algorithm>

#include "launcher/exit_code.h"
#include "launcher/flags.h"

namespace drydock::launcher {
namespace {

constexpr std::int64_t kMostSlots = std::int64_t{1} << 24U;
constexpr std::size_t kShownNameBytes = 80;
constexpr std::size_t kMostNameBytes = 255;  // of a name in the DNS
constexpr std::string_view kSpace = " \t\r";

/// A number of slots. @error kInvalidArgument
Result<std::int64_t> ReadSlots(std::string_view word) {
  const auto slots = ReadIntWord(word);
  if (!slots || *slots < 1 || *slots > kMostSlots) {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + OneLine(word, kShownNameBytes) + "' is not a number of slots");
  }
  return *slots;
}

/// Names of hosts mean the same in capitals.
bool IsSameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// The entry of a host, made if it is new.
HostSlots& EntryOf(std::vector<HostSlots>& hosts, std::string_view name) {
  const auto found = std::ranges::find_if(
      hosts, [name](const HostSlots& host) { return IsSameName(host.name, name); });
  if (found != hosts.end()) {
    return *found;
  }
  hosts.push_back({.name = std::string(name)});
  return hosts.back();
}

/// Takes the next word off a line; empty at its end.
std::string_view NextWord(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kSpace));
  line.remove_prefix(word.size());
  return word;
}

/// One line of a hostfile.
struct HostLine {
  std::string_view name = {};
  std::optional<std::int64_t> slots = {};
  std::optional<std::int64_t> max_slots = {};
};

Result<HostLine> CheckedLine(const HostLine& host) {
  if (host.name.size() > kMostNameBytes) {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + OneLine(host.name, kShownNameBytes) + "' is not the name of a host");
  }
  if (host.slots && host.max_slots && *host.max_slots < *host.slots) {
    return Fail(ErrorCode::kInvalidArgument,
                "max_slots=" + std::to_string(*host.max_slots) +
                    " is less than slots=" + std::to_string(*host.slots));
  }
  return host;
}

Result<HostLine> ReadLine(std::string_view line) {
  HostLine host{.name = NextWord(line)};
  for (std::string_view word = NextWord(line); !word.empty(); word = NextWord(line)) {
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    const bool is_most = key == "max-slots" || key == "max_slots";
    if (!is_most && key != "slots") {
      return Fail(ErrorCode::kInvalidArgument,
                  "'" + OneLine(word, kShownNameBytes) + "' is not known there");
    }
    std::optional<std::int64_t>& number = is_most ? host.max_slots : host.slots;
    if (number) {
      return Fail(ErrorCode::kInvalidArgument, "'" + std::string(key) + "' stands there twice");
    }
    DRYDOCK_TRY(number, ReadSlots(value));
  }
  return CheckedLine(host);
}

tl::unexpected<Error> FailLine(const std::string& path, std::size_t number, std::string what) {
  return FailCommand(FailureCode::kUsage,
                     path + ":" + std::to_string(number) + ": " + std::move(what),
                     "lines are like: node1 slots=8");
}

}  // namespace

Result<std::vector<HostSlots>> ParseHostList(std::string_view text) {
  const std::string whole = OneLine(text, kShownNameBytes);
  std::vector<HostSlots> hosts;
  while (true) {
    const std::string_view entry = text.substr(0, text.find(','));
    // An address of IPv6 in brackets has colons of its own.
    const std::size_t name_end = entry.find(
        ':', std::min(entry.rfind(']'), entry.size()) == entry.size() ? 0 : entry.rfind(']'));
    const std::string_view name = entry.substr(0, name_end);
    if (name.empty()) {
      return FailCommand(FailureCode::kUsage, "argument --host: a name is empty in '" + whole + "'",
                         "write --host=node1:8,node2:8");
    }
    if (name.size() > kMostNameBytes) {
      return FailCommand(
          FailureCode::kUsage,
          "argument --host: '" + OneLine(name, kShownNameBytes) + "' is not the name of a host",
          "write --host=node1:8,node2:8");
    }
    std::int64_t slots = 1;
    if (name_end != std::string_view::npos) {
      const auto given = ReadSlots(entry.substr(name_end + 1));
      if (!given) {
        return FailCommand(FailureCode::kUsage, "argument --host: " + given.error().message,
                           "write --host=node1:8,node2:8");
      }
      slots = *given;
    }
    EntryOf(hosts, name).slots += slots;
    if (entry.size() == text.size()) {
      return hosts;
    }
    text.remove_prefix(entry.size() + 1);
  }
}

Result<std::vector<HostSlots>> ParseHostfile(std::string_view text, const std::string& path) {
  std::vector<HostSlots> hosts;
  std::vector<std::size_t> line_of_slots;  // 0: that host's lines say no number
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    const auto read = ReadLine(line);
    if (!read) {
      return FailLine(path, number, read.error().message);
    }
    if (read->name.empty()) {
      continue;
    }
    HostSlots& host = EntryOf(hosts, read->name);
    line_of_slots.resize(hosts.size());
    std::size_t& said_in = line_of_slots[static_cast<std::size_t>(&host - hosts.data())];
    if (host.slots > 0 && (read->slots || said_in > 0)) {
      return FailLine(path, number,
                      "'" + host.name + "' has its slots" +
                          (said_in > 0 ? " in line " + std::to_string(said_in) : " above") +
                          " already");
    }
    host.slots += read->slots.value_or(read->max_slots.value_or(1));
    host.max_slots = read->max_slots ? read->max_slots : host.max_slots;
    said_in = read->slots || read->max_slots ? number : 0;
  }
  if (hosts.empty()) {
    return FailCommand(FailureCode::kUsage, path + ": no host in it",
                       "lines are like: node1 slots=8");
  }
  return hosts;
}

}  // namespace drydock::launcher
