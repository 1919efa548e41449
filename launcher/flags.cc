// Flags of a command: from the command line, from DRYDOCK_* variables, from a configuration file.
//
// CLI11 reads the values and the file. What stands before it is argparse's way with names, which
// CLI11 has not and users of msrun count on: prefixes, `-` for `_`, flags that end at the script, a
// hint for what another launcher calls a flag. So each word is brought to `--name value` first, and
// what CLI11 is given has no second meaning.

#include "launcher/flags.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/text.h"
#include "launcher/exit_code.h"
#include "launcher/files.h"
#include "launcher/typed_words.h"

namespace drydock::launcher {
namespace {

std::string Quoted(std::string_view word) {
  return "'" + std::string(word) + "'";
}

tl::unexpected<Error> WrongValue(std::string message, std::string hint = {}) {
  return Fail(ErrorCode::kInvalidArgument, std::move(message), std::move(hint));
}

/// Words that argparse takes for a flag: a dash and more, unless it is a negative number or its
/// name has a space.
bool LooksLikeFlag(std::string_view word) {
  word = word.substr(0, word.find('='));
  if (word.size() < 2 || word.front() != '-' || word.find(' ') != std::string_view::npos) {
    return false;
  }
  return word.substr(1).find_first_not_of("0123456789.") != std::string_view::npos;
}

/// "worker-num" -> "worker_num".
std::string Normalised(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

constexpr std::string_view kConfig = "config";
constexpr std::size_t kMaxConfigBytes = 1 << 20;

/// "worker_num" -> "DRYDOCK_WORKER_NUM".
std::string VariableOf(std::string_view name) {
  std::string variable = "DRYDOCK_";
  for (const char letter : name) {
    variable += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return variable;
}

/// Lines of a configuration file (TOML); none if it is not there and need not be.
/// A section begins or ends.
bool IsBorder(const CLI::ConfigItem& item) {
  return item.name == "++" || item.name == "--";
}

Result<std::vector<CLI::ConfigItem>> ItemsOf(const std::string& path, bool is_wanted) {
  std::error_code none;
  if (!is_wanted && !std::filesystem::exists(path, none)) {
    return std::vector<CLI::ConfigItem>();
  }
  auto text = ReadFile(path, kMaxConfigBytes);
  if (!text) {
    return FailCommand(FailureCode::kUsage, "argument --config: " + text.error().message,
                       "name a readable file");
  }
  std::istringstream stream(*std::move(text));
  try {
    return CLI::ConfigTOML().from_config(stream);
  } catch (const CLI::Error& failure) {
    return FailCommand(FailureCode::kUsage, path + ": " + failure.what(),
                       "write lines such as worker_num = 8");
  }
}

}  // namespace

Result<bool> ReadBoolWord(std::string_view word) {
  if (word == "True" || word == "true" || word == "1") {
    return true;
  }
  if (word == "False" || word == "false" || word == "0") {
    return false;
  }
  return WrongValue("invalid value: " + Quoted(word) + " (choose from True, False)");
}

Result<std::int64_t> ReadIntWord(std::string_view word) {
  std::string_view digits = word;
  if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') {
    digits.remove_prefix(1);
  }
  std::int64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, number);
  if (failure == std::errc::result_out_of_range && stop == end) {
    return WrongValue("invalid int value: " + Quoted(word), "give a number of less than 19 digits");
  }
  if (failure != std::errc() || stop != end) {
    const std::string ascii = AsciiForm(word);
    return WrongValue(
        "invalid int value: " + Quoted(word),
        ascii != word ? "write the signs of a keyboard: " + ascii : "give a whole number");
  }
  return number;
}

void FlagSet::Add(FlagSpec spec, ReadValue read) {
  flags_.push_back({.spec = std::move(spec), .read = std::move(read)});
}

void FlagSet::AddInt(FlagSpec spec, std::int64_t* target) {
  Add(std::move(spec), [target](std::string_view word) -> Status {
    DRYDOCK_TRY(*target, ReadIntWord(word));
    return {};
  });
}

void FlagSet::AddText(FlagSpec spec, std::string* target) {
  Add(std::move(spec), [target](std::string_view word) -> Status {
    *target = std::string(word);
    return {};
  });
}

void FlagSet::AddSwitch(FlagSpec spec, bool* target) {
  DRYDOCK_CHECK(spec.value.empty());
  Add(std::move(spec), [target](std::string_view word) -> Status {
    DRYDOCK_TRY(*target, ReadBoolWord(word));
    return {};
  });
}

Status FlagSet::Parse(std::span<const std::string> words, const FlagSources& sources) {
  taken_.clear();
  std::size_t index = 0;
  while (index < words.size() && LooksLikeFlag(words[index])) {
    if (words[index] == "--") {
      ++index;
      break;
    }
    DRYDOCK_TRY(index, TakeFlag(words, index));
  }
  rest_.assign(words.begin() + static_cast<std::ptrdiff_t>(index), words.end());
  if (sources.environment != nullptr) {
    DRYDOCK_RETURN_IF_ERROR(TakeEnvironment(*sources.environment));
  }
  DRYDOCK_RETURN_IF_ERROR(TakeFile(sources));
  return ReadTaken();
}

/// Takes the flag at `index` and its value; gives the index behind them.
Result<std::size_t> FlagSet::TakeFlag(std::span<const std::string> words, std::size_t index) {
  const std::string_view word = words[index];
  const std::size_t equals = word.find('=');
  DRYDOCK_TRY(Flag* const flag, Resolve(word.substr(0, equals)));
  std::string_view value = "True";
  std::size_t next = index + 1;
  if (equals != std::string_view::npos) {
    value = word.substr(equals + 1);
  } else if (!flag->spec.value.empty()) {
    if (next == words.size() || LooksLikeFlag(words[next])) {
      return FailCommand(FailureCode::kUsage,
                         "argument --" + flag->spec.name + ": expected one argument",
                         "write --" + flag->spec.name + "=" + flag->spec.value);
    }
    value = words[next++];
  }
  flag->given = true;
  taken_.push_back({.flag = flag, .value = std::string(value)});
  return next;
}

Status FlagSet::TakeEnvironment(const Environment& environment) {
  for (Flag& flag : flags_) {
    const auto variable = environment.find(VariableOf(flag.spec.name));
    if (flag.spec.has_variable && !flag.given && variable != environment.end() &&
        !variable->second.empty()) {
      flag.given = true;
      taken_.push_back({.flag = &flag, .value = variable->second, .place = variable->first});
    }
  }
  return {};
}

std::vector<std::string> FlagSet::DoubtfulVariables(const Environment& environment) const {
  constexpr std::string_view kPrefix = "DRYDOCK_";
  std::vector<std::string> doubtful;
  for (const auto& [variable, value] : environment) {
    if (!variable.starts_with(kPrefix) || value.empty()) {
      continue;
    }
    const std::string meant = FlagMeant(std::string_view(variable).substr(kPrefix.size()), Names());
    if (!meant.empty() && VariableOf(meant) != variable && Find(meant)->has_variable) {
      doubtful.push_back(variable + " is not read; did you mean " + VariableOf(meant) + "?");
    }
  }
  return doubtful;
}

/// Takes what the section of the command has in the configuration file.
Status FlagSet::TakeFile(const FlagSources& sources) {
  const auto named = std::ranges::find_if(
      taken_, [](const Taken& taken) { return taken.flag->spec.name == kConfig; });
  const std::string path = named != taken_.end() ? named->value : sources.config_file;
  if (path.empty()) {
    return {};
  }
  DRYDOCK_TRY(const std::vector<CLI::ConfigItem> items, ItemsOf(path, named != taken_.end()));
  for (const CLI::ConfigItem& item : items) {
    if (IsBorder(item)) {
      continue;
    }
    if (item.parents.empty()) {
      return FailCommand(FailureCode::kUsage,
                         path + ": '" + item.name + "' stands outside of a section",
                         "write [" + sources.command + "] above it");
    }
    if (item.parents.size() != 1 || item.parents.front() != sources.command) {
      continue;  // of another command
    }
    Flag* const flag = FlagNamed(Normalised(item.name));
    if (flag == nullptr) {
      const std::string nearest = NearestWord(item.name, Names());
      return FailCommand(
          FailureCode::kUsage, path + ": '" + item.name + "' is not a flag of " + sources.command,
          nearest.empty() ? "--help lists the flags" : "did you mean '" + nearest + "'?");
    }
    if (item.inputs.size() != 1) {
      return FailCommand(
          FailureCode::kUsage,
          path + ": '" + item.name + "' has " + std::to_string(item.inputs.size()) + " values",
          "give one value");
    }
    if (!flag->given) {
      taken_.push_back({.flag = flag, .value = item.inputs.front(), .place = path});
    }
  }
  for (const Taken& taken : taken_) {
    taken.flag->given = true;
  }
  return {};
}

/// Hands what was taken to CLI11: one option for each flag, of which the last value counts.
Status FlagSet::ReadTaken() {
  CLI::App app;
  app.set_help_flag();
  Status status = {};
  std::vector<std::string> words;
  for (const Taken& taken : taken_) {
    // An empty value has no form of its own behind "=".
    words.push_back("--" + taken.flag->spec.name + (taken.value.empty() ? "" : "=" + taken.value));
    if (taken.value.empty()) {
      words.emplace_back();
    }
  }
  for (Flag& flag : flags_) {
    const auto read = [&](const std::string& value) {
      Status read_status = flag.read(value);
      if (!read_status && status) {
        const auto taken = std::ranges::find(taken_, &flag, &Taken::flag);
        const std::string place =
            taken == taken_.end() || taken->place.empty() ? "" : taken->place + ": ";
        status =
            FailCommand(FailureCode::kUsage,
                        place + "argument --" + flag.spec.name + ": " + read_status.error().message,
                        read_status.error().hint);
      }
      return std::string();
    };
    // Every value is looked at, as argparse does, although only the last one counts.
    app.add_option("--" + flag.spec.name)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->check(read);
  }
  std::ranges::reverse(words);  // CLI11 takes them from the back
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& failure) {
    return FailCommand(FailureCode::kUsage, failure.what());
  }
  return status;
}

