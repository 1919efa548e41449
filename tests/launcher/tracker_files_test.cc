#include "launcher/tracker_files.h"

#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

std::optional<std::string> FolderFor(const std::string& conf) {
  return TrackerFolder({{"MS_ALLOC_CONF", conf}}, "reports");
}

TEST(TrackerFolder, IsThatOfTheReportsUnlessAPathIsNamed) {
  EXPECT_EQ(FolderFor("memory_tracker:True"), "reports");
  EXPECT_EQ(FolderFor("enable_vmm:False,memory_tracker:true"), "reports");
  EXPECT_EQ(FolderFor("memory_tracker_path:/tmp/x"), "/tmp/x");
  EXPECT_EQ(FolderFor("memory_tracker:True,memory_tracker_path:/tmp/x"), "/tmp/x");
}

TEST(TrackerFolder, IsAbsentWhereNobodyAsks) {
  for (const std::string conf : {"", "memory_tracker:False", "memory_tracker",
                                 "simple_tracker:True", "memory_tracker_path:"}) {
    EXPECT_EQ(FolderFor(conf), std::nullopt) << conf;
  }
  EXPECT_EQ(TrackerFolder({}, "reports"), std::nullopt);
}

}  // namespace
}  // namespace drydock::launcher
