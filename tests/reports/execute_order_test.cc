#include "reports/execute_order.h"

#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/quick_start.h"

namespace drydock::reports {
namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Kernels of the quick start up to the second MatMul: AllGather, Reshape, StridedSlice, Reshape,
// MatMul, AllReduce, StridedSlice, ReLU, MatMul. MindSpore lists a Reshape like any other kernel.
TEST(ExecuteOrder, ListsLaunchedKernelsInOrder) {
  const std::vector<std::string> lines = LinesOf(ExecuteOrderCsv(QuickStartProgram(), RankId{0}));
  ASSERT_GT(lines.size(), 9U);
  EXPECT_EQ(lines[0], "index,node_name,logic_id,stream_id,node_info,event_id,group");
  EXPECT_THAT(lines[1], testing::MatchesRegex("\"0\",\".*/AllGather-op0\",\"0\",\"1\",\"\",\"\","
                                              "\"4-6301172352641561019\""));
  EXPECT_THAT(lines[2], testing::HasSubstr("/Reshape-op0\",\"1\",\"0\",\"\",\"\",\"\""));
  EXPECT_THAT(lines[3], testing::HasSubstr("/StridedSlice-op0\",\"2\",\"0\",\"\",\"\",\"\""));
  EXPECT_EQ(
      lines[5],
      "\"4\",\"Default/network-WithLossCell/_backbone-Net/MatMul-op0\",\"4\",\"0\",\"\",\"\",\"\"");
  EXPECT_THAT(lines[9], testing::HasSubstr("/MatMul-op1\""));
}

// Rank 5: row group 4..7, column group {1, 5}. x (2, 32) = 256 B becomes (8, 32) = 1024 B.
TEST(CommExecuteOrder, HasOneRowPerCollective) {
  const std::vector<std::string> lines =
      LinesOf(CommExecuteOrderCsv(QuickStartProgram(), RankId{5}));
  ASSERT_EQ(lines.size(), 7U);  // The header and 6 collectives.
  EXPECT_EQ(lines[1],
            "\"0\",\"4-15700679239691767905\",\"4 5 6 7\",\"AllGather\",\"\",\"\",\"\",\"(2, 32)\","
            "\"Float32\",\"(8, 32)\",\"Float32\",\"256\",\"1024\"");
  EXPECT_EQ(lines[2],
            "\"5\",\"4-15700679239691767905\",\"4 5 6 7\",\"AllReduce\",\"\",\"\",\"\",\"(8, 16)\","
            "\"Float32\",\"(8, 16)\",\"Float32\",\"512\",\"512\"");
  EXPECT_THAT(lines[6], testing::HasSubstr("\"2-12944936785892925600\",\"1 5\",\"AllReduce\""));
}

}  // namespace
}  // namespace drydock::reports
