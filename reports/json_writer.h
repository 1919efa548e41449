#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drydock::reports {

/// Writes one JSON text with two-space indentation, keys in call order.
///
/// Bytes depend on the calls only. Text that is not UTF-8 (file names can be anything) gets U+FFFD
/// in place of every offending byte, so the result is always valid JSON.
class JsonWriter {
 public:
  /// `inline_items` puts the whole value on one line: {"stride": 4, "extent": 2}.
  void BeginObject(bool inline_items = false) { Begin('{', inline_items); }
  void EndObject() { End('}'); }
  void BeginArray(bool inline_items = false) { Begin('[', inline_items); }
  void EndArray() { End(']'); }
  void Key(std::string_view name);
  void Text(std::string_view value);
  void Integer(std::int64_t value);
  void Boolean(bool value);
  /// Shortest text that reads back as the same number; null if it is not finite.
  void Number(double value);

  /// The text so far, with a final newline.
  [[nodiscard]] std::string Take() &&;

 private:
  struct Level {
    bool inline_items = false;
    bool empty = true;
  };
  void Begin(char bracket, bool inline_items);
  void End(char bracket);
  void BeforeItem();
  void NewLine();

  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

/// `value` as a JSON string with quotes.
[[nodiscard]] std::string QuotedText(std::string_view value);

}  // namespace drydock::reports
