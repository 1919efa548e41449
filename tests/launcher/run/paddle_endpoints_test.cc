#include "launcher/run/paddle_endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(PaddleEndpoints, PortsCountUpAtEachAddress) {
  const PaddleEndpoints endpoints = EndpointsOf({"10.0.0.1", "10.0.0.1", "10.0.0.2"}, {});
  EXPECT_THAT(endpoints.of_rank, ElementsAre("10.0.0.1:6070", "10.0.0.1:6071", "10.0.0.2:6070"));
  EXPECT_EQ(endpoints.joined, "10.0.0.1:6070,10.0.0.1:6071,10.0.0.2:6070");
}

TEST(PaddleEndpoints, TheFirstPortMayBeGiven) {
  EXPECT_THAT(EndpointsOf({"10.0.0.1", "10.0.0.1"}, {{"FLAGS_START_PORT", "7000"}}).of_rank,
              ElementsAre("10.0.0.1:7000", "10.0.0.1:7001"));
}

// "10.0.0.1:6070" to ":9999" have 13 bytes each, so 3,930 of them 3,930 * 13 + 3,929 = 55,019; from
// 10000 on 14. In all 9,000: 55,020 + 5,070 * 15 - 1 = 131,069 bytes; with the 24 of the name, "="
// and the final zero 131,095, which is more than 128 * 1,024 = 131,072. Two fewer would fit.
TEST(PaddleEndpoints, AListLongerThanAVariableMayBeIsLeftOut) {
  const PaddleEndpoints endpoints = EndpointsOf(std::vector<std::string>(9000, "10.0.0.1"), {});
  EXPECT_THAT(endpoints.of_rank, SizeIs(9000));
  EXPECT_THAT(endpoints.joined, IsEmpty());
  EXPECT_THAT(EndpointsOf(std::vector<std::string>(8998, "10.0.0.1"), {}).joined, SizeIs(131'039));
}

}  // namespace
}  // namespace drydock::launcher
