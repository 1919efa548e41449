#include "strategies/document/json_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>

#include <nlohmann/json.hpp>

namespace drydock::strategies {
namespace {

/// Lines longer than this are not quoted in messages.
constexpr std::size_t kMaxQuotedLine = 160;

tl::unexpected<Error> FailAt(const JsonReader& reader, std::size_t offset, std::string reason,
                             std::string message, std::string hint = {}) {
  Error error = FailInput(std::move(reason), std::move(message), std::move(hint)).value();
  error.place = reader.PlaceAt(offset);
  return tl::unexpected(std::move(error));
}

/// What files are by their first bytes, that are no JSON.
std::string RemedyFor(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return "the file is UTF-16: save it as UTF-8";
  }
  if (text.starts_with("\x1F\x8B") || text.starts_with("PK\x03\x04")) {
    return "the file is compressed: unpack it";
  }
  return "";
}

/// Input iterator over a text that tells through `position` how far the lexer has come.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    *position_ = at_;
    return *this;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* at_;
  const char** position_;
};

/// The part of the library's message behind "syntax error while parsing ... - ", cut to a line.
std::string ShortReason(std::string_view what) {
  constexpr std::size_t kMaxLength = 160;
  const std::size_t dash = what.find(" - ");
  const std::size_t colon = what.find(": ");
  if (dash != std::string_view::npos) {
    what.remove_prefix(dash + 3);
  } else if (colon != std::string_view::npos) {
    what.remove_prefix(colon + 2);
  }
  std::string text(what.substr(0, kMaxLength));
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20U; }, ' ');
  return text + (what.size() > kMaxLength ? "..." : "");
}

}  // namespace

/// Receives the events of the JSON library's parser and writes the tape. Stops at the first error.
class TapeBuilder {
 public:
  TapeBuilder(JsonReader& reader, const JsonLimits& limits, const char* const* position)
      : reader_(reader), limits_(limits), position_(position) {}

  // Names are given by the library's event interface.
  // NOLINTBEGIN(readability-identifier-naming)
  bool null() { return Add(JsonKind::kNull, 0); }
  bool boolean(bool value) { return Add(JsonKind::kBool, value ? 1 : 0); }
  bool number_integer(std::int64_t value) { return Add(JsonKind::kInt, value); }
  bool number_unsigned(std::uint64_t value) {
    return std::in_range<std::int64_t>(value)
               ? Add(JsonKind::kInt, static_cast<std::int64_t>(value))
               : TooBig();
  }
  bool number_float(double value, const std::string& digits) {
    // The library turns integers beyond 64 bits into floats.
    return digits.find_first_of(".eE") == std::string::npos
               ? TooBig()
               : Add(JsonKind::kFloat, std::bit_cast<std::int64_t>(value));
  }
  bool string(const std::string& value) { return AddText(value); }
  bool key(const std::string& value) { return AddText(value); }
  bool binary(const std::vector<std::uint8_t>& /*value*/) { return false; }
  bool start_object(std::size_t /*elements*/) { return Open(JsonKind::kObject); }
  bool start_array(std::size_t /*elements*/) { return Open(JsonKind::kArray); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& exception) {
    const bool at_end = position > reader_.text_.size();
    error_ =
        FailAt(reader_, std::min(position == 0 ? 0 : position - 1, reader_.text_.size()),
               "graph:not-json", "this is not JSON: " + ShortReason(exception.what()),
               at_end ? "the text ends too early; is the file complete?" : RemedyFor(reader_.text_))
            .value();
    return false;
  }
  // NOLINTEND(readability-identifier-naming)

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  bool Add(JsonKind kind, std::int64_t payload) {
    const std::size_t offset = SkipToToken();
    if (reader_.entries_.size() >= limits_.values) {
      return Refuse(offset, "graph:too-many-values",
                    "more than " + std::to_string(limits_.values) + " values");
    }
    reader_.entries_.push_back(
        {.kind = kind, .offset = static_cast<std::uint32_t>(offset), .payload = payload});
    return true;
  }
  bool AddText(const std::string& value) {
    const auto begin = static_cast<std::int64_t>(reader_.strings_.size());
    reader_.strings_ += value;
    return Add(JsonKind::kString, (begin << 32U) | static_cast<std::int64_t>(value.size()));
  }
  bool Open(JsonKind kind) {
    if (open_.size() >= limits_.nesting) {
      return Refuse(
          SkipToToken(), "graph:nesting",
          "lists and objects are nested more than " + std::to_string(limits_.nesting) + " deep");
    }
    open_.push_back(reader_.entries_.size());
    return Add(kind, 0);
  }
  bool Close() {
    reader_.entries_[open_.back()].payload = static_cast<std::int64_t>(reader_.entries_.size());
    open_.pop_back();
    return true;
  }
  bool TooBig() {
    return Refuse(SkipToToken(), "graph:overflow", "this number does not fit 64 bits");
  }
  bool Refuse(std::size_t offset, std::string reason, std::string message) {
    error_ = FailAt(reader_, offset, std::move(reason), std::move(message)).value();
    return false;
  }
  /// Offset of the token just read. The lexer has gone past it (past one more character for
  /// numbers), so it is found from the end of the token before; only separators lie between.
  std::size_t SkipToToken() {
    const std::size_t found =
        reader_.text_.find_first_not_of("\xEF\xBB\xBF \t\r\n,:]}", end_of_last_);
    end_of_last_ = static_cast<std::size_t>(*position_ - reader_.text_.data());
    return std::min(found, reader_.text_.size());
  }

