#include "reports/job_traffic.h"

#include <gtest/gtest.h>

#include "strategies/layout/rank_pattern.h"
#include "strategies/operators/op_entry.h"

namespace drydock::reports {
namespace {

using strategies::RankDigit;

/// Messages that leave their node when every rank of a job sends one to the next in its group.
std::int64_t Leaving(std::int64_t ranks, std::int64_t devices_per_node,
                     std::vector<RankDigit> digits) {
  const strategies::JobConfig config = {.world_size = ranks};
  NodeTraffic traffic(config, devices_per_node);
  const strategies::CollectiveUse use = {.group = strategies::MakeGroupPattern(std::move(digits)),
                                         .sent_bytes = 1};
  return traffic.InterNodeBytes(use, {}, strategies::AllRanks(ranks));
}

// 16 ranks on two nodes. One ring of all: 7 -> 8 and 15 -> 0 cross.
TEST(JobTraffic, RingOfAllRanksCrossesOncePerNode) {
  EXPECT_EQ(Leaving(16, 8, {{.stride = 1, .extent = 16}}), 2);
}

TEST(JobTraffic, GroupsInsideOfANodeNeverLeaveIt) {
  EXPECT_EQ(Leaving(16, 8, {{.stride = 1, .extent = 8}}), 0);
}

// Groups {0, 8}, {1, 9}, ...: every one of the 16 messages goes to the other node.
TEST(JobTraffic, GroupsAcrossNodesAlwaysLeave) {
  EXPECT_EQ(Leaving(16, 8, {{.stride = 8, .extent = 2}}), 16);
}

// Groups {0, 4, 8, 12}, ...: 0 -> 4 stays, 4 -> 8 leaves, 8 -> 12 stays, 12 -> 0 leaves; 4 groups.
TEST(JobTraffic, RingOfFourOverTwoNodesLeavesTwice) {
  EXPECT_EQ(Leaving(16, 8, {{.stride = 4, .extent = 4}}), 8);
}

// Members differ in digits {8, 2} and {1, 2}: {0, 1, 8, 9}: 1 -> 8 and 9 -> 0 leave; 4 groups.
TEST(JobTraffic, RingStepsThroughSeveralDigitsInRankOrder) {
  EXPECT_EQ(Leaving(16, 8, {{.stride = 8, .extent = 2}, {.stride = 1, .extent = 2}}), 8);
}

// 12 ranks, 5 devices a node: nodes 0-4, 5-9, 10-11. The ring crosses at 4, 9 and 11.
TEST(JobTraffic, LastNodeMayHaveFewerDevices) {
  EXPECT_EQ(Leaving(12, 5, {{.stride = 1, .extent = 12}}), 3);
}

// A message from each of ranks 0-7 to the rank 4 further: 0-3 stay on their node of 8, 4-7 leave
// it.
TEST(JobTraffic, MessagesGoAsFarAsTheySay) {
  const strategies::JobConfig config = {.world_size = 16, .pipeline_stages = 4};
  strategies::Node send = {.op = "Send", .entry = strategies::FindOp("Send")};
  send.group = strategies::WholeJob(16);
  send.attrs["rank_distance"] = std::int64_t{4};
  NodeTraffic traffic(config, 8);
  const strategies::CollectiveUse use = {.group = strategies::WholeJob(16), .sent_bytes = 10};
  EXPECT_EQ(traffic.InterNodeBytes(use, send, strategies::RanksOf({{0, 7}})), 40);
}

}  // namespace
}  // namespace drydock::reports
