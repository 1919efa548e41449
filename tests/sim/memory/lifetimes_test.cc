#include "sim/memory/lifetimes.h"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

// In all cases sizes have residue 480 mod 512 or below, so they round up to the next multiple of
// 512: B(n) = 512 n - 32 occupies exactly 512 n.
constexpr std::int64_t B(std::int64_t granules) {
  return kPoolGranuleBytes * granules - 32;
}
constexpr std::int64_t G(std::int64_t granules) {
  return kPoolGranuleBytes * granules;
}

std::int64_t Part(const MemoryProfile& profile, BufferKind kind) {
  return profile.breakdown_bytes[static_cast<std::size_t>(kind)];
}

MemoryProfile Profile(const MemoryPlan& plan, LifetimeOptions options = {.keep_series = true}) {
  const auto profile = ProfileMemory(plan, options);
  EXPECT_TRUE(profile.has_value()) << profile.error().message;
  return profile.value_or(MemoryProfile{});
}

TEST(ProfileMemory, ChainHoldsAWeightAndTwoNeighbours) {
  // x(4) -> k0 -> a(6) -> k1(w 10) -> b(2) -> k2 -> loss(1).
  // The input stays to the end of the step. Launch of k0: w 10 + x 4 + a 6 = 20; k1: 20 + b 2 = 22
  // (peak); k2: w 10 + x 4 + b 2 + loss 1 = 17. After k0: 20; after k1: 22 - 6; after k2: 17 - 2
  // (the loss is returned).
  const MemoryPlan plan{.buffers = {{.bytes = B(4), .kind = BufferKind::kInput},
                                    {.bytes = B(6)},
                                    {.bytes = B(10), .kind = BufferKind::kParameter},
                                    {.bytes = B(2)},
                                    {.bytes = B(1), .graph_output = true}},
                        .kernels = {{.inputs = {0}, .outputs = {1}},
                                    {.inputs = {1, 2}, .outputs = {3}},
                                    {.inputs = {3}, .outputs = {4}}}};
  const MemoryProfile profile = Profile(plan);
  EXPECT_EQ(profile.used_peak_bytes, G(22));
  EXPECT_EQ(profile.at_kernel, 1);
  EXPECT_EQ(profile.series,
            (std::vector<KernelUsage>{{G(20), G(20)}, {G(22), G(16)}, {G(17), G(15)}}));
  EXPECT_EQ(Part(profile, BufferKind::kParameter), G(10));
  EXPECT_EQ(Part(profile, BufferKind::kInput), G(4));
  EXPECT_EQ(Part(profile, BufferKind::kActivation), G(8));
  EXPECT_EQ(profile.persistent_bytes, G(10));
  EXPECT_EQ(profile.largest, (std::vector<PeakBuffer>{{2, BufferKind::kParameter, G(10)},
                                                      {1, BufferKind::kActivation, G(6)},
                                                      {0, BufferKind::kInput, G(4)},
                                                      {3, BufferKind::kActivation, G(2)}}));
  EXPECT_EQ(profile.placements[2].last_kernel, kNeverFreed);
  EXPECT_EQ(profile.placements[0].last_kernel, kNeverFreed);
  EXPECT_EQ(profile.placements[4].first_kernel, 2);
  EXPECT_EQ(profile.placements[4].last_kernel, kNeverFreed);
}

TEST(ProfileMemory, InputsFollowParametersInThePersistentPool) {
  // Order of first use: w1 before w0; then the inputs in the order of the plan. The persistent
  // block is cut from its start: w1 at 0, w0 at 3, x at 5, y at 6.
  MemoryPlan plan{.buffers = {{.bytes = B(2), .kind = BufferKind::kParameter},
                              {.bytes = B(3), .kind = BufferKind::kOptimizerState},
                              {.bytes = B(1), .kind = BufferKind::kInput},
                              {.bytes = B(1), .kind = BufferKind::kInput},
                              {.bytes = B(1)}},
                  .kernels = {{.inputs = {3, 1}, .outputs = {4}}, {.inputs = {4, 2, 0}}}};
  MemoryProfile profile = Profile(plan);
  const std::int64_t base = profile.placements[1].address;
  EXPECT_EQ(profile.placements[0].address, base + G(3));
  EXPECT_EQ(profile.placements[2].address, base + G(5));
  EXPECT_EQ(profile.placements[3].address, base + G(6));
  EXPECT_EQ(profile.placements[3].pool, PoolKind::kPersistent);
  // One 1 GiB block per pool.
  EXPECT_EQ(profile.reserved_bytes, 2 * kGiB);
  plan.sink_inputs = true;
  profile = Profile(plan);
  EXPECT_EQ(profile.placements[2].pool, PoolKind::kCommon);
  EXPECT_EQ(profile.placements[4].address, profile.placements[2].address + G(2));
}

