#include "strategies/graph/data_extents.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/text.h"

namespace drydock::strategies {
namespace {

bool IsPartOfNumber(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// True if the text has the number as a word of its own.
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

bool HasExtent(const Graph& graph, std::span<const ValueId> operands, std::int64_t extent) {
  return std::ranges::any_of(operands, [&](ValueId operand) {
    return operand != kNoValue && std::ranges::find(graph.at(operand).type.shape, extent) !=
                                      graph.at(operand).type.shape.end();
  });
}

/// What each rank has of it.
Shape PerRank(Shape shape, const std::vector<std::int64_t>& cuts) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    shape[d] /= std::max<std::int64_t>(cuts[d], 1);
  }
  return shape;
}

}  // namespace

std::optional<std::string> DataExtentNote(std::string_view message, const Graph& graph,
                                          std::span<const ValueId> operands,
                                          const JobConfig& config) {
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& shape = graph.at(graph.inputs[i]).type.shape;
    const Result<std::vector<std::int64_t>> cuts = DatasetCuts(shape.size(), i, config);
    for (std::size_t d = 0; cuts && d < shape.size(); ++d) {
      const std::int64_t cut = (*cuts)[d];
      if (cut > 1 && NamesNumber(message, shape[d]) && HasExtent(graph, operands, shape[d])) {
        return "data of shape " + TupleText(PerRank(shape, *cuts)) + " on each rank have shape " +
               TupleText(shape) + " in the network, which dataset_strategy cuts by " +
               TupleText(*cuts);
      }
    }
  }
  return std::nullopt;
}

}  // namespace drydock::strategies
