#include "sim/tracer/trace_result.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TraceResult, ProgramsAndCoveredRanksAreRead) {
  const auto result = ReadTraceResult(
      R"({"version":1,"error":null,"exit_code":0,"release":"2.5.0","warnings":[{"kind":"note","text":"w"},{"kind":"limit","text":"l"},{"kind":"failure","text":"f"},{"kind":"no-init","text":"n"},
      {"kind":"of another release","text":"o"},"no object"],
          "programs":[{"file":"program-0.json","nodes":3,"training":true}],
          "covered_ranks":[[0,0],[2,7]],"guard_places":["net.py:3"]})");
  ASSERT_TRUE(result.has_value()) << FormatError(result.error());
  EXPECT_EQ(result->programs[0].file, "program-0.json");
  EXPECT_TRUE(result->programs[0].training);
  EXPECT_THAT(result->covered.ranges,
              ElementsAre(strategies::RankRange{0, 0}, strategies::RankRange{2, 7}));
  EXPECT_EQ(result->release, "2.5.0");
  using Kind = TraceWarning::Kind;
  EXPECT_THAT(result->warnings, ElementsAre(TraceWarning{"w"}, TraceWarning{"l", Kind::kLimit},
                                            TraceWarning{"f", Kind::kFailure},
                                            TraceWarning{"n", Kind::kNoInit}, TraceWarning{"o"}));
}

// What the driver does not write ("kept" that are no pairs of number and truth) counts as nothing.
TEST(TraceResult, LayersThatCouldRecomputeAreRead) {
  const auto result = ReadTraceResult(
      R"({"version":1,"exit_code":0,"layers":"the 2 Blocks in 'layers'",
          "programs":[{"file":"p.json","layers":[{"scope":"Default/0-Block","apart":["Default/0-Block/a"],
                       "kept":[[7,true],[9,false],[-1,true],["x"],3]},5]}],
          "covered_ranks":[[0,7]]})");
  ASSERT_TRUE(result.has_value()) << FormatError(result.error());
  EXPECT_EQ(result->layers, "the 2 Blocks in 'layers'");
  EXPECT_THAT(result->programs[0].layers,
              ElementsAre(TracedLayer{.scope = "Default/0-Block",
                                      .apart = {"Default/0-Block/a"},
                                      .kept = {{.node = 7, .slice = true}, {.node = 9}}}));
}

TEST(TraceResult, NoProgramIsNothingTraced) {
  const auto result = ReadTraceResult(
      R"({"version":1,"error":null,"exit_code":0,"programs":[],"covered_ranks":[[0,7]]})");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().reason, "script:nothing-traced");
  EXPECT_TRUE(IsCausedBy(result.error(), ScriptCause::kNothingTraced));
}

// argparse ends with 2, and has said on stderr what is missing.
TEST(TraceResult, ScriptsWhoseArgumentsAreMissingAreToldWhereTheyStand) {
  const auto result = ReadTraceResult(
      R"({"version":1,"error":null,"exit_code":2,"programs":[],"covered_ranks":[[0,7]]})");
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().hint, HasSubstr("msrun [flags] net.py"));
}

TEST(TraceResult, AnErrorWithoutAClassIsItsMessage) {
  const auto result = ReadTraceResult(
      R"({"version":1,"exit_code":0,"programs":[],"covered_ranks":[[0,7]],
          "error":{"family":"user","type":"","message":"main() was not called","reason":"x"}})");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "main() was not called");
}

// The driver's reasons are texts; what is decided on them is told here and nowhere else.
TEST(TraceResult, ReasonsOfTheDriverBecomeCauses) {
  const std::vector<std::pair<std::string, Cause>> cases = {
      {"script:nothing-traced", ScriptCause::kNothingTraced},
      {"script:unreadable", ScriptCause::kUnreadable},
      {"script:exception", ScriptCause::kOther},
      {"MatMul:shape-mismatch", Cause()},
      {"USAGE", Cause()},  // No script can give a command's code.
      {"", Cause()}};
  for (const auto& [reason, cause] : cases) {
    const auto result = ReadTraceResult(
        R"({"version":1,"error":{"family":"user","type":"E","message":"m","reason":")" + reason +
        R"("}})");
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().reason, reason);
    EXPECT_TRUE(IsCausedBy(result.error(), cause)) << reason;
  }
}

TEST(TraceResult, ExitStatusOfTheScriptIsReported) {
  const auto result = ReadTraceResult(
      R"({"version":1,"error":null,"exit_code":3,"programs":[],"covered_ranks":[[0,7]]})");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().reason, "script:exit");
  EXPECT_TRUE(IsCausedBy(result.error(), ScriptCause::kOther));
  EXPECT_THAT(result.error().message, HasSubstr("exit status 3"));
}

TEST(TraceResult, UsersExceptionHasPlaceAndCallers) {
  const auto result = ReadTraceResult(
      R"({"version":1,"error":{"family":"user","type":"ValueError","message":"bad","hint":"h","reason":"MatMul:x",
          "notes":[],"place":{"file":"net.py","line":4,"column":9,"text":"f(1)  "},
          "frames":[{"file":"net.py","line":4,"function":"f"},{"file":"net.py","line":9,"function":"<module>"}]}})");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().message, "ValueError: bad");
  EXPECT_EQ(result.error().place->line, 4);
  EXPECT_THAT(result.error().notes, ElementsAre("called at net.py:9 in <module>"));
}

TEST(TraceResult, LinesOfAFunctionThatCallsItselfAreNamedOnce) {
  const auto result = ReadTraceResult(
      R"({"version":1,"error":{"family":"user","type":"RecursionError","message":"deep",
          "frames":[{"file":"n.py","line":1,"function":"f"},{"file":"n.py","line":1,"function":"f"},
                    {"file":"n.py","line":1,"function":"f"},{"file":"n.py","line":2,"function":"<module>"}]}})");
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().notes,
              ElementsAre("called at n.py:1 in f", "called at n.py:2 in <module>"));
}

TEST(TraceResult, OurLimitIsUnsupported) {
  const auto result = ReadTraceResult(
      R"({"version":1,"error":{"family":"unsupported","type":"Unsupported","message":"m"}})");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
}

class TraceResultBadText : public ::testing::TestWithParam<const char*> {};

TEST_P(TraceResultBadText, IsOurDefect) {
  const auto result = ReadTraceResult(GetParam());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInternal);
}

INSTANTIATE_TEST_SUITE_P(
    All, TraceResultBadText,
    ::testing::Values("", "{", "[]", R"({"version":2})", R"({"version":1,"programs":[]})",
                      R"({"version":1,"programs":[],"covered_ranks":[[1]]})",
                      R"({"version":1,"programs":[{"file":"../x"}],"covered_ranks":[]})"));

}  // namespace
}  // namespace drydock::sim
