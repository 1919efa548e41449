#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/timing/hardware_profile.h"
#include "strategies/operators/collective_facts.h"

namespace drydock::sim {

using strategies::CollectivePattern;

/// Where the members of a group are.
///
/// `fan[l]`: how many units of the next lower level (devices for l = 0) that hold members are in
/// one unit of level l; the product is the group's size. Example: 16 ranks of stride 1 with 8 per
/// node: {8, 2}; of stride 8: {1, 16}.
struct GroupSpan {
  std::vector<std::int64_t> fan = {};
  friend auto operator<=>(const GroupSpan&, const GroupSpan&) = default;
};

/// Span of given ranks, ascending; where units differ, the fullest one counts.
[[nodiscard]] GroupSpan SpanOf(const HardwareProfile& profile, std::span<const std::int64_t> ranks);

/// Span of ranks 0, stride, 2 stride, ...: what closed forms ask for.
[[nodiscard]] GroupSpan SpanOf(const HardwareProfile& profile, std::int64_t size,
                               std::int64_t stride);

/// Members of the group.
[[nodiscard]] std::int64_t SizeOf(const GroupSpan& span);

/// The outermost level on which members meet; 0 for a group of one.
[[nodiscard]] std::size_t OuterLevel(const GroupSpan& span);

/// A collective as its cost is asked for.
///
/// `bytes` as NCCL counts them: the buffer of an AllReduce, the whole result of an AllGather, the
/// whole operand of a ReduceScatter, all that a rank sends and keeps of an AlltoAll, the message.
struct CollectiveWork {
  CollectivePattern pattern = CollectivePattern::kAllReduce;
  double bytes = 0;
  GroupSpan span = {};
  std::optional<CollectiveAlgorithm> algorithm =
      {};  ///< Nothing: the fastest that the level's library has.
  /// Groups that use the outermost level's links of a device at the same time, this one included.
  double sharing = 1;
};

struct CollectiveCost {
  double seconds = 0;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  std::vector<double> level_bytes = {};  ///< What a rank sends on each level of the network.
};

/// Time of a collective with all members ready: launch + steps * latency + bytes / bandwidth for
/// each level that takes part. docs/timing.md lists the formulas.
[[nodiscard]] CollectiveCost CollectiveTime(const HardwareProfile& profile,
                                            const CollectiveWork& work);

/// Bytes a rank sends, and steps, of a collective over `members` on one level.
struct FlatVolume {
  double sent_bytes = 0;
  double steps = 0;
};

/// @return  nothing if the algorithm does not do that collective
[[nodiscard]] std::optional<FlatVolume> FlatVolumeOf(CollectivePattern pattern,
                                                     CollectiveAlgorithm algorithm, double bytes,
                                                     std::int64_t members);

}  // namespace drydock::sim
