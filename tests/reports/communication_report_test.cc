#include "reports/communication_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/quick_start.h"

namespace drydock::reports {
namespace {

using testing::ElementsAre;

CommunicationReport QuickStartReport(std::optional<RankId> rank = {}) {
  return BuildCommunicationReport(QuickStartProgram(),
                                  {.groups_checked = 6, .collectives_checked = 28}, rank);
}

std::vector<std::string> NamesAndRanks(const GroupPatternReport& pattern) {
  std::vector<std::string> list;
  for (const NamedGroupReport& group : pattern.groups) {
    list.push_back(group.name + " " + group.ranks);
  }
  return list;
}

// Device matrix (2, 4): x (16, 32) arrives as (2, 32) per rank and is gathered over the 4 ranks of
// a row: input 2 * 32 * 4 B = 256 B, each rank sends (4 - 1) * 256 B = 768 B.
TEST(CommunicationReport, GatherOfTheInputIsExplained) {
  const CommunicationReport report = QuickStartReport();
  const CollectiveReport& gather = report.collectives.at(0);
  EXPECT_EQ(gather.kind, "AllGather");
  EXPECT_EQ(gather.payload_bytes, 256);
  EXPECT_EQ(gather.sent_bytes, 768);
  EXPECT_EQ(gather.group_size, 4);
  EXPECT_EQ(gather.tensor, "float32 (2, 32)");
  EXPECT_EQ(gather.reduce, "");
  EXPECT_EQ(gather.reason, "redistribution");
  EXPECT_EQ(gather.phase, "forward");
}

// MatMul's product (8, 16) is a partial sum over the 4 ranks that share k: 8 * 16 * 4 B = 512 B; a
// ring AllReduce sends 2 * 3/4 * 512 B = 768 B.
TEST(CommunicationReport, PartialSumNamesOperatorAndLine) {
  const CommunicationReport report = QuickStartReport();
  const CollectiveReport& sum = report.collectives.at(1);
  EXPECT_EQ(sum.kind, "AllReduce");
  EXPECT_EQ(sum.payload_bytes, 512);
  EXPECT_EQ(sum.sent_bytes, 768);
  EXPECT_EQ(sum.reduce, "sum");
  EXPECT_EQ(sum.reason, "partial-sum");
  EXPECT_EQ(sum.operator_name, "Default/network-WithLossCell/_backbone-Net/MatMul-op0");
  ASSERT_TRUE(sum.place);
  EXPECT_EQ(ShortPlaceText(sum.place), "net.py:45");
  EXPECT_EQ(sum.place->text, "out = self.matmul(x, self.weight)");
}

// Mirror of w, the last one: slices (8, 16) = 512 B, held by 2 ranks: 2 * 1/2 * 512 B = 512 B sent.
// It is not fused with the mirror of w2: the job does not ask for that.
TEST(CommunicationReport, GradientOfAParameterIsNamed) {
  const CommunicationReport report = QuickStartReport();
  const CollectiveReport& gradient = report.collectives.back();
  EXPECT_EQ(gradient.why, "gradient of w");
  EXPECT_EQ(gradient.reason, "parameter-gradient");
  EXPECT_EQ(gradient.phase, "backward");
  EXPECT_EQ(gradient.payload_bytes, 512);
  EXPECT_EQ(gradient.sent_bytes, 512);
  EXPECT_EQ(gradient.group_size, 2);
}

// Forward: AllGather 256/768, two AllReduce 512/768 each. Backward: the first AllReduce again (an
// AllReduce is its own gradient; that of the second one sums the constant that gradients start from
// and is folded away), and the mirrors of w (512/512) and w2 (4 * 16 * 4 B = 256/256).
TEST(CommunicationReport, TotalsAreSumsByKindPhaseAndAxis) {
  const CommunicationReport report = QuickStartReport();
  EXPECT_EQ(report.total, (CommunicationTotal{"all", 6, 2560, 3840}));
  EXPECT_THAT(report.by_kind, ElementsAre(CommunicationTotal{"AllGather", 1, 256, 768},
                                          CommunicationTotal{"AllReduce", 5, 2304, 3072}));
  EXPECT_THAT(report.by_phase, ElementsAre(CommunicationTotal{"forward", 3, 1280, 2304},
                                           CommunicationTotal{"backward", 3, 1280, 1536},
                                           CommunicationTotal{"optimizer", 0, 0, 0}));
  // Axis 1: everything but the mirrors.
  EXPECT_THAT(report.by_axis, ElementsAre(CommunicationTotal{"axis 1 of (2, 4)", 4, 1792, 3072},
                                          CommunicationTotal{"axis 0 of (2, 4)", 2, 768, 768}));
}

// The same collectives: all 8 ranks issue all six of them; the mirrors go along axis 0.
TEST(CommunicationReport, CausesAddUpToTheCollectives) {
  const CommunicationReport report = QuickStartReport();
  std::int64_t count = 0;
  std::int64_t sent_bytes = 0;
  std::int64_t mirror_bytes = 0;
  for (const CauseReport& cause : report.causes) {
    EXPECT_EQ(cause.rank_count, 8);
    EXPECT_FALSE(cause.ranks);
    count += cause.count;
    sent_bytes += cause.sent_bytes;
    if (cause.reason == "parameter-gradient") {
      mirror_bytes += cause.sent_bytes;
      EXPECT_EQ(cause.group, 1);
      EXPECT_EQ(cause.group_size, 2);
    }
  }
  EXPECT_EQ(count, 6);
  EXPECT_EQ(sent_bytes, 3840);
  EXPECT_EQ(mirror_bytes, 768);
}

// Names: docs/sharding.md, worked example of section 12.
TEST(CommunicationReport, GroupsHaveTheNamesMindSporeGivesThem) {
  const CommunicationReport report = QuickStartReport();
  ASSERT_EQ(report.group_patterns.size(), 2U);
  const GroupPatternReport& row = report.group_patterns[0];
  EXPECT_EQ(row.size, 4);
  EXPECT_EQ(row.count, 2);
  EXPECT_TRUE(row.all_listed);
  EXPECT_THAT(NamesAndRanks(row),
              ElementsAre("4-6301172352641561019 0-3", "4-15700679239691767905 4-7"));
  const GroupPatternReport& column = report.group_patterns[1];
  ASSERT_EQ(column.digits.size(), 1U);
  EXPECT_EQ(column.digits[0].stride, 4);
  EXPECT_EQ(column.digits[0].extent, 2);
  EXPECT_THAT(NamesAndRanks(column),
              ElementsAre("2-16453000547691086251 0,4", "2-12944936785892925600 1,5",
                          "2-511848487187618470 2,6", "2-5488101015797526856 3,7"));
}

TEST(CommunicationReport, ChosenRankShowsItsOwnGroups) {
  EXPECT_FALSE(QuickStartReport().rank);
  const CommunicationReport report = QuickStartReport(RankId{6});
  ASSERT_TRUE(report.rank);
  EXPECT_EQ(report.rank->rank, 6);
  ASSERT_EQ(report.rank->groups.size(), 2U);
  EXPECT_EQ(report.rank->groups[0].ranks, "4-7");
  EXPECT_EQ(report.rank->groups[0].index_in_group, 2);
  EXPECT_EQ(report.rank->groups[1].name, "2-511848487187618470");
  EXPECT_EQ(report.rank->groups[1].index_in_group, 1);
}

TEST(CommunicationReport, CarriesTheVerdict) {
  strategies::Agreement agreement = {.holds = false, .first_conflict = "rank 1 and rank 2"};
  const CommunicationReport report = BuildCommunicationReport(QuickStartProgram(), agreement, {});
  EXPECT_FALSE(report.agreement.holds);
  EXPECT_EQ(report.agreement.first_conflict, "rank 1 and rank 2");
}

TEST(DescribeGroups, LargeJobsShowExamplesOnly) {
  const strategies::LocalProgram program{
      .from = strategies::TracedPlan{.config = {.world_size = 131072}}};
  // Ranks that differ in the lowest digit of 8: 131072 / 8 = 16384 groups.
  const GroupPatternReport report =
      DescribeGroups(program, strategies::MakeGroupPattern({{.stride = 1, .extent = 8}}), 0);
  EXPECT_EQ(report.count, 16384);
  EXPECT_FALSE(report.all_listed);
  ASSERT_EQ(report.groups.size(), 2U);
  EXPECT_EQ(report.groups[1].ranks, "8-15");
  EXPECT_EQ(report.axis, "stride 1");
}

TEST(AxisText, NamesSeveralAxesAndTheWholeStage) {
  const strategies::LocalProgram program{
      .from = strategies::TracedPlan{
          .config = {.world_size = 8},
          .plans = {{.sharding = strategies::OpSharding{.device_matrix = {2, 2, 1, 2}}}}}};
  const auto text = [&](std::vector<strategies::RankDigit> digits) {
    return AxisText(program, strategies::MakeGroupPattern(std::move(digits)));
  };
  // Axes of (2, 2, 2) have strides 4, 2 and 1; the axis of size 1 does not count.
  EXPECT_EQ(text({{4, 2}, {1, 2}}), "axes 0 and 2 of (2, 2, 2)");
  EXPECT_EQ(text({{2, 2}}), "axis 1 of (2, 2, 2)");
  EXPECT_EQ(text({{1, 8}}), "all ranks");
}

}  // namespace
}  // namespace drydock::reports
