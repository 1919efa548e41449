#include "launcher/flags.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

std::string Quoted(std::string_view word) {
  return "'" + std::string(word) + "'";
}

tl::unexpected<Error> WrongValue(std::string message) {
  return Fail(ErrorCode::kInvalidArgument, std::move(message));
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

/// Names that other launchers (torchrun, mpirun) give to a flag, and ours.
constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
    {"nproc_per_node", "local_worker_num"},
    {"n", "worker_num"},
    {"np", "worker_num"},
    {"world_size", "worker_num"},
    {"rdzv_endpoint", "master_addr"},
    {"host", "master_addr"}};

/// The flag of ours that another launcher calls `name`; empty if there is none.
std::string NameHere(std::string_view name, const std::vector<std::string_view>& ours) {
  for (const auto& [theirs, here] : kElsewhere) {
    if (theirs == name && std::ranges::find(ours, here) != ours.end()) {
      return std::string(here);
    }
  }
  return {};
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
  if (failure != std::errc() || stop != end) {
    return WrongValue("invalid int value: " + Quoted(word));
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

Status FlagSet::Parse(std::span<const std::string> words) {
  std::size_t index = 0;
  while (index < words.size() && LooksLikeFlag(words[index])) {
    if (words[index] == "--") {
      ++index;
      break;
    }
    DRYDOCK_TRY(index, ReadFlag(words, index));
  }
  rest_.assign(words.begin() + static_cast<std::ptrdiff_t>(index), words.end());
  return {};
}

/// Reads the flag at `index` and its value; gives the index behind them.
Result<std::size_t> FlagSet::ReadFlag(std::span<const std::string> words, std::size_t index) {
  const std::string_view word = words[index];
  const std::size_t equals = word.find('=');
  DRYDOCK_TRY(Flag* const flag, Resolve(word.substr(0, equals)));
  std::string_view value = "True";
  std::size_t next = index + 1;
  if (equals != std::string_view::npos) {
    value = word.substr(equals + 1);
  } else if (!flag->spec.value.empty()) {
    if (next == words.size() || LooksLikeFlag(words[next])) {
      return FailCommand("USAGE", "argument --" + flag->spec.name + ": expected one argument",
                         "write --" + flag->spec.name + "=" + flag->spec.value);
    }
    value = words[next++];
  }
  flag->given = true;
  flag->word = std::string(value);
  if (Status status = flag->read(value); !status) {
    const Error& error = status.error();
    return FailCommand("USAGE", "argument --" + flag->spec.name + ": " + error.message, error.hint);
  }
  return next;
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
  return FailCommand("USAGE", "ambiguous option: " + std::string(word) + " could match " + names,
                     "write the name in full");
}

Result<FlagSet::Flag*> FlagSet::Resolve(std::string_view word) {
  const bool long_form = word.starts_with("--");
  const std::string name = word == "-h" ? "help" : Normalised(word.substr(long_form ? 2 : 1));
  if (long_form || word == "-h") {
    const auto exact = std::ranges::find(flags_, name, [](const Flag& f) { return f.spec.name; });
    if (exact != flags_.end()) {
      return &*exact;
    }
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
  std::vector<std::string_view> names;
  for (const Flag& flag : flags_) {
    names.push_back(flag.spec.name);
  }
  const std::string known = NameHere(name, names);
  const std::string nearest = known.empty() ? NearestWord(name, names) : known;
  return FailCommand(
      "USAGE", "unrecognized argument: " + std::string(word),
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
  std::vector<std::string> words;
  for (const Flag& flag : flags_) {
    if (flag.given) {
      words.push_back(flag.spec.name + "=" + flag.word);
    }
  }
  std::ranges::sort(words);
  return words;
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
