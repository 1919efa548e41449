#include "reports/text_table.h"

#include <algorithm>
#include <cstdint>

namespace drydock::reports {
namespace {

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
  bool printable = true;
};

/// Characters from U+1100 on that terminals draw in two columns lie in these ranges, near enough.
bool IsWide(std::uint32_t code) {
  return (code >= 0x1100U && code <= 0x115FU) || (code >= 0x2E80U && code <= 0xA4CFU) ||
         (code >= 0xAC00U && code <= 0xD7A3U) || (code >= 0xF900U && code <= 0xFAFFU) ||
         (code >= 0xFE30U && code <= 0xFE6FU) || (code >= 0xFF00U && code <= 0xFF60U) ||
         (code >= 0x1F300U && code <= 0x1FAFFU) || (code >= 0x20000U && code <= 0x3FFFDU);
}

/// The character at `at`; anything that is not UTF-8 counts as one unprintable byte.
Character CharacterAt(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80U) {
    return {.printable = lead >= 0x20U && lead != 0x7FU};
  }
  std::size_t length = 0;
  std::uint32_t code = 0;
  if (lead >= 0xF0U && lead <= 0xF4U) {
    length = 4;
    code = lead & 0x07U;
  } else if (lead >= 0xE0U) {
    length = 3;
    code = lead & 0x0FU;
  } else if (lead >= 0xC2U) {
    length = 2;
    code = lead & 0x1FU;
  }
  if (length == 0 || lead > 0xF4U || at + length > text.size()) {
    return {.printable = false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0U) != 0x80U) {
      return {.printable = false};
    }
    code = code << 6U | (next & 0x3FU);
  }
  // U+0080..U+009F control terminals as well.
  return {.bytes = length, .columns = IsWide(code) ? 2U : 1U, .printable = code >= 0xA0U};
}

/// Printable characters of a text with their widths.
struct Piece {
  std::string text = {};
  std::size_t columns = 1;
};

std::vector<Piece> PiecesOf(std::string_view text) {
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    if (character.printable) {
      pieces.push_back(
          {.text = std::string(text.substr(at, character.bytes)), .columns = character.columns});
    } else {
      pieces.push_back({.text = "?", .columns = 1});
    }
    at += character.bytes;
  }
  return pieces;
}

std::size_t Columns(const std::vector<Piece>& pieces) {
  std::size_t columns = 0;
  for (const Piece& piece : pieces) {
    columns += piece.columns;
  }
  return columns;
}

}  // namespace

std::size_t DisplayWidth(std::string_view text) {
  return Columns(PiecesOf(text));
}

std::string FitText(std::string_view text, std::size_t width) {
  constexpr std::size_t kDots = 3;
  std::vector<Piece> pieces = PiecesOf(text);
  std::string fitted;
  if (Columns(pieces) <= width || width <= kDots) {
    for (const Piece& piece : pieces) {
      fitted += piece.text;
    }
    return width <= kDots ? fitted.substr(0, width) : fitted;
  }
  const std::size_t tail_columns = (width - kDots) / 2;
  const std::size_t head_columns = width - kDots - tail_columns;
  std::size_t used = 0;
  for (const Piece& piece : pieces) {
    used += piece.columns;
    if (used > head_columns) {
      break;
    }
    fitted += piece.text;
  }
  fitted += "...";
  std::size_t first = pieces.size();
  for (used = 0; first > 0 && used + pieces[first - 1].columns <= tail_columns; --first) {
    used += pieces[first - 1].columns;
  }
  for (; first < pieces.size(); ++first) {
    fitted += pieces[first].text;
  }
  return fitted;
}

std::vector<std::string> TableLines(const std::vector<std::vector<std::string>>& rows,
                                    const std::vector<bool>& right, std::size_t indent) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - DisplayWidth(row[i]), ' ');
      const bool flush_right = i < right.size() && right[i];
      line += (i > 0 ? "  " : "") + (flush_right ? blanks + row[i] : row[i] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> WrappedLines(std::string_view text, std::size_t width,
                                      std::size_t indent) {
  std::vector<std::string> lines;
  while (DisplayWidth(text) > width) {
    // The last blank of what fits; without one the whole word.
    std::size_t end = std::string_view::npos;
    for (std::size_t at = text.find(' ', 1); at != std::string_view::npos;
         at = text.find(' ', at + 1)) {
      if (end != std::string_view::npos && DisplayWidth(text.substr(0, at)) > width) {
        break;
      }
      if (text.substr(0, at).find_first_not_of(' ') != std::string_view::npos) {
        end = at;
      }
    }
    if (end == std::string_view::npos) {
      break;
    }
    lines.push_back((lines.empty() ? std::string() : std::string(indent, ' ')) +
                    std::string(text.substr(0, end)));
    text.remove_prefix(end + 1);
    if (lines.size() == 1) {
      width -= std::min(indent, width - 1);
    }
  }
  lines.push_back((lines.empty() ? std::string() : std::string(indent, ' ')) + std::string(text));
  return lines;
}

}  // namespace drydock::reports