FlagSet::Flag* FlagSet::FlagNamed(std::string_view name) {
  const auto found = std::ranges::find(
      flags_, name, [](const Flag& flag) -> std::string_view { return flag.spec.name; });
  return found == flags_.end() ? nullptr : &*found;
}

std::vector<std::string_view> FlagSet::Names() const {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags_) {
    names.push_back(flag.spec.name);
  }
  return names;
}

std::vector<FlagSet::Flag*> FlagSet::WithPrefix(std::string_view prefix, FlagOrigin origin) {
  std::vector<Flag*> matches;
  for (Flag& flag : flags_) {
    if (flag.spec.origin == origin && flag.spec.name.starts_with(prefix)) {
      matches.push_back(&flag);
    }
  }
  return matches;
}

tl::unexpected<Error> FlagSet::FailAmbiguous(std::string_view word,
                                             const std::vector<Flag*>& matches) {
  std::string names;
  for (const Flag* flag : matches) {
    names += names.empty() ? "--" : ", --";
    names += flag->spec.name;
  }
  return FailCommand(FailureCode::kUsage,
                     "ambiguous option: " + std::string(word) + " could match " + names,
                     "write the name in full");
}

Result<FlagSet::Flag*> FlagSet::Resolve(std::string_view word) {
  const bool long_form = word.starts_with("--");
  const std::string name = word == "-h" ? "help" : Normalised(word.substr(long_form ? 2 : 1));
  if (long_form || word == "-h") {
    if (Flag* const exact = FlagNamed(name); exact != nullptr) {
      return exact;
    }
  }
  if (const std::string hint = HintForDeviceList(name); !hint.empty()) {
    return FailCommand(FailureCode::kUsage, "unrecognized argument: " + std::string(word), hint);
  }
  for (const FlagOrigin origin : {FlagOrigin::kMsrun, FlagOrigin::kDrydock}) {
    const std::vector<Flag*> matches = long_form ? WithPrefix(name, origin) : std::vector<Flag*>();
    if (matches.size() == 1) {
      return matches.front();
    }
    if (!matches.empty()) {
      return FailAmbiguous(word, matches);
    }
  }
  const std::vector<std::string_view> names = Names();
  if (const std::string ascii = AsciiForm(word); ascii != word) {
    return FailCommand(FailureCode::kUsage, "unrecognized argument: " + std::string(word),
                       "write the signs of a keyboard: " + ascii);
  }
  const std::string known = NameHere(name, names);
  const std::string nearest = known.empty() ? NearestWord(name, names) : known;
  return FailCommand(
      FailureCode::kUsage, "unrecognized argument: " + std::string(word),
      nearest.empty() ? "--help lists the flags" : "did you mean '--" + nearest + "'?");
}

