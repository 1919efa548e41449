#include "sim/cluster/ranking.h"

#include <gtest/gtest.h>

#include "sim/cluster/messages/registration.h"
#include "sim/cluster/node_table.h"
#include "sim/cluster/protocol_version.h"
#include "sim/cluster/snapshot.h"

namespace drydock::sim {
namespace {

using Ranks = std::vector<std::uint32_t>;

RankingInput Member(std::string_view id, std::string_view ip, std::uint32_t device = 0,
                    std::uint32_t rank = 0) {
  return {.node_id = id, .host_ip = ip, .device_id = device, .rank = rank};
}

TEST(AddressKey, IsHexOfTheBytesSoThatNumbersSortRight) {
  EXPECT_EQ(AddressKey("10.0.0.1"), "0a000001");
  EXPECT_EQ(AddressKey("9.255.0.16"), "09ff0010");
  EXPECT_EQ(AddressKey("::1"), "00000000000000000000000000000001");
  EXPECT_LT(AddressKey("::1"), AddressKey("10.0.0.1"));
  EXPECT_LT(AddressKey("10.0.0.1"), AddressKey("fe80::1"));
  EXPECT_EQ(AddressKey("fe80::1%eth0"), AddressKey("fe80::1"));
  EXPECT_GT(AddressKey("no address"), AddressKey("ffff::"));
}

// Both examples: docs/protocol.md, checked against the reference.
TEST(FinalRanks, TextIdsAreRankedByAddressThenId) {
  const std::vector<RankingInput> members = {
      Member("b", "10.0.0.2"), Member("a", "9.0.0.1"), Member("worker_10", "10.0.0.1"),
      Member("worker_2", "10.0.0.1"), Member("zz", "127.0.0.1")};
  EXPECT_EQ(FinalRanks(members), (Ranks{3, 0, 1, 2, 4}));
}

TEST(FinalRanks, OneTextIdReranksNumericIdsToo) {
  const std::vector<RankingInput> members = {Member("1", "10.0.0.2"), Member("0", "10.0.0.2"),
                                             Member("x", "10.0.0.1")};
  EXPECT_EQ(FinalRanks(members), (Ranks{2, 1, 0}));
}

TEST(FinalRanks, NumericIdsStay) {
  const std::vector<RankingInput> members = {Member("1", "10.0.0.1", 0, 1),
                                             Member("0", "10.0.0.2", 0, 0)};
  EXPECT_EQ(FinalRanks(members), (Ranks{1, 0}));
}

TEST(FinalRanks, RolesAreCountedSeparately) {
  std::vector<RankingInput> members = {Member("a", "10.0.0.1"), Member("b", "10.0.0.1"),
                                       Member("c", "10.0.0.1")};
  members[1].role = Role::kServer;
  EXPECT_EQ(FinalRanks(members), (Ranks{0, 0, 1}));
}

TEST(RanksByTable, GivesTheRankOfTheDevice) {
  const auto table = ParseRankTable(
      R"({"server_list":[{"pod_ip":"10.0.0.1","device":[{"rank_id":"1"},{"rank_id":"0"}]},
                         {"pod_ip":"10.0.0.2","device":[{"rank_id":"3"},{"rank_id":"2"}]}]})");
  std::vector<RankingInput> members = {Member("a", "10.0.0.1", 0), Member("b", "10.0.0.1", 1),
                                       Member("c", "10.0.0.2", 0), Member("d", "10.0.0.2", 1)};
  EXPECT_EQ(RanksByTable(members, table.value()).value(), (Ranks{1, 0, 3, 2}));
  members[3].device_id = kNoDevice;
  EXPECT_FALSE(RanksByTable(members, *table).has_value());
  members[3].device_id = 2;
  EXPECT_FALSE(RanksByTable(members, *table).has_value());
  members[3].device_id = 0;  // rank 3 twice
  EXPECT_FALSE(RanksByTable(members, *table).has_value());
  members.pop_back();  // one node on a host of two devices
  EXPECT_FALSE(RanksByTable(members, *table).has_value());
}

TEST(ParseRankTable, RefusesOtherForms) {
  for (const char* const text :
       {"", "[]", "{}", R"({"version":333e333333333})", R"({"server_list":{}})",
        R"({"server_list":[{"pod_ip":1,"device":[]}]})", R"({"server_list":[{"pod_ip":"a"}]})",
        R"({"server_list":[{"pod_ip":"a","device":[{"rank_id":0}]}]})",
        R"({"server_list":[{"pod_ip":"a","device":[{"rank_id":"x"}]}]})"}) {
    EXPECT_FALSE(ParseRankTable(text).has_value()) << text;
  }
}

TEST(ParseRankTable, SaysWhereTextIsNotJson) {
  // The comma behind "1.0" is missing: the second line's first quote is in column 2.
  const auto table = ParseRankTable("{\"version\": \"1.0\"\n \"server_list\": []}");
  ASSERT_FALSE(table.has_value());
  EXPECT_NE(table.error().message.find("line 2, column "), std::string::npos)
      << table.error().message;
}

TEST(RankTable, WithoutAddressesItFitsNobodyAndStopsNothing_K8) {
  const auto table = ParseRankTable(
      R"({"server_list":[{"server_id":"127.0.0.1","device":[{"device_id":"0","rank_id":"0"}]}]})");
  ASSERT_TRUE(table.has_value());
  const std::vector<RankingInput> members = {{"a", "127.0.0.1", Role::kWorker, 0, 0}};
  EXPECT_FALSE(RanksByTable(members, *table).has_value());
}

