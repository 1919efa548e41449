#pragma once

#include <cstdint>
#include <optional>
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
/// tensor of s elements among n ranks (n - 1) / n * s, slicing nothing.
/// Deterministic; looks at no more than a few thousand tensor maps.
[[nodiscard]] std::optional<std::vector<LayoutStep>> CheapestSteps(
    const PlainLayout& from, const std::vector<std::int64_t>& to_map, std::int64_t limit);

/// Elements one rank sends in a list of primitives, counted as above.
[[nodiscard]] std::int64_t SentElements(const std::vector<RedistributionOp>& ops);

/// The same for steps.
[[nodiscard]] std::int64_t SentElements(const std::vector<LayoutStep>& steps);

}  // namespace drydock::strategies
