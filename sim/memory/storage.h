#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "sim/memory/plan.h"

namespace drydock::sim {

/// Largest tensor or workspace a plan may hold, bytes.
inline constexpr std::int64_t kMaxPlannedBytes = std::int64_t{1} << 50;

/// Storages behind the buffers of a plan: who shares, how often each is used, what is continuous.
///
/// A storage is named by the one buffer that owns it (`root`). All vectors but `groups` have one
/// entry per buffer.
struct StorageTable {
  std::vector<std::int32_t> root = {};      ///< Owner of the buffer's storage.
  std::vector<std::int32_t> producer = {};  ///< Kernel that produces the buffer, -1 = none.
  std::vector<std::int32_t> uses = {};      ///< By root: kernel inputs and in-place outputs on it.
  std::vector<bool> kept = {};              ///< By root: a graph output lives in it.
  std::vector<std::int32_t> group = {};     ///< By root: its continuous buffer, -1 = none.
  /// Roots of each continuous buffer, in order.
  std::vector<std::vector<std::int32_t>> groups = {};
};

/// Checks a plan and finds its storages.
///
/// A tensor joins the first continuous buffer that asks for it; tensors that no kernel produces
/// join none.
/// @error kInternal  an index or a size is out of range, aliases form a cycle, a buffer is produced
///                   twice, used before it is produced, or neither produced nor filled beforehand
[[nodiscard]] Result<StorageTable> ResolveStorage(const MemoryPlan& plan);

}  // namespace drydock::sim