  JsonReader& reader_;
  const JsonLimits& limits_;
  const char* const* position_;
  std::size_t end_of_last_ = 0;
  std::vector<std::size_t> open_ = {};
  std::optional<Error> error_ = {};
};

std::string_view JsonKindText(JsonKind kind) {
  constexpr std::array<std::string_view, 7> kTexts = {
      "null", "true or false", "an integer", "a number", "a string", "a list", "an object"};
  return kTexts[static_cast<std::size_t>(kind)];
}

Result<JsonReader> JsonReader::Parse(std::string_view text, std::string_view file,
                                     const JsonLimits& limits) {
  JsonReader reader;
  reader.text_ = text;
  reader.file_ = std::string(file);
  if (text.size() > limits.bytes) {
    return FailAt(reader, 0, "graph:too-long",
                  "the text has " + std::to_string(text.size()) + " bytes, at most " +
                      std::to_string(limits.bytes) + " are read");
  }
  const char* position = text.data();
  TapeBuilder builder(reader, limits, &position);
  const CountingIterator begin(text.data(), &position);
  const CountingIterator end(text.data() + text.size(), &position);
  if (!nlohmann::json::sax_parse(begin, end, &builder)) {
    return tl::unexpected(builder.error().value_or(Error{
        .code = ErrorCode::kInternal, .message = "the JSON parser stopped without a reason"}));
  }
  return reader;
}

SourcePlace JsonReader::PlaceAt(std::size_t offset) const {
  return PlacesAt(std::array<std::size_t, 1>{offset}).front();
}

std::vector<SourcePlace> JsonReader::PlacesAt(std::span<const std::size_t> offsets) const {
  std::vector<SourcePlace> places;
  std::size_t line_begin = 0;
  std::size_t newline = text_.find('\n');
  std::int32_t line = 1;
  for (const std::size_t offset : offsets) {
    while (newline < offset) {
      line_begin = newline + 1;
      newline = text_.find('\n', line_begin);
      ++line;
    }
    SourcePlace place{
        .file = file_, .line = line, .column = static_cast<std::int32_t>(offset - line_begin + 1)};
    const std::size_t line_end = std::min(newline, text_.size());
    if (line_end - line_begin <= kMaxQuotedLine) {
      place.text = std::string(text_.substr(line_begin, line_end - line_begin));
    }
    places.push_back(std::move(place));
  }
  return places;
}

std::uint32_t JsonReader::NextAfter(std::uint32_t index) const {
  const Entry& entry = entries_[index];
  const bool container = entry.kind == JsonKind::kArray || entry.kind == JsonKind::kObject;
  return container ? static_cast<std::uint32_t>(entry.payload) : index + 1;
}

JsonKind JsonView::kind() const {
  return reader_->entries_[index_].kind;
}
std::size_t JsonView::offset() const {
  return reader_->entries_[index_].offset;
}
SourcePlace JsonView::Place() const {
  return reader_->PlaceAt(offset());
}
bool JsonView::AsBool() const {
  return reader_->entries_[index_].payload != 0;
}
std::int64_t JsonView::AsInt() const {
  return reader_->entries_[index_].payload;
}

double JsonView::AsFloat() const {
  const std::int64_t payload = reader_->entries_[index_].payload;
  return kind() == JsonKind::kInt ? static_cast<double>(payload) : std::bit_cast<double>(payload);
}

std::string_view JsonView::AsText() const {
  const auto packed = static_cast<std::uint64_t>(reader_->entries_[index_].payload);
  return std::string_view(reader_->strings_).substr(packed >> 32U, packed & 0xFFFFFFFFU);
}

std::vector<JsonView> JsonView::Elements() const {
  std::vector<JsonView> elements;
  const std::uint32_t end = reader_->NextAfter(index_);
  for (std::uint32_t i = index_ + 1; i < end; i = reader_->NextAfter(i)) {
    elements.emplace_back(*reader_, i);
  }
  return elements;
}

std::vector<std::pair<JsonView, JsonView>> JsonView::Members() const {
  std::vector<std::pair<JsonView, JsonView>> members;
  const std::uint32_t end = reader_->NextAfter(index_);
  for (std::uint32_t i = index_ + 1; i < end; i = reader_->NextAfter(i + 1)) {
    members.emplace_back(JsonView(*reader_, i), JsonView(*reader_, i + 1));
  }
  return members;
}

void AppendJsonField(std::string& out, std::string_view name) {
  if (out.back() != '{') {
    out += ',';
  }
  AppendJsonText(out, name);
  out += ':';
}

void AppendJsonItem(std::string& out) {
  if (out.back() != '[') {
    out += ',';
  }
}

void AppendJsonText(std::string& out, std::string_view text) {
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (plain) {  // as nearly all texts are
    out += '"';
    out += text;
    out += '"';
    return;
  }
  using nlohmann::json;
  out += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

void AppendJsonFloat(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += std::isnan(number) ? "\"nan\"" : number > 0 ? "\"inf\"" : "\"-inf\"";
    return;
  }
  std::array<char, 32> buffer = {};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  const std::string_view digits(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) {
    out += ".0";
  }
}

void AppendJsonInts(std::string& out, std::span<const std::int64_t> numbers) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    out += (i > 0 ? "," : "") + std::to_string(numbers[i]);
  }
  out += ']';
}

}  // namespace drydock::strategies
