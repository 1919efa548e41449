#include "strategies/layout/redistribution_search.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

TensorLayout Layout(std::vector<std::int64_t> device_matrix, const std::vector<std::int64_t>& map,
                    Shape shape) {
  return MakeLayout(std::move(device_matrix), map, std::move(shape));
}

std::int64_t Sent(const TensorLayout& from, const TensorLayout& to, bool cheapest) {
  const auto ops = InferRedistribution(from, to, {.cheapest = cheapest});
  EXPECT_TRUE(ops) << ops.error().message;
  return ops ? SentElements(*ops) : -1;
}

TEST(CheapestRedistribution, RowsToColumnsExchangesInsteadOfGathering) {
  // 8 ranks, 64 x 64: a rank has 8 x 64 = 512 elements. AllGather sends 7 * 512 = 3584, AlltoAll
  // 7/8 * 512 = 448.
  const TensorLayout rows = Layout({8}, {0, -1}, {64, 64});
  const TensorLayout columns = Layout({8}, {-1, 0}, {64, 64});
  EXPECT_EQ(Sent(rows, columns, false), 3584);
  EXPECT_EQ(Sent(rows, columns, true), 448);
}

TEST(CheapestRedistribution, SeveralAxesOfOneDimensionAreOneExchange) {
  // Device matrix {2, 4}, rows cut by both axes become columns cut by both: the same as on {8}.
  // One axis after the other would send (1/2 + 3/4) * 512 = 640.
  const TensorLayout rows{.device_matrix = {2, 4}, .tensor_map = {{1, 0}, {}}, .shape = {64, 64}};
  const TensorLayout columns{
      .device_matrix = {2, 4}, .tensor_map = {{}, {1, 0}}, .shape = {64, 64}};
  EXPECT_EQ(Sent(rows, columns, true), 448);
}

TEST(CheapestRedistribution, AxesThatCrossAreOneExchange) {
  // 8 ranks hold 8^4 / 8 = 512 elements; all but an eighth of them move: 448.
  const Shape shape = {8, 8, 8, 8};
  const TensorLayout from = Layout({2, 4}, {1, 0, -1, -1}, shape);
  const TensorLayout to = Layout({2, 4}, {-1, -1, 0, 1}, shape);
  EXPECT_EQ(Sent(from, to, true), 448);
  const auto ops = InferRedistribution(from, to, {.cheapest = true});
  ASSERT_TRUE(ops);
  const auto exchanges = std::ranges::count_if(
      *ops, [](const auto& op) { return op.kind == RedistributionOp::Kind::kAlltoAll; });
  EXPECT_EQ(exchanges, 1);
}

TEST(CheapestRedistribution, TwoAxesThatChangePlaceLeaveForOtherDimensionsTogether) {
  // Device matrix {4, 4} and 16^4 / 16 = 4096 elements: both axes to the uncut dimensions and both
  // back send 15/16 of that twice, 7680. One axis after the other would need three exchanges of
  // 3/4, 9216.
  const Shape shape = {16, 16, 16, 16};
  const TensorLayout from = Layout({4, 4}, {1, 0, -1, -1}, shape);
  const TensorLayout to = Layout({4, 4}, {0, 1, -1, -1}, shape);
  EXPECT_EQ(Sent(from, to, true), 7680);
}

TEST(CheapestRedistribution, CutsForTheTimeBeingToExchangeLess) {
  // Device matrix {4, 4}, 64 x 64 x 64, dimension 0 cut along b moves to dimension 1, and
  // dimension 0 becomes cut along a. Straight: exchange b on 64^3 / 4 = 65536 elements
  // (3/4 of it: 49152), then cut. With dimension 2 cut along a first (free): exchange b on 16384
  // elements (12288), then move a from dimension 2 to 0 (12288): 24576.
  const TensorLayout from = Layout({4, 4}, {0, -1, -1}, {64, 64, 64});
  const TensorLayout to = Layout({4, 4}, {1, 0, -1}, {64, 64, 64});
  EXPECT_EQ(Sent(from, to, true), 24576);
}

TEST(CheapestRedistribution, SlicesSendNothing) {
  const TensorLayout whole = Layout({2, 4}, {-1, -1}, {64, 64});
  EXPECT_EQ(Sent(whole, Layout({2, 4}, {1, 0}, {64, 64}), true), 0);
}

TEST(CheapestRedistribution, ReferenceSequenceStaysWhereNothingIsCheaper) {
  const TensorLayout from = Layout({2, 4}, {1, 0}, {64, 64});
  const TensorLayout to = Layout({2, 4}, {1, -1}, {64, 64});
  EXPECT_EQ(*InferRedistribution(from, to, {.cheapest = true}), *InferRedistribution(from, to, {}));
}

TEST(CheapestRedistribution, ShapesThatDoNotUnifyKeepWhatTheyCan) {
  // {6, 4} to {4, 6} does not unify with both cuts; the cut of the first dimension by 2 does
  // ({2, 12} refines both), the second one has to be gathered: 2 ranks join 3 x 2 elements.
  const TensorLayout from = Layout({2, 2}, {1, 0}, {6, 4});
  const TensorLayout to = Layout({2, 2}, {1, -1}, {4, 6});
  EXPECT_EQ(Sent(from, to, true), 6);
  EXPECT_LE(Sent(from, to, true), Sent(from, to, false));
}

TEST(CheapestRedistribution, IsNeverWorseThanTheReferenceWithAlltoAll) {
  // Every layout of 64 x 64 elements on two device matrices of 64 ranks that have no axis in
  // common.
  std::vector<TensorLayout> layouts;
  for (const auto& matrix : {std::vector<std::int64_t>{2, 2, 16}, {8, 8}}) {
    for (std::int64_t first = -1; first < std::ssize(matrix); ++first) {
      for (std::int64_t second = -1; second < std::ssize(matrix); ++second) {
        if (first != second || first < 0) {
          layouts.push_back(Layout(matrix, {first, second}, {64, 64}));
        }
      }
    }
  }
  for (const TensorLayout& from : layouts) {
    for (const TensorLayout& to : layouts) {
      const auto reference = InferRedistribution(from, to, {.enable_alltoall = true});
      ASSERT_TRUE(reference) << reference.error().message;
      EXPECT_LE(Sent(from, to, true), SentElements(*reference));
      EXPECT_LE(Sent(from, to, true), Sent(from, to, false));
    }
  }
}

TEST(CheapestSteps, NothingIsFoundBelowAnImpossibleLimit) {
  const PlainLayout from{.device_matrix = {8}, .tensor_map = {0, -1}, .shape = {64, 64}};
  EXPECT_FALSE(CheapestSteps(from, {-1, 0}, 448));
  EXPECT_TRUE(CheapestSteps(from, {-1, 0}, 449));
}

}  // namespace
}  // namespace drydock::strategies
