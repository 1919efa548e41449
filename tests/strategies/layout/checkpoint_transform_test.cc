#include "strategies/operators/checkpoint_transform.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Numbers = std::vector<std::int64_t>;

TensorLayout Plain(Numbers matrix, const Numbers& map, Shape shape = {}) {
  return MakeLayout(std::move(matrix), map, std::move(shape));
}

TEST(TransformOps, PositionOutsideTheDevicesIsRefused) {
  const TensorLayout layout = Plain({4}, {0}, {8});
  EXPECT_FALSE(TransformOpsOfAll(layout, layout, 4, 0).has_value());
  EXPECT_FALSE(ReshardOps(layout, layout, -1, 0).has_value());
  EXPECT_THAT(TransformOpsOfAll(layout, layout, 3, 0).value(), ElementsAre(Pair(3, IsEmpty())));
}

TEST(TransformOps, StageBeginMovesTheRanks) {
  // 4 rows on 4 ranks to whole: one AllConcat over the stage 8..11 on axis 0.
  const auto ops = TransformOpsOfAll(Plain({4}, {0}, {4}), Plain({4}, {-1}, {4}), 1, 8);
  ASSERT_TRUE(ops.has_value());
  EXPECT_THAT(ops->at(9), ElementsAre(TransformOp{.name = "AllConcat", .args = {8, 9, 10, 11, 0}}));
}

}  // namespace
}  // namespace drydock::strategies