TEST(ProfileMemory, AliasesKeepTheStorageUntilTheLastOfThemIsRead) {
  // a(5) is reshaped to v, v to u; both take nothing. k3 reads u last. c(1) and d(1) are read by
  // k3. Launches: k0 5, k1 5, k2 5+1, k3 5+1+1; after k3 only the output d stays.
  const MemoryPlan plan{.buffers = {{.bytes = B(5)},
                                    {.bytes = B(5), .alias_of = 0},
                                    {.bytes = B(5), .alias_of = 1},
                                    {.bytes = B(1)},
                                    {.bytes = B(1), .graph_output = true}},
                        .kernels = {{.outputs = {0}},
                                    {.inputs = {0}, .outputs = {1, 2}},
                                    {.inputs = {1}, .outputs = {3}},
                                    {.inputs = {2, 3}, .outputs = {4}}}};
  const MemoryProfile profile = Profile(plan);
  EXPECT_EQ(profile.series,
            (std::vector<KernelUsage>{{G(5), G(5)}, {G(5), G(5)}, {G(6), G(6)}, {G(7), G(1)}}));
  EXPECT_EQ(profile.placements[2], profile.placements[0]);
  EXPECT_EQ(profile.placements[0].last_kernel, 3);
}

TEST(ProfileMemory, InPlaceOptimizerTakesNothingAndFreesTheGradient) {
  // w(8), m(8), gradient g(8): k0 makes g, k1 = Adam(w, m, g) writes w and m in place.
  const MemoryPlan plan{
      .buffers = {{.bytes = B(8), .kind = BufferKind::kParameter},
                  {.bytes = B(8), .kind = BufferKind::kOptimizerState},
                  {.bytes = B(8), .kind = BufferKind::kGradient},
                  {.bytes = B(8), .kind = BufferKind::kGradient, .alias_of = 0},
                  {.bytes = B(8), .kind = BufferKind::kGradient, .alias_of = 1}},
      .kernels = {{.inputs = {0}, .outputs = {2}}, {.inputs = {0, 1, 2}, .outputs = {3, 4}}}};
  const MemoryProfile profile = Profile(plan);
  EXPECT_EQ(profile.series, (std::vector<KernelUsage>{{G(24), G(24)}, {G(24), G(16)}}));
  EXPECT_EQ(Part(profile, BufferKind::kParameter), G(8));
  EXPECT_EQ(Part(profile, BufferKind::kOptimizerState), G(8));
  EXPECT_EQ(Part(profile, BufferKind::kGradient), G(8));
}

TEST(ProfileMemory, UnusedOutputIsFreedRightAfterItsKernel) {
  // k0 has outputs a(3) and mask(7); nobody reads the mask.
  const MemoryPlan plan{
      .buffers = {{.bytes = B(3)}, {.bytes = B(7)}, {.bytes = B(1), .graph_output = true}},
      .kernels = {{.outputs = {0, 1}}, {.inputs = {0}, .outputs = {2}}}};
  const MemoryProfile profile = Profile(plan);
  EXPECT_EQ(profile.series, (std::vector<KernelUsage>{{G(10), G(3)}, {G(4), G(1)}}));
  EXPECT_EQ(profile.placements[1].last_kernel, 0);
}

TEST(ProfileMemory, FusedAllReduceReservesAllGradientsWithTheFirst) {
  // g0(2), g1(3), g2(4) are made by k0..k2 and reduced together by k3 into r0..r2; k4 reads them.
  // Launch of k0 already holds 2+3+4 = 9; k3: 9 + 9 = 18; after k3 the gradients go.
  const MemoryPlan plan{.buffers = {{.bytes = B(2), .kind = BufferKind::kGradient},
                                    {.bytes = B(3), .kind = BufferKind::kGradient},
                                    {.bytes = B(4), .kind = BufferKind::kGradient},
                                    {.bytes = B(2), .kind = BufferKind::kCommunication},
                                    {.bytes = B(3), .kind = BufferKind::kCommunication},
                                    {.bytes = B(4), .kind = BufferKind::kCommunication}},
                        .kernels = {{.outputs = {0}},
                                    {.outputs = {1}},
                                    {.outputs = {2}},
                                    {.inputs = {0, 1, 2},
                                     .outputs = {3, 4, 5},
                                     .continuous_inputs = true,
                                     .continuous_outputs = true},
                                    {.inputs = {3, 4, 5}}}};
  const MemoryProfile profile = Profile(plan);
  EXPECT_EQ(profile.series,
            (std::vector<KernelUsage>{
                {G(9), G(9)}, {G(9), G(9)}, {G(9), G(9)}, {G(18), G(9)}, {G(9), G(0)}}));
  EXPECT_EQ(profile.at_kernel, 3);
  EXPECT_EQ(Part(profile, BufferKind::kCommunication), G(9));
  const std::int64_t base = profile.placements[0].address;
  EXPECT_EQ(profile.placements[1].address, base + G(2));
  EXPECT_EQ(profile.placements[2].address, base + G(5));
  EXPECT_EQ(profile.placements[2].first_kernel, 0);
}

