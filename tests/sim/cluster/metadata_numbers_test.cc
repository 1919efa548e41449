#include "sim/cluster/metadata_numbers.h"

#include <gtest/gtest.h>

#include "tests/sim/cluster/scheduler_harness.h"

namespace drydock::sim {
namespace {

constexpr auto kAdd = kAddMetadata;

/// A scheduler of one worker that is complete, and what peer 7 is answered about metadata.
struct Store {
  explicit Store(MetadataAnswerRule rule = MetadataAnswerRule::kLearn)
      : harness({.worker_num = 1, .rules = {.metadata_answers = rule}}) {
    harness.Register(1, "0");
  }
  std::string Read(std::string_view key, std::uint64_t peer = 7) {
    return harness.SendMessage(peer, MessageName::kReadMetadata, MetadataMessage{.name = key})
        .value()
        .name;
  }
  /// Name and value of the answer to an addition.
  std::pair<std::string, std::string> Add(std::string_view key, std::string_view change) {
    const auto reply = harness.SendMessage(7, kAdd, MetadataMessage{key, change}).value();
    return {reply.name, std::string(DecodeMetadata(reply.body).value().value)};
  }
  SchedulerHarness harness;
};

// A worker that took 10 for "none" asks again; from then on the numbers are 11 and 12.
TEST(MetadataNumbers, AWorkerThatAsksAgainForAValueItWasGivenGetsTheNewNumbers) {
  Store store;
  store.harness.Write("address", "a");
  EXPECT_EQ(store.Read("address"), "10");
  EXPECT_EQ(store.Read("address"), "11");
  EXPECT_EQ(store.Read("other"), "12");
  store.harness.Write("other", "b");
  EXPECT_EQ(store.Read("other"), "11");
  EXPECT_EQ(store.Read("other"), "11") << "settled: polling changes nothing any more";
}

TEST(MetadataNumbers, AWorkerThatGoesOnSettlesTheOldNumbers) {
  Store store;
  store.harness.Write("address", "a");
  EXPECT_EQ(store.Read("missing"), "12") << "a miss as every release understands it";
  EXPECT_EQ(store.Read("address"), "10");
  EXPECT_EQ(store.Read("missing"), "11");
  EXPECT_EQ(store.Read("address"), "10");
  EXPECT_EQ(store.Read("address"), "10");
}

// The guess was wrong: 11 is "none" to this worker, so it asks again.
TEST(MetadataNumbers, AWrongGuessOfTheNewNumbersIsCorrected) {
  Store store(MetadataAnswerRule::kLearnSinceAdd);
  store.harness.Write("address", "a");
  EXPECT_EQ(store.Read("address"), "11");
  EXPECT_EQ(store.Read("address"), "10");
  EXPECT_EQ(store.Read("missing"), "11") << "settled";
}

TEST(MetadataNumbers, ARightGuessOfTheNewNumbersCostsNothing) {
  Store store(MetadataAnswerRule::kLearnSinceAdd);
  store.harness.Write("address", "a");
  EXPECT_EQ(store.Read("MS_WORKER0"), "11") << "a text id asks for its rank only once";
  EXPECT_EQ(store.Read("address"), "11");
  EXPECT_EQ(store.Read("missing"), "12");
}

TEST(MetadataNumbers, TwoWorkersThatAskForTheSameValueProveNothing) {
  Store store;
  store.harness.Write("address", "a");
  EXPECT_EQ(store.Read("address", 7), "10");
  EXPECT_EQ(store.Read("address", 8), "10");
}

// A worker that misses its own rank goes on with the provisional one, so going on proves nothing.
TEST(MetadataNumbers, TheSchedulersOwnKeysProveNothing) {
  Store store;
  EXPECT_EQ(store.Read("MS_WORKER0"), "10");
  EXPECT_EQ(store.Read("missing"), "12");
}

// Captured from MindSpore 2.10: 3, then 4 more; a value that is no number; the request echoed.
TEST(MetadataNumbers, AdditionsGiveTheSumAndSettleTheNewNumbers) {
  Store store;
  EXPECT_EQ(store.Add("count", "3"), std::pair(std::string("11"), std::string("3")));
  EXPECT_EQ(store.Add("count", "4"), std::pair(std::string("11"), std::string("7")));
  EXPECT_EQ(store.Add("count", "-10"), std::pair(std::string("11"), std::string("-3")));
  store.harness.Write("text", "v");
  EXPECT_EQ(store.Add("text", "1"), std::pair(std::string("12"), std::string("1")));
  EXPECT_EQ(store.Add("count", "9223372036854775807"),
            std::pair(std::string("11"), std::string("9223372036854775804")));
  EXPECT_EQ(store.Add("count", "4"), std::pair(std::string("12"), std::string("4")))
      << "2^63 is no number of 64 bits";
  EXPECT_EQ(store.Read("text"), "11");
}

TEST(MetadataNumbers, AStoreClientIsServedButNoMember) {
  Store store;
  const auto reply = store.harness.Register(
      9, RegistrationRequest{.node_id = "uuid", .host_name = "h", .role = "MS_CLIENT"});
  EXPECT_TRUE(reply.success);
  EXPECT_EQ(reply.node_num, 1U);
  EXPECT_EQ(store.harness.core().membership().present(), 1U);
  EXPECT_EQ(store.Read("missing"), "12");
}

TEST(MetadataNumbers, ARuleWithoutTheRequestIgnoresIt) {
  Store store(MetadataAnswerRule::kUntilAdd);
  EXPECT_EQ(store.harness.SendMessage(7, kAdd, MetadataMessage{"count", "1"}), std::nullopt);
  EXPECT_EQ(store.Read("missing"), "11");
}

}  // namespace
}  // namespace drydock::sim
