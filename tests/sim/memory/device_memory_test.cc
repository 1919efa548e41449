#include "sim/memory/device_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

using ::testing::ElementsAre;

TEST(SimulatedDevice, WithoutLimitUsesFifteenSixteenthsLessTenMebibytes) {
  // 65,536 MiB * 15 / 16 = 61,440 MiB, a multiple of 2 MiB; less 10 MiB.
  const DeviceMemory device = SimulatedDevice(std::nullopt);
  EXPECT_EQ(device.total_bytes, 65536 * kMiB);
  EXPECT_EQ(device.ms_used_bytes, 61430 * kMiB);
  EXPECT_EQ(SimulatedDevice(1024 * kGiB), device);
}

TEST(SimulatedDevice, LimitIsTakenAsItIsAndGrowsTheDevice) {
  // "58GB" gives the 59392M of MindSpore's dry-run tutorial.
  const auto limit = ParseGigabytes("58GB", "max_device_memory");
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(SimulatedDevice(*limit), (DeviceMemory{65536 * kMiB, 59392 * kMiB}));
  EXPECT_EQ(SimulatedDevice(80 * kGiB), (DeviceMemory{80 * kGiB, 80 * kGiB}));
}

TEST(ParseGigabytes, ReadsFractionsInSinglePrecision) {
  EXPECT_EQ(ParseGigabytes("0.5GB", "x").value(), 512 * kMiB);
  // 57.3 has no exact float: the nearest is 57.299999237060546875 = 15020851 / 2^18.
  EXPECT_EQ(ParseGigabytes("57.3GB", "x").value(), std::int64_t{15020851} * 4096);
}

TEST(ParseGigabytes, RefusesEverythingElse) {
  for (const char* text : {"", "GB", "58", "58MB", "58 GB", "-1GB", "0GB", "1e3GB", "nanGB",
                           "infGB", "58GBGB", "99999999999GB", "0x10GB", ".5GB"}) {
    const auto parsed = ParseGigabytes(text, "max_device_memory");
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().reason, "Memory:bad-size");
    EXPECT_NE(parsed.error().message.find("max_device_memory"), std::string::npos);
  }
}

TEST(CollectiveLibraryBytes, CountsOneBufferPerGroup) {
  EXPECT_EQ(CollectiveLibraryBytes(3).value(), 600 * kMiB);
  EXPECT_EQ(CollectiveLibraryBytes(3, 100 * kMiB, 2).value(), 600 * kMiB);
  EXPECT_FALSE(CollectiveLibraryBytes(std::int64_t{1} << 40, std::int64_t{1} << 40).has_value());
}

TEST(PeakReportLines, SizesAreTruncatedToMebibytes) {
  // 3 MiB less one byte prints as 2M.
  const PeakReport report{.used_peak_bytes = 3 * kMiB - 1, .actual_peak_bytes = 5 * kMiB};
  EXPECT_THAT(PeakReportLines(report),
              ElementsAre("Device MOC memory size: 65536M", "MindSpore Used memory size: 61430M",
                          "MindSpore memory base address: 0",
                          "Used peak memory usage (without fragments): 2M",
                          "Actual peak memory usage (with fragments): 5M"));
}

}  // namespace
}  // namespace drydock::sim
