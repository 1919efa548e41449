#include "strategies/operators/simplification.h"

#include <algorithm>

namespace drydock::strategies {

const Node* SimplifyContext::ProducerOf(ValueId id) const {
  const Value& value = graph.at(id);
  return value.kind == ValueKind::kOutput ? &graph.at(value.producer) : nullptr;
}

std::optional<double> SimplifyContext::NumberOf(ValueId id) const {
  return UniformNumber(graph, id);
}

std::optional<double> UniformNumber(const Graph& graph, ValueId id) {
  const Value& value = graph.at(id);
  if (value.kind != ValueKind::kConstant) {
    return std::nullopt;
  }
  const Constant& constant = graph.constants[static_cast<std::size_t>(value.detail)];
  if (constant.number || !constant.data || constant.data->empty()) {
    return constant.number;
  }
  const double first = constant.data->front();
  const bool uniform =
      std::ranges::all_of(*constant.data, [first](double number) { return number == first; });
  return uniform ? std::optional(first) : std::nullopt;
}

}  // namespace drydock::strategies
