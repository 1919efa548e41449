#include "sim/memory/static_plan.h"

#include <vector>

#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

// B(n) occupies exactly n granules of 512 B after rounding.
constexpr std::int64_t B(std::int64_t granules) {
  return kPoolGranuleBytes * granules - 32;
}
constexpr std::int64_t G(std::int64_t granules) {
  return kPoolGranuleBytes * granules;
}

// w(10) is a parameter; k0 makes a(6), k1 reads a and makes b(2), k2 reads b and makes c(5), which
// is returned; k2 has a workspace of 1.
MemoryPlan Chain() {
  return MemoryPlan{.buffers = {{.bytes = B(10), .kind = BufferKind::kParameter},
                                {.bytes = B(6)},
                                {.bytes = B(2)},
                                {.bytes = B(5), .graph_output = true}},
                    .kernels = {{.inputs = {0}, .outputs = {1}},
                                {.inputs = {1}, .outputs = {2}},
                                {.inputs = {2}, .outputs = {3}, .workspace_bytes = B(1)}}};
}

TEST(StaticProblem, TensorsShareWhenTheirLifetimesAreApart) {
  // a lives in [0, 1], b in [1, 2], c in [2, end], the workspace in [2, 2]. Alive during k1: 6 + 2
  // = 8, during k2: 2 + 5 + 1 = 8: the first of equals, k1, is the peak, its tensors are a and b.
  const auto problem = StaticProblem(Chain(), true);
  ASSERT_TRUE(problem.has_value());
  ASSERT_EQ(problem->tensors.size(), 4U);
  EXPECT_EQ(problem->may_share, (std::vector<std::vector<bool>>{{false, false, true, true},
                                                                {false, false, false, false},
                                                                {true, false, false, false},
                                                                {true, false, false, false}}));
  EXPECT_EQ(problem->tensors[0].reusable_peak_bytes, 0);
  EXPECT_EQ(problem->tensors[2].reusable_peak_bytes, G(6));
  EXPECT_TRUE(problem->tensors[2].graph_output);
}

TEST(StaticProblem, ContinuousTensorsBecomeChains) {
  const MemoryPlan plan{
      .buffers = {{.bytes = B(1)}, {.bytes = B(2)}},
      .kernels = {
          {.outputs = {0}}, {.outputs = {1}}, {.inputs = {1, 0}, .continuous_inputs = true}}};
  const auto problem = StaticProblem(plan, false);
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->contiguous, (std::vector<std::vector<std::int32_t>>{{1, 0}}));
}

// a is read on another stream, and k1, which makes b, does not wait for that; k2, which makes c,
// does. So c may lie where a is, b may not.
TEST(StaticProblem, OtherStreamsAreWaitedFor) {
  const MemoryPlan plan{
      .buffers = {{.bytes = B(1)}, {.bytes = B(1)}, {.bytes = B(1)}},
      .kernels = {{.outputs = {0}},
                  {.inputs = {0}, .stream = 1},
                  {.outputs = {1}},
                  {.outputs = {2}, .events = {{.stream = 1, .release_up_to = 1}}}}};
  const auto problem = StaticProblem(plan, false);
  ASSERT_TRUE(problem.has_value());
  EXPECT_FALSE(problem->may_share[0][1]);
  EXPECT_TRUE(problem->may_share[0][2]);
}

TEST(PlansMemoryBeforehand, IsASettingAmongOthers) {
  EXPECT_TRUE(PlansMemoryBeforehand("memory_tracker:True,memory_optimize_level:O1"));
  EXPECT_FALSE(PlansMemoryBeforehand("memory_tracker:True"));
}

TEST(ProfileStaticMemory, AsksForEachPieceOfThePlan) {
  // Shelves, graph output first: c [0, 5); a may share with c but is larger than that shelf: [5,
  // 11); b excludes both: [11, 13). One address space needs 8 (a over c, b behind), not 100 MiB
  // less. The workspace shares with a and b, not with c: it lies in the shelf of a. Three pieces
  // that only touch, each a granule larger in the pool: 5 + 6 + 2 + 3 granules, and w: 26.
  const auto profile = ProfileStaticMemory(Chain(), {.keep_series = true});
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(profile->used_peak_bytes, G(26));
  EXPECT_EQ(profile->at_kernel, 0);
  EXPECT_EQ(profile->persistent_bytes, G(10));
  EXPECT_EQ(profile->placements.size(), 4U);
  EXPECT_EQ(profile->series.back().at_launch_bytes, G(26));
}

TEST(ProfileStaticMemory, PlanWithoutKernelsIsEmpty) {
  const auto profile = ProfileStaticMemory({}, {});
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(profile->used_peak_bytes, 0);
}

}  // namespace
}  // namespace drydock::sim
