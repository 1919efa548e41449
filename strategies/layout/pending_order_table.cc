#include "strategies/layout/pending_order_table.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace drydock::strategies {
namespace {

constexpr std::size_t kFirst = 4;  ///< Up to 3 dimensions the order ascends.
constexpr std::size_t kLast = 24;

// Row n - 4: order for n dimensions. Rows 4 to 12 are measured (mindspore
// ccsrc/frontend/parallel/tensor_layout/redistribution_operator_infer.cc); the others follow from
// the published algorithm of that hash map (robin_hood 3.11.5: Murmur3 mixing of the key, 80 %
// load, doubling), which also gives the measured rows.
constexpr std::array<std::array<std::uint8_t, kLast>, kLast - kFirst + 1> kOrder = {{
    {0, 1, 3, 2},
    {0, 1, 4, 3, 2},
    {0, 1, 4, 5, 3, 2},
    {0, 4, 3, 1, 5, 6, 2},
    {0, 4, 3, 1, 5, 6, 7, 2},
    {0, 4, 8, 3, 1, 5, 6, 7, 2},
    {0, 4, 8, 3, 1, 5, 6, 7, 9, 2},
    {0, 4, 8, 3, 10, 1, 5, 6, 7, 9, 2},
    {0, 4, 8, 3, 11, 10, 1, 5, 6, 7, 9, 2},
    {0, 12, 4, 3, 5, 6, 7, 9, 8, 11, 10, 1, 2},
    {0, 12, 4, 3, 13, 5, 6, 7, 9, 8, 11, 10, 1, 2},
    {0, 12, 4, 3, 13, 5, 6, 7, 9, 8, 11, 14, 10, 1, 2},
    {0, 12, 4, 3, 13, 5, 6, 7, 9, 15, 8, 11, 14, 10, 1, 2},
    {0, 12, 4, 3, 13, 16, 5, 6, 7, 9, 15, 8, 11, 14, 10, 1, 2},
    {0, 12, 4, 3, 13, 16, 5, 6, 7, 9, 15, 8, 11, 14, 10, 17, 1, 2},
    {0, 12, 18, 4, 3, 13, 16, 5, 6, 7, 9, 15, 8, 11, 14, 10, 17, 1, 2},
    {0, 12, 18, 4, 3, 13, 16, 5, 6, 7, 9, 15, 19, 8, 11, 14, 10, 17, 1, 2},
    {0, 12, 18, 4, 3, 13, 16, 5, 6, 7, 9, 15, 19, 8, 11, 20, 14, 10, 17, 1, 2},
    {0, 12, 18, 4, 3, 13, 16, 5, 6, 7, 9, 15, 21, 19, 8, 11, 20, 14, 10, 17, 1, 2},
    {0, 12, 18, 4, 3, 13, 16, 5, 6, 7, 9, 15, 21, 19, 8, 11, 20, 14, 10, 22, 17, 1, 2},
    {0, 12, 18, 4, 3, 13, 16, 5, 6, 7, 9, 15, 21, 19, 8, 11, 20, 14, 10, 22, 17, 1, 23, 2},
}};

}  // namespace

void PendingOrder(std::span<std::uint8_t> order) {
  const std::size_t count = order.size();
  if (count < kFirst || count > kLast) {
    std::iota(order.begin(), order.end(), std::uint8_t{0});
    return;
  }
  const auto& row = kOrder[count - kFirst];
  std::copy_n(row.begin(), count, order.begin());
}

}  // namespace drydock::strategies
