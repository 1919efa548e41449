#pragma once

#include <cstdint>
#include <optional>

#include "sim/memory/alignment.h"

namespace drydock::sim {

/// Which of the two allocators of a stream a buffer comes from.
enum class PoolKind : std::uint8_t {
  kCommon,      ///< Kernel outputs, workspaces, continuous buffers.
  kPersistent,  ///< Parameters, constants and graph inputs copied from the host.
};

/// How the pool of one rank grows.
///
/// Example: a dry run with `set_memory(init_size="2GB", increase_size="2GB")` has
/// `block_unit_bytes = 2 * kGiB` and `initial_bytes = 2 * kGiB`.
/// Source: mindspore ccsrc/memory/mem_pool
struct PoolConfig {
  /// Dry run: a block larger than what is left is granted all the same, so memory never runs out.
  bool simulation = true;
  /// Memory MindSpore may use, bytes; blocks are cut from its top downwards.
  std::int64_t capacity_bytes = 61430 * kMiB;
  /// `mempool_block_size` or `set_memory(increase_size)`, bytes; absent (or 1 GiB, the default,
  /// which MindSpore cannot tell from absent) means 1 GiB blocks for both pools.
  std::optional<std::int64_t> block_unit_bytes = {};
  /// `set_memory(init_size)`, bytes; 0 when the user did not call `set_memory`.
  std::int64_t initial_bytes = 0;
  /// Graph-sink executor (O2): blocks grow by one unit at a time instead of doubling.
  bool task_sink = false;
  /// GE backend with its kernels disabled: 8 MiB blocks.
  bool small_blocks = false;
};

/// Size of the next block for a request, bytes; 0 if it cannot be granted.
///
/// @param free_bytes     what is left below the lowest block, bytes, >= 0
/// @param request_bytes  aligned request, bytes, 1 .. 2^60
/// Source: mindspore ccsrc/memory/mem_pool; mindspore:
/// mindspore/ccsrc/plugin/res_manager/ascend/mem_manager/abstract_ascend_memory_pool_support.cc
[[nodiscard]] std::int64_t NextBlockBytes(const PoolConfig& config, PoolKind pool,
                                          std::int64_t free_bytes, std::int64_t request_bytes);

}  // namespace drydock::sim
