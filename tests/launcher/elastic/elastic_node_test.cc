#include "launcher/elastic/elastic_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/elastic/elastic_store.h"
#include "launcher/elastic/etcd_client.h"

namespace drydock::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = ElasticOrder::Kind;

TimePoint At(double seconds) {
  return TimePoint(Duration(static_cast<std::int64_t>(seconds * 1e6)));
}

TEST(NextHosts, SurvivorsKeepTheirPlacesAndTheTailMovesIntoHoles) {
  EXPECT_THAT(NextHosts({}, {"a", "b"}, 4), ElementsAre("a", "b"));
  // a is gone: b and c keep ranks 1 and 2, and the last one moves into the hole.
  EXPECT_THAT(NextHosts({"a", "b", "c", "d"}, {"b", "c", "d"}, 4), ElementsAre("d", "b", "c"));
  EXPECT_THAT(NextHosts({"a", "b"}, {"b", "c", "a"}, 4), ElementsAre("a", "b", "c"));
  EXPECT_THAT(NextHosts({"a", "b"}, {"c", "b"}, 4), ElementsAre("c", "b"));
  // Members before newcomers where not all fit.
  EXPECT_THAT(NextHosts({"b"}, {"a", "b", "c"}, 2), ElementsAre("b", "a"));
}

TEST(NodeRange, NumbersAndRanges) {
  EXPECT_EQ(ReadNodeRange("2")->most, 2);
  EXPECT_EQ(ReadNodeRange("2:4")->least, 2);
  EXPECT_EQ(ReadNodeRange("2:4")->most, 4);
  for (const char* const wrong :
       {"", "0", "-1", "3:2", "a", "1:", ":2", "1:2:3", "99999999999999"}) {
    EXPECT_FALSE(ReadNodeRange(wrong)) << wrong;
  }
}

TEST(Plan, IsReadAsItWasWritten) {
  const ElasticPlan plan{.round = 7, .restarts = 1, .hosts = {"10.0.0.1:6170", "10.0.0.2:6170"}};
  EXPECT_EQ(DecodePlan(EncodePlan(plan)), plan);
  for (const char* const wrong : {"", "{}", "[]", R"({"round":1,"hosts":[]})", R"({"hosts":["a"]})",
                                  R"({"round":-1,"hosts":["a"]})", R"({"round":1,"hosts":[2]})"}) {
    EXPECT_FALSE(DecodePlan(wrong)) << wrong;
  }
}

/// Node "a" of a job of 1 to 3 nodes, settle time 10 s, lease 6 s.
class ElasticNodeTest : public testing::Test {
 protected:
  ElasticNodeTest()
      : node_({.host = "a",
               .min_nodes = 1,
               .max_nodes = 3,
               .settle_time = std::chrono::seconds(10),
               .lease_time = std::chrono::seconds(6),
               .max_restarts = 1}) {}

  static ElasticView View(const std::vector<std::string>& hosts,
                          std::optional<ElasticPlan> plan = {}) {
    ElasticView view{.plan = std::move(plan)};
    for (const std::string& host : hosts) {
      view.members.push_back({.host = host, .created = std::ssize(view.members) + 1});
    }
    return view;
  }

  static ElasticPlan Plan(std::int64_t round, std::vector<std::string> hosts,
                          std::int64_t restarts = 0) {
    return {.round = round, .restarts = restarts, .hosts = std::move(hosts)};
  }

  /// What is to be done, without what is said.
  static std::vector<Kind> Kinds(const std::vector<ElasticOrder>& orders) {
    std::vector<Kind> kinds;
    for (const ElasticOrder& order : orders) {
      if (order.kind != Kind::kSay) {
        kinds.push_back(order.kind);
      }
    }
    return kinds;
  }

  void RunAlone() {
    EXPECT_THAT(Kinds(node_.OnView(View({"a"}, Plan(1, {"a"})), At(0))), ElementsAre(Kind::kStart));
  }

  ElasticNode node_;
};

TEST_F(ElasticNodeTest, FewerThanTheMostWaitForTheSettleTime) {
  EXPECT_THAT(Kinds(node_.OnView(View({"a"}), At(0))), IsEmpty());
  EXPECT_THAT(Kinds(node_.OnView(View({"a"}), At(9.9))), IsEmpty());
  const auto orders = node_.OnView(View({"a"}), At(10));
  ASSERT_THAT(Kinds(orders), ElementsAre(Kind::kPublish));
  EXPECT_EQ(orders.back().plan, Plan(1, {"a"}));
}

TEST_F(ElasticNodeTest, TheMostBeginAtOnceAndOnlyTheOldestLeads) {
  EXPECT_THAT(Kinds(node_.OnView(View({"a", "b", "c"}), At(0))), ElementsAre(Kind::kPublish));
  EXPECT_THAT(Kinds(node_.OnView(View({"b", "a", "c"}), At(0))), IsEmpty());
}

