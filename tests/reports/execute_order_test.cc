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

std::vector<std::string> KernelLines(const std::string& text) {
  std::vector<std::string> lines = LinesOf(text);
  std::erase_if(lines,
                [](const std::string& line) { return line.find("/Stream") != std::string::npos; });
  return lines;
}

// Kernels of the quick start up to the first MatMul: AllGather, Reshape, StridedSlice, Reshape,
// MatMul. MindSpore lists a Reshape like any other kernel. Backward kernels that need only
// constants come between the later ones.
TEST(ExecuteOrder, ListsLaunchedKernelsInOrder) {
  const std::string text = ExecuteOrderCsv(QuickStartProgram(), RankId{0});
  const std::vector<std::string> lines = KernelLines(text);
  ASSERT_GT(lines.size(), 9U);
  EXPECT_EQ(lines[0], "index,node_name,logic_id,stream_id,node_info,event_id,group");
  EXPECT_THAT(lines[1], testing::HasSubstr("/AllGather-op0\",\"4294967295\",\"2\","));
  EXPECT_THAT(lines[1], testing::EndsWith("ValueNode<Primitive> AllGather}\",\"\","
                                          "\"4-6301172352641561019\""));
  EXPECT_THAT(lines[2], testing::HasSubstr("/Reshape-op0\",\"4294967295\",\"0\","));
  EXPECT_THAT(lines[3], testing::HasSubstr("/StridedSlice-op0\","));
  EXPECT_THAT(lines[5],
              testing::HasSubstr("\"Default/network-WithLossCell/_backbone-Net/MatMul-op0\","));
  EXPECT_THAT(text, testing::HasSubstr("/MatMul-op1\""));
}

// The collective's stream waits for computation before the AllGather, computation for it before the
// Reshape that reads it: that event comes first in the numbering. Streams meet at the beginning.
TEST(ExecuteOrder, EventsStandBetweenStreams) {
  const std::vector<std::string> lines = LinesOf(ExecuteOrderCsv(QuickStartProgram(), RankId{0}));
  ASSERT_GT(lines.size(), 3U);
  EXPECT_THAT(lines[1], testing::HasSubstr("\"Default/StreamSend-op0\",\"4294967295\",\"0\","));
  EXPECT_THAT(lines[2], testing::HasSubstr("\"Default/StreamRecv-op0\",\"4294967295\",\"2\","));
}

// Rank 5: row group 4..7, column group {1, 5}. x (2, 32) = 256 B becomes (8, 32) = 1024 B.
TEST(CommExecuteOrder, HasOneRowPerCollective) {
  const std::vector<std::string> lines =
      LinesOf(CommExecuteOrderCsv(QuickStartProgram(), RankId{5}));
  ASSERT_EQ(lines.size(), 7U);  // The header and 6 collectives.
  EXPECT_THAT(lines[1],
              testing::EndsWith("\"4-15700679239691767905\",\"4 5 6 7\",\"AllGather\",\"\",\"\","
                                "\"\",\"(2, 32)\",\"Float32\",\"(8, 32)\",\"Float32\","
                                "\"256\",\"1024\""));
  EXPECT_THAT(lines[2],
              testing::EndsWith("\"4-15700679239691767905\",\"4 5 6 7\",\"AllReduce\",\"\",\"\","
                                "\"\",\"(8, 16)\",\"Float32\",\"(8, 16)\",\"Float32\","
                                "\"512\",\"512\""));
  EXPECT_THAT(lines[6], testing::HasSubstr("\"2-12944936785892925600\",\"1 5\",\"AllReduce\""));
}

}  // namespace
}  // namespace drydock::reports
