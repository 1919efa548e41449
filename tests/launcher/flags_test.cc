#include "launcher/flags.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

/// A few flags with the traps of msrun's: shared prefixes inside and across the two origins.
class FlagSetTest : public ::testing::Test {
 protected:
  FlagSetTest() {
    flags_.AddInt({"worker_num", "N", "ranks", FlagOrigin::kMsrun}, &worker_num_);
    flags_.AddText({"worker_log_name", "STEM", "stem", FlagOrigin::kMsrun}, &log_name_);
    flags_.Add({"join", "True|False", "wait", FlagOrigin::kMsrun},
               [this](std::string_view w) -> Status {
                 DRYDOCK_TRY(join_, ReadBoolWord(w));
                 return {};
               });
    flags_.AddSwitch({"json", "", "print JSON"}, &json_);
  }

  std::string MessageFor(const Words& words) {
    const Status status = flags_.Parse(words);
    return status ? "(no error)" : status.error().message + " / " + status.error().hint;
  }

  FlagSet flags_;
  std::int64_t worker_num_ = 8;
  std::string log_name_ = {};
  bool join_ = false;
  bool json_ = false;
};

TEST_F(FlagSetTest, ValueFollowsAnEqualsSignOrIsTheNextWord) {
  ASSERT_TRUE(flags_.Parse(Words{"--worker_num=4", "--worker_log_name", "w"}));
  EXPECT_EQ(worker_num_, 4);
  EXPECT_EQ(log_name_, "w");
}

TEST_F(FlagSetTest, ValueMayHoldEqualsSignsAndBeEmpty) {
  ASSERT_TRUE(flags_.Parse(Words{"--worker_log_name=a=b"}));
  EXPECT_EQ(log_name_, "a=b");
  ASSERT_TRUE(flags_.Parse(Words{"--worker_log_name="}));
  EXPECT_EQ(log_name_, "");
}

TEST_F(FlagSetTest, NegativeNumberIsAValue) {
  ASSERT_TRUE(flags_.Parse(Words{"--worker_num", "-1"}));
  EXPECT_EQ(worker_num_, -1);
}

TEST_F(FlagSetTest, DashesAndUnderscoresAreTheSame) {
  ASSERT_TRUE(flags_.Parse(Words{"--worker-num=4"}));
  EXPECT_EQ(worker_num_, 4);
}

TEST_F(FlagSetTest, UnambiguousPrefixIsAccepted) {
  ASSERT_TRUE(flags_.Parse(Words{"--worker_n=4", "--worker-l", "x"}));
  EXPECT_EQ(worker_num_, 4);
  EXPECT_EQ(log_name_, "x");
}

TEST_F(FlagSetTest, OriginalFlagWinsASharedPrefix) {
  // --j meant --join before Drydock added --json.
  ASSERT_TRUE(flags_.Parse(Words{"--j=True"}));
  EXPECT_TRUE(join_);
  EXPECT_FALSE(json_);
}

TEST_F(FlagSetTest, AmbiguousPrefixNamesTheCandidates) {
  EXPECT_THAT(MessageFor({"--worker=4"}), HasSubstr("could match --worker_num, --worker_log_name"));
}

TEST_F(FlagSetTest, EverythingFromTheScriptOnIsLeftAlone) {
  ASSERT_TRUE(flags_.Parse(Words{"--worker_num=4", "net.py", "--worker_num=5", "--", "--lr", "1"}));
  EXPECT_EQ(worker_num_, 4);
  EXPECT_THAT(flags_.rest(), ElementsAre("net.py", "--worker_num=5", "--", "--lr", "1"));
}

TEST_F(FlagSetTest, DoubleDashEndsTheFlags) {
  ASSERT_TRUE(flags_.Parse(Words{"--json", "--", "--net.py"}));
  EXPECT_THAT(flags_.rest(), ElementsAre("--net.py"));
}

TEST_F(FlagSetTest, SwitchNeedsNoValueAndTakesOne) {
  ASSERT_TRUE(flags_.Parse(Words{"--json", "x"}));
  EXPECT_TRUE(json_);
  ASSERT_TRUE(flags_.Parse(Words{"--json=False"}));
  EXPECT_FALSE(json_);
  EXPECT_THAT(flags_.rest(), IsEmpty());
}

TEST_F(FlagSetTest, LastOfRepeatedFlagsCounts) {
  ASSERT_TRUE(flags_.Parse(Words{"--worker_num=4", "--worker_num=6"}));
  EXPECT_EQ(worker_num_, 6);
}

TEST_F(FlagSetTest, NamesOfOtherLaunchersAreUnderstoodInTheHint) {
  for (const char* word : {"-np", "-n", "--world_size=8", "--world-size=8", "--ntasks=8",
                           "--num-processes=8", "--gpus=8"}) {
    EXPECT_THAT(MessageFor({word}), HasSubstr("did you mean '--worker_num'?")) << word;
  }
}

TEST_F(FlagSetTest, UnknownFlagSuggestsTheNearest) {
  EXPECT_THAT(MessageFor({"--wroker_num=4"}),
              HasSubstr("unrecognized argument: --wroker_num / did you mean '--worker_num'?"));
}

TEST_F(FlagSetTest, MissingValueIsNamed) {
  EXPECT_THAT(MessageFor({"--worker_num"}),
              HasSubstr("argument --worker_num: expected one argument"));
  EXPECT_THAT(MessageFor({"--worker_num", "--json"}), HasSubstr("expected one argument"));
}