TEST_F(ElasticNodeTest, ANewcomerIsTakenInAfterTheSettleTimeWhileRanksRun) {
  RunAlone();
  EXPECT_THAT(Kinds(node_.OnView(View({"a", "b"}, Plan(1, {"a"})), At(20))), IsEmpty());
  const auto orders = node_.OnView(View({"a", "b"}, Plan(1, {"a"})), At(30));
  ASSERT_THAT(Kinds(orders), ElementsAre(Kind::kPublish));
  EXPECT_EQ(orders.back().plan, Plan(2, {"a", "b"}));
  // The new plan stops what runs, and starts when that has ended.
  EXPECT_THAT(Kinds(node_.OnView(View({"a", "b"}, Plan(2, {"a", "b"})), At(31))),
              ElementsAre(Kind::kStop));
  EXPECT_THAT(Kinds(node_.OnEnded({.status = 143}, At(32))), ElementsAre(Kind::kStart));
}

TEST_F(ElasticNodeTest, ANodeThatIsGoneStopsTheRoundAtOnce) {
  EXPECT_THAT(Kinds(node_.OnView(View({"a", "b"}, Plan(1, {"a", "b"})), At(0))),
              ElementsAre(Kind::kStart));
  EXPECT_THAT(Kinds(node_.OnView(View({"a"}, Plan(1, {"a", "b"})), At(5))),
              ElementsAre(Kind::kStop));
  EXPECT_THAT(Kinds(node_.OnEnded({.status = 143}, At(6))), IsEmpty());
  const auto orders = node_.OnView(View({"a"}, Plan(1, {"a", "b"})), At(15));
  ASSERT_THAT(Kinds(orders), ElementsAre(Kind::kPublish));
  EXPECT_EQ(orders.back().plan, Plan(2, {"a"}));
}

TEST_F(ElasticNodeTest, RanksThatFailWithAllNodesThereAreStartedAgainAfterTheLease) {
  RunAlone();
  const auto told = node_.OnEnded({.status = 1, .text = "rank 0 failed"}, At(3));
  ASSERT_THAT(Kinds(told), ElementsAre(Kind::kTellFailure));
  ElasticView view = View({"a"}, Plan(1, {"a"}));
  view.failed_round = 1;
  view.failure = "rank 0 failed";
  // Until 3 + 6 + 1 s another node's lease might still run out.
  EXPECT_THAT(Kinds(node_.OnView(view, At(9.9))), IsEmpty());
  const auto orders = node_.OnView(view, At(10));
  ASSERT_THAT(Kinds(orders), ElementsAre(Kind::kPublish));
  EXPECT_EQ(orders.back().plan, Plan(2, {"a"}, 1));
  // One restart is all there is.
  EXPECT_THAT(Kinds(node_.OnView(View({"a"}, Plan(2, {"a"}, 1)), At(11))),
              ElementsAre(Kind::kStart));
  (void)node_.OnEnded({.status = 1, .text = "rank 0 failed"}, At(12));
  view = View({"a"}, Plan(2, {"a"}, 1));
  view.failed_round = 2;
  view.failure = "rank 0 failed";
  const auto last = node_.OnView(view, At(20));
  ASSERT_THAT(Kinds(last), ElementsAre(Kind::kTellOver));
  view.over = last.back().text;
  const auto finish = node_.OnView(view, At(21));
  ASSERT_THAT(Kinds(finish), ElementsAre(Kind::kFinish));
  EXPECT_EQ(finish.back().status, 1);
  EXPECT_THAT(finish.back().text, HasSubstr("rank 0 failed"));
}

TEST_F(ElasticNodeTest, ARankMayAskForAnotherRoundWithoutBeingCounted) {
  RunAlone();
  (void)node_.OnEnded({.status = 1, .asks_for_restart = true, .text = "status 101"}, At(3));
  ElasticView view = View({"a"}, Plan(1, {"a"}));
  view.failed_round = 1;
  view.asks_for_restart = true;
  const auto orders = node_.OnView(view, At(3.5));
  ASSERT_THAT(Kinds(orders), ElementsAre(Kind::kPublish));
  EXPECT_EQ(orders.back().plan, Plan(2, {"a"}, 0));
}

TEST_F(ElasticNodeTest, WhatIsRefusedIsNotTriedAgain) {
  RunAlone();
  const auto orders = node_.OnEnded({.status = 3, .text = "no script"}, At(1));
  ASSERT_THAT(Kinds(orders), ElementsAre(Kind::kTellOver, Kind::kFinish));
  EXPECT_EQ(orders.back().status, 3);
}

