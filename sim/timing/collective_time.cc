#include "sim/timing/collective_time.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

/// Collectives on a network of levels.
///
/// On one level: t = steps * latency + sent bytes / bandwidth, the volumes being those that are
/// known of each algorithm (ring AllReduce of S bytes over n: 2 (n - 1) steps, 2 S (n - 1) / n
/// bytes). Over several levels the members of each unit first do their part (ReduceScatter of S),
/// then units among themselves with what one member has left (S / members), and so on outwards,
/// then back inwards (AllGather). So each device uses its own adapter, and nobody sends a whole
/// payload over one. The levels work on different pieces at the same time for a share that the
/// profile says. An AlltoAll sends each level what lies beyond the level below.
///
/// Sources: R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication
/// operations in MPICH, 2005; NVIDIA/nccl-tests: doc/PERFORMANCE.md (bytes of algorithms)
namespace drydock::sim {
namespace {

double Log2Up(std::int64_t members) {
  return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(members - 1)));
}

/// True for the two halves of an AllReduce.
bool IsHalf(CollectivePattern pattern) {
  return pattern == CollectivePattern::kAllGather || pattern == CollectivePattern::kReduceScatter;
}

/// What is not the rank's own of a payload.
double OthersShare(double bytes, std::int64_t members) {
  return bytes * static_cast<double>(members - 1) / static_cast<double>(members);
}

std::optional<FlatVolume> RingVolume(CollectivePattern pattern, double bytes,
                                     std::int64_t members) {
  const auto steps = static_cast<double>(members - 1);
  const double share = OthersShare(bytes, members);
  if (pattern == CollectivePattern::kAllReduce) {
    return FlatVolume{.sent_bytes = 2 * share, .steps = 2 * steps};
  }
  if (pattern == CollectivePattern::kBroadcast) {
    return FlatVolume{.sent_bytes = bytes, .steps = steps};
  }
  return IsHalf(pattern) ? std::optional(FlatVolume{.sent_bytes = share, .steps = steps})
                         : std::nullopt;
}

std::optional<FlatVolume> TreeVolume(CollectivePattern pattern, double bytes,
                                     std::int64_t members) {
  const double depth = Log2Up(members);
  if (pattern == CollectivePattern::kAllReduce) {
    return FlatVolume{.sent_bytes = 2 * bytes, .steps = 2 * depth};
  }
  return pattern == CollectivePattern::kBroadcast
             ? std::optional(FlatVolume{.sent_bytes = 2 * bytes, .steps = depth})
             : std::nullopt;
}

/// Not a power of two: the rest gives its payload to others first and gets the result behind.
std::optional<FlatVolume> HalvingVolume(CollectivePattern pattern, double bytes,
                                        std::int64_t members) {
  const double share = OthersShare(bytes, members);
  const double depth = Log2Up(members);
  const bool power = std::has_single_bit(static_cast<std::uint64_t>(members));
  if (pattern == CollectivePattern::kAllReduce) {
    return FlatVolume{.sent_bytes = 2 * share + (power ? 0 : 2 * bytes),
                      .steps = 2 * depth + (power ? 0 : 2)};
  }
  return IsHalf(pattern) && power ? std::optional(FlatVolume{.sent_bytes = share, .steps = depth})
                                  : std::nullopt;
}

/// Everybody sends to all others at once.
std::optional<FlatVolume> DirectVolume(CollectivePattern pattern, double bytes,
                                       std::int64_t members) {
  const double share = OthersShare(bytes, members);
  if (pattern == CollectivePattern::kAllReduce) {
    return FlatVolume{.sent_bytes = 2 * share, .steps = 2};
  }
  return IsHalf(pattern) || pattern == CollectivePattern::kAllToAll
             ? std::optional(FlatVolume{.sent_bytes = share, .steps = 1})
             : std::nullopt;
}

/// Bytes per second of a device among `members` on a level.
double Bandwidth(const NetworkLevel& level, std::int64_t unit_devices, std::int64_t members,
                 double sharing) {
  double nominal = level.bytes_per_second / (level.oversubscription * sharing);
  if (level.wiring == Wiring::kMesh && level.devices > 0) {
    const std::int64_t units = std::max<std::int64_t>(2, level.devices / unit_devices);
    nominal *= static_cast<double>(members - 1) / static_cast<double>(units - 1);
  }
  return nominal * level.efficiency;
}

struct LevelCost {
  double seconds = 0;
  double bytes = 0;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
};

/// One level of a profile as a flat network.
class FlatNetwork {
 public:
  FlatNetwork(const HardwareProfile& profile, std::size_t level, double sharing)
      : level_(profile.levels[level]),
        unit_devices_(level == 0 ? 1 : profile.levels[level - 1].devices),
        sharing_(sharing) {}

