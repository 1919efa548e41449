#pragma once

#include <cstdint>

namespace drydock::sim {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// Granule of the device memory pool, bytes: every buffer is a multiple of it.
inline constexpr std::int64_t kPoolGranuleBytes = 512;

/// First of the two roundings, done by the memory manager: floor((bytes + 512 + 31) / 512) * 512.
///
/// Leaves at least 32 spare bytes, so 480 -> 512, 481 -> 1024 and 512 -> 1024.
/// @param bytes  size of a tensor or workspace, bytes, >= 0
/// Source: mindspore ccsrc/memory/mem_pool
[[nodiscard]] std::int64_t ManagerAlignedBytes(std::int64_t bytes);

/// Second rounding, done by the pool: up to the next multiple of 512, and 512 for nothing at all.
///
/// @param bytes  size asked of the pool, bytes, >= 0
/// Source: mindspore ccsrc/memory/mem_pool
[[nodiscard]] std::int64_t PoolAlignedBytes(std::int64_t bytes);

/// What a tensor of `bytes` occupies in the pool: both roundings, one after the other.
[[nodiscard]] std::int64_t AlignedBytes(std::int64_t bytes);

}  // namespace drydock::sim