TEST(ProfileMemory, ContinuousInputsLeaveParametersWhereTheyAre) {
  // An AllGather of a parameter and two kernel outputs: only the outputs are continuous.
  const MemoryPlan plan{
      .buffers = {{.bytes = B(9), .kind = BufferKind::kParameter},
                  {.bytes = B(2)},
                  {.bytes = B(3)}},
      .kernels = {
          {.outputs = {1}}, {.outputs = {2}}, {.inputs = {0, 2, 1}, .continuous_inputs = true}}};
  const MemoryProfile profile = Profile(plan);
  EXPECT_EQ(profile.placements[0].pool, PoolKind::kPersistent);
  // Members in input order: buffer 2, then buffer 1 behind its 3 granules.
  EXPECT_EQ(profile.placements[1].address, profile.placements[2].address + G(3));
}

TEST(ProfileMemory, WorkspaceCountsOnlyWhenAskedFor) {
  // k0 makes a(2) with workspace 10, k1 makes b(3) from it. With workspace the peak is k0: 2 + 10;
  // without it is k1: 2 + 3.
  const MemoryPlan plan{
      .buffers = {{.bytes = B(2)}, {.bytes = B(3), .graph_output = true}},
      .kernels = {{.outputs = {0}, .workspace_bytes = B(10)}, {.inputs = {0}, .outputs = {1}}}};
  const MemoryProfile level1 = Profile(plan);
  EXPECT_EQ(level1.used_peak_bytes, G(5));
  EXPECT_EQ(level1.at_kernel, 1);
  EXPECT_EQ(Part(level1, BufferKind::kOutput), G(3));
  const MemoryProfile level2 = Profile(plan, {.count_workspace = true, .largest_count = 1});
  EXPECT_EQ(level2.used_peak_bytes, G(12));
  EXPECT_EQ(level2.at_kernel, 0);
  EXPECT_EQ(level2.largest, (std::vector<PeakBuffer>{{-1, BufferKind::kWorkspace, G(10)}}));
}

TEST(ProfileMemory, FragmentsShowOnlyInTheActualPeak) {
  // a(2), b(1) are made; a is freed by k2, whose output c(3) does not fit the hole of 2 and goes
  // behind b. Used at k2: 2 + 1 + 3 = 6 = the range handed out. Then d(2) fills the hole: used
  // 1 + 3 + 2 = 6 again. e(1) makes used 7 at the same range + 1: the hole is filled, so both
  // are 7.
  MemoryPlan plan{
      .buffers = {{.bytes = B(2)},
                  {.bytes = B(1), .graph_output = true},
                  {.bytes = B(3), .graph_output = true},
                  {.bytes = B(3), .graph_output = true}},
      .kernels = {
          {.outputs = {0}}, {.outputs = {1}}, {.inputs = {0}, .outputs = {2}}, {.outputs = {3}}}};
  const MemoryProfile profile = Profile(plan);
  EXPECT_EQ(profile.used_peak_bytes, G(7));
  EXPECT_EQ(profile.actual_peak_bytes, G(9));
}

TEST(ProfileMemory, UnusedParametersAreNotPlaced) {
  const MemoryPlan plan{.buffers = {{.bytes = B(9), .kind = BufferKind::kParameter},
                                    {.bytes = B(2), .kind = BufferKind::kInput},
                                    {.bytes = B(1), .graph_output = true}},
                        .kernels = {{.outputs = {2}}}};
  const MemoryProfile profile = Profile(plan);
  EXPECT_EQ(profile.placements[0].bytes, 0);
  // The unread input comes with the batch and goes before the first kernel: peak 2, then 1.
  EXPECT_EQ(profile.used_peak_bytes, G(2));
  EXPECT_EQ(profile.at_kernel, kBeforeKernels);
  EXPECT_EQ(Part(profile, BufferKind::kInput), G(2));
  EXPECT_EQ(profile.series, (std::vector<KernelUsage>{{G(1), G(1)}}));
}

