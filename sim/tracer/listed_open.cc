#include "sim/tracer/listed_open.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/ids.h"

namespace drydock::sim {
namespace {

using strategies::Graph;
using strategies::Node;

/// Smaller factors are those of usual extents: nothing follows from them.
constexpr std::int64_t kTelling = 7;

std::int64_t LargestPrimeFactor(std::int64_t extent) {
  std::int64_t largest = 1;
  for (std::int64_t factor = 2; factor * factor <= extent; ++factor) {
    while (extent % factor == 0) {
      largest = factor;
      extent /= factor;
    }
  }
  return std::max(largest, extent);
}

bool ComesFrom(const std::set<std::int64_t>& open_extents, std::int64_t extent) {
  return std::ranges::any_of(open_extents, [extent](std::int64_t open) {
    const std::int64_t prime = LargestPrimeFactor(open);
    return extent == open || (prime >= kTelling && extent % prime == 0);
  });
}

std::set<std::int64_t> OpenExtents(const Graph& graph, const Node& node,
                                   const std::vector<std::vector<bool>>& open) {
  std::set<std::int64_t> extents;
  for (const ValueId id : node.inputs) {
    if (id == strategies::kNoValue) {
      continue;
    }
    for (std::size_t d = 0; d < open[ToIndex(id)].size(); ++d) {
      if (open[ToIndex(id)][d]) {
        extents.insert(graph.at(id).type.shape[d]);
      }
    }
  }
  return extents;
}

}  // namespace

std::vector<std::vector<bool>> OpenDimensions(const Graph& graph, const OpenInputs& inputs) {
  std::vector<std::vector<bool>> open;
  for (const strategies::Value& value : graph.values) {
    open.emplace_back(value.type.shape.size(), false);
  }
  for (const ValueId input : graph.inputs) {
    const auto found = inputs.find(graph.at(input).name);
    for (const std::int64_t dim :
         found == inputs.end() ? std::vector<std::int64_t>() : found->second) {
      if (dim >= 0 && static_cast<std::size_t>(dim) < open[ToIndex(input)].size()) {
        open[ToIndex(input)][static_cast<std::size_t>(dim)] = true;
      }
    }
  }
  for (const Node& node : graph.nodes) {
    const std::set<std::int64_t> extents = OpenExtents(graph, node, open);
    for (const ValueId output : node.outputs) {
      const strategies::Shape& shape = graph.at(output).type.shape;
      for (std::size_t d = 0; !extents.empty() && d < shape.size(); ++d) {
        open[ToIndex(output)][d] = ComesFrom(extents, shape[d]);
      }
    }
  }
  return open;
}

}  // namespace drydock::sim
