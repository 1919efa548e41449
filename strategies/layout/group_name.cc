#include "strategies/layout/group_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text.h"

namespace drydock::strategies {
namespace {

// MurmurHash2 for 64-bit results (A. Appleby's published algorithm) with the seed of libstdc++'s
// std::hash<std::string>. Words are little-endian.
constexpr std::uint64_t kHashSeed = 0xc70f6907U;
constexpr std::uint64_t kHashMultiplier = 0xc6a4a7935bd1e995U;
constexpr unsigned kHashShift = 47;
constexpr std::size_t kWordBytes = 8;

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    word = word << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return word;
}

std::uint64_t Folded(std::uint64_t value) {
  return value ^ value >> kHashShift;
}

bool IsWholeJob(std::span<const std::int64_t> ranks, std::int64_t world_size) {
  return std::ssize(ranks) == world_size;
}

}  // namespace

std::uint64_t NameHash(std::string_view text) {
  std::uint64_t hash = kHashSeed ^ text.size() * kHashMultiplier;
  while (text.size() >= kWordBytes) {
    const std::uint64_t word = LittleEndian(text.substr(0, kWordBytes)) * kHashMultiplier;
    hash = (hash ^ Folded(word) * kHashMultiplier) * kHashMultiplier;
    text.remove_prefix(kWordBytes);
  }
  if (!text.empty()) {
    hash = (hash ^ LittleEndian(text)) * kHashMultiplier;
  }
  return Folded(Folded(hash) * kHashMultiplier);
}

std::string InstanceName(std::string_view prefix, std::string_view node_fullname,
                         std::int64_t index) {
  const std::string text = std::string(node_fullname) + "_" + std::to_string(index);
  return std::string(prefix) + std::to_string(NameHash(text));
}

std::string GroupName(std::span<const std::int64_t> ranks, std::int64_t world_size,
                      std::string_view backend) {
  if (IsWholeJob(ranks, world_size)) {
    const bool known = backend == "hccl" || backend == "nccl";
    return std::string(known ? backend : "undefined") + "_world_group";
  }
  std::vector<std::int64_t> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  return std::to_string(sorted.size()) + "-" + std::to_string(NameHash(JoinText(sorted, "-")));
}

std::string GroupRanksText(std::span<const std::int64_t> ranks, std::int64_t world_size) {
  return IsWholeJob(ranks, world_size) ? "WORLD_GROUP" : JoinText(ranks, "-");
}

}  // namespace drydock::strategies
