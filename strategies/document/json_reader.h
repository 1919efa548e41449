#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace drydock::strategies {

/// What a JSON value is. Numbers without fraction and exponent are integers.
enum class JsonKind : std::uint8_t { kNull, kBool, kInt, kFloat, kString, kArray, kObject };

/// "a list", "an integer": for messages.
[[nodiscard]] std::string_view JsonKindText(JsonKind kind);

class JsonReader;

/// One value of a text that a JsonReader holds; cheap to copy, valid while the reader lives.
class JsonView {
 public:
  JsonView(const JsonReader& reader, std::uint32_t index) : reader_(&reader), index_(index) {}
  [[nodiscard]] JsonKind kind() const;
  /// Where the value begins in the text, bytes.
  [[nodiscard]] std::size_t offset() const;
  /// Line and column of the value, with its line if that is short.
  [[nodiscard]] SourcePlace Place() const;

  /// The value as it is; `kind()` must say so (kFloat also for integers).
  [[nodiscard]] bool AsBool() const;
  [[nodiscard]] std::int64_t AsInt() const;
  [[nodiscard]] double AsFloat() const;
  [[nodiscard]] std::string_view AsText() const;

  /// Values of a list.
  [[nodiscard]] std::vector<JsonView> Elements() const;
  /// Names (views of kind kString) and values of an object, in the text's order.
  [[nodiscard]] std::vector<std::pair<JsonView, JsonView>> Members() const;

 private:
  const JsonReader* reader_;
  std::uint32_t index_;
};

/// Bounds of what is read.
struct JsonLimits {
  std::size_t bytes = std::size_t{512} << 20U;  ///< Length of the text.
  std::size_t nesting = 64;                     ///< Lists and objects in each other.
  std::size_t values = std::size_t{1}
                       << 25U;  ///< Names and values together; 16 bytes each are held.
};

/// A JSON text read into a flat tape of values that know their place. Keeps a view of the text.
///
/// Nothing is recursive: deep nesting ends at the limit with an error, not with a stack overflow.
class JsonReader {
 public:
  /// @error kInvalidArgument  not JSON, too long, too deep, too many values, integer beyond 64 bits
  [[nodiscard]] static Result<JsonReader> Parse(std::string_view text, std::string_view file,
                                                const JsonLimits& limits = {});
  [[nodiscard]] JsonView root() const { return {*this, 0}; }
  [[nodiscard]] SourcePlace PlaceAt(std::size_t offset) const;
  /// Places of many offsets in ascending order, in one pass over the text.
  [[nodiscard]] std::vector<SourcePlace> PlacesAt(std::span<const std::size_t> offsets) const;

 private:
  friend class JsonView;
  friend class TapeBuilder;
  /// Payload: number or bits of a double; strings: begin << 32 | length in `strings_`;
  /// lists and objects: index behind the last value inside.
  struct Entry {
    JsonKind kind = JsonKind::kNull;
    std::uint32_t offset = 0;
    std::int64_t payload = 0;
  };
  [[nodiscard]] std::uint32_t NextAfter(std::uint32_t index) const;

  std::string_view text_ = {};
  std::string file_ = {};
  std::vector<Entry> entries_ = {};
  std::string strings_ = {};
};

/// Begins a field of the object that `out` ends in: "name": with a comma in front unless it is the
/// first.
void AppendJsonField(std::string& out, std::string_view name);

/// Begins an item of the list that `out` ends in: a comma unless it is the first.
void AppendJsonItem(std::string& out);

/// Appends a JSON string with quotes; bytes that are not UTF-8 become U+FFFD.
void AppendJsonText(std::string& out, std::string_view text);

/// Appends the shortest number that reads back as `number`, with a fraction or exponent so that it
/// stays a float; not finite: "nan", "inf" or "-inf" as a string.
void AppendJsonFloat(std::string& out, double number);

/// Appends "[1,2]".
void AppendJsonInts(std::string& out, std::span<const std::int64_t> numbers);

}  // namespace drydock::strategies
