#include "launcher/run/oom_count.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

namespace fs = std::filesystem;
using ::testing::Optional;

class OomCount : public ::testing::Test {
 protected:
  OomCount() {
    std::string pattern = ::testing::TempDir() + "cgroup-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  ~OomCount() override { fs::remove_all(root_); }
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  fs::path root_;
};

TEST_F(OomCount, IsReadInVersionTwo_R64) {
  Write("job/memory.events", "low 0\nhigh 0\nmax 7\noom 4\noom_kill 3\n");
  EXPECT_THAT(OomKills("0::/job\n", root_), Optional(3));
}

TEST_F(OomCount, IsReadInVersionOne_R64) {
  Write("memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  EXPECT_THAT(OomKills("5:cpu,cpuacct:/\n4:memory:/job\n", root_), Optional(2));
}

TEST_F(OomCount, OfAContainerStandsAtTheTop_R64) {
  Write("memory.events", "oom_kill 1\n");
  EXPECT_THAT(OomKills("0::/docker/4711\n", root_), Optional(1));
}

TEST_F(OomCount, IsAbsentWhereNothingTells_R64) {
  EXPECT_EQ(OomKills("0::/job\n", root_), std::nullopt);
  EXPECT_EQ(OomKills("garbage\n\n", root_), std::nullopt);
}

}  // namespace
}  // namespace drydock::launcher
