// YAML through yaml-cpp, whose exceptions end here. What is written twice through an anchor is read
// twice, up to a bound.
#include <charconv>

#include <yaml-cpp/yaml.h>

#include "sim/planning/model_settings.h"

namespace drydock::sim {
namespace {

constexpr int kMaxYamlDepth = 16;
constexpr int kMaxSettings = 20000;

tl::unexpected<Error> Unreadable(std::string message, const std::string& file, std::int32_t line) {
  Error error =
      FailInput("Model:unreadable", std::move(message),
                "give a mindformers YAML file, the config.json of a Hugging Face model, or "
                "a file with Megatron arguments")
          .value();
  error.place = SourcePlace{.file = file, .line = line};
  return tl::unexpected(std::move(error));
}

template <typename T>
std::optional<T> NumberOf(const std::string& text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, code] = std::from_chars(text.data(), end, value);
  return code == std::errc() && last == end ? std::optional(value) : std::nullopt;
}

/// A plain scalar as YAML 1.1 reads it, as far as configurations use it; "None" is Python's null.
decltype(Setting::value) ScalarValue(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") {  // quoted
    return text;
  }
  if (const auto whole = NumberOf<std::int64_t>(text)) {
    return *whole;
  }
  if (const auto real = NumberOf<double>(text)) {
    return *real;
  }
  if (text == "True" || text == "true") {
    return true;
  }
  if (text == "False" || text == "false") {
    return false;
  }
  if (text == "None" || text == "null" || text == "~" || text.empty()) {
    return std::monostate();
  }
  return text;
}

decltype(Setting::value) ListValue(const YAML::Node& node) {
  std::vector<std::int64_t> numbers;
  for (const YAML::Node& item : node) {
    const auto number = item.IsScalar() ? NumberOf<std::int64_t>(item.Scalar()) : std::nullopt;
    if (!number) {
      return std::string("list");
    }
    numbers.push_back(*number);
  }
  return numbers;
}

void Collect(const YAML::Node& map, const std::string& prefix, int depth, ModelSettings& settings,
             int& left) {
  for (const auto& item : map) {
    if (!item.first.IsScalar() || --left < 0) {
      continue;
    }
    const std::string name = prefix + item.first.Scalar();
    const YAML::Node& value = item.second;
    if (value.IsMap() && depth < kMaxYamlDepth) {
      Collect(value, name + ".", depth + 1, settings, left);
      continue;
    }
    settings.Set(name, {.value = value.IsScalar()     ? ScalarValue(value)
                                 : value.IsSequence() ? ListValue(value)
                                                      : decltype(Setting::value)(),
                        .line = item.first.Mark().line + 1});
  }
}

}  // namespace

Result<ModelSettings> ReadYamlSettings(std::string_view text, const std::string& file) {
  try {
    const YAML::Node document = YAML::Load(std::string(text));
    if (!document.IsMap()) {
      return Unreadable("the model description is not a table of names and values", file, 1);
    }
    ModelSettings settings(file, std::string(text));
    int left = kMaxSettings;
    Collect(document, "", 0, settings, left);
    return settings;
  } catch (const YAML::Exception& failure) {
    return Unreadable("the model description is not YAML: " + failure.msg, file,
                      failure.mark.line + 1);
  }
}

}  // namespace drydock::sim
