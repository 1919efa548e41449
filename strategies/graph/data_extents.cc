#include "strategies/graph/data_extents.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "strategies/graph/place_notes.h"

namespace drydock::strategies {
namespace {

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
