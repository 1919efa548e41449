#include "launcher/spread_place.h"

#include <gtest/gtest.h>

#include "launcher/exit_code.h"
#include "launcher/msrun_options.h"

namespace drydock::launcher {
namespace {

TEST(SpreadPlace, SharesAreNeighboursAndDifferByOneAtMost) {
  // 10 ranks on 4 hosts: 10 = 3 + 3 + 2 + 2.
  EXPECT_EQ(ShareOf(0, 4, 10),
            (SpreadPlace{.hosts = 4, .host = 0, .first_rank = 0, .rank_count = 3}));
  EXPECT_EQ(ShareOf(1, 4, 10),
            (SpreadPlace{.hosts = 4, .host = 1, .first_rank = 3, .rank_count = 3}));
  EXPECT_EQ(ShareOf(2, 4, 10),
            (SpreadPlace{.hosts = 4, .host = 2, .first_rank = 6, .rank_count = 2}));
  EXPECT_EQ(ShareOf(3, 4, 10),
            (SpreadPlace{.hosts = 4, .host = 3, .first_rank = 8, .rank_count = 2}));
}

TEST(SpreadPlace, EveryRankHasOneHost) {
  for (std::int64_t ranks = 1; ranks <= 40; ++ranks) {
    for (std::int64_t hosts = 1; hosts <= ranks; ++hosts) {
      std::int64_t next = 0;
      for (std::int64_t host = 0; host < hosts; ++host) {
        const SpreadPlace share = ShareOf(host, hosts, ranks);
        ASSERT_EQ(share.first_rank, next);
        ASSERT_GE(share.rank_count, 1);
        for (std::int64_t i = 0; i < share.rank_count; ++i) {
          ASSERT_EQ(HostOfRank(share.first_rank + i, hosts, ranks), host);
        }
        next += share.rank_count;
      }
      ASSERT_EQ(next, ranks);
    }
  }
}

TEST(SpreadPlace, HostsAreThoseOfTheOuterJobElseOfTheCounts) {
  MsrunOptions options{.worker_num = 64, .local_worker_num = 16, .node_rank = 3};
  // By hand: 64 / 16 = 4 hosts; the last one has the last 16 ranks.
  EXPECT_EQ(SpreadPlaceOf(options).value(),
            (SpreadPlace{.hosts = 4, .host = 3, .first_rank = 48, .rank_count = 16}));
  options.outer = OuterJob{.system = "Slurm", .index = 1, .size = 2};
  EXPECT_EQ(SpreadPlaceOf(options).value(),
            (SpreadPlace{.hosts = 2, .host = 1, .first_rank = 32, .rank_count = 32}));
}

TEST(SpreadPlace, PlacesThatCannotBeAreRefused) {
  MsrunOptions options{.worker_num = 64, .local_worker_num = 16};
  EXPECT_EQ(CodeOf(SpreadPlaceOf(options).error()), "USAGE");  // which of the four?
  options.node_rank = 4;
  EXPECT_EQ(CodeOf(SpreadPlaceOf(options).error()), "USAGE");  // they are 0 to 3
  options.outer = OuterJob{.system = "Slurm", .index = 1, .size = 65};
  EXPECT_EQ(CodeOf(SpreadPlaceOf(options).error()), "USAGE");  // one host without a rank
}

TEST(SpreadPlace, OneHostNeedsNoNumber) {
  EXPECT_EQ(SpreadPlaceOf({.worker_num = 8, .local_worker_num = 8}).value(),
            (SpreadPlace{.hosts = 1, .host = 0, .first_rank = 0, .rank_count = 8}));
}

std::vector<SpreadHost> Hosts(const SpreadFacts& first, const SpreadFacts& second) {
  return {{.name = "a", .note = SpreadNote(first)}, {.name = "b", .note = SpreadNote(second)}};
}

TEST(CompareHosts, EqualNotesAreTheSameJob) {
  EXPECT_TRUE(CompareHosts(
      Hosts({{"flags", "--x"}, {"result", "1"}}, {{"flags", "--x"}, {"result", "1"}})));
}

TEST(CompareHosts, TheFirstDifferenceIsNamedWithBothValues) {
  const Status status =
      CompareHosts(Hosts({{"flags", "x=1"}, {"result", "1"}}, {{"flags", "x=2"}, {"result", "2"}}));
  ASSERT_FALSE(status);
  EXPECT_EQ(CodeOf(status.error()), "HOSTS_DIFFER");
  EXPECT_EQ(status.error().message,
            "host 1 (b) and host 0 (a) differ in the flags: x=2 there, x=1 here");
}

TEST(SpreadNote, AValueOfSeveralLinesIsOneLine) {
  EXPECT_EQ(SpreadNote({{"flags", "a\nb"}, {"result", ""}}), "flags: a b\nresult: \n");
}

TEST(CompareHosts, LongValuesAreComparedWholeAndShownInPart) {
  const std::string same = "flags: " + std::string(300, 'a');
  const Status status =
      CompareHosts({{.name = "a", .note = same + "1"}, {.name = "b", .note = same + "2"}});
  ASSERT_FALSE(status);
  EXPECT_LT(status.error().message.size(), 350);  // two values of 100 characters and some words
}

TEST(CompareHosts, NotesOfAnotherKindDiffer) {
  for (const char* note : {"", "\n", "x", "flags: x=1\nmore: 2\n", "flags\n"}) {
    const Status status =
        CompareHosts({{.name = "a", .note = "flags: x=1\n"}, {.name = "b", .note = note}});
    ASSERT_FALSE(status) << note;
    EXPECT_EQ(CodeOf(status.error()), "HOSTS_DIFFER");
  }
}

}  // namespace
}  // namespace drydock::launcher
