#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace drydock::sim {

// Metadata by which launchers of ours agree. MindSpore's workers do not know them.
/// The whole job, written by the launcher of rank 0.
inline constexpr std::string_view kJobKey = "drydock_job";
/// Where a rank is: "drydock_rank_3".
inline constexpr std::string_view kJobRankPrefix = "drydock_rank_";
/// What a launcher says when a rank failed.
inline constexpr std::string_view kJobFailureKey = "drydock_failure";
/// Number of members, as the scheduler knows it.
inline constexpr std::string_view kJobSizeKey = "drydock_size";
/// Shows that a connection knows the job's secret; never stored.
inline constexpr std::string_view kProofKey = "drydock_proof";

/// Whose a key is.
struct KeyOwner {
  enum class Kind : std::uint8_t {
    kAnybody,  ///< None of ours.
    kRank,     ///< The member of `rank`, once, for good.
    kMember,   ///< Any member, or anybody while members are missing; once, for good.
    kNobody,   ///< Ours, and not to be written.
  };
  Kind kind = Kind::kAnybody;
  std::uint32_t rank = 0;
};

/// Whose a key is, by its name.
[[nodiscard]] KeyOwner OwnerOf(std::string_view key);

/// Number for an address, for comparing; never 0, but for an empty one.
[[nodiscard]] std::uint64_t AddressHash(std::string_view address);

/// Equal, in a time that does not depend on where they differ.
[[nodiscard]] bool EqualSecrets(std::string_view a, std::string_view b);

}  // namespace drydock::sim