TEST_F(FlagSetTest, WrongValueIsQuoted) {
  EXPECT_THAT(MessageFor({"--worker_num=x"}),
              HasSubstr("argument --worker_num: invalid int value: 'x'"));
  EXPECT_THAT(MessageFor({"--worker_num=4.0"}), HasSubstr("invalid int value: '4.0'"));
  EXPECT_THAT(MessageFor({"--worker_num="}), HasSubstr("invalid int value: ''"));
  EXPECT_THAT(MessageFor({"--worker_num=9223372036854775808"}),
              HasSubstr("'9223372036854775808' / give a number of less than 19 digits"));
  EXPECT_THAT(MessageFor({"--join=yes"}), HasSubstr("argument --join: invalid value: 'yes'"));
}

TEST_F(FlagSetTest, SingleDashNamesAreUnknown) {
  EXPECT_THAT(MessageFor({"-worker_num=4"}), HasSubstr("unrecognized argument: -worker_num"));
}

TEST_F(FlagSetTest, HelpHasOneLinePerFlag) {
  EXPECT_EQ(flags_.HelpLines(FlagOrigin::kDrydock), "  --json                    print JSON\n");
}

TEST_F(FlagSetTest, RareFlagsAreInTheFullHelpOnly) {
  std::string text;
  flags_.AddText({.name = "seldom", .value = "T", .help = "rarely used", .rare = true}, &text);
  EXPECT_EQ(flags_.HelpLines(FlagOrigin::kDrydock), "  --json                    print JSON\n");
  EXPECT_EQ(flags_.HelpLines(FlagOrigin::kDrydock, true),
            "  --json                    print JSON\n"
            "  --seldom T                rarely used\n");
}

/// A configuration file of its own.
class FlagFileTest : public FlagSetTest {
 protected:
  FlagFileTest() : path_(::testing::TempDir() + "/flags_" + std::to_string(::getpid()) + ".toml") {}
  ~FlagFileTest() override { std::filesystem::remove(path_); }

  Status ParseWith(const Words& words, std::string_view file, const Environment& environment = {}) {
    std::ofstream(path_) << file;
    return flags_.Parse(words,
                        {.environment = &environment, .command = "msrun", .config_file = path_});
  }
  std::string MessageWith(const Words& words, std::string_view file,
                          const Environment& environment = {}) {
    const Status status = ParseWith(words, file, environment);
    return status ? "(no error)" : status.error().message + " / " + status.error().hint;
  }

  std::string path_;
};

TEST_F(FlagFileTest, LineThenEnvironmentThenFile) {
  constexpr std::string_view kFile =
      "[msrun]\nworker_num = 1\nworker-log-name = \"file\"\njson = true\n[plan]\nno_flag = 7\n";
  ASSERT_TRUE(ParseWith({"--worker_num=3", "net.py"}, kFile,
                        {{"DRYDOCK_WORKER_NUM", "2"}, {"DRYDOCK_JOIN", "True"}}));
  EXPECT_EQ(worker_num_, 3);
  EXPECT_TRUE(join_);
  EXPECT_EQ(log_name_, "file");
  EXPECT_TRUE(json_);
  EXPECT_TRUE(flags_.Given("json"));
  EXPECT_THAT(flags_.rest(), ElementsAre("net.py"));
}

TEST_F(FlagFileTest, EnvironmentBeatsTheFile) {
  ASSERT_TRUE(ParseWith({}, "[msrun]\nworker_num = 1\n", {{"DRYDOCK_WORKER_NUM", "2"}}));
  EXPECT_EQ(worker_num_, 2);
}

TEST_F(FlagFileTest, AVariableOfAnotherMeaningIsNoFlag) {
  std::string secret;
  flags_.AddText({.name = "job_secret", .value = "FILE", .help = "secret", .has_variable = false},
                 &secret);
  ASSERT_TRUE(ParseWith({}, "", {{"DRYDOCK_JOB_SECRET", "0123456789abcdef"}}));
  EXPECT_EQ(secret, "");
  EXPECT_FALSE(flags_.Given("job_secret"));
}

TEST_F(FlagFileTest, AFileThatIsNotThereIsNoneUnlessItIsNamed) {
  std::string config;
  flags_.AddText({"config", "FILE", "flags"}, &config);
  const Environment none;
  ASSERT_TRUE(
      flags_.Parse(Words{}, {.environment = &none, .command = "msrun", .config_file = path_}));
  EXPECT_FALSE(flags_.Given("worker_num"));
  EXPECT_THAT(MessageFor({"--config=/nowhere/drydock.toml"}),
              HasSubstr("argument --config: /nowhere/drydock.toml"));
}

TEST_F(FlagFileTest, MistakesNameTheirPlace) {
  EXPECT_THAT(
      MessageWith({}, "[msrun]\nworker_nun = 1\n"),
      AllOf(HasSubstr(path_ + ": 'worker_nun' is not a flag of msrun"), HasSubstr("'worker_num'")));
  EXPECT_THAT(MessageWith({}, "worker_num = 1\n"),
              HasSubstr("outside of a section / write [msrun] above it"));
  EXPECT_THAT(MessageWith({}, "[msrun]\nworker_num = [1, 2]\n"), HasSubstr("has 2 values"));
  EXPECT_THAT(MessageWith({}, "[msrun]\nworker_num = \"x\"\n"),
              HasSubstr(path_ + ": argument --worker_num: invalid int value: 'x'"));
  EXPECT_THAT(MessageWith({}, "", {{"DRYDOCK_JOIN", "yes"}}),
              HasSubstr("DRYDOCK_JOIN: argument --join: invalid value"));
}

TEST_F(FlagFileTest, EveryRepeatedValueIsLookedAt) {
  EXPECT_THAT(MessageFor({"--worker_num=x", "--worker_num=6"}),
              HasSubstr("invalid int value: 'x'"));
}

}  // namespace
}  // namespace drydock::launcher
