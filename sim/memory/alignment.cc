#include "sim/memory/alignment.h"

namespace drydock::sim {
namespace {

constexpr std::int64_t kSpareBytes = 31;  // With the granule: at least 32 bytes stay unused.

}  // namespace

std::int64_t ManagerAlignedBytes(std::int64_t bytes) {
  return (bytes + kPoolGranuleBytes + kSpareBytes) / kPoolGranuleBytes * kPoolGranuleBytes;
}

std::int64_t PoolAlignedBytes(std::int64_t bytes) {
  if (bytes == 0) {
    return kPoolGranuleBytes;
  }
  return (bytes + kPoolGranuleBytes - 1) / kPoolGranuleBytes * kPoolGranuleBytes;
}

std::int64_t AlignedBytes(std::int64_t bytes) {
  return PoolAlignedBytes(ManagerAlignedBytes(bytes));
}

}  // namespace drydock::sim
