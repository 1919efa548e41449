#include "launcher/mpirun_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

/// Other names of a flag. Source: man mpirun.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kOtherNames = {{
    {"n", "np"},
    {"c", "np"},
    {"H", "host"},
    {"machinefile", "hostfile"},
    {"default-hostfile", "hostfile"},
    {"wd", "wdir"},
    {"gmca", "mca"},
    {"v", "verbose"},
    {"q", "quiet"},
    {"h", "help"},
    {"V", "version"},
    {"bycore", "map-by"},
    {"bind-to-none", "bind-to"},
    {"bind-to-core", "bind-to"},
}};

std::string_view NameHere(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kOtherNames, [name](const auto& entry) { return entry.first == name; });
  return found == kOtherNames.end() ? name : found->second;
}

/// A value that the name itself says: "-bind-to-none".
std::string_view ImpliedValue(std::string_view name) {
  if (name == "bind-to-none" || name == "bind-to-core") {
    return name.substr(std::string_view("bind-to-").size());
  }
  return name == "bycore" ? "core" : "";
}

/// Number of words behind a flag.
std::size_t ValuesOf(std::string_view name, const FlagSet& flags) {
  if (name == "mca") {
    return 2;
  }
  const FlagSpec* const spec = flags.Find(name);
  return spec != nullptr && !spec->value.empty() ? 1 : 0;
}

}  // namespace

Result<std::vector<std::string>> TranslateMpirunWords(std::span<const std::string> words,
                                                      const FlagSet& flags) {
  std::vector<std::string> translated;
  std::size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at].front() == '-') {
    std::string_view word = words[at];
    word.remove_prefix(word.find_first_not_of('-') == std::string_view::npos
                           ? word.size()
                           : word.find_first_not_of('-'));
    const std::size_t equals = word.find('=');
    const std::string_view given = word.substr(0, equals);
    const std::string_view name = NameHere(given);
    std::string text = "--" + std::string(name);
    ++at;
    if (equals != std::string_view::npos) {
      text.append(word.substr(equals));
    } else if (!ImpliedValue(given).empty()) {
      text.append("=").append(ImpliedValue(given));
    } else {
      for (std::size_t left = ValuesOf(name, flags); left > 0; --left, ++at) {
        if (at == words.size()) {
          return FailCommand(FailureCode::kUsage,
                             "argument " + words[at - 1] + ": its value is missing");
        }
        text.append("=").append(words[at]);
      }
    }
    translated.push_back(std::move(text));
  }
  translated.insert(translated.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  return translated;
}

}  // namespace drydock::launcher
