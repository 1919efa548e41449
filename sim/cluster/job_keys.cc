// A scheduler's metadata can be written by whoever reaches its port. What launchers agree on there
// decides where ranks find each other and whether the job goes on, so these keys have owners: a
// rank's place is written from that rank's address, the whole job from that of rank 0, a failure
// from a member's, each once and for good. A stranger at another address can do none of that; one
// on the same machine could do worse anyway.
#include "sim/cluster/job_keys.h"

#include "sim/cluster/ranking.h"

namespace drydock::sim {
namespace {

constexpr std::string_view kOurs = "drydock_";

}  // namespace

KeyOwner OwnerOf(std::string_view key) {
  using Kind = KeyOwner::Kind;
  if (!key.starts_with(kOurs)) {
    return {};
  }
  if (key == kJobKey) {
    return {.kind = Kind::kRank, .rank = 0};
  }
  if (key == kJobFailureKey) {
    return {.kind = Kind::kMember};
  }
  if (key.starts_with(kJobRankPrefix)) {
    if (const auto rank = NumericId(key.substr(kJobRankPrefix.size()))) {
      return {.kind = Kind::kRank, .rank = *rank};
    }
  }
  return {.kind = Kind::kNobody};
}

std::uint64_t AddressHash(std::string_view address) {
  if (address.empty()) {
    return 0;
  }
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char byte : address) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  return hash == 0 ? 1 : hash;
}

bool EqualSecrets(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace drydock::sim