  [[nodiscard]] std::optional<LevelCost> With(CollectiveAlgorithm algorithm,
                                              CollectivePattern pattern, double bytes,
                                              std::int64_t members) const {
    if (algorithm == CollectiveAlgorithm::kInNetwork) {
      return InNetwork(pattern, bytes, members);
    }
    const std::optional<FlatVolume> volume = FlatVolumeOf(pattern, algorithm, bytes, members);
    if (!volume) {
      return std::nullopt;
    }
    // A mesh gives each pair a link of its own; steps with one partner use one of them.
    const bool one_partner = level_.wiring == Wiring::kMesh &&
                             algorithm != CollectiveAlgorithm::kDirect &&
                             algorithm != CollectiveAlgorithm::kRing;
    const double rate =
        Bandwidth(level_, unit_devices_, one_partner ? std::int64_t{2} : members, sharing_);
    return LevelCost{.seconds = volume->steps * level_.latency_seconds + volume->sent_bytes / rate,
                     .bytes = volume->sent_bytes,
                     .algorithm = algorithm};
  }

  [[nodiscard]] LevelCost Best(CollectivePattern pattern, double bytes,
                               std::int64_t members) const {
    std::optional<LevelCost> best;
    for (const CollectiveAlgorithm algorithm : level_.algorithms) {
      const std::optional<LevelCost> cost = With(algorithm, pattern, bytes, members);
      if (cost && (!best || cost->seconds < best->seconds)) {
        best = cost;
      }
    }
    // What the level's library has does nothing of that kind: as a ring does it.
    return best ? *best
                : With(CollectiveAlgorithm::kRing, pattern, bytes, members).value_or(LevelCost());
  }

 private:
  /// Each rank sends its payload and gets the reduced one, but for its own share.
  [[nodiscard]] std::optional<LevelCost> InNetwork(CollectivePattern pattern, double bytes,
                                                   std::int64_t members) const {
    if (pattern != CollectivePattern::kAllReduce || level_.reduce_bytes_per_second <= 0) {
      return std::nullopt;
    }
    const auto n = static_cast<double>(members);
    const double sent = bytes * (n + 1) / n;
    return LevelCost{
        .seconds = 2 * level_.latency_seconds + level_.reduce_latency_seconds +
                   sent * sharing_ * level_.oversubscription / level_.reduce_bytes_per_second,
        .bytes = sent,
        .algorithm = CollectiveAlgorithm::kInNetwork};
  }

  const NetworkLevel& level_;
  std::int64_t unit_devices_;
  double sharing_;
};

double SharingOn(const CollectiveWork& work, std::size_t level) {
  return level == OuterLevel(work.span) ? work.sharing : 1;
}

/// Phases of a collective over several levels, inside out; one phase where only one takes part.
CollectiveCost Phases(const HardwareProfile& profile, const CollectiveWork& work) {
  CollectiveCost cost{.level_bytes = std::vector<double>(profile.levels.size(), 0)};
  const std::size_t outer = OuterLevel(work.span);
  double left = work.bytes;  // What one member has to do with at this level.
  double sum = 0;
  double longest = 0;
  std::size_t parts = 0;
  for (std::size_t l = 0; l < work.span.fan.size(); ++l) {
    const std::int64_t members = work.span.fan[l];
    if (members < 2) {
      continue;
    }
    const bool inner_reduce = work.pattern == CollectivePattern::kAllReduce && l < outer;
    const FlatNetwork network(profile, l, SharingOn(work, l));
    const CollectivePattern here = inner_reduce ? CollectivePattern::kReduceScatter : work.pattern;
    const bool asked = work.algorithm && *work.algorithm != CollectiveAlgorithm::kHierarchical;
    const LevelCost flat = asked ? network.With(*work.algorithm, here, left, members)
                                       .value_or(network.Best(here, left, members))
                                 : network.Best(here, left, members);
    const double times = inner_reduce ? 2 : 1;  // ReduceScatter going out, AllGather coming back.
    sum += times * flat.seconds;
    longest = std::max(longest, times * flat.seconds);
    cost.level_bytes[l] = times * flat.bytes;
    cost.algorithm = flat.algorithm;
    left /= static_cast<double>(members);
    ++parts;
  }
  cost.seconds = longest + (1 - profile.level_overlap) * (sum - longest);
  if (parts > 1) {
    cost.algorithm = CollectiveAlgorithm::kHierarchical;
  }
  return cost;
}

