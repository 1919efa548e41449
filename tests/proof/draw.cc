#include "tests/proof/draw.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace drydock::strategies::proof {

std::int64_t Draw::Uniform(std::int64_t low, std::int64_t high) {
  // Not std::uniform_int_distribution: its results differ between libraries.
  return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
}

double Draw::Real(double low, double high) {
  return low + (high - low) * static_cast<double>(random_() >> 11U) * 0x1.0p-53;
}

std::int64_t Draw::Extent(std::int64_t most) {
  const std::int64_t extent = Pick<std::int64_t>({1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 12, 12});
  return extent <= most ? extent : Uniform(1, most);
}

std::int64_t Draw::ExtentAboveOne(std::int64_t most) {
  const std::int64_t extent = Pick<std::int64_t>({2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 12, 12});
  return extent <= most ? extent : Uniform(2, most);
}

Shape Draw::ShapeOfRank(std::int64_t rank) {
  Shape shape;
  for (std::int64_t d = 0; d < rank; ++d) {
    shape.push_back(Extent());
  }
  while (Product(shape) > kMaxElements) {
    std::int64_t& extent = shape[static_cast<std::size_t>(Dimension(rank))];
    extent = extent > 2 ? Extent(extent - 1) : extent;
  }
  return shape;
}

std::vector<Shape> Draw::BroadcastShapes(std::size_t count, std::int64_t min_rank,
                                         std::int64_t max_rank, bool first_is_whole) {
  const Shape whole = AnyShape(min_rank, max_rank);
  std::vector<Shape> shapes(count, whole);
  for (std::size_t i = first_is_whole ? 1 : 0; i < count; ++i) {
    if (Chance(2)) {
      continue;
    }
    for (std::int64_t& extent : shapes[i]) {
      extent = Chance(3) ? 1 : extent;
    }
    if (i > 0 && Chance(2)) {
      const std::int64_t dropped =
          Uniform(0, std::ssize(whole) - std::min<std::int64_t>(min_rank, std::ssize(whole)));
      shapes[i].erase(shapes[i].begin(), shapes[i].begin() + dropped);
    }
  }
  return shapes;
}

std::int64_t Draw::Axis(std::int64_t rank) {
  const std::int64_t axis = Dimension(rank);
  return Chance(2) ? axis - rank : axis;
}

std::vector<std::int64_t> Draw::SomeDimensions(std::int64_t rank, std::int64_t at_least) {
  std::vector<std::int64_t> dimensions = Permutation(rank);
  dimensions.resize(static_cast<std::size_t>(Uniform(std::min(at_least, rank), rank)));
  std::ranges::sort(dimensions);
  return dimensions;
}

std::vector<std::int64_t> Draw::Permutation(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(Uniform(0, static_cast<std::int64_t>(i) - 1))]);
  }
  return order;
}

}  // namespace drydock::strategies::proof
