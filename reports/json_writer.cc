#include "reports/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace drydock::reports {
namespace {

bool IsContinuation(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

/// Length a UTF-8 sequence has by its first byte, 0 if no sequence begins with it.
std::size_t AnnouncedLength(unsigned char lead) {
  if (lead < 0x80U) {
    return 1;
  }
  if (lead < 0xC2U || lead > 0xF4U) {
    return 0;
  }
  return lead < 0xE0U ? 2 : lead < 0xF0U ? 3 : 4;
}

/// False for overlong forms, surrogates and values beyond U+10FFFF, which the second byte tells.
bool SecondByteFits(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0U;
    case 0xED:
      return second <= 0x9FU;
    case 0xF0:
      return second >= 0x90U;
    case 0xF4:
      return second <= 0x8FU;
    default:
      return true;
  }
}

/// Bytes of the well-formed UTF-8 sequence at `at`, 0 if there is none (Unicode standard table
/// 3-7).
std::size_t SequenceLength(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = AnnouncedLength(lead);
  for (std::size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text, at + i)) {
      return 0;
    }
  }
  if (length > 1 && !SecondByteFits(lead, static_cast<unsigned char>(text[at + 1]))) {
    return 0;
  }
  return length;
}

void AppendEscaped(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20U && byte != 0x7FU) {
    out += c;
    return;
  }
  out += "\\u00";
  out += kHex[byte >> 4U];
  out += kHex[byte & 0xFU];
}

template <typename Number>
std::string NumberText(Number value) {
  std::array<char, 32> buffer = {};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  static_cast<void>(error);  // 32 characters hold every 64-bit integer and shortest double.
  return {buffer.data(), end};
}

}  // namespace

std::string QuotedText(std::string_view value) {
  std::string out = "\"";
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t length = SequenceLength(value, at);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
    } else if (length == 1) {
      AppendEscaped(out, value[at]);
      ++at;
    } else {
      out += value.substr(at, length);
      at += length;
    }
  }
  return out + "\"";
}

void JsonWriter::NewLine() {
  text_ += '\n';
  text_.append(2 * levels_.size(), ' ');
}

void JsonWriter::BeforeItem() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) {
    return;
  }
  Level& level = levels_.back();
  if (!level.empty) {
    text_ += level.inline_items ? ", " : ",";
  }
  if (!level.inline_items) {
    NewLine();
  }
  level.empty = false;
}

void JsonWriter::Begin(char bracket, bool inline_items) {
  BeforeItem();
  text_ += bracket;
  const bool in_inline = !levels_.empty() && levels_.back().inline_items;
  levels_.push_back({.inline_items = inline_items || in_inline, .empty = true});
}

void JsonWriter::End(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && !level.inline_items) {
    NewLine();
  }
  text_ += bracket;
}

void JsonWriter::Key(std::string_view name) {
  BeforeItem();
  text_ += QuotedText(name) + ": ";
  after_key_ = true;
}

void JsonWriter::Text(std::string_view value) {
  BeforeItem();
  text_ += QuotedText(value);
}

void JsonWriter::Integer(std::int64_t value) {
  BeforeItem();
  text_ += NumberText(value);
}

void JsonWriter::Boolean(bool value) {
  BeforeItem();
  text_ += value ? "true" : "false";
}

void JsonWriter::Number(double value) {
  BeforeItem();
  text_ += std::isfinite(value) ? NumberText(value) : std::string("null");
}

std::string JsonWriter::Take() && {
  text_ += '\n';
  return std::move(text_);
}

}  // namespace drydock::reports
