#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "strategies/program/local_program.h"

/// Who communicates with whom. The members of each struct are described by its `Fields` table
/// (reports/field_table.h).
namespace drydock::reports {

/// Groups are written out by name while a pattern has at most this many ranks in the job.
inline constexpr std::int64_t kMaxListedRanks = 65536;
/// How many groups of a larger pattern are written out as examples.
inline constexpr std::int64_t kExampleGroups = 2;

struct DigitReport {
  std::int64_t stride = 1;
  std::int64_t extent = 1;

  static constexpr std::string_view kTypeName = "Digit";
  static constexpr std::string_view kMeaning = "One digit of a rank's position in its stage.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("stride", &DigitReport::stride, "The digit is (position / stride) % extent.");
    field("extent", &DigitReport::extent, "Number of values of the digit.");
  }
};

struct NamedGroupReport {
  std::string name = {};
  std::string ranks = {};

  static constexpr std::string_view kTypeName = "NamedGroup";
  static constexpr std::string_view kMeaning = "One communication group.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("name", &NamedGroupReport::name, "Name that MindSpore gives the group.");
    field("ranks", &NamedGroupReport::ranks,
          "Global ranks; `0-3` is a range, `0-12:4` every fourth rank of one.");
  }
};

struct GroupPatternReport {
  std::int64_t id = 0;
  std::string axis = {};
  std::vector<DigitReport> digits = {};
  bool of_job = false;
  std::int64_t size = 1;
  std::int64_t count = 0;
  std::vector<NamedGroupReport> groups = {};
  bool all_listed = true;

  static constexpr std::string_view kTypeName = "GroupPattern";
  static constexpr std::string_view kMeaning =
      "Groups of one kind: every rank is in exactly one of them, together with the ranks of its "
      "stage "
      "that differ from it only in `digits`.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("id", &GroupPatternReport::id, "Number that collectives refer to.");
    field("axis", &GroupPatternReport::axis,
          "Device-matrix axis the groups run along, `axis 1 of (2, 4)`, or the strides if no "
          "operator "
          "has such an axis.");
    field("digits", &GroupPatternReport::digits,
          "Digits in which members differ, largest stride first.");
    field("of_job", &GroupPatternReport::of_job,
          "Whether the digits are those of the rank in the job and not of its position in its "
          "stage: the groups span stages.");
    field("size", &GroupPatternReport::size, "Ranks in each group.");
    field("count", &GroupPatternReport::count, "Groups of this kind in the job.");
    field("groups", &GroupPatternReport::groups,
          "The groups by lowest rank; of jobs of more than 65,536 ranks, examples of them.");
    field("all_listed", &GroupPatternReport::all_listed, "Whether `groups` is complete.");
  }
};

struct RankGroupReport {
  std::int64_t group = 0;
  std::string name = {};
  std::string ranks = {};
  std::int64_t index_in_group = 0;

  static constexpr std::string_view kTypeName = "RankGroup";
  static constexpr std::string_view kMeaning = "Membership of one rank.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("group", &RankGroupReport::group, "`id` of the group pattern.");
    field("name", &RankGroupReport::name, "Name of the group the rank is in.");
    field("ranks", &RankGroupReport::ranks, "Its members, in range notation.");
    field("index_in_group", &RankGroupReport::index_in_group,
          "Position of the rank in it, from 0.");
  }
};

struct RankMembershipReport {
  std::int64_t rank = 0;
  std::int64_t stage = 0;
  std::vector<RankGroupReport> groups = {};

  static constexpr std::string_view kTypeName = "RankMembership";
  static constexpr std::string_view kMeaning = "Groups of the rank chosen with --sim_rank_id.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("rank", &RankMembershipReport::rank, "Global rank.");
    field("stage", &RankMembershipReport::stage, "Its pipeline stage.");
    field("groups", &RankMembershipReport::groups, "One entry per group pattern.");
  }
};

/// One entry for a kind of groups.
///
/// @param id  number that collectives refer to
[[nodiscard]] GroupPatternReport DescribeGroups(const strategies::LocalProgram& program,
                                                const strategies::GroupPattern& pattern,
                                                std::int64_t id);

/// The groups of one rank, one per pattern.
[[nodiscard]] RankMembershipReport DescribeMembership(
    const strategies::LocalProgram& program, const std::vector<strategies::GroupPattern>& patterns,
    RankId rank);

/// Device-matrix axis along which the groups run: "axis 1 of (2, 4)", "axes 0 and 2 of (2, 2, 2)";
/// of the device matrix most operators have where several fit, without axes of size 1. "strides 4"
/// where none fits, "all ranks" for the whole stage.
[[nodiscard]] std::string AxisText(const strategies::LocalProgram& program,
                                   const strategies::GroupPattern& pattern);

}  // namespace drydock::reports
