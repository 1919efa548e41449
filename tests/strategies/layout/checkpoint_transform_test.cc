#include "strategies/operators/checkpoint_transform.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Numbers = std::vector<std::int64_t>;

TensorLayout Plain(Numbers matrix, const Numbers& map, Shape shape = {}) {
  return MakeLayout(std::move(matrix), map, std::move(shape));
}

TEST(RanksForTransform, NoSourceIsOneDevice) {
  EXPECT_THAT(RanksForTransform(3, {}, {}).value(), ElementsAre(0));
}

TEST(RanksForTransform, SourceStagesAreAdded) {
  // Source: 2 devices per stage, "w" in stage 1, cut in two. Target: 4 devices, all whole. Every
  // target rank needs both halves: ranks 1 * 2 + {1, 0}.
  const StoredLayouts source = {{"w", {.layout = Plain({2}, {0}), .stages = {1}}}};
  const StoredLayouts target = {{"w", {.layout = Plain({4}, {-1}), .stages = {0}}}};
  EXPECT_THAT(RanksForTransform(1, source, target).value(), ElementsAre(3, 2));
}

TEST(RanksForTransform, OnlyParametersOfTheOwnStageCount) {
  // Target stages of 2 devices; rank 2 lies in stage 1, which has "b" only. "b" is cut alike in
  // both jobs, so position 0 needs position 0.
  const StoredLayouts source = {{"a", {.layout = Plain({2}, {0}), .stages = {0}}},
                                {"b", {.layout = Plain({2}, {0}), .stages = {0}}}};
  const StoredLayouts target = {{"a", {.layout = Plain({2}, {-1}), .stages = {0}}},
                                {"b", {.layout = Plain({2}, {0}), .stages = {1}}}};
  EXPECT_THAT(RanksForTransform(2, source, target).value(), ElementsAre(0));
  EXPECT_THAT(RanksForTransform(0, source, target).value(), ElementsAre(1, 0));
}

TEST(RanksForTransform, UnequalDeviceCountsMustDivide) {
  const StoredLayouts source = {{"w", {.layout = Plain({2}, {0}), .stages = {0}}}};
  const StoredLayouts target = {{"w", {.layout = Plain({3}, {0}), .stages = {0}}}};
  EXPECT_FALSE(RanksForTransform(0, source, target).has_value());
}

TEST(TransformOps, PositionOutsideTheDevicesIsRefused) {
  const TensorLayout layout = Plain({4}, {0}, {8});
  EXPECT_FALSE(TransformOps(layout, layout, 4, 0).has_value());
  EXPECT_FALSE(ReshardOps(layout, layout, -1, 0).has_value());
  EXPECT_THAT(TransformOps(layout, layout, 3, 0).value(), IsEmpty());
}

TEST(TransformOps, StageBeginMovesTheRanks) {
  // 4 rows on 4 ranks to whole: one AllConcat over the stage 8..11 on axis 0.
  const auto ops = TransformOps(Plain({4}, {0}, {4}), Plain({4}, {-1}, {4}), 1, 8);
  ASSERT_TRUE(ops.has_value());
  EXPECT_THAT(*ops, ElementsAre(TransformOp{.name = "AllConcat", .args = {8, 9, 10, 11, 0}}));
}

TEST(OptimizerShardLayout, SizesWithoutFreeAxesAreRefused) {
  EXPECT_FALSE(OptimizerShardLayout(Plain({2, 4}, {1, 0}, {16, 16}), 1, 2).has_value());
  EXPECT_FALSE(OptimizerShardLayout(Plain({2, 4}, {-1, 0}, {16, 16}), 1, 3).has_value());
  EXPECT_FALSE(OptimizerShardLayout(Plain({2, 4}, {-1, 0}, {15, 16}), 4, 2).has_value());
}

}  // namespace
}  // namespace drydock::strategies
