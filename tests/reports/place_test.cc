#include "reports/place.h"

#include <gtest/gtest.h>

namespace drydock::reports {
namespace {

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
