#include "sim/memory/pool.h"

#include <vector>

#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

TEST(Alignment, BothRoundingsFollowTheRule) {
  // floor((n + 543) / 512) * 512: residues 1..480 round up, 481..511 and 0 take one more granule.
  EXPECT_EQ(AlignedBytes(0), 512);
  EXPECT_EQ(AlignedBytes(1), 512);
  EXPECT_EQ(AlignedBytes(480), 512);
  EXPECT_EQ(AlignedBytes(481), 1024);
  EXPECT_EQ(AlignedBytes(512), 1024);
  EXPECT_EQ(AlignedBytes(4096), 4608);
  EXPECT_EQ(AlignedBytes(kMiB), kMiB + 512);
}

TEST(NextBlockBytes, GrowsByDoublingOrByUnits) {
  // 5 GiB asked in units of 1 GiB: 1, 2, 4, 8 by doubling; 5 by units.
  EXPECT_EQ(NextBlockBytes({}, PoolKind::kCommon, 60 * kGiB, 5 * kGiB), 8 * kGiB);
  EXPECT_EQ(NextBlockBytes({.task_sink = true}, PoolKind::kCommon, 60 * kGiB, 5 * kGiB), 5 * kGiB);
  EXPECT_EQ(NextBlockBytes({.small_blocks = true}, PoolKind::kPersistent, 60 * kGiB, 9 * kMiB),
            16 * kMiB);
}

TEST(NextBlockBytes, UserUnitLeavesOneGibibyteToThePersistentPool) {
  const PoolConfig config{.block_unit_bytes = 4 * kGiB};
  EXPECT_EQ(NextBlockBytes(config, PoolKind::kCommon, 60 * kGiB, 512), 4 * kGiB);
  // 3 GiB free: the unit is capped at 3 - 1 = 2 GiB; 1 GiB free: at 1 GiB.
  EXPECT_EQ(NextBlockBytes(config, PoolKind::kCommon, 3 * kGiB, 512), 2 * kGiB);
  EXPECT_EQ(NextBlockBytes(config, PoolKind::kCommon, kGiB, 512), kGiB);
  EXPECT_EQ(NextBlockBytes(config, PoolKind::kPersistent, 60 * kGiB, 512), kGiB);
}

TEST(NextBlockBytes, OnlyADryRunGrantsMoreThanIsFree) {
  EXPECT_EQ(NextBlockBytes({}, PoolKind::kCommon, 0, 4096), 4096);
  EXPECT_EQ(NextBlockBytes({.simulation = false}, PoolKind::kCommon, 1024, 4096), 0);
}

TEST(MemoryPool, FreePartKeepsSeveralRangesOfOneBuffer) {
  // 65,504 B round to 64 KiB. Kept: [0, 1024) and [8192, 12288); freed: 65,536 - 1024 - 4096.
  MemoryPool pool({});
  const auto whole = pool.Allocate(65504, PoolKind::kCommon);
  ASSERT_TRUE(whole.has_value());
  const std::int64_t base = whole->address;
  const std::vector<std::int64_t> freed = {base};
  const std::vector<KeptRange> kept = {{base, 1024}, {base + 8192, 4096}, {base - 512, 512}};
  pool.FreePart(freed, kept);
  EXPECT_EQ(pool.statistics().used_bytes, 5120);
  // The smallest hole that holds 4 KiB is [1024, 8192).
  EXPECT_EQ(pool.Allocate(4000, PoolKind::kCommon)->address, base + 1024);
  pool.Free(base);
  pool.Free(base + 8192);
  EXPECT_EQ(pool.statistics().used_bytes, 4096);
}

TEST(MemoryPool, ExhaustedMemoryTakesBuffersPendingOnEvents) {
  // 1 GiB capacity, one block. The first buffer is freed but stream 1 still uses it; the request
  // for 700 MiB fits nowhere else, so all events are waited for.
  MemoryPool pool({.simulation = false, .capacity_bytes = kGiB});
  const auto first = pool.Allocate(700 * kMiB, PoolKind::kCommon);
  ASSERT_TRUE(first.has_value());
  pool.RecordEvent(first->address, {.user_stream = 1, .memory_stream = 0, .task = 7});
  pool.Free(first->address);
  EXPECT_EQ(pool.statistics().used_bytes, 700 * kMiB + 512);
  const auto second = pool.Allocate(700 * kMiB, PoolKind::kCommon);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->address, first->address);
  EXPECT_EQ(pool.statistics().used_bytes, 700 * kMiB + 512);
}

TEST(MemoryPool, BufferUsedByTwoStreamsWaitsForBoth) {
  MemoryPool pool({});
  const auto buffer = pool.Allocate(100, PoolKind::kCommon);
  ASSERT_TRUE(buffer.has_value());
  pool.RecordEvent(buffer->address, {.user_stream = 1, .memory_stream = 0, .task = 3});
  pool.RecordEvent(buffer->address, {.user_stream = 2, .memory_stream = 0, .task = 4});
  pool.Free(buffer->address);
  pool.WaitEvent({.user_stream = 1, .memory_stream = 0, .task = 9});
  EXPECT_EQ(pool.statistics().used_bytes, 512);
  pool.WaitEvent({.user_stream = 2, .memory_stream = 0, .task = 3});
  EXPECT_EQ(pool.statistics().used_bytes, 512);
  pool.WaitEvent({.user_stream = 2, .memory_stream = 0, .task = 4});
  EXPECT_EQ(pool.statistics().used_bytes, 0);
}

TEST(MemoryPool, AbsurdRequestsAreRefusedInsteadOfOverflowing) {
  MemoryPool pool({});
  EXPECT_FALSE(pool.Allocate(std::int64_t{1} << 62, PoolKind::kCommon).has_value());
  EXPECT_FALSE(pool.Allocate(-1, PoolKind::kCommon).has_value());
  const std::vector<std::int64_t> members(4096, std::int64_t{1} << 50);
  EXPECT_TRUE(pool.AllocateContinuous(members).empty());
  // Beyond the capacity a block is exactly the request: floor(2^60 / (2^50 + 512)) = 1023 fit.
  int granted = 0;
  while (granted < 2000 && pool.Allocate(std::int64_t{1} << 50, PoolKind::kCommon).has_value()) {
    ++granted;
  }
  EXPECT_EQ(granted, 1023);
}

}  // namespace
}  // namespace drydock::sim