TEST_F(ElasticNodeTest, RanksGoOnWithoutTheStoreAndItsReturnIsNoLoss) {
  EXPECT_THAT(Kinds(node_.OnView(View({"a", "b"}, Plan(1, {"a", "b"})), At(0))),
              ElementsAre(Kind::kStart));
  EXPECT_THAT(Kinds(node_.OnLost("no etcd", At(1))), IsEmpty());
  EXPECT_THAT(Kinds(node_.OnLost("no etcd", At(1000))), IsEmpty());
  // It comes back without b's key, which b writes within a third of the lease: 2 s and 2 more.
  EXPECT_THAT(Kinds(node_.OnView(View({"a"}, Plan(1, {"a", "b"})), At(1001))), IsEmpty());
  EXPECT_THAT(Kinds(node_.OnView(View({"a"}, Plan(1, {"a", "b"})), At(1004.9))), IsEmpty());
  EXPECT_THAT(Kinds(node_.OnView(View({"a"}, Plan(1, {"a", "b"})), At(1005))),
              ElementsAre(Kind::kStop));
}

TEST_F(ElasticNodeTest, WithoutRanksAndStoreItEndsAfterTheSettleTime) {
  EXPECT_THAT(Kinds(node_.OnLost("no etcd", At(1))), IsEmpty());
  const auto orders = node_.OnLost("no etcd", At(11));
  ASSERT_THAT(Kinds(orders), ElementsAre(Kind::kFinish));
  EXPECT_EQ(orders.back().status, 4);
}

TEST_F(ElasticNodeTest, AfterTheEndOthersMayLeave) {
  EXPECT_THAT(Kinds(node_.OnView(View({"a", "b"}, Plan(1, {"a", "b"})), At(0))),
              ElementsAre(Kind::kStart));
  ElasticView view = View({"a"}, Plan(1, {"a", "b"}));
  view.is_complete = true;
  EXPECT_THAT(Kinds(node_.OnView(view, At(1))), IsEmpty());
  EXPECT_THAT(Kinds(node_.OnEnded({}, At(2))), ElementsAre(Kind::kFinish));
}

TEST_F(ElasticNodeTest, MoreThanTheMostWaitAsSpares) {
  ElasticNode spare({.host = "d", .min_nodes = 1, .max_nodes = 3});
  const ElasticPlan plan = Plan(1, {"a", "b", "c"});
  EXPECT_THAT(Kinds(spare.OnView(View({"a", "b", "c", "d"}, plan), At(0))), IsEmpty());
  // c is gone, d takes its place at once: three are the most.
  EXPECT_THAT(Kinds(spare.OnView(View({"a", "b", "d"}, Plan(2, {"a", "b", "d"})), At(1))),
              ElementsAre(Kind::kStart));
}

TEST_F(ElasticNodeTest, TheNumberOfNodesMayBeChangedFromOutside) {
  ElasticNode fixed({.host = "a", .min_nodes = 1, .max_nodes = 1});
  EXPECT_THAT(Kinds(fixed.OnView(View({"a"}, Plan(1, {"a"})), At(0))), ElementsAre(Kind::kStart));
  ElasticView view = View({"a", "b"}, Plan(1, {"a"}));
  view.np = 2;
  const auto orders = fixed.OnView(view, At(1));
  ASSERT_THAT(Kinds(orders), ElementsAre(Kind::kPublish));
  EXPECT_EQ(orders.back().plan, Plan(2, {"a", "b"}));
}

TEST(EtcdAnswers, BodiesAndWhatIsNone) {
  EXPECT_EQ(HttpBody("HTTP/1.0 200 OK\r\nContent-Type: x\r\n\r\n{}").value(), "{}");
  EXPECT_TRUE(IsCausedBy(HttpBody("HTTP/1.1 401 No\r\n\r\n{}").error(), PeerCause::kUnknownToken));
  EXPECT_FALSE(
      IsCausedBy(HttpBody("HTTP/1.1 400 status 401\r\n\r\n{}").error(), PeerCause::kUnknownToken));
  EXPECT_THAT(HttpBody("HTTP/1.1 404 Not Found\r\n\r\nno").error().message,
              HasSubstr("status 404"));
  EXPECT_THAT(HttpBody("HTTP/1.1 400 Bad\r\n\r\n{\"error\":\"lease\\nnot found\"}").error().message,
              HasSubstr("lease\\nnot found"));
  EXPECT_FALSE(HttpBody("SSH-2.0-x\r\n\r\n"));
  EXPECT_FALSE(HttpBody(""));
}

TEST(EtcdAnswers, EntriesAreDecoded) {
  // "L2pvYg==" is "/job", "YQ==" is "a".
  const auto entries = ParseRange(
      R"({"kvs":[{"key":"L2pvYg==","value":"YQ==","create_revision":"5","mod_revision":"9","lease":"7"}]})");
  ASSERT_TRUE(entries);
  EXPECT_THAT(*entries, ElementsAre(EtcdEntry{
                            .key = "/job", .value = "a", .created = 5, .modified = 9, .lease = 7}));
  EXPECT_THAT(*ParseRange(R"({"header":{}})"), IsEmpty());
  for (const char* const wrong :
       {"", "[]", R"({"kvs":3})", R"({"kvs":[1]})", R"({"kvs":[{"key":"!"}]})"}) {
    EXPECT_FALSE(ParseRange(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace drydock::launcher
