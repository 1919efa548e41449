#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace drydock {

/// "(8, 16)"; "()" for no numbers.
[[nodiscard]] std::string TupleText(std::span<const std::int64_t> values);

/// "((2, 4), (4, 1))", the way users write a strategy; a single entry prints "((2, 4),)".
[[nodiscard]] std::string StrategyText(std::span<const std::vector<std::int64_t>> cuts);

/// Numbers joined by `separator`: "0-1-2-3".
[[nodiscard]] std::string JoinText(std::span<const std::int64_t> values,
                                   std::string_view separator);

/// Sorted numbers in range notation: {0,1,2,3,8} -> "0-3,8".
[[nodiscard]] std::string RangeText(std::span<const std::int64_t> sorted_values);

/// Bytes for people: "512 B", "1.5 KiB", "61.4 GiB".
[[nodiscard]] std::string BytesText(std::int64_t bytes);

/// The candidate nearest to `word` by edit distance, empty if none is near enough to suggest.
[[nodiscard]] std::string NearestWord(std::string_view word,
                                      std::span<const std::string_view> candidates);

}  // namespace drydock
