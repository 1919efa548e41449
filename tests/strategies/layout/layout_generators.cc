#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <gtest/gtest.h>

#include "base/checked.h"
#include "base/text.h"
#include "tests/strategies/layout/redistribution_oracle.h"

namespace drydock::strategies::oracle {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Number in [0, count).
std::size_t Below(std::mt19937_64* random, std::size_t count) {
  return static_cast<std::size_t>((*random)() % count);
}

bool OneIn(std::mt19937_64* random, std::size_t n) {
  return Below(random, n) == 0;
}

/// Random product of at most `max_length` factors, now and then with ones put in.
Numbers RandomFactors(std::mt19937_64* random, std::int64_t value, std::size_t max_length) {
  Numbers factors;
  for (std::int64_t rest = value; rest > 1;) {
    Numbers divisors;
    for (std::int64_t divisor = 2; divisor <= rest; ++divisor) {
      if (rest % divisor == 0) {
        divisors.push_back(divisor);
      }
    }
    const bool is_last = factors.size() + 1 >= max_length;
    factors.push_back(is_last ? rest : divisors[Below(random, divisors.size())]);
    rest /= factors.back();
  }
  while (factors.empty() || OneIn(random, 4)) {
    factors.insert(factors.begin() + static_cast<std::ptrdiff_t>(Below(random, factors.size() + 1)),
                   1);
  }
  return factors;
}

/// Puts random axes on random dimensions as long as the sizes divide.
TensorLayout RandomLayout(std::mt19937_64* random, std::int64_t devices, const Shape& shape) {
  TensorLayout layout{.device_matrix = RandomFactors(random, devices, 4), .shape = shape};
  layout.tensor_map.resize(shape.size());
  const bool nested = OneIn(random, 4);
  Numbers axes(layout.device_matrix.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i] = static_cast<std::int64_t>(i);
  }
  std::shuffle(axes.begin(), axes.end(), *random);
  for (const std::int64_t axis : axes) {
    const std::size_t d = Below(random, shape.size());
    auto& on_dimension = layout.tensor_map[d];
    if (OneIn(random, 4) || (!nested && !on_dimension.empty())) {
      continue;
    }
    on_dimension.push_back(axis);
    if (shape[d] % CutsOf(layout)[d] != 0) {
      on_dimension.pop_back();
    }
  }
  for (std::size_t d = 0; nested && d < shape.size(); ++d) {
    if (!layout.tensor_map[d].empty() && OneIn(random, 4)) {
      layout.trailing_none.push_back(d);
    }
  }
  return layout;
}

void ExtendMaps(const TensorLayout& layout, std::size_t dimension, std::vector<TensorLayout>* all) {
  if (dimension == layout.shape.size()) {
    all->push_back(layout);
    return;
  }
  ExtendMaps(layout, dimension + 1, all);
  for (std::int64_t axis = 0; axis < std::ssize(layout.device_matrix); ++axis) {
    TensorLayout next = layout;
    next.tensor_map[dimension] = {axis};
    if (ValidateLayout(next)) {
      ExtendMaps(next, dimension + 1, all);
    }
  }
}

}  // namespace

Pair RandomPair(std::mt19937_64* random) {
  constexpr std::array<std::int64_t, 6> kDevices = {2, 4, 8, 16, 6, 12};
  constexpr std::array<std::int64_t, 13> kElements = {16, 24,  32,  36,  48,  64, 72,
                                                      96, 128, 144, 192, 288, 576};
  const std::int64_t devices = kDevices[Below(random, kDevices.size())];
  const std::int64_t elements = kElements[Below(random, kElements.size())];
  const Shape shape = RandomFactors(random, elements, 4);
  const Shape other = OneIn(random, 3) ? RandomFactors(random, elements, 4) : shape;
  return {.from = RandomLayout(random, devices, shape), .to = RandomLayout(random, devices, other)};
}

std::vector<TensorLayout> AllLayouts(const Numbers& device_matrix, const Shape& shape) {
  std::vector<TensorLayout> all;
  ExtendMaps({.device_matrix = device_matrix,
              .tensor_map = std::vector<Numbers>(shape.size()),
              .shape = shape},
             0, &all);
  return all;
}

std::vector<Numbers> Factorizations(std::int64_t value) {
  if (value == 1) {
    return {{}};
  }
  std::vector<Numbers> all;
  for (std::int64_t first = 2; first <= value; ++first) {
    if (value % first != 0) {
      continue;
    }
    for (Numbers rest : Factorizations(value / first)) {
      rest.insert(rest.begin(), first);
      all.push_back(std::move(rest));
    }
  }
  return all;
}

std::string TextOf(const TensorLayout& layout) {
  std::string text = "D=" + TupleText(layout.device_matrix) + " M=";
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    text += TupleText(layout.tensor_map[d]);
    if (std::find(layout.trailing_none.begin(), layout.trailing_none.end(), d) !=
        layout.trailing_none.end()) {
      text += "+None";
    }
  }
  return text + " S=" + TupleText(layout.shape);
}

}  // namespace drydock::strategies::oracle
