#include "strategies/layout/redistribution.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = RedistributionOp::Kind;
using Numbers = std::vector<std::int64_t>;

TensorLayout Plain(Numbers matrix, const Numbers& map, Shape shape) {
  return MakeLayout(std::move(matrix), map, std::move(shape));
}

std::vector<Kind> KindsOf(const std::vector<RedistributionOp>& ops) {
  std::vector<Kind> kinds;
  for (const RedistributionOp& op : ops) {
    kinds.push_back(op.kind);
  }
  return kinds;
}

TEST(InferRedistribution, RowsToRowsAndColumnsSlicesLocally) {
  // (16, 16) on {2, 4}, map {1, -1} -> {1, 0}; rank r keeps columns 4 * (r mod 4) .. + 4.
  const auto ops =
      InferRedistribution(Plain({2, 4}, {1, -1}, {16, 16}), Plain({2, 4}, {1, 0}, {16, 16}), {});
  ASSERT_TRUE(ops.has_value());
  ASSERT_THAT(KindsOf(*ops), ElementsAre(Kind::kStridedSlice));
  EXPECT_EQ(ValueAt((*ops)[0].begin[1], 7), 12);
  EXPECT_EQ(ValueAt((*ops)[0].end[1], 7), 16);
  EXPECT_EQ(ValueAt((*ops)[0].begin[0], 7), 0);
  EXPECT_THAT((*ops)[0].output_shape, ElementsAre(8, 4));
}

TEST(InferRedistribution, DataParallelInputOfTheWorkedExample) {
  // Each rank holds (2, 32); AllGather, Reshape (1, 8, 32), StridedSlice, Reshape (8, 8).
  const auto ops =
      InferRedistribution(Plain({8, 1}, {1, -1}, {16, 32}), Plain({2, 4, 1}, {2, 1}, {16, 32}), {});
  ASSERT_TRUE(ops.has_value());
  ASSERT_THAT(KindsOf(*ops),
              ElementsAre(Kind::kAllGather, Kind::kReshape, Kind::kStridedSlice, Kind::kReshape));
  EXPECT_THAT(GroupRanks((*ops)[0].group, 5, 0), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT((*ops)[1].output_shape, ElementsAre(1, 8, 32));
  EXPECT_EQ(ValueAt((*ops)[2].begin[2], 5), 8);
  EXPECT_THAT((*ops)[3].output_shape, ElementsAre(8, 8));
}

TEST(InferRedistribution, NotExpandableGoesThroughTheWholeTensor) {
  // Cannot be expanded: (24, 10) cut 8 on dimension 0 -> (16, 15) cut 8: AllGather, Reshape,
  // StridedSlice.
  const auto ops =
      InferRedistribution(Plain({8}, {0, -1}, {24, 10}), Plain({8}, {0, -1}, {16, 15}), {});
  ASSERT_TRUE(ops.has_value());
  ASSERT_THAT(KindsOf(*ops), ElementsAre(Kind::kAllGather, Kind::kReshape, Kind::kStridedSlice));
  EXPECT_THAT((*ops)[1].output_shape, ElementsAre(16, 15));
}

TEST(InferRedistribution, EqualOwnershipNeedsNothing) {
  const TensorLayout a = Plain({2, 1, 4}, {2, 0}, {16, 16});
  const TensorLayout b = Plain({2, 4}, {1, 0}, {16, 16});
  EXPECT_THAT(InferRedistribution(a, a, {}).value(), IsEmpty());
  EXPECT_THAT(InferRedistribution(a, b, {}).value(), IsEmpty());
}

TEST(InferRedistribution, KeptReshapeIsEmittedForEqualShapes) {
  const TensorLayout layout = Plain({8}, {0}, {16});
  const auto ops = InferRedistribution(layout, layout, {.keep_reshape = true});
  ASSERT_TRUE(ops.has_value());
  ASSERT_THAT(KindsOf(*ops), ElementsAre(Kind::kReshape));
  EXPECT_THAT((*ops)[0].output_shape, ElementsAre(2));
}

TEST(InferRedistribution, ScalarsPassUnchanged) {
  EXPECT_THAT(InferRedistribution(ReplicatedLayout(8, {}), Plain({2, 4}, {}, {}), {}).value(),
              IsEmpty());
}

TEST(InferRedistribution, OnesLeftInDoNotStopUnification) {
  // The pair on which the reference's unification never ends without squeezing.
  const auto ops = InferRedistribution(Plain({2, 2, 2}, {-1, 0, -1, -1}, {2, 4, 2, 4}),
                                       Plain({2, 2, 2}, {-1, 2, -1, -1}, {1, 16, 2, 2}), {});
  EXPECT_TRUE(ops.has_value());
}

TEST(InferRedistribution, DifferentCountsAreRefused) {
  const auto devices = InferRedistribution(Plain({8}, {0}, {16}), Plain({4}, {0}, {16}), {});
  ASSERT_FALSE(devices.has_value());
  EXPECT_EQ(devices.error().reason, "Redistribution:device-count");
  const auto elements = InferRedistribution(Plain({8}, {0}, {16}), Plain({8}, {0}, {24}), {});
  ASSERT_FALSE(elements.has_value());
  EXPECT_EQ(elements.error().reason, "Redistribution:element-count");
}

TEST(InferRedistribution, InvalidLayoutIsRefusedEvenIfNothingWouldMove) {
  const TensorLayout uneven = Plain({4}, {0}, {6});
  EXPECT_FALSE(InferRedistribution(uneven, uneven, {}).has_value());
}

TEST(CostOfRedistribution, GatherAndSliceFollowTheTable) {
  // (16, 16) on 4: rows -> columns. Gather of x = 64 on dimension 0, n = 4:
  // forward 0.5 * 4 * 64 = 128, backward 32, computation 64 + 64, memory 4 * 64 + 64.
  // Slice: + x with the same x: computation 192, memory 384. No Reshape.
  const auto cost =
      CostOfRedistribution(Plain({4}, {0, -1}, {16, 16}), Plain({4}, {-1, 0}, {16, 16}), {});
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(*cost, (RedistributionCost{.forward_communication = 128,
                                       .backward_communication = 32,
                                       .communication = 160,
                                       .computation = 192,
                                       .memory = 384}));
}

}  // namespace
}  // namespace drydock::strategies
