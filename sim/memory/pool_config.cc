#include "sim/memory/pool_config.h"

#include <algorithm>

namespace drydock::sim {
namespace {

constexpr std::int64_t kDefaultUnitBytes = kGiB;
constexpr std::int64_t kSmallUnitBytes = 8 * kMiB;

/// Block unit; a unit chosen by the user leaves 1 GiB of what is free to the persistent pool.
std::int64_t UnitBytes(const PoolConfig& config, PoolKind pool, std::int64_t free_bytes) {
  const std::int64_t user_unit = config.block_unit_bytes.value_or(kDefaultUnitBytes);
  if (user_unit != kDefaultUnitBytes) {
    if (pool == PoolKind::kPersistent) {
      return kDefaultUnitBytes;
    }
    const std::int64_t cap =
        free_bytes > kDefaultUnitBytes ? free_bytes - kDefaultUnitBytes : free_bytes;
    return std::max<std::int64_t>(1, std::min(user_unit, cap));
  }
  return config.small_blocks ? kSmallUnitBytes : kDefaultUnitBytes;
}

}  // namespace

std::int64_t NextBlockBytes(const PoolConfig& config, PoolKind pool, std::int64_t free_bytes,
                            std::int64_t request_bytes) {
  if (free_bytes < request_bytes) {
    if (!config.simulation) {
      return 0;
    }
    free_bytes = request_bytes;
  }
  const std::int64_t unit = UnitBytes(config, pool, free_bytes);
  std::int64_t block = unit;
  if (config.task_sink) {
    block = std::max<std::int64_t>(1, (request_bytes + unit - 1) / unit) * unit;
  } else {
    while (block < request_bytes) {
      block *= 2;
    }
  }
  return std::min(block, free_bytes);
}

}  // namespace drydock::sim
