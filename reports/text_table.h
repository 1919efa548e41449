#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace drydock::reports {

/// Columns a text takes on a terminal: East Asian wide characters take two.
[[nodiscard]] std::size_t DisplayWidth(std::string_view text);

/// The text in at most `width` columns; a longer one loses its middle: "Default/net...MatMul-op4".
/// Control characters, which names from outside may contain, become '?'.
[[nodiscard]] std::string FitText(std::string_view text, std::size_t width);

/// A sentence broken at blanks into lines of at most `width` columns where that is possible; all
/// but the first begin with `indent` blanks.
[[nodiscard]] std::vector<std::string> WrappedLines(std::string_view text, std::size_t width,
                                                    std::size_t indent);

/// Lines of a table with columns two blanks apart, each as wide as its widest cell.
///
/// @param right  per column: flush right (numbers); missing = left
/// @param indent blanks before every line
[[nodiscard]] std::vector<std::string> TableLines(const std::vector<std::vector<std::string>>& rows,
                                                  const std::vector<bool>& right,
                                                  std::size_t indent);

}  // namespace drydock::reports
