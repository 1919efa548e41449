#include "strategies/passes/choose/layout_candidates.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "strategies/operators/sharding_parts.h"

namespace drydock::strategies {
namespace {

/// The offers as layouts of the operands; empty if they do not make an operator's layouts.
std::vector<TensorLayout> OperandLayouts(const OpView& view, const OfferedLayouts& offered) {
  std::vector<TensorLayout> layouts;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    if (!offered[i] || i >= view.inputs.size() ||
        offered[i]->tensor_map.size() != view.inputs[i].shape.size() ||
        offered[i]->device_matrix != offered.front()->device_matrix) {
      return {};
    }
    layouts.push_back(*offered[i]);
    layouts.back().shape = view.inputs[i].shape;
  }
  return layouts.size() == view.inputs.size() ? layouts : std::vector<TensorLayout>{};
}

}  // namespace

std::optional<Candidate> CandidateByLayout(const Graph& graph, const Node& node,
                                           const JobConfig& config,
                                           const std::vector<Candidate>& candidates,
                                           const OfferedLayouts& offered) {
  if (!node.entry->accepts_layout || node.entry->layouts_as_given) {
    return std::nullopt;
  }
  OpViewStorage storage;
  const OpView view = ViewOf(graph, node, storage);
  const std::vector<TensorLayout> layouts = OperandLayouts(view, offered);
  Strategy cuts;
  std::ranges::transform(layouts, std::back_inserter(cuts), CutsOf);
  const bool known = std::ranges::any_of(
      candidates, [&](const Candidate& candidate) { return candidate.sharding.strategy == cuts; });
  if (layouts.empty() || !known) {
    return std::nullopt;
  }
  Result<OpSharding> sharding = TryLayouts(*node.entry, view, layouts, {}, DevicesOf(config));
  if (!sharding) {
    return std::nullopt;
  }
  return CandidateWithCosts(node, view, config, *std::move(sharding));
}

}  // namespace drydock::strategies
