// Three notations of a model description become one table of names and values, each with its line,
// so that what understands the names (read_model.cc) need not know how they were written and can
// point at the line that is wrong.
#include "sim/planning/model_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

namespace drydock::sim {
namespace {

using Json = nlohmann::json;

/// Objects within objects beyond which a description is not a description.
constexpr int kMaxDepth = 16;

tl::unexpected<Error> Unreadable(const std::string& file, std::int32_t line, std::string message,
                                 std::string hint) {
  Error error = FailInput("Model:unreadable", std::move(message), std::move(hint)).value();
  error.place = SourcePlace{.file = file, .line = line};
  return tl::unexpected(std::move(error));
}

/// Line number `line` of `text`, 1-based, without its end.
std::string LineText(std::string_view text, std::int32_t line) {
  for (std::int32_t i = 1; i < line && !text.empty(); ++i) {
    const std::size_t end = text.find('\n');
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return std::string(text.substr(0, std::min<std::size_t>(text.find('\n'), 200)));
}

std::int32_t LineAt(std::string_view text, std::size_t position) {
  return static_cast<std::int32_t>(
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

/// Line of the first time that `key` is written as the name of a JSON member; 0 if it is not.
std::int32_t LineOfMember(std::string_view text, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\"";
  for (std::size_t at = text.find(quoted); at != std::string_view::npos;
       at = text.find(quoted, at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + quoted.size());
    if (next != std::string_view::npos && text[next] == ':') {
      return LineAt(text, at);
    }
  }
  return 0;
}

bool WholeNumbers(const Json& list) {
  return std::ranges::all_of(list, [](const Json& item) { return item.is_number_integer(); });
}

decltype(Setting::value) ValueOf(const Json& value) {
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  if (value.is_number()) {
    return value.get<double>();
  }
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_array() && WholeNumbers(value)) {
    return value.get<std::vector<std::int64_t>>();
  }
  if (value.is_null()) {
    return std::monostate();
  }
  return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 200);
}

void Collect(const Json& object, const std::string& prefix, int depth, ModelSettings& settings) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object() && depth < kMaxDepth) {
      Collect(value, prefix + key + ".", depth + 1, settings);
    } else {
      settings.Set(prefix + key, {.value = ValueOf(value)});
    }
  }
}

/// A word of a command line as the value that it looks like.
decltype(Setting::value) WordValue(const std::string& word) {
  std::int64_t whole = 0;
  const char* const end = word.data() + word.size();
  if (const auto [last, code] = std::from_chars(word.data(), end, whole);
      code == std::errc() && last == end) {
    return whole;
  }
  double real = 0;
  if (const auto [last, code] = std::from_chars(word.data(), end, real);
      code == std::errc() && last == end && std::isfinite(real)) {
    return real;
  }
  if (word == "True" || word == "true") {
    return true;
  }
  if (word == "False" || word == "false") {
    return false;
  }
  return word;
}

struct Word {
  std::string text = {};
  std::int32_t line = 1;
};

/// Words between blanks; a quoted part is one word, "#" at the beginning of a word begins a
/// comment, a backslash at the end of a line is nothing.
std::vector<Word> WordsOf(std::string_view text) {
  std::vector<Word> words;
  std::size_t at = 0;
  std::size_t counted = 0;
  std::int32_t line = 1;
  while (at < text.size()) {
    at = text.find_first_not_of(" \t\r\n\\", at);
    if (at == std::string_view::npos) {
      break;
    }
    line += LineAt(text.substr(counted), at - counted) - 1;
    counted = at;
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const bool quoted = text[at] == '"' || text[at] == '\'';
    const std::size_t begin = quoted ? at + 1 : at;
    const std::size_t end = std::min(
        quoted ? text.find(text[at], begin) : text.find_first_of(" \t\r\n", at), text.size());
    words.push_back({.text = std::string(text.substr(begin, end - begin)), .line = line});
    at = quoted && end < text.size() ? end + 1 : end;
  }
  return words;
}

bool IsFlag(const std::string& word) {
  return word.size() > 2 && word.starts_with("--");
}

}  // namespace

void ModelSettings::Set(std::string name, Setting setting) {
  values_.insert_or_assign(std::move(name), std::move(setting));
}

