#include "sim/timing/collective_time.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/source_dir.h"

namespace drydock::sim {
namespace {

HardwareProfile Profile(const std::string& name) {
  std::ifstream file(SourceDir() + "/sim/timing/hardware/" + name + ".json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto profile = ParseHardwareProfile(text, name);
  EXPECT_TRUE(profile) << name;
  return profile ? *profile : HardwareProfile{.levels = {{}}};
}

double Seconds(const HardwareProfile& profile, CollectivePattern pattern, double bytes,
               std::int64_t size, std::int64_t stride = 1) {
  return CollectiveTime(profile,
                        {.pattern = pattern, .bytes = bytes, .span = SpanOf(profile, size, stride)})
      .seconds;
}

TEST(CollectiveTime, SpansCountMembersLevelByLevel) {
  const HardwareProfile cpu = Profile("cpu-test");  // Nodes of 4, then everything.
  EXPECT_EQ(SpanOf(cpu, 8, 1).fan, (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(SpanOf(cpu, 8, 2).fan, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(SpanOf(cpu, 8, 4).fan, (std::vector<std::int64_t>{1, 8}));
  EXPECT_EQ(SpanOf(cpu, 2, 1).fan, (std::vector<std::int64_t>{2, 1}));
  const std::vector<std::int64_t> strided = {0, 2, 4, 6, 8, 10, 12, 14};
  EXPECT_EQ(SpanOf(cpu, strided), SpanOf(cpu, 8, 2));
  const std::vector<std::int64_t> uneven = {0, 1, 2, 4};  // Three in one node, one in the other.
  EXPECT_EQ(SpanOf(cpu, uneven).fan, (std::vector<std::int64_t>{3, 2}));
}

TEST(CollectiveTime, RingsOnOneLevelAreTheClosedForms) {
  const HardwareProfile cpu = Profile("cpu-test");  // 10 GB/s and 1 us in a node, no launch.
  // AllReduce of 1e8 bytes over 4: 6 steps, 2 * 1e8 * 3/4 = 1.5e8 bytes: 6 us + 15 ms.
  EXPECT_NEAR(Seconds(cpu, CollectivePattern::kAllReduce, 1e8, 4), 15.006e-3, 1e-12);
  EXPECT_NEAR(Seconds(cpu, CollectivePattern::kAllGather, 1e8, 4), 7.503e-3, 1e-12);
  EXPECT_NEAR(Seconds(cpu, CollectivePattern::kReduceScatter, 1e8, 4), 7.503e-3, 1e-12);
  EXPECT_NEAR(Seconds(cpu, CollectivePattern::kAllToAll, 1e8, 4), 7.503e-3, 1e-12);
  EXPECT_NEAR(Seconds(cpu, CollectivePattern::kMessage, 1e8, 2), 10.001e-3, 1e-12);
  EXPECT_EQ(Seconds(cpu, CollectivePattern::kAllReduce, 1e8, 1), 0);
}

TEST(CollectiveTime, LevelsWorkOneBehindTheOther) {
  const HardwareProfile cpu = Profile("cpu-test");
  const CollectiveCost cost = CollectiveTime(
      cpu, {.pattern = CollectivePattern::kAllReduce, .bytes = 1e8, .span = SpanOf(cpu, 8, 1)});
  // Inside: ReduceScatter and AllGather of 1e8 over 4, 7.503 ms each. Outside, 2 nodes: AllReduce
  // of 2.5e7 over 1 GB/s and 10 us: 2 * 10 us + 2.5e7 bytes.
  EXPECT_NEAR(cost.seconds, 2 * 7.503e-3 + 25.02e-3, 1e-12);
  EXPECT_EQ(cost.algorithm, CollectiveAlgorithm::kHierarchical);
  EXPECT_NEAR(cost.level_bytes[0], 1.5e8, 1e-3);
  EXPECT_NEAR(cost.level_bytes[1], 2.5e7, 1e-3);
}

TEST(CollectiveTime, WhatSharesALinkGetsItsPart) {
  const HardwareProfile cpu = Profile("cpu-test");
  CollectiveWork work{
      .pattern = CollectivePattern::kAllReduce, .bytes = 1e8, .span = SpanOf(cpu, 2, 4)};
  const double alone = CollectiveTime(cpu, work).seconds;
  work.sharing = 2;
  EXPECT_NEAR(CollectiveTime(cpu, work).seconds - alone, 0.1, 1e-12);  // 1e8 bytes once more.
}

TEST(CollectiveTime, VolumesOfAlgorithms) {
  const auto volume = [](CollectivePattern pattern, CollectiveAlgorithm algorithm, std::int64_t n) {
    return FlatVolumeOf(pattern, algorithm, 1200, n).value_or(FlatVolume());
  };
  using enum CollectiveAlgorithm;
  using enum CollectivePattern;
  EXPECT_EQ(volume(kAllReduce, kRing, 6).sent_bytes, 2000);
  EXPECT_EQ(volume(kAllReduce, kRing, 6).steps, 10);
  EXPECT_EQ(volume(kAllReduce, kHalvingDoubling, 8).sent_bytes, 2100);
  EXPECT_EQ(volume(kAllReduce, kHalvingDoubling, 8).steps, 6);
  EXPECT_EQ(volume(kAllReduce, kHalvingDoubling, 6).steps, 8);  // 2 * 3, fold in and out
  EXPECT_EQ(volume(kAllReduce, kTree, 8).steps, 6);
  EXPECT_EQ(volume(kAllGather, kDirect, 4).sent_bytes, 900);
  EXPECT_FALSE(FlatVolumeOf(kAllToAll, kTree, 1200, 4));
}

/// Published measurements; tolerances are those of the publication's own scatter.
/// A100: vTrain's AllReduce on one node. H200, B200: stas00/ml-engineering, network/benchmarks.
TEST(CollectiveTime, IsNearMeasuredAllReduces) {
  struct Row {
    std::string device;
    std::int64_t ranks = 0;
    double bytes = 0;
    double seconds = 0;
    double tolerance = 0;
  };
  const auto bus = [](double bytes, double ranks, double gigabytes_per_second) {
    return bytes * 2 * (ranks - 1) / ranks / (gigabytes_per_second * 1e9);
  };
  const double mebi = 1048576;
  const std::vector<Row> rows = {
      {"A100-80", 2, mebi, 44.21e-6, 0.35},
      {"A100-80", 2, 1024 * mebi, 5442.8e-6, 0.15},
      {"A100-80", 4, 16 * mebi, 179.6e-6, 0.15},
      {"A100-80", 4, 1024 * mebi, 7259.4e-6, 0.15},
      {"A100-80", 8, mebi, 92.79e-6, 0.35},
      {"A100-80", 8, 16 * mebi, 232.4e-6, 0.15},
      {"A100-80", 8, 1024 * mebi, 8193e-6, 0.15},
      {"H200", 8, mebi, bus(mebi, 8, 39.93), 0.4},
      {"H200", 8, 64 * mebi, bus(64 * mebi, 8, 346.51), 0.1},
      {"H200", 8, 1024 * mebi, bus(1024 * mebi, 8, 463.58), 0.1},
      {"H200", 8, 8192 * mebi, bus(8192 * mebi, 8, 477.45), 0.1},
      {"H200", 4, 8192 * mebi, bus(8192 * mebi, 4, 363.3), 0.08},
      {"H200", 6, 8192 * mebi, bus(8192 * mebi, 6, 435.6), 0.08},
      {"B200", 7, 8192 * mebi, bus(8192 * mebi, 7, 811.2), 0.08},
      {"B200", 8, 512 * mebi, bus(512 * mebi, 8, 688.99), 0.15},
      {"B200", 32, 512 * mebi, bus(512 * mebi, 32, 326.9), 0.15},
      {"B200", 32, 4096 * mebi, bus(4096 * mebi, 32, 377.34), 0.15},
  };
  for (const Row& row : rows) {
    const double ours =
        Seconds(Profile(row.device), CollectivePattern::kAllReduce, row.bytes, row.ranks);
    EXPECT_NEAR(ours / row.seconds, 1, row.tolerance)
        << row.device << " x" << row.ranks << ", " << row.bytes << " bytes: " << ours;
  }
}

}  // namespace
}  // namespace drydock::sim
