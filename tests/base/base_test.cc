#include <atomic>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/checked.h"
#include "base/executor.h"
#include "base/result.h"
#include "base/text.h"

namespace drydock {
namespace {

TEST(MulChecked, RefusesProductsBeyond64Bits) {
  EXPECT_EQ(MulChecked(3, 5).value(), 15);
  EXPECT_FALSE(MulChecked(std::numeric_limits<std::int64_t>::max(), 2).has_value());
}

TEST(ForEachIndex, VisitsEveryIndexOnceOnAnyThreadCount) {
  for (const std::size_t threads : {1U, 2U, 8U}) {
    const auto executor = MakeExecutor(threads);
    std::vector<int> visits(1000, 0);
    ForEachIndex(*executor, visits.size(), [&](std::size_t i) { ++visits[i]; });
    EXPECT_EQ(visits, std::vector<int>(1000, 1));
  }
}

TEST(Text, TuplesAndRangesReadAsUsersWriteThem) {
  const std::vector<std::int64_t> shape = {8, 16};
  EXPECT_EQ(TupleText(shape), "(8, 16)");
  EXPECT_EQ(TupleText(std::vector<std::int64_t>{8}), "(8,)");
  EXPECT_EQ(RangeText(std::vector<std::int64_t>{0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(StrategyText(std::vector<std::vector<std::int64_t>>{{2, 4}, {4, 1}}),
            "((2, 4), (4, 1))");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
}

TEST(Text, NearestWordSuggestsOnlyCloseOnes) {
  const std::vector<std::string_view> words = {"MatMul", "ReLU"};
  EXPECT_EQ(NearestWord("Matmul", words), "MatMul");
  EXPECT_EQ(NearestWord("Convolution", words), "");
  EXPECT_EQ(NearestWord("Foo", std::vector<std::string_view>{"Cos"}), "");  // 2 of 3 letters differ
}

TEST(FormatError, ShowsPlaceSourceAndHint) {
  const Error error{
      .code = ErrorCode::kInvalidArgument,
      .message = "bad cut",
      .hint = "use 2",
      .place = SourcePlace{.file = "net.py", .line = 41, .column = 3, .text = "  x = 1"}};
  EXPECT_EQ(FormatError(error),
            "net.py:41:3: error: bad cut\n   41 |   x = 1\n      |   ^ near here\nhint: use 2");
}

TEST(ScaledUp, RoundsUpAndNeverOverflows) {
  EXPECT_EQ(ScaledUp(4, 4, 3), 6);  // 5.33
  EXPECT_EQ(ScaledUp(6, 2, 3), 4);
  EXPECT_EQ(ScaledUp(0, 7, 3), 0);
  constexpr std::int64_t kLarge = std::int64_t{1} << 62U;
  EXPECT_EQ(ScaledUp(kLarge, 6, 8), kLarge / 8 * 6);
  EXPECT_EQ(ScaledUp(kLarge, 6, 1), std::numeric_limits<std::int64_t>::max());
}

TEST(AddSaturated, EndsAtTheLargestNumber) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(AddSaturated(2, 3), 5);
  EXPECT_EQ(AddSaturated(kLargest, 0), kLargest);
  EXPECT_EQ(AddSaturated(kLargest, 1), kLargest);
}

}  // namespace
}  // namespace drydock