TEST(NumericId, IsDigitsOnlyAndSaturates) {
  EXPECT_EQ(NumericId("007"), 7U);
  EXPECT_EQ(NumericId(""), 0U);  // as atoi
  EXPECT_EQ(NumericId("99999999999"), 0xFFFFFFFFU);
  EXPECT_EQ(NumericId("-1"), std::nullopt);
  EXPECT_EQ(NumericId("1a"), std::nullopt);
}

TEST(ProtocolVersion, IsTheNewestBreakNotAfterTheRelease) {
  EXPECT_EQ(ParseProtocolVersion("2.2.11"), ProtocolVersion::kMindSpore21);
  EXPECT_EQ(ParseProtocolVersion("2.4.1"), ProtocolVersion::kMindSpore240);
  EXPECT_EQ(ParseProtocolVersion("2.4.10"), ProtocolVersion::kMindSpore2410);
  EXPECT_EQ(ParseProtocolVersion("2.6"), ProtocolVersion::kMindSpore260);
  EXPECT_EQ(ParseProtocolVersion("2.7.0"), ProtocolVersion::kMaster);
  EXPECT_EQ(ParseProtocolVersion("2.10.0"), ProtocolVersion::kMindSpore271);
  for (const char* const unknown : {"", "1.9", "2.", "2.4.1.0", "x"}) {
    EXPECT_EQ(ParseProtocolVersion(unknown), std::nullopt) << unknown;
  }
}

TEST(ScaleSleep, IsHalfASecondUpTo128Workers) {
  EXPECT_EQ(ScaleSleep(3, 128), std::chrono::milliseconds(500));
  EXPECT_EQ(ScaleSleep(3, 129), std::chrono::seconds(3));
  EXPECT_EQ(ScaleSleep(3, 2, /*scaled=*/false), std::chrono::seconds(3));
}

TEST(NodeTable, GivesUpRecordsOfNodesWithoutSlotOldestFirst) {
  NodeTable table(2);
  const NodeIndex a = table.Add("a");
  const NodeIndex b = table.Add("b");
  table.at(b).holds_slot = true;
  table.SetPeer(a, static_cast<PeerId>(7));
  table.NoteInactive(a);
  EXPECT_EQ(table.Add("c"), a);
  EXPECT_EQ(table.Find("a"), std::nullopt);
  EXPECT_EQ(table.Find("b"), b);
  EXPECT_EQ(table.Find("c"), a);
  EXPECT_TRUE(table.NodesOf(static_cast<PeerId>(7)).empty());
}

TEST(IdIndex, FindsWhatIsLeftAfterManyErasures) {
  std::vector<std::string> texts;
  texts.reserve(2000);
  for (int i = 0; i < 2000; ++i) {
    texts.push_back("id-" + std::to_string(i));
  }
  const auto text_at = [&](std::uint32_t i) { return std::string_view(texts[i]); };
  IdIndex index;
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    index.Insert(texts[i], i);
  }
  for (std::uint32_t i = 0; i < texts.size(); i += 3) {
    index.Erase(texts[i], i);
  }
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(index.Find(texts[i], text_at),
              i % 3 == 0 ? std::nullopt : std::optional<std::uint32_t>(i));
  }
  EXPECT_EQ(index.size(), 1333U);  // 2000 - ceil(2000 / 3)
}

TEST(Snapshot, HasTheReferencesLayout) {
  // docs/protocol.md: a text inside an object; ours adds host_ip.
  const SchedulerSnapshot snapshot{
      .topology_ready = true,
      .nodes = {{.node_id = "w0", .host_name = "a", .host_ip = "10.0.0.1"}}};
  EXPECT_EQ(EncodeSnapshot(snapshot),
            R"({"compute_node_states":"{\"w0\":{\"device_id\":0,\"host_ip\":\"10.0.0.1\",)"
            R"(\"host_name\":\"a\",\"node_id\":\"w0\",\"rank_id\":0,\"role\":\"MS_WORKER\"}}"})");
  const auto theirs = DecodeSnapshot(
      R"({"compute_node_states":"{\"w0\":{\"device_id\":0,\"host_name\":\"a\",\"node_id\":\"w0\",)"
      R"(\"rank_id\":0,\"role\":\"MS_WORKER\"}}"})");
  EXPECT_EQ(theirs.value().nodes.at(0).node_id, "w0");
  EXPECT_TRUE(theirs->topology_ready);
}

TEST(Snapshot, SurvivesTheRoundTrip) {
  SchedulerSnapshot snapshot;
  snapshot.nodes.push_back(
      {.node_id = "a", .host_name = "h\"\\", .rank = 1, .device_id = 0xFFFFFFFF});
  EXPECT_EQ(DecodeSnapshot(EncodeSnapshot(snapshot)).value(), snapshot);
  snapshot.topology_ready = true;
  snapshot.nodes.push_back({.node_id = "b", .role = Role::kServer, .left = true});
  EXPECT_EQ(DecodeSnapshot(EncodeSnapshot(snapshot)).value(), snapshot);
}

TEST(Snapshot, EmptyIsAFirstStartAndRubbishAnError) {
  EXPECT_EQ(DecodeSnapshot("").value(), SchedulerSnapshot{});
  EXPECT_EQ(DecodeSnapshot("{}").value(), SchedulerSnapshot{});
  EXPECT_EQ(EncodeSnapshot(SchedulerSnapshot{}), "{}");
  for (const char* const text :
       {"x", "[]", R"({"compute_node_states":1})", R"({"compute_node_states":"[]"})",
        R"({"compute_node_states":"{\"a\":1}"})", R"({"compute_node_states":"{\"a\":{}}"})"}) {
    EXPECT_FALSE(DecodeSnapshot(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace drydock::sim