TEST(ProfileMemory, InputsOfTheStepBeforeStayUntilTheirReadersGetNewOnes) {
  // x(4) -> k0 -> a(6) -> k1 -> loss(1), which reads x again. Step 1: k0 4 + 6 = 10; k1 11; x and
  // the loss stay: 5. Step 2: with the new x 9; k0 15; before k1 the old x goes: 15 - 4 + 1 = 12.
  const MemoryPlan plan{
      .buffers = {{.bytes = B(4), .kind = BufferKind::kInput},
                  {.bytes = B(6)},
                  {.bytes = B(1), .graph_output = true}},
      .kernels = {{.inputs = {0}, .outputs = {1}}, {.inputs = {1, 0}, .outputs = {2}}}};
  EXPECT_EQ(Profile(plan).used_peak_bytes, G(11));
  const MemoryProfile profile = Profile(plan, {.steps = 2, .keep_series = true});
  EXPECT_EQ(profile.used_peak_bytes, G(15));
  EXPECT_EQ(profile.at_step, 1);
  EXPECT_EQ(profile.at_kernel, 0);
  // k1 leaves the new x, the new loss and, until the step has returned, the old one.
  EXPECT_EQ(profile.series, (std::vector<KernelUsage>{{G(15), G(15)}, {G(12), G(6)}}));
  EXPECT_EQ(Part(profile, BufferKind::kInput), G(8));
  EXPECT_EQ(Part(profile, BufferKind::kOutput), G(1));
  // Later inputs come from the common pool.
  EXPECT_EQ(profile.placements[0].pool, PoolKind::kCommon);
  // A third step is like the second.
  EXPECT_EQ(Profile(plan, {.steps = 100}).used_peak_bytes, G(15));
}

TEST(ProfileMemory, WhatACollectiveReadsStaysUntilItsStreamWasWaitedFor) {
  // g(3) is reduced on stream 1 by k1 into r(3); k2 makes a(2) beside it; k3 waits for k1, reads r.
  // k2 still sees g: 3 + 3 + 2 = 8. Before k3 g goes: 3 + 2 + b 1 = 6.
  MemoryPlan plan{
      .buffers = {{.bytes = B(3)},
                  {.bytes = B(3)},
                  {.bytes = B(2), .graph_output = true},
                  {.bytes = B(1), .graph_output = true}},
      .kernels = {{.outputs = {0}},
                  {.inputs = {0}, .outputs = {1}, .stream = 1},
                  {.outputs = {2}},
                  {.inputs = {1}, .outputs = {3}, .events = {{.stream = 1, .release_up_to = 1}}}}};
  EXPECT_EQ(Profile(plan).series,
            (std::vector<KernelUsage>{{G(3), G(3)}, {G(6), G(6)}, {G(8), G(8)}, {G(6), G(3)}}));
  // Without the wait both stay to the end of the step.
  plan.kernels[3].events.clear();
  EXPECT_EQ(Profile(plan).series.back(), (KernelUsage{G(9), G(9)}));
}

TEST(ProfileMemory, ExhaustedDeviceIsTheUsersErrorOutsideASimulation) {
  const MemoryPlan plan{.buffers = {{.bytes = 2 * kGiB}}, .kernels = {{.outputs = {0}}}};
  const auto profile = ProfileMemory(plan, {.pool = {.simulation = false, .capacity_bytes = kGiB}});
  ASSERT_FALSE(profile.has_value());
  EXPECT_EQ(profile.error().reason, "Memory:exhausted");
}

