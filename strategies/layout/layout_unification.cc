#include "strategies/layout/layout_unification.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace drydock::strategies {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Every pass of the unification adds a cut; a 64-bit element count has at most 63.
constexpr int kMaxPasses = 64;

/// Number of leading entries of `factors` whose product is exactly `value`; 0 if there is none.
std::size_t FactorsOf(std::int64_t value, std::span<const std::int64_t> factors) {
  std::int64_t product = 1;
  for (std::size_t count = 1; count <= factors.size(); ++count) {
    product *= factors[count - 1];
    if (product >= value) {
      return product == value ? count : 0;
    }
  }
  return 0;
}

/// For each entry of `coarse`, how many consecutive entries of `fine` it splits into.
std::optional<std::vector<std::size_t>> SplitCounts(const Numbers& coarse, const Numbers& fine) {
  std::vector<std::size_t> counts;
  counts.reserve(coarse.size());
  std::span<const std::int64_t> rest = fine;
  for (const std::int64_t value : coarse) {
    const std::size_t count = FactorsOf(value, rest);
    if (count == 0) {
      return std::nullopt;
    }
    counts.push_back(count);
    rest = rest.subspan(count);
  }
  return rest.empty() ? std::optional(std::move(counts)) : std::nullopt;
}

/// Factors of a device axis of `extent` whose dimension splits into `parts`: the shortest prefix
/// that covers the extent, the last factor reduced to what is missing.
bool AppendAxisFactors(std::int64_t extent, std::span<const std::int64_t> parts, Numbers* factors) {
  for (const std::int64_t part : parts) {
    if (part >= extent) {
      factors->push_back(extent);
      return part % extent == 0;
    }
    if (extent % part != 0) {
      return false;
    }
    factors->push_back(part);
    extent /= part;
  }
  return false;
}

/// Device matrix refined so that every cut follows the parts of its dimension.
std::optional<Numbers> RefinedMatrix(const PlainLayout& layout, const Shape& shape,
                                     const std::vector<std::size_t>& counts) {
  const std::size_t axis_count = layout.device_matrix.size();
  std::vector<std::span<const std::int64_t>> parts_of_axis(axis_count);
  std::size_t next = 0;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    if (layout.tensor_map[d] >= 0) {
      const std::size_t axis = axis_count - 1 - static_cast<std::size_t>(layout.tensor_map[d]);
      parts_of_axis[axis] = std::span(shape).subspan(next, counts[d]);
    }
    next += counts[d];
  }
  Numbers refined;
  for (std::size_t a = 0; a < axis_count; ++a) {
    if (parts_of_axis[a].empty()) {
      refined.push_back(layout.device_matrix[a]);
    } else if (!AppendAxisFactors(layout.device_matrix[a], parts_of_axis[a], &refined)) {
      return std::nullopt;
    }
  }
  return refined;
}

/// Adds to `layout` the cuts of `other`'s shape until none is new; `other` follows in devices.
bool RefineBy(PlainLayout* layout, PlainLayout* other) {
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    auto shape = ExpandShape(layout->shape, other->shape);
    if (!shape) {
      return false;
    }
    if (*shape == layout->shape) {
      return true;
    }
    auto expanded = ExpandTensor(*layout, *shape);
    if (!expanded) {
      return false;
    }
    *layout = *std::move(expanded);
    if (other->device_matrix != layout->device_matrix) {
      auto followed = ExpandDevices(*other, layout->device_matrix);
      if (!followed) {
        return false;
      }
      *other = *std::move(followed);
    }
  }
  return false;
}

bool UnifyDevices(PlainLayout* from, PlainLayout* to) {
  if (from->device_matrix == to->device_matrix) {
    return true;
  }
  const auto matrix = UnifyShape(from->device_matrix, to->device_matrix);
  auto expanded_from = matrix ? ExpandDevices(*from, *matrix) : std::nullopt;
  auto expanded_to = matrix ? ExpandDevices(*to, *matrix) : std::nullopt;
  if (!expanded_from || !expanded_to) {
    return false;
  }
  *from = *std::move(expanded_from);
  *to = *std::move(expanded_to);
  return true;
}

}  // namespace

Numbers PrefixProducts(const Numbers& values) {
  Numbers products = values;
  for (std::size_t i = 1; i < products.size(); ++i) {
    products[i] *= products[i - 1];
  }
  return products;
}

Numbers SuffixProducts(const Numbers& values) {
  Numbers products = values;
  for (std::size_t i = products.size(); i-- > 1;) {
    products[i - 1] *= products[i];
  }
  return products;
}

