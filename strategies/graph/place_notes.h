#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "strategies/graph/graph.h"

/// Lines of the script that errors name beside the one they point to.
namespace drydock::strategies {

/// True if the text has the number as a word of its own.
[[nodiscard]] bool NamesNumber(std::string_view text, std::int64_t number);

/// "net.py:54"
[[nodiscard]] std::string LineText(const SourcePlace& place);

/// "net.py:54: return self.matmul(x, self.w)"; the line's text only where it is known.
[[nodiscard]] std::string LineWithText(const SourcePlace& place);

/// The error at the line that holds the node, and a note of the one that applies it where that is
/// another.
[[nodiscard]] Error AtNodeLine(Error error, const Graph& graph, const Node& node);

/// The error at the line that makes a parameter, with notes of the lines that use it; unchanged if
/// that line is not known or the error has a place.
[[nodiscard]] Error AtParameter(Error error, const Graph& graph, ValueId parameter);

/// "parameter 'w' of shape (32, 16) is made at net.py:46: ..."; nothing if that is not known.
[[nodiscard]] std::optional<std::string> MadeNote(const Graph& graph, ValueId parameter);

/// The error with such a note for every operand of which its message names an extent.
[[nodiscard]] Error WithMadeNotes(Error error, const Graph& graph,
                                  std::span<const ValueId> operands);

}  // namespace drydock::strategies
