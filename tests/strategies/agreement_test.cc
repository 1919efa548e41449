#include "strategies/program/agreement.h"

#include <gtest/gtest.h>

/// Which ranks have to agree, and what is not known of them.
namespace drydock::strategies {
namespace {

/// One AllReduce of `bytes` over all ranks of a stage of four.
CollectiveSequence SumOf(std::int64_t bytes) {
  return {.collectives = {{.kind = "AllReduce",
                           .reduce_op = "sum",
                           .payload_bytes = bytes,
                           .group = MakeGroupPattern({{.stride = 1, .extent = 4}})}}};
}

TEST(CheckAgreement, RanksOfAGroupMustIssueTheSame) {
  EXPECT_TRUE(CheckAgreement({SumOf(8)}, {0, 0, 0, 0}, 4).holds);
  const Agreement apart = CheckAgreement({SumOf(8), SumOf(16)}, {0, 0, 1, 0}, 4);
  EXPECT_FALSE(apart.holds);
  EXPECT_EQ(apart.first_conflict,
            "ranks 0 and 2 disagree on group 0-1-2-3: at position 0 one issues AllReduce of 8 B "
            "float32, the other AllReduce of 16 B float32");
}

// Two stages of four ranks: the groups are 0-3 and 4-7, each agrees within itself.
TEST(CheckAgreement, StagesNeedNotAgree) {
  const Agreement agreement = CheckAgreement({SumOf(8), SumOf(16)}, {0, 0, 0, 0, 1, 1, 1, 1}, 4);
  EXPECT_TRUE(agreement.holds) << agreement.first_conflict;
  EXPECT_EQ(agreement.groups_checked, 2);
}

TEST(CheckAgreement, AConflictInALaterStageNamesItsGroup) {
  const Agreement agreement = CheckAgreement({SumOf(8), SumOf(16)}, {0, 0, 0, 0, 0, 0, 0, 1}, 4);
  EXPECT_FALSE(agreement.holds);
  EXPECT_TRUE(agreement.first_conflict.starts_with("ranks 4 and 7 disagree on group 4-5-6-7:"))
      << agreement.first_conflict;
}

// What comes behind a program that is not modelled is not known: no conflict is claimed there.
TEST(CheckAgreement, NothingIsSaidBehindAnUnknownProgram) {
  CollectiveSequence unknown = SumOf(8);
  unknown.open = true;
  CollectiveSequence longer = SumOf(8);
  longer.collectives.push_back(longer.collectives.front());
  EXPECT_TRUE(CheckAgreement({unknown, longer}, {0, 1, 0, 1}, 4).holds);
  EXPECT_FALSE(CheckAgreement({unknown, SumOf(16)}, {0, 1, 0, 1}, 4).holds);
  EXPECT_TRUE(CheckAgreement({{.open = true}, longer}, {0, 1, 0, 1}, 4).holds);
  EXPECT_FALSE(CheckAgreement({{}, longer}, {0, 1, 0, 1}, 4).holds);
}

// The one whose sequence is shorter must be the open one.
TEST(CheckAgreement, AnUnknownRestDoesNotExcuseWhatTheOtherNeverIssues) {
  CollectiveSequence unknown = SumOf(8);
  unknown.collectives.push_back(unknown.collectives.front());
  unknown.open = true;
  EXPECT_FALSE(CheckAgreement({unknown, SumOf(8)}, {0, 1, 0, 1}, 4).holds);
}

/// Message number `tag` of four bytes to or from the stage that lies `distance` ranks away.
RankCollective Message(PointToPoint half, std::int64_t distance, std::int64_t tag,
                       bool of_pipeline) {
  return {.kind = half == PointToPoint::kSends ? "Send" : "Receive",
          .payload_bytes = 4,
          .half = half,
          .of_pipeline = of_pipeline,
          .rank_distance = distance,
          .tag = tag};
}

/// Two stages of a rank each that both send before they receive.
std::vector<CollectiveSequence> BothSendFirst(bool of_pipeline) {
  const auto sends = PointToPoint::kSends;
  const auto receives = PointToPoint::kReceives;
  return {
      {.collectives = {Message(sends, 1, 0, of_pipeline), Message(receives, -1, 1, of_pipeline)}},
      {.collectives = {Message(sends, -1, 1, of_pipeline), Message(receives, 1, 0, of_pipeline)}}};
}

// The original's schedule may order messages like that: whether they pass is up to the device.
TEST(CheckAgreement, MessagesOfAPipelineThatPassOnlyWithoutWaitingAreTold) {
  const Agreement agreement = CheckAgreement(BothSendFirst(true), {0, 1}, 1);
  EXPECT_TRUE(agreement.holds) << agreement.first_conflict;
  EXPECT_EQ(agreement.collectives_checked, 2);
  EXPECT_TRUE(agreement.first_wait.starts_with("rank 0 waits forever in Send 0 of 4 B float32"))
      << agreement.first_wait;
}

TEST(CheckAgreement, MessagesOfAScriptThatWaitForEachOtherAreAConflict) {
  const Agreement agreement = CheckAgreement(BothSendFirst(false), {0, 1}, 1);
  EXPECT_FALSE(agreement.holds);
  EXPECT_TRUE(agreement.first_wait.empty());
}

// Receive 1 is what the other stage sends second; Sends that do not wait do not change that.
TEST(CheckAgreement, MessagesInAnotherOrderAreAConflict) {
  std::vector<CollectiveSequence> stages = BothSendFirst(true);
  stages[1].collectives[1].tag = 7;
  EXPECT_FALSE(CheckAgreement(stages, {0, 1}, 1).holds);
}

}  // namespace
}  // namespace drydock::strategies
