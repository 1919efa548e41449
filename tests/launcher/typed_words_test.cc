#include "launcher/typed_words.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Words that are nearly right: what was meant is named.
namespace drydock::launcher {
namespace {

const std::vector<std::string_view> kFlags = {"worker_num", "local_worker_num", "sim_level",
                                              "log_dir"};

TEST(TypedWords, NamesOfOtherLaunchersLeadToOurs) {
  EXPECT_EQ(NameHere("world_size", kFlags), "worker_num");
  EXPECT_EQ(NameHere("nproc_per_node", kFlags), "local_worker_num");
  EXPECT_EQ(NameHere("simulation_level", kFlags), "sim_level");
  EXPECT_EQ(NameHere("worker_num", kFlags), "");
  EXPECT_EQ(NameHere("port", kFlags), "");  // leads to a flag that these commands lack
}

TEST(TypedWords, DevicesAreNamedByAVariable) {
  EXPECT_THAT(HintForDeviceList("devices"), testing::HasSubstr("ASCEND_RT_VISIBLE_DEVICES=0,1"));
  EXPECT_EQ(HintForDeviceList("devices_per_node"), "");
}

// U+2014 is the long dash, U+2013 the short one; U+FF1D is U+0020 + 0xFEE0 + 0x1D = '=', U+FF11 is
// '1'.
TEST(TypedWords, WideCharactersAndDashesBecomeThoseOfAKeyboard) {
  EXPECT_EQ(AsciiForm("\u2014sim_level\uff1d\uff11"), "--sim_level=1");
  EXPECT_EQ(AsciiForm("\u2013n"), "-n");
  EXPECT_EQ(AsciiForm("\uff01\uff5e\u3000\u201cx\u201d"), "!~ \"x\"");
  EXPECT_EQ(AsciiForm("--log_dir=\u7f51\u7edc"), "--log_dir=\u7f51\u7edc");  // words of a language
  EXPECT_EQ(AsciiForm("\xef\xbc"), "\xef\xbc");          // cut in the middle of a character
  EXPECT_EQ(AsciiForm("\uff00\uff5f"), "\uff00\uff5f");  // outside of the wide ASCII letters
}

class ScriptHint : public testing::Test {
 public:
  ScriptHint() : folder_(std::filesystem::path(testing::TempDir()) / "script_hint") {
    std::filesystem::create_directories(folder_ / "train_all.py");
    for (const char* const name : {"Train.py", "conf.yaml"}) {
      std::ofstream(folder_ / name) << "";
    }
  }
  ~ScriptHint() override { std::filesystem::remove_all(folder_); }

 protected:
  std::string HintFor(const char* name) const { return HintForScript((folder_ / name).string()); }

  const std::filesystem::path folder_;
};

TEST_F(ScriptHint, NamesAFileThatDiffersInCaseOrByALetter) {
  const std::string meant = "did you mean '" + (folder_ / "Train.py").string() + "'?";
  EXPECT_EQ(HintFor("train.py"), meant);
  EXPECT_EQ(HintFor("Trian.py"), meant);
  EXPECT_EQ(HintFor("evaluate.py"), "");
  EXPECT_EQ(HintFor("train_al.py"), "");  // the only near one is a folder
  EXPECT_EQ(HintFor("no_folder/net.py"), "");
}

TEST_F(ScriptHint, FlagsThatDoNotLookLikeOnesAreWrittenOut) {
  EXPECT_EQ(HintForScript("\u2014sim_level=1"), "write the signs of a keyboard: --sim_level=1");
  EXPECT_EQ(HintForScript("\u2013-sim_level=1"), "write the signs of a keyboard: --sim_level=1");
  EXPECT_EQ(HintForScript("sim_level=1"), "flags begin with '--': --sim_level=1");
  EXPECT_EQ(HintForScript("data/x=1.py"), "");
}

TEST_F(ScriptHint, LinksToNowhereAndQuotedCommandsAreNamed) {
  std::filesystem::create_symlink("gone.py", folder_ / "Link.py");
  EXPECT_EQ(HintFor("Link.py"), "it is a link to 'gone.py'; give the path of the script itself");
  EXPECT_EQ(HintFor("Train.py --epochs 3"),
            "leave out the quotation marks: " + (folder_ / "Train.py").string() + " --epochs 3");
  EXPECT_EQ(HintForScript("https://host/net.py"),
            "download the script and give the path of the file");
  EXPECT_THAT(HintForScript("-"), testing::HasSubstr("save it to a file"));
}

TEST(TypedWords, CommandLinesWithoutACommandAreMsruns) {
  EXPECT_EQ(HintForCommand("net.py"), "did you mean 'drydock msrun net.py'?");
  EXPECT_EQ(HintForCommand("--sim_level=1"), "did you mean 'drydock msrun --sim_level=1'?");
  EXPECT_THAT(HintForCommand("run"), testing::HasSubstr("'msrun'"));
  EXPECT_EQ(HintForCommand("nonsense"), "");
}

TEST(TypedWords, VariablesThatAreNearlyThoseOfFlags) {
  EXPECT_EQ(FlagMeant("SIMLEVEL", kFlags), "sim_level");
  EXPECT_EQ(FlagMeant("NPROC_PER_NODE", kFlags), "local_worker_num");
  EXPECT_EQ(FlagMeant("SOURCE_DIR", kFlags), "");
}

}  // namespace
}  // namespace drydock::launcher
