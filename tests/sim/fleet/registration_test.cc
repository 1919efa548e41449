#include "sim/fleet/registration.h"

#include <chrono>

#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

using std::chrono::seconds;

TEST(RegisterFleet, OneRankExchangesThreeMessagesAtTimeZero) {
  const auto statistics = RegisterFleet(*MakeExecutor(1), {.worker_num = 1}).value();
  // Registration, heartbeat (already ready), unregistration, each answered; addresses are
  // "@127.0.0.1:8118" and "@", 16 bytes; header 20, name 1.
  // Bodies: 0 id "0" 3 + host "host-0" 8 + role 11 + ip "10.0.0.1" 10 + device 0 omitted = 32;
  // replies 08 01 18 01 = 4; 08 01 10 01 18 01 = 6; "3" = 1; heartbeat and unregistration 3 each.
  EXPECT_EQ(statistics.ranks, 1U);
  EXPECT_EQ(statistics.frames_to_scheduler, 3U);
  EXPECT_EQ(statistics.frames_to_workers, 3U);
  EXPECT_EQ(statistics.bytes_to_scheduler, 3 * 37U + 32 + 3 + 3);
  EXPECT_EQ(statistics.bytes_to_workers, 3 * 37U + 4 + 6 + 1);
  EXPECT_EQ(statistics.simulated_time, Duration{});
  EXPECT_EQ(statistics.topology, (std::vector<TopologyChange>{{TopologyState::kInitialising, {}},
                                                              {TopologyState::kInitialised, {}},
                                                              {TopologyState::kFinished, {}}}));
}

TEST(RegisterFleet, RanksOfAnEarlierWaveHearOfTheTopologyAtTheirSecondHeartbeat) {
  // Up to 32 * 1024 = 32768 ranks register at once: their first heartbeats find the topology
  // complete.
  const auto small = RegisterFleet(*MakeExecutor(1), {.worker_num = 1000}).value();
  EXPECT_EQ(small.frames_to_scheduler, 3 * 1000U);
  EXPECT_EQ(small.simulated_time, Duration{});
  // With 34000 the first 32768 ask before the others registered, and again after 3 to 5 seconds.
  const auto large = RegisterFleet(*MakeExecutor(1), {.worker_num = 34000}).value();
  EXPECT_EQ(large.frames_to_scheduler, 3 * 34000U + 32768);
  EXPECT_EQ(large.frames_to_workers, large.frames_to_scheduler);
  EXPECT_EQ(large.simulated_time, seconds(5));
}

TEST(RegisterFleet, ReportsEveryRankOnceWithTextIdsToo) {
  for (const bool numeric : {true, false}) {
    std::vector<int> calls(3000, 0);
    FleetOptions options{.worker_num = 3000, .numeric_ids = numeric};
    options.on_ready = [&calls](RankId rank) { ++calls[ToIndex(rank)]; };
    EXPECT_TRUE(RegisterFleet(*MakeExecutor(2), options).has_value());
    EXPECT_EQ(calls, std::vector<int>(3000, 1)) << "numeric ids: " << numeric;
  }
}

TEST(RegisterFleet, GivesTheSameForEveryNumberOfThreads) {
  FleetOptions options{.worker_num = 34000, .numeric_ids = false, .seed = 7};
  const auto one = RegisterFleet(*MakeExecutor(1), options).value();
  EXPECT_EQ(RegisterFleet(*MakeExecutor(8), options).value(), one);
  options.seed = 8;
  EXPECT_EQ(RegisterFleet(*MakeExecutor(2), options).value().ranks, one.ranks);
}

TEST(RegisterFleet, OldReleasesReadRankAndPorts) {
  FleetOptions options{.worker_num = 16, .version = ProtocolVersion::kMindSpore240};
  const auto statistics = RegisterFleet(*MakeExecutor(1), options).value();
  // Registration, heartbeat, two reads, unregistration.
  EXPECT_EQ(statistics.frames_to_scheduler, 16 * 5U);
}

TEST(RegisterFleet, FramesUnderWayDoNotGrowWithTheFleet) {
  const auto small = RegisterFleet(*MakeExecutor(1), {.worker_num = 34000}).value();
  const auto large = RegisterFleet(*MakeExecutor(1), {.worker_num = 68000}).value();
  EXPECT_LT(large.peak_frame_bytes, small.peak_frame_bytes + small.peak_frame_bytes / 10);
}

TEST(RegisterFleet, ImpossibleFleetsAreRefused) {
  const auto executor = MakeExecutor(1);
  EXPECT_FALSE(RegisterFleet(*executor, {.worker_num = 0}).has_value());
  EXPECT_FALSE(RegisterFleet(*executor, {.worker_num = kMaxFleetWorkers + 1}).has_value());
  EXPECT_FALSE(RegisterFleet(*executor, {.worker_num = 1, .ranks_per_host = 0}).has_value());
}

}  // namespace
}  // namespace drydock::sim
