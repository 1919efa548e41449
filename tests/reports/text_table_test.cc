#include "reports/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::reports {
namespace {

TEST(DisplayWidth, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3U);
  EXPECT_EQ(DisplayWidth("\xE7\xBD\x91\xE7\xBB\x9C"), 4U);  // Two Chinese characters.
  EXPECT_EQ(DisplayWidth("\xC3\xA9"), 1U);                  // An accented letter.
}

TEST(FitText, KeepsWhatFitsAndDropsTheMiddleOtherwise) {
  EXPECT_EQ(FitText("abcdef", 6), "abcdef");
  // 9 columns: 3 dots, 3 columns of head and 3 of tail.
  EXPECT_EQ(FitText("abcdefghijkl", 9), "abc...jkl");
  EXPECT_EQ(FitText("abcdefghijkl", 10), "abcd...jkl");
}

TEST(FitText, NeverCutsACharacterInHalf) {
  // Six characters of two columns in 9 columns: one character in 3 columns on each side.
  const std::string word =
      "\xE7\xBD\x91\xE7\xBD\x91\xE7\xBD\x91\xE7\xBD\x91\xE7\xBD\x91\xE7\xBD\x91";
  EXPECT_EQ(FitText(word, 9), "\xE7\xBD\x91...\xE7\xBD\x91");
}

// A file name must not be able to move the cursor or change colours.
TEST(FitText, ControlCharactersAndBadBytesBecomeQuestionMarks) {
  EXPECT_EQ(FitText("a\x1b[31mb\n", 80), "a?[31mb?");
  EXPECT_EQ(FitText("\xC2\x9B"
                    "1m",
                    80),
            "?1m");  // The one-byte form of escape and bracket.
  EXPECT_EQ(FitText("\xFF\x80", 80), "??");
}

TEST(TableLines, AlignsColumnsAndTrimsTheEnd) {
  EXPECT_THAT(TableLines({{"name", "bytes", ""}, {"w", "7", "x"}}, {false, true}, 2),
              testing::ElementsAre("  name  bytes", "  w         7  x"));
}

}  // namespace
}  // namespace drydock::reports
