#include "strategies/layout/group_name.h"

#include <vector>

#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

TEST(NameHash, EqualsTheReference) {
  // One, two and fewer than one 8-byte words, and tails of different lengths.
  EXPECT_EQ(NameHash("0-1-2-3"), 6301172352641561019U);
  EXPECT_EQ(NameHash("4-5-6-7"), 15700679239691767905U);
  EXPECT_EQ(NameHash("0-4"), 16453000547691086251U);
  EXPECT_EQ(NameHash("1-5"), 12944936785892925600U);
  EXPECT_EQ(NameHash("0-2-4-6"), 5226697808808137312U);
  EXPECT_EQ(NameHash("Default/network-WithLossCell/_backbone-Net/MatMul-op4_0"),
            11795743325248501408U);
}

TEST(GroupName, OrderOfRanksDoesNotMatter) {
  EXPECT_EQ(GroupName(std::vector<std::int64_t>{3, 1, 0, 2}, 8, "hccl"), "4-6301172352641561019");
}

TEST(GroupName, WholeJobIsTheWorldGroup) {
  const std::vector<std::int64_t> ranks = {0, 1};
  EXPECT_EQ(GroupName(ranks, 2, "hccl"), "hccl_world_group");
  EXPECT_EQ(GroupName(ranks, 2, "nccl"), "nccl_world_group");
  EXPECT_EQ(GroupName(ranks, 2, "mccl"), "undefined_world_group");
  EXPECT_EQ(GroupRanksText(ranks, 2), "WORLD_GROUP");
  EXPECT_EQ(GroupRanksText(ranks, 4), "0-1");
}

TEST(InstanceName, HashesFullNameAndIndex) {
  EXPECT_EQ(InstanceName("forward_op_", "Default/network-WithLossCell/_backbone-Net/MatMul-op4", 0),
            "forward_op_11795743325248501408");
}

}  // namespace
}  // namespace drydock::strategies