TEST(ProfileMemory, WhatLiesOnTheHostIsCopiedForEachKernelThatUsesIt) {
  // State m(8) on the host, gradient g(3) of k0, k1 updates m with g, k2 reads m and makes o(1).
  // Launch of k0: g 3; k1: copy of m 8 + g 3 = 11 (peak; read and written, but copied once); k2:
  // copy 8 + o 1 = 9. Behind k1 and k2 the copy is gone: 0 and 1. On the device it would be 8 more
  // throughout: 11, 11, 9.
  MemoryPlan plan{
      .buffers = {{.bytes = B(8), .kind = BufferKind::kOptimizerState, .on_host = true},
                  {.bytes = B(3), .kind = BufferKind::kGradient},
                  {.bytes = B(8), .alias_of = 0},
                  {.bytes = B(1), .graph_output = true}},
      .kernels = {
          {.outputs = {1}}, {.inputs = {0, 1}, .outputs = {2}}, {.inputs = {2}, .outputs = {3}}}};
  MemoryProfile profile = Profile(plan);
  EXPECT_EQ(profile.used_peak_bytes, G(11));
  EXPECT_EQ(profile.series, (std::vector<KernelUsage>{{G(3), G(3)}, {G(11), G(0)}, {G(9), G(1)}}));
  EXPECT_EQ(profile.persistent_bytes, 0);
  EXPECT_EQ(Part(profile, BufferKind::kWorkspace), G(8));
  plan.buffers[0].on_host = false;
  profile = Profile(plan);
  EXPECT_EQ(profile.series,
            (std::vector<KernelUsage>{{G(11), G(11)}, {G(11), G(8)}, {G(9), G(9)}}));
}

TEST(ProfileMemory, WhatIsHeldOutlivesItsLastReader) {
  // a(5) of k0 is read by k1 (b 2) only, then k2 makes c(4) of b, k3 d(1) of c. Held until k2:
  // launches 5, 7, 5 + 2 + 4 = 11, 4 + 1 = 5; not held: 5, 7, 6, 5.
  MemoryPlan plan{.buffers = {{.bytes = B(5), .held_until = 2},
                              {.bytes = B(2)},
                              {.bytes = B(4)},
                              {.bytes = B(1), .graph_output = true}},
                  .kernels = {{.outputs = {0}},
                              {.inputs = {0}, .outputs = {1}},
                              {.inputs = {1}, .outputs = {2}},
                              {.inputs = {2}, .outputs = {3}}}};
  EXPECT_EQ(Profile(plan).series,
            (std::vector<KernelUsage>{{G(5), G(5)}, {G(7), G(7)}, {G(11), G(4)}, {G(5), G(1)}}));
  plan.buffers[0].held_until = -1;
  EXPECT_EQ(Profile(plan).used_peak_bytes, G(7));
}

TEST(ProfileMemory, EmptyPlanUsesNothing) {
  EXPECT_EQ(Profile({}).used_peak_bytes, 0);
  EXPECT_EQ(Profile({}).reserved_bytes, 0);
}

struct BadPlan {
  const char* name;
  MemoryPlan plan;
  const char* message;
};

void PrintTo(const BadPlan& bad, std::ostream* out) {
  *out << bad.name;
}

class RefusedPlan : public testing::TestWithParam<BadPlan> {};

TEST_P(RefusedPlan, IsReportedAsOurDefect) {
  const auto profile = ProfileMemory(GetParam().plan, {});
  ASSERT_FALSE(profile.has_value());
  EXPECT_EQ(profile.error().code, ErrorCode::kInternal);
  EXPECT_EQ(profile.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedPlan,
    testing::Values(
        BadPlan{
            "negative", {.buffers = {{.bytes = -1}}}, "memory plan: size out of range: buffer 0"},
        BadPlan{"cycle",
                {.buffers = {{.alias_of = 1}, {.alias_of = 0}}},
                "memory plan: aliases form a cycle: buffer 0"},
        BadPlan{
            "self", {.buffers = {{.alias_of = 0}}}, "memory plan: aliases form a cycle: buffer 0"},
        BadPlan{"alias_range",
                {.buffers = {{.alias_of = 7}}},
                "memory plan: alias out of range: buffer 0"},
        BadPlan{"input_range",
                {.kernels = {{.inputs = {0}}}},
                "memory plan: input out of range: kernel 0"},
        BadPlan{"output_range",
                {.kernels = {{.outputs = {-1}}}},
                "memory plan: output out of range: kernel 0"},
        BadPlan{"early",
                {.buffers = {{.bytes = 1}}, .kernels = {{.inputs = {0}}, {.outputs = {0}}}},
                "memory plan: input is read before it is produced: kernel 0"},
        BadPlan{"twice",
                {.buffers = {{.bytes = 1}}, .kernels = {{.outputs = {0}}, {.outputs = {0}}}},
                "memory plan: output is produced twice: kernel 1"},
        BadPlan{"early_alias",
                {.buffers = {{.bytes = 1}, {.alias_of = 0}}, .kernels = {{.outputs = {1}}}},
                "memory plan: output aliases what does not exist yet: kernel 0"},
        BadPlan{"workspace",
                {.kernels = {{.workspace_bytes = -5}}},
                "memory plan: workspace out of range: kernel 0"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace drydock::sim