SourcePlace ModelSettings::PlaceOf(std::string_view name) const {
  const auto found = values_.find(name);
  std::int32_t line = found == values_.end() ? 0 : found->second.line;
  if (line == 0 && found != values_.end()) {
    line = LineOfMember(text_, name.substr(name.rfind('.') + 1));
  }
  return {.file = file_, .line = line, .text = line > 0 ? LineText(text_, line) : std::string()};
}

tl::unexpected<Error> ModelSettings::Wrong(std::string_view name, std::string_view what) const {
  Error error =
      FailInput("Model:wrong-type", "'" + std::string(name) + "' is not " + std::string(what),
                "give " + std::string(what))
          .value();
  error.place = PlaceOf(name);
  return tl::unexpected(std::move(error));
}

const Setting* ModelSettings::Find(std::string_view name) const {
  const auto found = values_.find(name);
  const bool there =
      found != values_.end() && !std::holds_alternative<std::monostate>(found->second.value);
  return there ? &found->second : nullptr;
}

Result<std::int64_t> ModelSettings::Integer(std::string_view name) const {
  const Setting* const setting = Find(name);
  if (setting == nullptr) {
    return Unreadable(file_, 0, "'" + std::string(name) + "' is missing",
                      "add '" + std::string(name) + "', a whole number");
  }
  constexpr std::int64_t kLargest = std::int64_t{1} << 53;
  if (const auto* whole = std::get_if<std::int64_t>(&setting->value);
      whole != nullptr && *whole<kLargest&& * whole> - kLargest) {
    return *whole;
  }
  if (const auto* real = std::get_if<double>(&setting->value);
      real != nullptr && std::abs(*real) < 9e15 && std::floor(*real) == *real) {
    return static_cast<std::int64_t>(*real);
  }
  return Wrong(name, "a whole number");
}

Result<std::int64_t> ModelSettings::Integer(std::string_view name, std::int64_t absent) const {
  return Has(name) ? Integer(name) : absent;
}

Result<double> ModelSettings::Number(std::string_view name, double absent) const {
  const Setting* const setting = Find(name);
  if (setting == nullptr) {
    return absent;
  }
  if (const auto* real = std::get_if<double>(&setting->value)) {
    return *real;
  }
  if (const auto* whole = std::get_if<std::int64_t>(&setting->value)) {
    return static_cast<double>(*whole);
  }
  return Wrong(name, "a number");
}

Result<bool> ModelSettings::Switch(std::string_view name, bool absent) const {
  const Setting* const setting = Find(name);
  if (setting == nullptr) {
    return absent;
  }
  if (const auto* value = std::get_if<bool>(&setting->value)) {
    return *value;
  }
  return Wrong(name, "true or false");
}

std::string ModelSettings::Text(std::string_view name) const {
  const Setting* const setting = Find(name);
  const auto* text = setting == nullptr ? nullptr : std::get_if<std::string>(&setting->value);
  return text == nullptr ? std::string() : *text;
}

ModelSettings ModelSettings::Under(std::string_view prefix) const {
  ModelSettings below(file_, text_);
  for (const auto& [name, setting] : values_) {
    if (name.starts_with(prefix)) {
      below.Set(name.substr(prefix.size()), setting);
    }
  }
  return below;
}

Result<ModelSettings> ReadJsonSettings(std::string_view text, const std::string& file) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) {
    return Unreadable(file, 1, "the model description is not a JSON object",
                      "give the config.json of a Hugging Face model, a mindformers YAML file, or a "
                      "file with Megatron arguments");
  }
  ModelSettings settings(file, std::string(text));
  Collect(document, "", 0, settings);
  return settings;
}

Result<ModelSettings> ReadArgumentSettings(std::string_view text, const std::string& file) {
  ModelSettings settings(file, std::string(text));
  const std::vector<Word> words = WordsOf(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!IsFlag(words[i].text)) {
      continue;  // the program's name, a script, a shell's variable
    }
    std::string name = words[i].text.substr(2);
    std::optional<std::string> value;
    const std::size_t equals = name.find('=');
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < words.size() && !IsFlag(words[i + 1].text)) {
      value = words[++i].text;
    }
    std::ranges::replace(name, '-', '_');
    settings.Set(std::move(name),
                 {.value = value ? WordValue(*value) : decltype(Setting::value)(true),
                  .line = words[i].line});
  }
  if (settings.all().empty()) {
    return Unreadable(file, 1, "the model description holds no '--name value'",
                      "give Megatron's arguments, such as --num-layers 32 --hidden-size 4096");
  }
  return settings;
}

}  // namespace drydock::sim