std::optional<Numbers> FromSuffixProducts(const Numbers& products) {
  Numbers values = products;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    if (products[i] % products[i + 1] != 0) {
      return std::nullopt;
    }
    values[i] = products[i] / products[i + 1];
  }
  return values;
}

Numbers MergeDescending(const Numbers& a, const Numbers& b) {
  Numbers merged;
  merged.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged),
             std::greater<std::int64_t>());
  merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
  return merged;
}

std::optional<Numbers> UnifyShape(const Numbers& a, const Numbers& b) {
  Numbers products_a = PrefixProducts(a);
  Numbers products_b = PrefixProducts(b);
  if (products_a.empty() || products_b.empty() || products_a.back() != products_b.back()) {
    return std::nullopt;
  }
  std::reverse(products_a.begin(), products_a.end());
  std::reverse(products_b.begin(), products_b.end());
  auto values = FromSuffixProducts(MergeDescending(products_a, products_b));
  if (values) {
    std::reverse(values->begin(), values->end());
  }
  return values;
}

std::optional<Shape> ExpandShape(const Shape& shape, const Shape& other) {
  const Numbers own = SuffixProducts(shape);
  const Numbers added = SuffixProducts(other);
  if (own.empty() || added.empty() || added.front() > own.front()) {
    return std::nullopt;
  }
  return FromSuffixProducts(MergeDescending(own, added));
}

std::optional<PlainLayout> ExpandDevices(const PlainLayout& layout, const Numbers& device_matrix) {
  const auto counts = SplitCounts(layout.device_matrix, device_matrix);
  if (!counts) {
    return std::nullopt;
  }
  PlainLayout expanded{.device_matrix = device_matrix};
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    std::int64_t rest = layout.shape[d];
    if (layout.tensor_map[d] < 0) {
      expanded.tensor_map.push_back(-1);
      expanded.shape.push_back(rest);
      continue;
    }
    const std::size_t axis = counts->size() - 1 - static_cast<std::size_t>(layout.tensor_map[d]);
    std::size_t first = 0;  // of the axis' factors in the new matrix, from the left
    for (std::size_t a = 0; a < axis; ++a) {
      first += (*counts)[a];
    }
    for (std::size_t i = 0; i < (*counts)[axis]; ++i) {
      const bool last = i + 1 == (*counts)[axis];
      const std::int64_t part = last ? rest : device_matrix[first + i];
      expanded.tensor_map.push_back(
          static_cast<std::int64_t>(device_matrix.size() - 1 - (first + i)));
      expanded.shape.push_back(part);
      rest /= part;
    }
  }
  return expanded;
}

std::optional<PlainLayout> ExpandTensor(const PlainLayout& layout, const Shape& shape) {
  const auto counts = SplitCounts(layout.shape, shape);
  if (!counts) {
    return std::nullopt;
  }
  const auto matrix = RefinedMatrix(layout, shape, *counts);
  const auto refined = matrix ? ExpandDevices(layout, *matrix) : std::nullopt;
  if (!refined) {
    return std::nullopt;
  }
  // Each dimension is now cut along a prefix of its parts; what follows that prefix is not cut.
  PlainLayout expanded{.device_matrix = refined->device_matrix, .shape = shape};
  std::size_t next = 0;  // dimension of `refined`
  for (std::size_t d = 0; d < counts->size(); ++d) {
    std::int64_t covered = 1;
    for (std::size_t i = 0; i < (*counts)[d]; ++i) {
      const bool cut = i == 0 || covered < layout.shape[d];
      expanded.tensor_map.push_back(cut ? refined->tensor_map[next] : -1);
      if (cut) {
        covered *= refined->shape[next++];
      }
    }
  }
  return expanded;
}

std::optional<UnifiedLayouts> UnifyLayouts(const PlainLayout& from, const PlainLayout& to) {
  UnifiedLayouts unified{.from = from, .to = to};
  if (!UnifyDevices(&unified.from, &unified.to) ||
      !ExpandShape(unified.from.shape, unified.to.shape)) {
    return std::nullopt;
  }
  for (int pass = 0; unified.from.shape != unified.to.shape; ++pass) {
    if (pass == kMaxPasses || !RefineBy(&unified.from, &unified.to) ||
        !RefineBy(&unified.to, &unified.from)) {
      return std::nullopt;
    }
  }
  return unified;
}

}  // namespace drydock::strategies
