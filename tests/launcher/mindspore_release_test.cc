#include "launcher/mindspore_release.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

namespace fs = std::filesystem;

/// Prefixes with installed packages, made of files only.
class InstalledMindSporeTest : public ::testing::Test {
 protected:
  InstalledMindSporeTest() {
    std::string name = (fs::temp_directory_path() / "drydock_release_XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~InstalledMindSporeTest() override { fs::remove_all(root_); }

  [[nodiscard]] std::string At(const std::string& name) const { return (root_ / name).string(); }
  void Put(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void PutPackage(const std::string& folder, const std::string& release) const {
    Put(folder + "/mindspore/version.py", "__version__ = '" + release + "'\n");
  }

  fs::path root_;
};

TEST_F(InstalledMindSporeTest, IsTheOneOfTheInterpretersOwnEnvironment) {
  PutPackage("venv/lib/python3.11/site-packages", "2.10.0");
  PutPackage("other/lib/python3.11/site-packages", "2.7.0");
  EXPECT_EQ(InstalledMindSpore(At("venv/bin/python"), {}), "2.10.0");
  EXPECT_EQ(InstalledMindSpore(At("venv/bin/pytest"), {}), "2.10.0");
  EXPECT_EQ(InstalledMindSpore(At("none/bin/python"), {}), std::nullopt);
  EXPECT_EQ(InstalledMindSpore("python", {}), std::nullopt);
}

TEST_F(InstalledMindSporeTest, SuffixesOfAReleaseAreLeftOut) {
  PutPackage("a/lib/python3.9/site-packages", "2.7.1.post1");
  PutPackage("b/lib/python3.9/dist-packages", "2.3.0rc2");
  PutPackage("c/lib/python3.9/site-packages", "not a number");
  EXPECT_EQ(InstalledMindSpore(At("a/bin/python"), {}), "2.7.1");
  EXPECT_EQ(InstalledMindSpore(At("b/bin/python"), {}), "2.3.0");
  EXPECT_EQ(InstalledMindSpore(At("c/bin/python"), {}), std::nullopt);
}

TEST_F(InstalledMindSporeTest, IsLackingWhereNothingOfThatNameCouldBeImported) {
  PutPackage("venv/lib/python3.11/site-packages", "2.10.0");
  Put("job/mindspore.py", "");
  EXPECT_FALSE(LacksMindSpore(At("venv/bin/python"), At("job2"), {}));
  EXPECT_TRUE(LacksMindSpore(At("none/bin/python3"), At("job2"), {}));
  EXPECT_FALSE(LacksMindSpore(At("none/bin/python3"), At("job"), {}));
  EXPECT_FALSE(LacksMindSpore(At("none/bin/python3"), At("job2"), {{"PYTHONPATH", At("job")}}));
  EXPECT_FALSE(LacksMindSpore("python3", At("job2"), {}));               // whichever that is
  EXPECT_FALSE(LacksMindSpore(At("none/bin/program"), At("job2"), {}));  // no interpreter
}

TEST_F(InstalledMindSporeTest, PythonPathComesFirst) {
  PutPackage("venv/lib/python3.11/site-packages", "2.10.0");
  PutPackage("built", "2.6.0");
  EXPECT_EQ(InstalledMindSpore(At("venv/bin/python"),
                               {{"PYTHONPATH", At("nothing") + ":" + At("built")}}),
            "2.6.0");
}

TEST_F(InstalledMindSporeTest, TheUsersPackagesCountOutsideOfVirtualEnvironments) {
  PutPackage("home/.local/lib/python3.11/site-packages", "2.9.0");
  PutPackage("usr/lib/python3.11/site-packages", "2.8.0");
  PutPackage("venv/lib/python3.11/site-packages", "2.7.0");
  Put("venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n");
  const Environment environment = {{"HOME", At("home")}};
  EXPECT_EQ(InstalledMindSpore(At("usr/bin/python3"), environment), "2.9.0");
  EXPECT_EQ(InstalledMindSpore(At("venv/bin/python3"), environment), "2.7.0");
}

TEST_F(InstalledMindSporeTest, AVirtualEnvironmentMayUseTheSystemsPackages) {
  PutPackage("usr/lib/python3.11/site-packages", "2.8.0");
  Put("venv/pyvenv.cfg", "home = " + At("usr/bin") + "\ninclude-system-site-packages = true\n");
  EXPECT_EQ(InstalledMindSpore(At("venv/bin/python"), {}), "2.8.0");
}

TEST_F(InstalledMindSporeTest, TwoAtOnePlaceAreNone) {
  PutPackage("usr/lib/python3.11/site-packages", "2.8.0");
  PutPackage("usr/lib/python3.9/site-packages", "2.7.0");
  EXPECT_EQ(InstalledMindSpore(At("usr/bin/python"), {}), std::nullopt);
}

TEST_F(InstalledMindSporeTest, AScriptThatChoosesAnInterpreterIsNotBelieved) {
  PutPackage("pyenv/lib/python3.11/site-packages", "2.8.0");
  Put("pyenv/bin/python", "#!/bin/sh\nexec somewhere-else\n");
  EXPECT_EQ(InstalledMindSpore(At("pyenv/bin/python"), {}), std::nullopt);
}

TEST_F(InstalledMindSporeTest, IsLookedForInThePathLast) {
  PutPackage("first/lib/python3.11/site-packages", "2.8.0");
  Put("first/bin/python", "");
  fs::permissions(root_ / "first/bin/python", fs::perms::owner_all);
  const Environment environment = {{"PATH", At("first/bin")}};
  EXPECT_EQ(FindMindSpore({At("none/bin/bash")}, environment), "2.8.0");
  PutPackage("mine/lib/python3.11/site-packages", "2.7.0");
  EXPECT_EQ(FindMindSpore({At("mine/bin/python")}, environment), "2.7.0");
}

// 2.7.1 is the first release with the request to add.
TEST(MetadataAnswersFor, ANamedReleaseIsCertainAndAnInstalledOneAGuess) {
  using Rule = sim::MetadataAnswerRule;
  EXPECT_EQ(MetadataAnswersFor("2.7.0", "2.10.0").value(), Rule::kUntilAdd);
  EXPECT_EQ(MetadataAnswersFor("2.7.1", std::nullopt).value(), Rule::kSinceAdd);
  EXPECT_EQ(MetadataAnswersFor("", "2.7.0").value(), Rule::kLearn);
  EXPECT_EQ(MetadataAnswersFor("", "2.7.1").value(), Rule::kLearnSinceAdd);
  EXPECT_EQ(MetadataAnswersFor("", std::nullopt).value(), Rule::kLearn);
}

TEST(MetadataAnswersFor, WhatIsNoReleaseIsRefused) {
  const auto rule = MetadataAnswersFor("newest", std::nullopt);
  ASSERT_FALSE(rule.has_value());
  EXPECT_EQ(rule.error().message, "'newest' is not a release of MindSpore");
}

}  // namespace
}  // namespace drydock::launcher
