#include "launcher/torchrun_words.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

/// Flags that msrun lacks. A value that is not needed is still taken.
constexpr std::array<std::string_view, 9> kWithValue = {
    "nproc_per_node", "nnodes", "rdzv_endpoint",    "rdzv_backend", "rdzv_id",
    "rdzv_conf",      "role",   "monitor_interval", "local_addr"};
constexpr std::array<std::string_view, 3> kSwitches = {"standalone", "no_python", "module"};

/// torchrun's flags, by name, and what is left for msrun.
struct Torchrun {
  std::map<std::string, std::string, std::less<>> given = {};
  std::vector<std::string> flags = {};  ///< Of msrun, as they are.
  std::vector<std::string> rest = {};   ///< From the script on.

  [[nodiscard]] std::string Value(std::string_view name) const {
    const auto found = given.find(name);
    return found == given.end() ? std::string() : found->second;
  }
};

/// "nproc_per_node" of "--nproc-per-node=8"; "module" of "-m".
std::string NameOf(std::string_view word) {
  if (word == "-m") {
    return "module";
  }
  std::string name(word.substr(0, word.find('=')));
  name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
  std::ranges::replace(name, '-', '_');
  return name;
}

bool IsOneOf(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

Torchrun Read(std::span<const std::string> words, const FlagSet& flags) {
  Torchrun read;
  std::size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at].front() == '-' &&
         words[at] != "--") {
    const std::string& word = words[at++];
    const std::string name = NameOf(word);
    const std::size_t equals = word.find('=');
    const bool has_value = equals != std::string::npos;
    if (IsOneOf(name, kSwitches) && !(word.starts_with("-m") && word != "-m")) {
      read.given[name] = "True";
    } else if (IsOneOf(name, kWithValue)) {
      if (has_value) {
        read.given[name] = word.substr(equals + 1);
      } else {
        read.given[name] = at < words.size() ? words[at++] : std::string();
      }
    } else {
      read.flags.push_back(word);
      const FlagSpec* const spec = flags.Find(name);
      if (!has_value && spec != nullptr && !spec->value.empty() && at < words.size()) {
        read.flags.back() += "=" + words[at++];
      }
    }
  }
  read.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  return read;
}

/// A number in a flag, `otherwise` where it is not given. @error USAGE
Result<std::int64_t> Number(const Torchrun& read, std::string_view name, std::int64_t otherwise,
                            const std::string& hint) {
  const std::string text = read.Value(name);
  if (!read.given.contains(name)) {
    return otherwise;
  }
  const auto number = ReadIntWord(text);
  if (!number || *number < 1 || *number > 1'000'000) {
    return FailUsage("argument --" + std::string(name) + ": '" + text + "' is not a number", hint);
  }
  return *number;
}

Status AddPlace(const Torchrun& read, std::int64_t nodes, std::vector<std::string>& words) {
  const std::string backend = read.Value("rdzv_backend");
  if (!backend.empty() && backend != "c10d" && backend != "static") {
    return FailUsage("argument --rdzv_backend: '" + backend + "' is not handled",
                     "leave it out: launchers agree over --rdzv_endpoint");
  }
  if (read.given.contains("standalone") && nodes > 1) {
    return FailUsage("arguments --standalone and --nnodes=" + std::to_string(nodes) +
                         " contradict each other: a job by itself is one node",
                     "leave one of them out");
  }
  const std::string endpoint = read.Value("rdzv_endpoint");
  if (endpoint.empty()) {
    return {};
  }
  const std::size_t colon = endpoint.rfind(':');
  const bool has_port = colon != std::string::npos && !endpoint.ends_with(']');
  const std::string port = has_port ? endpoint.substr(colon + 1) : "29400";
  const std::int64_t number = ReadIntWord(port).value_or(-1);
  if (colon == 0 || number < 0 || number > 65535) {
    return FailUsage("argument --rdzv_endpoint: '" + endpoint + "' is not an address with a port",
                     "write --rdzv_endpoint=10.0.0.1:29400");
  }
  if (nodes > 1) {
    words.push_back("--master_addr=" + endpoint.substr(0, has_port ? colon : endpoint.size()));
    words.push_back("--master_port=" + port);
  }
  return {};
}

/// The script, by module or by itself.
void AddScript(const Torchrun& read, std::vector<std::string>& words) {
  if (read.given.contains("module") && !read.rest.empty()) {
    words.insert(words.end(), {"python", "-m"});
  }
  words.insert(words.end(), read.rest.begin(), read.rest.end());
}

bool Gives(const std::vector<std::string>& flags, std::string_view name) {
  return std::ranges::any_of(flags,
                             [name](const std::string& word) { return NameOf(word) == name; });
}

}  // namespace

Result<std::vector<std::string>> TranslateTorchrunWords(std::span<const std::string> words,
                                                        const FlagSet& flags) {
  const Torchrun read = Read(words, flags);
  if (read.given.empty()) {
    return std::vector<std::string>(words.begin(), words.end());
  }
  if (read.given.size() == 1 && read.given.contains("module")) {
    std::vector<std::string> own = read.flags;  // `-m` says nothing of how many ranks there are
    AddScript(read, own);
    return own;
  }
  for (const std::string_view name : {"worker_num", "local_worker_num"}) {
    if (Gives(read.flags, name)) {
      return FailUsage(
          "argument --" + std::string(name) + " together with torchrun's flags",
          "give --nnodes and --nproc_per_node, or --worker_num and --local_worker_num");
    }
  }
  DRYDOCK_TRY(const std::int64_t nodes,
              Number(read, "nnodes", 1, "give one number: ranges of nodes are not handled"));
  DRYDOCK_TRY(const std::int64_t local,
              Number(read, "nproc_per_node", 1, "give the number of ranks on each node"));
  std::vector<std::string> translated = {"--worker_num=" + std::to_string(nodes * local),
                                         "--local_worker_num=" + std::to_string(local)};
  DRYDOCK_RETURN_IF_ERROR(AddPlace(read, nodes, translated));
  const bool is_dry = Gives(read.flags, "sim_level");
  if (nodes == 1 && !is_dry && !Gives(read.flags, "master_port")) {
    translated.emplace_back("--master_port=0");
  }
  // torchrun stays until the job ends.
  if (!Gives(read.flags, "join")) {
    translated.emplace_back("--join=True");
  }
  translated.insert(translated.end(), read.flags.begin(), read.flags.end());
  AddScript(read, translated);
  return translated;
}

}  // namespace drydock::launcher
