#include "launcher/files.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// A fresh folder that is removed afterwards.
class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "drydock_files_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  void Put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  [[nodiscard]] std::string Get(const std::string& name) const {
    return ReadFile(folder_ + "/" + name, 1 << 20).value_or("(unreadable)");
  }

  std::string folder_;
};

TEST_F(FilesTest, AllFilesAreWrittenAndNothingElseStays) {
  ASSERT_TRUE(
      WriteFiles(folder_, {{.path = "a.json", .text = "1"}, {.path = "b.json", .text = ""}}));
  EXPECT_THAT(Names(), UnorderedElementsAre("a.json", "b.json"));
  EXPECT_EQ(Get("a.json"), "1");
  EXPECT_EQ(Get("b.json"), "");
}

TEST_F(FilesTest, OldReportIsReplaced) {
  Put("a.json", "{\"schema\": \"drydock.summary/1\", \"old\": 1}");
  ASSERT_TRUE(WriteFiles(folder_, {{.path = "a.json", .text = "new"}}));
  EXPECT_EQ(Get("a.json"), "new");
}

TEST_F(FilesTest, FileOfSomebodyElseIsKeptAndNothingIsWritten) {
  Put("b.json", "{\"mine\": 1}");
  const Status status =
      WriteFiles(folder_, {{.path = "a.json", .text = "1"}, {.path = "b.json", .text = "2"}});
  ASSERT_FALSE(status);
  EXPECT_EQ(CodeOf(status.error()), "REPORT_WRITE");
  EXPECT_EQ(ExitCodeOf(status.error()), ExitCode::kPreflight);
  EXPECT_EQ(Get("b.json"), "{\"mine\": 1}");
  EXPECT_THAT(Names(), UnorderedElementsAre("b.json"));
}

TEST_F(FilesTest, FolderInTheWayIsAnError) {
  fs::create_directory(folder_ + "/a.json");
  EXPECT_FALSE(WriteFiles(folder_, {{.path = "a.json", .text = "1"}}));
  EXPECT_THAT(Names(), UnorderedElementsAre("a.json"));
}

TEST_F(FilesTest, SymbolicLinkIsNotFollowed) {
  Put("target", "keep");
  fs::create_symlink(folder_ + "/target", folder_ + "/a.json");
  EXPECT_FALSE(WriteFiles(folder_, {{.path = "a.json", .text = "1"}}));
  EXPECT_EQ(Get("target"), "keep");
}

TEST_F(FilesTest, FullDiskIsReportedWithItsReason) {
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full";
  }
  // Writing cannot be redirected to /dev/full, but a folder on it cannot be made: the reason is the
  // system's.
  const Status status = WriteFiles("/dev/full", {{.path = "a.json", .text = "1"}});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("Not a directory"));
}

TEST_F(FilesTest, ReportsOfAnEarlierRunAreRemovedAndNothingElse) {
  Put("memory.json", R"({"schema": "drydock.memory/1"})");
  Put("communication.json", R"({"schema": "of somebody else"})");
  RemoveReports(folder_, {"memory.json", "communication.json", "absent.json"});
  EXPECT_THAT(Names(), UnorderedElementsAre("communication.json"));
}

TEST_F(FilesTest, MissingFoldersAreMadeForTheOwnerOnly) {
  const std::string deep = folder_ + "/x/y";
  ASSERT_TRUE(PrepareFolder(deep));
  struct stat facts = {};
  ASSERT_EQ(::stat(deep.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
  EXPECT_TRUE(fs::is_empty(deep));
}

TEST_F(FilesTest, FileAsFolderIsRefused) {
  Put("file", "");
  const Status status = PrepareFolder(folder_ + "/file");
  ASSERT_FALSE(status);
  EXPECT_EQ(CodeOf(status.error()), "LOG_DIR");
  EXPECT_EQ(ExitCodeOf(status.error()), ExitCode::kPreflight);
}

// As the disk were full: what is written is named as the user knows it, and nothing is left behind.
TEST_F(FilesTest, AFileThatDoesNotFitIsNamedAndLeavesNothing) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {.rlim_cur = 4, .rlim_max = before.rlim_max};
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = WriteFiles(folder_, {{.path = "a.json", .text = "{\"a\": 1}"}});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_action);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, folder_ + "/a.json: File too large");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(FilesTest, TheRemedyNamesTheFlagThatNamedTheFolder) {
  const Error error = FailCommand(FailureCode::kLogDir, "no room").value();
  EXPECT_EQ(WithFolderFlag(error, "save_graphs_path in the script").hint,
            "choose another folder with save_graphs_path in the script");
  EXPECT_EQ(WithFolderFlag(Error{.hint = "wait"}, "--output-filename").hint, "wait");
}

TEST_F(FilesTest, ReadingTellsWhatIsWrong) {
  EXPECT_THAT(ReadFile(folder_ + "/none", 10).error().message, HasSubstr("No such file"));
  EXPECT_THAT(ReadFile(folder_, 10).error().message, HasSubstr("is a folder"));
  Put("long", "12345678901");
  EXPECT_THAT(ReadFile(folder_ + "/long", 10).error().message, HasSubstr("longer than 10 bytes"));
}

}  // namespace
}  // namespace drydock::launcher
