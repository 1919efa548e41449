#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "strategies/layout/pending_order_table.h"

namespace drydock::strategies {
namespace {

std::vector<std::int64_t> OrderOf(std::size_t count) {
  std::vector<std::uint8_t> order(count);
  PendingOrder(order);
  return {order.begin(), order.end()};
}

TEST(PendingOrder, EqualsTheMeasuredRows) {
  // Measured on the reference's hash map.
  EXPECT_EQ(JoinText(OrderOf(3), " "), "0 1 2");
  EXPECT_EQ(JoinText(OrderOf(4), " "), "0 1 3 2");
  EXPECT_EQ(JoinText(OrderOf(5), " "), "0 1 4 3 2");
  EXPECT_EQ(JoinText(OrderOf(6), " "), "0 1 4 5 3 2");
  EXPECT_EQ(JoinText(OrderOf(7), " "), "0 4 3 1 5 6 2");
  EXPECT_EQ(JoinText(OrderOf(8), " "), "0 4 3 1 5 6 7 2");
  EXPECT_EQ(JoinText(OrderOf(9), " "), "0 4 8 3 1 5 6 7 2");
  EXPECT_EQ(JoinText(OrderOf(10), " "), "0 4 8 3 1 5 6 7 9 2");
  EXPECT_EQ(JoinText(OrderOf(11), " "), "0 4 8 3 10 1 5 6 7 9 2");
  EXPECT_EQ(JoinText(OrderOf(12), " "), "0 4 8 3 11 10 1 5 6 7 9 2");
}

TEST(PendingOrder, VisitsEveryDimensionOnce) {
  for (std::size_t count = 0; count <= 255; ++count) {
    std::vector<std::int64_t> order = OrderOf(count);
    std::sort(order.begin(), order.end());
    for (std::size_t d = 0; d < count; ++d) {
      ASSERT_EQ(order[d], static_cast<std::int64_t>(d)) << count << " dimensions";
    }
  }
}

}  // namespace
}  // namespace drydock::strategies