/// Each level carries what goes to members outside of the units below; all at once.
CollectiveCost AllToAll(const HardwareProfile& profile, const CollectiveWork& work) {
  CollectiveCost cost{.algorithm = CollectiveAlgorithm::kDirect,
                      .level_bytes = std::vector<double>(profile.levels.size(), 0)};
  const auto size = static_cast<double>(SizeOf(work.span));
  double inside = 1;
  for (std::size_t l = 0; l < work.span.fan.size(); ++l) {
    const std::int64_t members = work.span.fan[l];
    if (members < 2) {
      continue;
    }
    const double reach = inside * static_cast<double>(members);
    const double bytes = work.bytes * (reach - inside) / size;
    const std::int64_t unit = l == 0 ? 1 : profile.levels[l - 1].devices;
    const NetworkLevel& level = profile.levels[l];
    const double seconds = (reach - inside) * level.latency_seconds +
                           bytes / Bandwidth(level, unit, members, SharingOn(work, l));
    cost.level_bytes[l] = bytes;
    cost.seconds = std::max(cost.seconds, seconds);
    inside = reach;
  }
  return cost;
}

/// Neighbours and messages: what is sent goes over the outermost level on which members meet.
CollectiveCost Transfer(const HardwareProfile& profile, const CollectiveWork& work) {
  CollectiveCost cost{.algorithm = CollectiveAlgorithm::kDirect,
                      .level_bytes = std::vector<double>(profile.levels.size(), 0)};
  const std::size_t outer = OuterLevel(work.span);
  const NetworkLevel& level = profile.levels[outer];
  const std::int64_t unit = outer == 0 ? 1 : profile.levels[outer - 1].devices;
  cost.seconds = level.latency_seconds + work.bytes / Bandwidth(level, unit, 2, work.sharing);
  cost.level_bytes[outer] = work.bytes;
  return cost;
}

}  // namespace

GroupSpan SpanOf(const HardwareProfile& profile, std::span<const std::int64_t> ranks) {
  GroupSpan span;
  std::set<std::int64_t> units(ranks.begin(), ranks.end());
  std::int64_t below = 1;  // Devices of one unit of the level below.
  for (const NetworkLevel& level : profile.levels) {
    std::map<std::int64_t, std::int64_t> held;
    const std::int64_t factor = level.devices == 0 ? 0 : level.devices / below;
    for (const std::int64_t unit : units) {
      ++held[factor == 0 ? 0 : unit / factor];
    }
    std::int64_t most = 1;
    units.clear();
    for (const auto& [unit, count] : held) {
      most = std::max(most, count);
      units.insert(unit);
    }
    span.fan.push_back(most);
    below = std::max<std::int64_t>(level.devices, 1);
  }
  return span;
}

GroupSpan SpanOf(const HardwareProfile& profile, std::int64_t size, std::int64_t stride) {
  GroupSpan span;
  std::int64_t left = size;
  std::int64_t step =
      std::max<std::int64_t>(1, stride);  // Between members, in units of the level below.
  std::int64_t below = 1;
  for (const NetworkLevel& level : profile.levels) {
    if (level.devices == 0) {
      span.fan.push_back(left);
      break;
    }
    const std::int64_t factor = level.devices / below;
    const std::int64_t fan = std::clamp<std::int64_t>((factor + step - 1) / step, 1, left);
    span.fan.push_back(fan);
    left = (left + fan - 1) / fan;
    step = std::max<std::int64_t>(1, step * fan / factor);
    below = level.devices;
  }
  return span;
}

std::int64_t SizeOf(const GroupSpan& span) {
  std::int64_t size = 1;
  for (const std::int64_t fan : span.fan) {
    size *= fan;
  }
  return size;
}

std::size_t OuterLevel(const GroupSpan& span) {
  std::size_t outer = 0;
  for (std::size_t l = 0; l < span.fan.size(); ++l) {
    outer = span.fan[l] > 1 ? l : outer;
  }
  return outer;
}

std::optional<FlatVolume> FlatVolumeOf(CollectivePattern pattern, CollectiveAlgorithm algorithm,
                                       double bytes, std::int64_t members) {
  switch (algorithm) {
    case CollectiveAlgorithm::kRing:
      return RingVolume(pattern, bytes, members);
    case CollectiveAlgorithm::kTree:
      return TreeVolume(pattern, bytes, members);
    case CollectiveAlgorithm::kHalvingDoubling:
      return HalvingVolume(pattern, bytes, members);
    case CollectiveAlgorithm::kDirect:
      return DirectVolume(pattern, bytes, members);
    default:
      return std::nullopt;
  }
}

CollectiveCost CollectiveTime(const HardwareProfile& profile, const CollectiveWork& work) {
  CollectiveCost cost;
  if (SizeOf(work.span) < 2) {
    cost.level_bytes.assign(profile.levels.size(), 0);
    return cost;
  }
  switch (work.pattern) {
    case CollectivePattern::kAllToAll:
      cost = AllToAll(profile, work);
      break;
    case CollectivePattern::kNeighbours:
    case CollectivePattern::kMessage:
      cost = Transfer(profile, work);
      break;
    default:
      cost = Phases(profile, work);
  }
  cost.seconds += profile.collective_launch_seconds;
  return cost;
}

}  // namespace drydock::sim
