#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "strategies/layout/layout_steps.h"
#include "strategies/layout/plain_layout.h"
#include "strategies/layout/redistribution.h"

namespace drydock::strategies {

/// The steps between two tensor maps on the same device matrix and shape that send the fewest
/// elements per rank, with the fewest steps among those; nullopt if no sequence below `limit`
/// elements was found within the bounds of the search.
///
/// Counted as ring algorithms do: joining n parts of s elements sends (n - 1) * s, exchanging a
/// tensor of s elements among n ranks (n - 1) / n * s, slicing nothing. Exchanges of different
/// dimensions along several axes may be one (LayoutStep::joint).
/// Deterministic; looks at no more than a few thousand tensor maps.
[[nodiscard]] std::optional<std::vector<LayoutStep>> CheapestSteps(
    const PlainLayout& from, const std::vector<std::int64_t>& to_map, std::int64_t limit);

/// Elements one rank sends in a list of primitives, counted as above.
[[nodiscard]] std::int64_t SentElements(const std::vector<RedistributionOp>& ops);

/// The same for steps.
[[nodiscard]] std::int64_t SentElements(std::span<const LayoutStep> steps);

/// How many of `steps`, which are not empty, are done at once with the first one.
[[nodiscard]] std::size_t MoveLength(std::span<const LayoutStep> steps);

}  // namespace drydock::strategies
