#include "reports/place.h"

#include <gtest/gtest.h>

namespace drydock::reports {
namespace {

TEST(RankSetText, FoldsRunsAndSteps) {
  EXPECT_EQ(RankSetText({}), "");
  EXPECT_EQ(RankSetText({3}), "3");
  EXPECT_EQ(RankSetText({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(RankSetText({0, 1}), "0-1");
  EXPECT_EQ(RankSetText({0, 4}), "0,4");
  EXPECT_EQ(RankSetText({0, 4, 8, 12}), "0-12:4");
  EXPECT_EQ(RankSetText({0, 1, 8, 9, 16, 17}), "0-1,8-9,16-17");
  EXPECT_EQ(RankSetText({1, 3, 5, 6, 7}), "1-5:2,6-7");
}

TEST(PlaceReport, TrimsTheLineAndShortensTheFile) {
  const auto place =
      ToPlaceReport(SourcePlace{.file = "/a/b/net.py", .line = 45, .text = "\t x = y \n"});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->text, "x = y");
  EXPECT_EQ(place->file, "/a/b/net.py");
  EXPECT_EQ(ShortPlaceText(place), "net.py:45");
  EXPECT_EQ(ShortPlaceText(PlaceReport{.file = "graph.json"}), "graph.json");
  EXPECT_EQ(ShortPlaceText({}), "");
  EXPECT_FALSE(ToPlaceReport({}));
}

}  // namespace
}  // namespace drydock::reports
