#include "strategies/graph/place_notes.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/text.h"

namespace drydock::strategies {
namespace {

/// Most lines that are named for the uses of a parameter.
constexpr std::size_t kMaxUses = 4;

bool IsPartOfNumber(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Lines of forward operators that read a value, each once, in the order of the nodes.
std::vector<std::pair<const Node*, SourcePlace>> Uses(const Graph& graph, ValueId value) {
  std::vector<std::pair<const Node*, SourcePlace>> uses;
  for (const Node& node : graph.nodes) {
    const std::optional<SourcePlace> place = PlaceOf(graph, node);
    const bool reads = std::ranges::find(node.inputs, value) != node.inputs.end();
    if (!reads || !place || node.phase != Phase::kForward) {
      continue;
    }
    const bool known = std::ranges::any_of(uses, [&](const auto& use) {
      return use.second.file == place->file && use.second.line == place->line;
    });
    if (!known && uses.size() < kMaxUses) {
      uses.emplace_back(&node, *place);
    }
  }
  return uses;
}

}  // namespace

bool NamesNumber(std::string_view text, std::int64_t number) {
  const std::string word = std::to_string(number);
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !IsPartOfNumber(text[at - 1])) &&
        (end == text.size() || !IsPartOfNumber(text[end]))) {
      return true;
    }
  }
  return false;
}

std::string LineText(const SourcePlace& place) {
  return place.file + ":" + std::to_string(place.line);
}

std::string LineWithText(const SourcePlace& place) {
  const std::size_t first = place.text.find_first_not_of(" \t");
  return LineText(place) + (first == std::string::npos ? "" : ": " + place.text.substr(first));
}

Error AtNodeLine(Error error, const Graph& graph, const Node& node) {
  const std::optional<SourcePlace> applied = AppliedPlaceOf(graph, node);
  const std::optional<SourcePlace> held = PlaceOf(graph, node);
  if (error.place || !held) {
    return error;
  }
  error = WithPlace(std::move(error), held);
  return applied && *applied != *held
             ? WithNote(std::move(error), "the operator is applied at " + LineWithText(*applied))
             : error;
}

Error AtParameter(Error error, const Graph& graph, ValueId parameter) {
  const std::optional<SourcePlace> made = MadePlaceOf(graph, parameter);
  if (error.place || !made) {
    return error;
  }
  error = WithPlace(std::move(error), made);
  for (const auto& [node, place] : Uses(graph, parameter)) {
    error = WithNote(std::move(error), "'" + node->op + "' uses it at " + LineWithText(place));
  }
  return error;
}

std::optional<std::string> MadeNote(const Graph& graph, ValueId parameter) {
  const std::optional<SourcePlace> made = MadePlaceOf(graph, parameter);
  if (!made) {
    return std::nullopt;
  }
  const Value& value = graph.at(parameter);
  return "parameter '" + value.name + "' of shape " + TupleText(value.type.shape) + " is made at " +
         LineWithText(*made);
}

Error WithMadeNotes(Error error, const Graph& graph, std::span<const ValueId> operands) {
  for (const ValueId operand : operands) {
    if (operand == kNoValue) {
      continue;
    }
    const Shape& shape = graph.at(operand).type.shape;
    const bool named = std::ranges::any_of(shape, [&error](std::int64_t extent) {
      return extent > 1 && NamesNumber(error.message, extent);
    });
    std::optional<std::string> note = named ? MadeNote(graph, operand) : std::nullopt;
    if (note && std::ranges::find(error.notes, *note) == error.notes.end()) {
      error = WithNote(std::move(error), *std::move(note));
    }
  }
  return error;
}

}  // namespace drydock::strategies
