#include "strategies/layout/optimizer_shard.h"

#include <cstddef>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/strategies/layout/redistribution_oracle.h"

namespace drydock::strategies {
namespace {

using ::testing::ElementsAre;
using Numbers = std::vector<std::int64_t>;

TensorLayout Plain(Numbers matrix, const Numbers& map, Shape shape) {
  return MakeLayout(std::move(matrix), map, std::move(shape));
}

TEST(ShardForOptimizer, AllReplicasShareTheRows) {
  // D {2, 4}, map {-1, 0}: 4 columns each, replicas {r mod 4, r mod 4 + 4}: 16 / 2 rows each.
  const auto shard = ShardForOptimizer(Plain({2, 4}, {-1, 0}, {16, 16}), -1).value();
  ASSERT_TRUE(shard.has_value());
  EXPECT_THAT(shard->slice_shape, ElementsAre(8, 4));
  EXPECT_THAT(GroupRanks(shard->gather_group, 6, 0), ElementsAre(2, 6));
  EXPECT_EQ(ValueAt(shard->row_begin, 6), 8);
  EXPECT_EQ(shard->step, 4);
  EXPECT_EQ(shard->size, -1);
  EXPECT_EQ(GroupSize(shard->mirror_group), 1);
}

TEST(ShardForOptimizer, PartialShardingAddsAMirrorGroup) {
  // 8 replicas in blocks of 2: rank 5 gathers with {4, 5}; mirrors along axis 0 of {4, 2}:
  // {1, 3, 5, 7}. Step (7 - 0) / 7 = 1.
  const auto shard = ShardForOptimizer(Plain({8}, {-1}, {16}), 2).value();
  ASSERT_TRUE(shard.has_value());
  EXPECT_THAT(GroupRanks(shard->gather_group, 5, 0), ElementsAre(4, 5));
  EXPECT_THAT(GroupRanks(shard->mirror_group, 5, 0), ElementsAre(1, 3, 5, 7));
  EXPECT_EQ(shard->size, 2);
  EXPECT_EQ(shard->step, 1);
}

TEST(ShardForOptimizer, StaysAsItIsWithoutReplicasOrDivisibleRows) {
  EXPECT_FALSE(ShardForOptimizer(Plain({8}, {0}, {16}), -1)->has_value());
  EXPECT_FALSE(ShardForOptimizer(Plain({8}, {-1}, {12}), -1)->has_value());
  EXPECT_FALSE(ShardForOptimizer(ReplicatedLayout(8, {}), -1)->has_value());
  // Four of six replicas: blocks of four do not fill them.
  EXPECT_FALSE(ShardForOptimizer(Plain({6}, {-1}, {24}), 4)->has_value());
}

TEST(ShardForOptimizer, LayoutCutsTheRowsFurther) {
  // Shape (16, 16) on {8}, all whole; groups of two: rows cut by the innermost bit of the rank, so
  // that rank 5 holds rows 8 to 15, and all columns.
  const auto shard = ShardForOptimizer(Plain({8}, {-1, -1}, {16, 16}), 2).value();
  ASSERT_TRUE(shard.has_value());
  EXPECT_THAT(shard->layout.device_matrix, ElementsAre(4, 2));
  EXPECT_EQ(SliceOf(shard->layout, 5), (std::vector<Range>{{8, 16}, {0, 16}}));
  EXPECT_EQ(SliceOf(shard->layout, 4), (std::vector<Range>{{0, 8}, {0, 16}}));
}

TEST(ShardForOptimizer, SizesThatDoNotFitAreErrors) {
  const TensorLayout layout = Plain({6}, {-1}, {24});
  EXPECT_EQ(ShardForOptimizer(layout, 0).error().code, ErrorCode::kInvalidArgument);
  // Replicas of D {3, 2, 2} with the middle axis cut have radices (3, 2); blocks of 3 straddle.
  EXPECT_EQ(ShardForOptimizer(Plain({3, 2, 2}, {1}, {24}), 3).error().code,
            ErrorCode::kUnsupported);
}

struct ShardCase {
  TensorLayout layout = {};
  std::int64_t size = -1;
};

class OptimizerShardRows : public ::testing::TestWithParam<ShardCase> {};

/// Ranks that hold one slice share its rows in their order, as many neighbours as gather them.
TEST_P(OptimizerShardRows, ReplicasShareTheRowsInTheirOrder) {
  const TensorLayout& layout = GetParam().layout;
  const auto shard = ShardForOptimizer(layout, GetParam().size).value();
  ASSERT_TRUE(shard.has_value());
  const oracle::Job slices = oracle::SlicesOfCountingTensor(layout);
  std::map<Numbers, std::int64_t> holders;  // of a slice, by its values
  for (std::size_t rank = 0; rank < slices.size(); ++rank) {
    const std::int64_t place = holders[slices[rank].values]++ % GroupSize(shard->gather_group);
    EXPECT_EQ(ValueAt(shard->row_begin, static_cast<std::int64_t>(rank)),
              place * shard->slice_shape[0])
        << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, OptimizerShardRows,
                         ::testing::Values(ShardCase{Plain({2, 4}, {-1, 0}, {16, 16}), -1},
                                           ShardCase{Plain({2, 4}, {1, -1}, {16, 3}), -1},
                                           ShardCase{Plain({2, 2, 2}, {1, -1}, {16, 2}), -1},
                                           ShardCase{Plain({8}, {-1, -1}, {16, 2}), 2},
                                           ShardCase{Plain({4, 2}, {0, -1}, {16, 2}), 2},
                                           ShardCase{Plain({2, 2, 2}, {1, -1}, {16, 2}), 2}));

}  // namespace
}  // namespace drydock::strategies
