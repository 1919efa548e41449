#include "strategies/layout/stage_devices.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

using ::testing::ElementsAre;
using Numbers = std::vector<std::int64_t>;

TEST(EqualStages, MustDivideTheDevices) {
  EXPECT_THAT(EqualStages(12, 3).value(), ElementsAre(4, 4, 4));
  EXPECT_FALSE(EqualStages(8, 3).has_value());
  EXPECT_FALSE(EqualStages(8, 0).has_value());
  EXPECT_FALSE(EqualStages(0, 1).has_value());
}

TEST(PlaceInStages, UnequalStages) {
  // Stages of 2 and 3: index 4 is the third of the second stage.
  EXPECT_EQ(
      PlaceInStages(Numbers{2, 3}, 4).value(),
      (StagePlace{.stage_count = 2, .stage = 1, .stage_begin = 2, .stage_end = 5, .position = 2}));
  EXPECT_FALSE(PlaceInStages(Numbers{2, 3}, 5).has_value());
  EXPECT_FALSE(PlaceInStages(Numbers{2, 3}, -1).has_value());
  EXPECT_FALSE(PlaceInStages(Numbers{2, 0}, 0).has_value());
}

TEST(DevicesOfStages, SizesMustAddUp) {
  const Numbers devices = {5, 3, 1, 0};
  EXPECT_THAT(DevicesOfStages(devices, Numbers{2, 2}).value(),
              ElementsAre(ElementsAre(5, 3), ElementsAre(1, 0)));
  EXPECT_FALSE(DevicesOfStages(devices, Numbers{2, 3}).has_value());
  EXPECT_FALSE(DevicesOfStages(devices, Numbers{2, 1}).has_value());
}

TEST(CheckDeviceMatrix, ProductIsTheStage) {
  EXPECT_TRUE(CheckDeviceMatrix(Numbers{2, 4}, 8).has_value());
  EXPECT_FALSE(CheckDeviceMatrix(Numbers{2, 3}, 8).has_value());
  EXPECT_FALSE(CheckDeviceMatrix(Numbers{-2, -4}, 8).has_value());
}

TEST(CheckJobSize, SmallPowersAndMultiplesOfEight) {
  for (const std::int64_t accepted : {1, 2, 4, 8, 24, 4096}) {
    EXPECT_TRUE(CheckJobSize(accepted).has_value()) << accepted;
  }
  for (const std::int64_t refused : {0, -8, 3, 6, 12}) {
    EXPECT_FALSE(CheckJobSize(refused).has_value()) << refused;
  }
  // 2^32 is a multiple of 8 but beyond 2^32 - 1.
  EXPECT_FALSE(CheckJobSize(4294967296).has_value());
}

}  // namespace
}  // namespace drydock::strategies
