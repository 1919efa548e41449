#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace drydock::sim {

/// One setting of a model description, and where it stands.
struct Setting {
  /// Nothing: written, but as null. Lists hold whole numbers only; other lists are texts.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::int64_t>>
      value = {};
  std::int32_t line = 0;  ///< 1-based; 0: found by its name when it is asked for.
};

/// A model description taken apart: names and values, whatever the notation was.
///
/// Names of nested settings are joined by dots: "parallel_config.data_parallel".
class ModelSettings {
 public:
  /// @param text  the description itself, to show its lines in messages
  explicit ModelSettings(std::string file = {}, std::string text = {})
      : file_(std::move(file)), text_(std::move(text)) {}

  void Set(std::string name, Setting setting);
  /// The setting; null if it is not there or has no value.
  [[nodiscard]] const Setting* Find(std::string_view name) const;
  [[nodiscard]] bool Has(std::string_view name) const { return Find(name) != nullptr; }

  /// A whole number. @error kInvalidArgument  not there, or not a whole number
  [[nodiscard]] Result<std::int64_t> Integer(std::string_view name) const;
  /// The same, `absent` if it is not there.
  [[nodiscard]] Result<std::int64_t> Integer(std::string_view name, std::int64_t absent) const;
  [[nodiscard]] Result<double> Number(std::string_view name, double absent) const;
  [[nodiscard]] Result<bool> Switch(std::string_view name, bool absent) const;
  /// The text; empty if it is not there or not a text.
  [[nodiscard]] std::string Text(std::string_view name) const;

  /// All names that begin with `prefix`, without it.
  [[nodiscard]] ModelSettings Under(std::string_view prefix) const;
  /// Where a setting is written; the file alone if it is not.
  [[nodiscard]] SourcePlace PlaceOf(std::string_view name) const;
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::map<std::string, Setting, std::less<>>& all() const { return values_; }

 private:
  [[nodiscard]] tl::unexpected<Error> Wrong(std::string_view name, std::string_view what) const;

  std::string file_ = {};
  std::string text_ = {};
  std::map<std::string, Setting, std::less<>> values_ = {};
};

/// Most bytes of a model description.
inline constexpr std::size_t kMaxDescriptionBytes = 1 << 20;

/// JSON, as Hugging Face's config.json. @error kInvalidArgument  not an object; has a place
[[nodiscard]] Result<ModelSettings> ReadJsonSettings(std::string_view text,
                                                     const std::string& file);

/// YAML, as mindformers writes it. @error kInvalidArgument  cannot be read; has a place
[[nodiscard]] Result<ModelSettings> ReadYamlSettings(std::string_view text,
                                                     const std::string& file);

/// Arguments of a command line, as Megatron's: "--num-layers 96 --swiglu"; dashes of a name become
/// underscores. Text may hold them over many lines, with continuation marks and comments.
/// @error kInvalidArgument  a word that belongs to no flag
[[nodiscard]] Result<ModelSettings> ReadArgumentSettings(std::string_view text,
                                                         const std::string& file);

}  // namespace drydock::sim