const FlagSpec* FlagSet::Find(std::string_view name) const {
  const auto it = std::ranges::find(flags_, Normalised(name),
                                    [](const Flag& f) -> std::string { return f.spec.name; });
  return it == flags_.end() ? nullptr : &it->spec;
}

bool FlagSet::Given(std::string_view name) const {
  const auto it = std::ranges::find(flags_, name,
                                    [](const Flag& f) -> std::string_view { return f.spec.name; });
  return it != flags_.end() && it->given;
}

std::vector<std::string> FlagSet::GivenWords() const {
  std::map<std::string, std::string> values;
  for (const Taken& taken : taken_) {
    values[taken.flag->spec.name] = taken.value;
  }
  std::vector<std::string> words;
  words.reserve(values.size());
  for (const auto& [name, value] : values) {
    words.push_back(std::string(name).append("=").append(value));
  }
  return words;
}

std::string FlagSet::PlaceOf(std::string_view name) const {
  const auto taken = std::ranges::find(
      taken_, name, [](const Taken& t) -> std::string_view { return t.flag->spec.name; });
  if (taken == taken_.end()) {
    return {};
  }
  return taken->place.empty() ? "--" + std::string(name) : taken->place;
}

std::vector<FlagSpec> FlagSet::SpecsOf(FlagOrigin origin) const {
  std::vector<FlagSpec> specs;
  for (const Flag& flag : flags_) {
    if (flag.spec.origin == origin) {
      specs.push_back(flag.spec);
    }
  }
  return specs;
}

std::string FlagSet::HelpLines(FlagOrigin origin, bool rare) const {
  constexpr std::size_t kColumn = 28;
  std::string text;
  for (const FlagSpec& spec : SpecsOf(origin)) {
    if (spec.rare && !rare) {
      continue;
    }
    std::string line = "  --" + spec.name + (spec.value.empty() ? "" : " " + spec.value);
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    text += line + spec.help + "\n";
  }
  return text;
}

}  // namespace drydock::launcher
