#include "strategies/passes/choose/recursive_adjacency.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

/// Which tensors are the same for the recursive search.
///
/// Operators between two products are left out of the search, so their shapes may differ. A
/// redistribution is charged where the shapes are equal, or equal behind the Reshapes that were
/// left out. Example: (8, 4, 64) reshaped to (32, 64): dimension 0 comes from 0 and 1, dimension 1
/// from
/// 2. Source: mindspore/ccsrc/frontend/parallel/auto_parallel/rec_core/rec_parse_graph.cc
/// (ReshapeDecompose), rec_cost.cc (isAdjacent)
namespace drydock::strategies {
namespace {

bool Joins(const DimensionSources& sources) {
  return std::ranges::any_of(sources, [](const auto& from) { return from.size() > 1; });
}

/// Per dimension of `parts`, the dimension of `whole` that it is a part of.
std::optional<std::vector<std::int64_t>> PartsOf(Four whole, Four parts) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> sources(parts.size(), kNone);
  std::size_t w = 0;
  std::size_t p = 0;
  while (w < whole.size() && p < parts.size()) {
    if (whole[w] < parts[p]) {
      ++w;
      continue;
    }
    if (parts[p] != 0 && whole[w] % parts[p] == 0) {
      whole[w] /= parts[p];
      parts[p] = 1;
      sources[p] = static_cast<std::int64_t>(w);
    }
    ++p;
    if (whole[w] == 1) {
      ++w;
    }
  }
  const bool complete = parts == kOnes && std::ranges::find(sources, kNone) == sources.end();
  return complete ? std::optional(sources) : std::nullopt;
}

}  // namespace

DimensionSources SourcesOfReshape(const Four& from, const Four& to, bool joins) {
  DimensionSources sources;
  if (!joins) {
    for (const std::int64_t source : PartsOf(from, to).value_or(std::vector<std::int64_t>{})) {
      sources.push_back({source});
    }
    return sources;
  }
  const auto parts = PartsOf(to, from);
  if (!parts) {
    return sources;
  }
  std::size_t next = 0;
  for (std::int64_t d = 0; d < std::ssize(to); ++d) {
    sources.emplace_back();
    for (; next < parts->size() && (*parts)[next] == d; ++next) {
      sources.back().push_back(static_cast<std::int64_t>(next));
    }
  }
  return sources;
}

DimensionSources CombineSources(const DimensionSources& first, const DimensionSources& second) {
  if (first.empty() || second.empty()) {
    return first.empty() ? second : first;
  }
  DimensionSources combined;
  for (std::size_t d = 0; d < second.size(); ++d) {
    std::set<std::int64_t> sources;
    if (second[d].empty()) {
      sources.insert(static_cast<std::int64_t>(d));
    }
    for (const std::int64_t middle : second[d]) {
      const auto& from = first[static_cast<std::size_t>(middle) % first.size()];
      sources.insert(from.begin(), from.end());
    }
    combined.emplace_back(sources.begin(), sources.end());
  }
  return combined;
}

bool AreAdjacent(const Four& result, const Four& argument, const DimensionSources& sources) {
  if (sources.size() != argument.size()) {
    return sources.empty() && result == argument;
  }
  if (Joins(sources)) {
    Four joined = kOnes;
    for (std::size_t d = 0; d < sources.size(); ++d) {
      for (const std::int64_t source : sources[d]) {
        joined[d] *= result[static_cast<std::size_t>(source)];
      }
    }
    return joined == argument;
  }
  Four left = result;
  for (std::size_t d = 0; d < sources.size(); ++d) {
    if (!sources[d].empty() && argument[d] != 0) {
      left[static_cast<std::size_t>(sources[d].front())] /= argument[d];
    }
  }
  return left == kOnes;
}

}  // namespace drydock::strategies
