// What the scheduler keeps and tells: metadata, host names, port ranges, rank tables, snapshots.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/cluster/messages/node_port_ranges.h"
#include "tests/sim/cluster/scheduler_harness.h"

namespace drydock::sim {
namespace {

TEST(Scheduler, MetadataIsWrittenReadAndDeleted) {
  SchedulerHarness scheduler(Job(1));
  EXPECT_EQ(scheduler.Read("k"), std::nullopt);
  scheduler.Write("k", "1");
  scheduler.Write("k", "2");
  EXPECT_EQ(scheduler.Read("k"), "2");
  const MetadataMessage name{.name = "k"};
  EXPECT_EQ(scheduler.SendMessage(1, MessageName::kDeleteMetadata, name)->name, "10");
  EXPECT_EQ(scheduler.SendMessage(1, MessageName::kDeleteMetadata, name)->name, "12");
}

TEST(Scheduler, ARefusedWriteGetsNoAnswerAndChangesNothing) {
  SchedulerOptions options = Job(1);
  options.limits = {.metadata_entries = 2, .metadata_bytes = 10};
  SchedulerHarness scheduler(options);
  scheduler.Write("a", "12345");  // 6 bytes
  scheduler.Write("b", "1234");   // 11 bytes together
  EXPECT_EQ(scheduler.Read("b"), std::nullopt);
  scheduler.Write("a", "123456789");  // 10 bytes, in place of the 6
  EXPECT_EQ(scheduler.Read("a"), "123456789");
  scheduler.Write("", "x");
  EXPECT_EQ(scheduler.Read(""), std::nullopt);
}

TEST(Scheduler, HostNamesAreInRankOrderAndStayReadableAfterLeaving) {
  SchedulerHarness scheduler(Job(2));
  scheduler.Register(1, "1", "10.0.0.1", "h\"1");
  EXPECT_EQ(scheduler.Send(1, "9", "MS_WORKER"), (SeenReply{"12", R"({"hostnames":[]})"}));
  scheduler.Register(2, "0", "10.0.0.1", "h0");
  scheduler.Unregister(1, "1");
  EXPECT_EQ(scheduler.Send(1, "9", "MS_WORKER"),
            (SeenReply{"10", R"({"hostnames":["h0","h\"1"]})"}));
  EXPECT_EQ(scheduler.Send(1, "9", "MS_SCHED"), (SeenReply{"10", R"({"hostnames":[]})"}));
}

TEST(Scheduler, PublishesPortRangesOfEveryHost) {
  SchedulerHarness scheduler(Job(3));
  scheduler.Register(1, "0", "10.0.0.1", "a");
  scheduler.Register(2, "2", "10.0.0.2", "b");
  EXPECT_EQ(scheduler.Read("node_port_range"), std::nullopt);
  scheduler.Register(3, "1", "10.0.0.1", "a");
  const std::string value = scheduler.Read("node_port_range").value();
  // Host a: width 4096 / 2 = 2048; host b: 4096; both from 8118 on.
  EXPECT_EQ(
      DecodeNodePortRanges(value).value(),
      (std::vector<NodePortRange>{{"0", 8118, 10165}, {"1", 10166, 12213}, {"2", 8118, 12213}}));
}

TEST(Scheduler, ARankTableDecidesIfItFits) {
  SchedulerOptions options = Job(2);
  options.rank_table = RankTable{{"10.0.0.1", {1, 0}}};
  SchedulerHarness scheduler(options);
  const RegistrationRequest request{
      .node_id = "a", .host_name = "h", .role = "MS_WORKER", .host_ip = "10.0.0.1"};
  scheduler.Register(1, request);
  RegistrationRequest other = request;
  other.node_id = "b";
  other.device_id = 1;
  scheduler.Register(2, other);
  EXPECT_EQ(scheduler.FinalRank("a"), "1");
  EXPECT_EQ(scheduler.FinalRank("b"), "0");
}

TEST(Scheduler, ARankTableThatDoesNotFitIsNotUsedAtAll) {
  SchedulerOptions options = Job(2);
  options.rank_table = RankTable{{"10.0.0.1", {1, 0}}};
  SchedulerHarness scheduler(options);
  scheduler.Register(1, "a", "10.0.0.2");
  scheduler.Register(2, "b", "10.0.0.1");
  EXPECT_EQ(scheduler.FinalRank("a"), "1");
  EXPECT_EQ(scheduler.FinalRank("b"), "0");
  EXPECT_EQ(scheduler.Count(SchedulerEventKind::kRankTableUnusable), 1U);
}

TEST(Scheduler, GoesOnFromASnapshotOfACompleteTopology) {
  SchedulerHarness before(RecoveryJob(2));
  before.Register(1, "a", "10.0.0.2");
  before.Register(2, "b", "10.0.0.1");
  EXPECT_TRUE(before.output().snapshot_changed);
  SchedulerHarness after(RecoveryJob(2), before.core().Snapshot());
  EXPECT_EQ(after.core().state(), SchedulerState::kReady);
  EXPECT_EQ(after.Heartbeat(1, "a"), (HeartbeatReply{true, 1, 2, 0}));
  EXPECT_EQ(after.FinalRank("a"), "1");
  EXPECT_EQ(after.Unregister(1, "a"), "3");
  SchedulerHarness later(RecoveryJob(2), after.core().Snapshot());
  EXPECT_EQ(later.Unregister(1, "a"), "3");
  EXPECT_EQ(later.Unregister(2, "b"), "3");
  EXPECT_EQ(later.core().state(), SchedulerState::kFinished);
}

TEST(Scheduler, GoesOnFromASnapshotTakenDuringTheBuild) {
  SchedulerHarness before(RecoveryJob(3));
  before.Register(1, "a");
  before.Register(2, "b");
  SchedulerHarness after(RecoveryJob(3), before.core().Snapshot());
  EXPECT_EQ(after.core().state(), SchedulerState::kBuilding);
  EXPECT_EQ(after.Heartbeat(1, "b"), (HeartbeatReply{true, 0, 3, 0}));
  EXPECT_EQ(after.Register(3, "c").rank_id, 2U);
  EXPECT_EQ(after.core().state(), SchedulerState::kReady);
}

TEST(Scheduler, RefusesASnapshotOfAnotherJob) {
  SchedulerHarness before(RecoveryJob(2));
  before.Register(1, "0");
  before.Register(2, "1");
  const SchedulerSnapshot snapshot = before.core().Snapshot();
  EXPECT_FALSE(SchedulerCore::Create(RecoveryJob(1), TimePoint{}, snapshot).has_value());
  EXPECT_FALSE(SchedulerCore::Create(RecoveryJob(3), TimePoint{}, snapshot).has_value());
  SchedulerSnapshot twice = snapshot;
  twice.nodes[1].rank = 0;
  EXPECT_FALSE(SchedulerCore::Create(RecoveryJob(2), TimePoint{}, twice).has_value());
}

}  // namespace
}  // namespace drydock::sim
