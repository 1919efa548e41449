#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace drydock {
namespace {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string JoinText(std::span<const std::int64_t> values, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) {
      text += separator;
    }
    text += std::to_string(values[i]);
  }
  return text;
}

std::string TupleText(std::span<const std::int64_t> values) {
  const std::string_view tail = values.size() == 1 ? "," : "";
  return "(" + JoinText(values, ", ") + std::string(tail) + ")";
}

std::string StrategyText(std::span<const std::vector<std::int64_t>> cuts) {
  std::string text = "(";
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    text += (i > 0 ? ", " : "") + TupleText(cuts[i]);
  }
  return text + (cuts.size() == 1 ? ",)" : ")");
}

std::string RangeText(std::span<const std::int64_t> sorted_values) {
  std::string text;
  for (std::size_t i = 0; i < sorted_values.size();) {
    std::size_t last = i;
    while (last + 1 < sorted_values.size() && sorted_values[last + 1] == sorted_values[last] + 1) {
      ++last;
    }
    text += (text.empty() ? "" : ",") + std::to_string(sorted_values[i]);
    if (last > i) {
      text += "-" + std::to_string(sorted_values[last]);
    }
    i = last + 1;
  }
  return text;
}

std::string BytesText(std::int64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::array<char, 32> buffer = {};
  std::snprintf(buffer.data(), buffer.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value,
                kUnits[unit]);
  return buffer.data();
}

std::string NearestWord(std::string_view word, std::span<const std::string_view> candidates) {
  std::string best;
  std::size_t best_distance = word.size() < 4 ? 2 : std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace drydock
