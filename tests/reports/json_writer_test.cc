#include "reports/json_writer.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace drydock::reports {
namespace {

TEST(JsonWriter, NestsWithTwoBlanksAndKeepsCallOrder) {
  JsonWriter writer;
  writer.BeginObject();
  writer.Key("b");
  writer.Integer(-7);
  writer.Key("a");
  writer.BeginArray();
  writer.Text("x");
  writer.BeginObject(true);
  writer.Key("k");
  writer.Boolean(true);
  writer.EndObject();
  writer.EndArray();
  writer.Key("empty");
  writer.BeginArray();
  writer.EndArray();
  writer.EndObject();
  EXPECT_EQ(
      std::move(writer).Take(),
      "{\n  \"b\": -7,\n  \"a\": [\n    \"x\",\n    {\"k\": true}\n  ],\n  \"empty\": []\n}\n");
}

TEST(JsonWriter, NumbersReadBackExactly) {
  JsonWriter writer;
  writer.BeginArray(true);
  writer.Integer(std::numeric_limits<std::int64_t>::min());
  writer.Number(0.1);
  writer.Number(std::numeric_limits<double>::infinity());
  writer.EndArray();
  EXPECT_EQ(std::move(writer).Take(), "[-9223372036854775808, 0.1, null]\n");
}

TEST(QuotedText, EscapesWhatJsonForbids) {
  EXPECT_EQ(QuotedText("a\"b\\c\n\t\x01\x7f"), "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f\"");
}

TEST(QuotedText, KeepsUtf8AndReplacesOtherBytes) {
  EXPECT_EQ(QuotedText("\xE7\xBD\x91"), "\"\xE7\xBD\x91\"");
  // A lone continuation byte, an overlong slash, a surrogate half and a cut-off sequence.
  EXPECT_EQ(QuotedText("\x80"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(QuotedText("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(QuotedText("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(QuotedText("\xE7\xBD"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

// Property: whatever bytes a name has, a JSON parser that checks UTF-8 accepts the result. All
// pairs of bytes cover every lead byte with every successor.
TEST(QuotedText, EveryPairOfBytesGivesValidJson) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second)};
      ASSERT_TRUE(nlohmann::json::accept(QuotedText(text))) << first << " " << second;
    }
  }
}

}  // namespace
}  // namespace drydock::reports
