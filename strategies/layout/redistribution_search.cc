// Search for the cheapest way between two layouts. The states are tensor maps, the moves are the
// layout steps: a slice is free, a concat multiplies the local tensor, a permute moves an axis from
// one dimension to another, and several permutes of different dimensions are one exchange in a
// larger group, which sends less than one after the other. A* over (elements sent, steps) finds the
// optimum among these moves; what a rank does not hold it must be sent, which bounds the rest of
// the way. The first of equal ways in a fixed order is taken, so the result depends on nothing but
// the layouts. Unlike the reference's greedy inference it may cut a dimension along an axis for the
// time being, which makes what is exchanged meanwhile smaller.

#include "strategies/layout/redistribution_search.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/checked.h"

namespace drydock::strategies {
namespace {

constexpr std::size_t kMaxStates = 4000;
constexpr std::size_t kMaxRefined = 32;  ///< Of refined shapes and of device matrices.
constexpr std::size_t kMaxJointAxes = 8;

/// A dimension or a device axis, axes counted from the right; kNoPlace for neither.
using Place = std::int16_t;
constexpr Place kNoPlace = -1;

/// The device axis of every dimension, kNoPlace where it is whole and where there is no dimension.
using Map = std::array<Place, kMaxRefined>;

Map MapOf(const std::vector<std::int64_t>& axes) {
  Map map;
  map.fill(kNoPlace);
  std::ranges::transform(axes, map.begin(),
                         [](std::int64_t axis) { return static_cast<Place>(axis); });
  return map;
}

struct MapHash {
  std::size_t operator()(const Map& map) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(map.data()), sizeof(Map)});
  }
};

/// The dimension that `axis` cuts.
Place HolderOf(const Map& map, Place axis) {
  const auto holder = std::ranges::find(map, axis);
  return static_cast<Place>(holder == map.end() ? kNoPlace : holder - map.begin());
}

/// An axis that leaves a dimension for another one: a permute, or a split or concat where one of
/// the two is kNoPlace.
struct Placement {
  Place axis = 0;
  Place from = kNoPlace;
  Place to = kNoPlace;
};

/// What a rank sends that holds `elements`, in one step or in permutes that are one exchange.
std::int64_t SentBy(std::span<const LayoutStep> move, std::int64_t elements) {
  switch (move.front().kind) {
    case LayoutStep::Kind::kSplit:
      return 0;
    case LayoutStep::Kind::kConcat:
      return elements * (move.front().count - 1);
    case LayoutStep::Kind::kPermute:
      break;
  }
  std::int64_t kept = elements;
  for (const LayoutStep& permute : move) {
    kept /= permute.count;
  }
  return elements - kept;
}

class StepSearch {
 public:
  /// No more than kMaxRefined dimensions and axes.
  StepSearch(const PlainLayout& from, const std::vector<std::int64_t>& target, std::int64_t limit)
      : shape_(from.shape),
        dimensions_(static_cast<Place>(from.shape.size())),
        counts_(from.device_matrix.rbegin(), from.device_matrix.rend()),
        target_(MapOf(target)),
        target_elements_(Elements(target_)),
        limit_(limit) {
    Reach({.map = MapOf(from.tensor_map)});
  }

  std::optional<std::vector<LayoutStep>> Run() {
    while (!open_.empty() && states_.size() < kMaxStates) {
      const std::size_t current = std::get<2>(open_.top());
      open_.pop();
      if (std::exchange(states_[current].closed, true)) {
        continue;
      }
      if (states_[current].map == target_) {
        return StepsTo(current);
      }
      Expand(current);
    }
    return std::nullopt;
  }

 private:
  struct State {
    Map map = {};
    std::int64_t sent = 0;
    std::size_t moves = 0;
    std::size_t parent = 0;
    bool closed = false;
  };

  // ---- Geometry -------------------------------------------------------------------------------

  [[nodiscard]] std::int64_t CountOf(Place axis) const {
    return axis == kNoPlace ? 1 : counts_[static_cast<std::size_t>(axis)];
  }

  [[nodiscard]] Shape SliceOf(const Map& map) const {
    Shape slice = shape_;
    for (std::size_t d = 0; d < slice.size(); ++d) {
      slice[d] /= CountOf(map[d]);
    }
    return slice;
  }

  [[nodiscard]] std::int64_t Elements(const Map& map) const {
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      elements *= shape_[d] / CountOf(map[d]);
    }
    return elements;
  }

  /// Least that some rank must still be sent: its target less what it holds of it already.
  [[nodiscard]] std::int64_t Missing(const Map& map) const {
    std::int64_t held = 1;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      if (map[d] != kNoPlace && target_[d] != kNoPlace && map[d] != target_[d]) {
        return target_elements_;  // Of two axes' cuts some rank has parts that do not meet.
      }
      held *= shape_[d] / CountOf(map[d] != kNoPlace ? map[d] : target_[d]);
    }
    return target_elements_ - held;
  }

  // ---- Moves ----------------------------------------------------------------------------------

  /// The nearest earlier dimension that is whole, ends whole and has the extent of `dimension`,
  /// which is and does so too: what holds for one of the two holds for the other.
  [[nodiscard]] Place TwinOf(const Map& map, Place dimension) const {
    const auto d = static_cast<std::size_t>(dimension);
    for (std::size_t twin = target_[d] == kNoPlace ? d : 0; twin-- > 0;) {
      if (map[twin] == kNoPlace && target_[twin] == kNoPlace && shape_[twin] == shape_[d]) {
        return static_cast<Place>(twin);
      }
    }
    return kNoPlace;
  }

  /// True if `axis` may go to the dimension `to` while another goes to `taken`.
  [[nodiscard]] bool MayTake(const Map& map, Place axis, Place to, Place taken) const {
    const auto d = static_cast<std::size_t>(to);
    if (map[d] != kNoPlace || to == taken || shape_[d] % CountOf(axis) != 0) {
      return false;
    }
    const Place twin = TwinOf(map, to);
    return twin == kNoPlace || twin == taken;
  }

  void Expand(std::size_t index) {
    const Map map = states_[index].map;
    std::vector<Placement> towards_target;
    for (auto axis = static_cast<Place>(counts_.size()); axis-- > 0;) {
      const Place from = HolderOf(map, axis);
      if (from != kNoPlace) {
        Try(index, std::array{Placement{.axis = axis, .from = from}});
      }
      for (Place to = 0; to < dimensions_; ++to) {
        if (!MayTake(map, axis, to, kNoPlace)) {
          continue;
        }
        const Placement placement{.axis = axis, .from = from, .to = to};
        Try(index, std::array{placement});
        if (from != kNoPlace) {
          ExpandPairs(index, map, placement);
        }
        if (from != kNoPlace && target_[static_cast<std::size_t>(to)] == axis) {
          towards_target.push_back(placement);
        }
      }
    }
    ExpandSubsets(index, towards_target);
  }

  /// `outer` together with a permute along an axis within its own.
  void ExpandPairs(std::size_t index, const Map& map, const Placement& outer) {
    for (Place axis = 0; axis < outer.axis; ++axis) {
      const Place from = HolderOf(map, axis);
      for (Place to = 0; from != kNoPlace && to < dimensions_; ++to) {
        if (MayTake(map, axis, to, outer.to)) {
          Try(index, std::array{outer, Placement{.axis = axis, .from = from, .to = to}});
        }
      }
    }
  }

  /// Every three or more permutes that bring axes to where they belong.
  void ExpandSubsets(std::size_t index, const std::vector<Placement>& permutes) {
    const std::size_t count = std::min(permutes.size(), kMaxJointAxes);
    for (std::uint32_t subset = 7; subset < 1U << count; ++subset) {
      std::vector<Placement> move;
      for (std::size_t i = 0; i < count; ++i) {
        if ((subset >> i & 1U) != 0) {
          move.push_back(permutes[i]);
        }
      }
      if (move.size() > 2) {
        Try(index, move);
      }
    }
  }

  void Try(std::size_t index, std::span<const Placement> move) {
    const State& before = states_[index];
    State next{.map = before.map, .moves = before.moves + 1, .parent = index};
    std::int64_t moved = 1;
    for (const Placement& placement : move) {
      moved *= placement.from == kNoPlace ? 1 : CountOf(placement.axis);
      if (placement.from != kNoPlace) {
        next.map[static_cast<std::size_t>(placement.from)] = kNoPlace;
      }
      if (placement.to != kNoPlace) {
        next.map[static_cast<std::size_t>(placement.to)] = placement.axis;
      }
    }
    // Both what a rank holds after a concat and what it holds before an exchange.
    const std::int64_t elements = std::max(Elements(before.map), Elements(next.map));
    next.sent = before.sent + elements - elements / moved;
    Reach(next);
  }

  void Reach(const State& state) {
    const std::int64_t least = state.sent + Missing(state.map);
    if (least >= limit_) {
      return;
    }
    const auto [it, is_new] = known_.try_emplace(state.map, states_.size());
    if (is_new) {
      states_.push_back(state);
    } else if (State& known = states_[it->second];
               std::pair(known.sent, known.moves) > std::pair(state.sent, state.moves)) {
      known = state;
    } else {
      return;
    }
    open_.emplace(least, state.moves, it->second);
  }

  // ---- The way --------------------------------------------------------------------------------

  [[nodiscard]] std::vector<LayoutStep> StepsTo(std::size_t index) const {
    std::vector<std::size_t> path = {index};
    while (states_[path.back()].moves > 0) {
      path.push_back(states_[path.back()].parent);
    }
    std::vector<LayoutStep> steps;
    for (std::size_t i = path.size(); i-- > 1;) {
      AppendMove(states_[path[i]].map, states_[path[i - 1]].map, &steps);
    }
    return steps;
  }

  /// The steps of one move, outermost axis first.
  void AppendMove(Map map, const Map& after, std::vector<LayoutStep>* steps) const {
    const Map before = map;
    for (auto axis = static_cast<Place>(counts_.size()); axis-- > 0;) {
      const Place from = HolderOf(before, axis);
      const Place to = HolderOf(after, axis);
      if (from == to) {
        continue;
      }
      LayoutStep step{.axis = axis, .count = CountOf(axis), .slice_before = SliceOf(map)};
      step.joint = map != before;
      step.dimension = to != kNoPlace ? to : from;
      step.kind = to == kNoPlace ? LayoutStep::Kind::kConcat : LayoutStep::Kind::kSplit;
      if (from != kNoPlace) {
        map[static_cast<std::size_t>(from)] = kNoPlace;
      }
      if (to != kNoPlace) {
        map[static_cast<std::size_t>(to)] = axis;
      }
      if (from != kNoPlace && to != kNoPlace) {
        step.kind = LayoutStep::Kind::kPermute;
        step.concat_dimension = from;
      }
      steps->push_back(std::move(step));
    }
  }

  using Key = std::tuple<std::int64_t, std::size_t, std::size_t>;  // least sent, moves, state

  const Shape& shape_;
  Place dimensions_ = 0;
  std::vector<std::int64_t> counts_ = {};  ///< Extents of the axes, counted from the right.
  Map target_ = {};
  std::int64_t target_elements_ = 0;
  std::int64_t limit_ = 0;
  std::vector<State> states_ = {};
  std::unordered_map<Map, std::size_t, MapHash> known_ = {};
  std::priority_queue<Key, std::vector<Key>, std::greater<>> open_ = {};
};

}  // namespace

std::optional<std::vector<LayoutStep>> CheapestSteps(const PlainLayout& from,
                                                     const std::vector<std::int64_t>& to_map,
                                                     std::int64_t limit) {
  if (std::max(from.shape.size(), from.device_matrix.size()) > kMaxRefined) {
    return std::nullopt;
  }
  return StepSearch(from, to_map, limit).Run();
}

std::int64_t SentElements(const std::vector<RedistributionOp>& ops) {
  std::int64_t sent = 0;
  for (const RedistributionOp& op : ops) {
    const std::int64_t members = GroupSize(op.group);
    if (op.kind == RedistributionOp::Kind::kAllGather) {
      sent += Product(op.input_shape) * (members - 1);
    } else if (op.kind == RedistributionOp::Kind::kAlltoAll) {
      sent += Product(op.input_shape) / members * (members - 1);
    }
  }
  return sent;
}

std::int64_t SentElements(std::span<const LayoutStep> steps) {
  std::int64_t sent = 0;
  while (!steps.empty()) {
    const std::size_t length = MoveLength(steps);
    sent += SentBy(steps.first(length), Product(steps.front().slice_before));
    steps = steps.subspan(length);
  }
  return sent;
}

std::size_t MoveLength(std::span<const LayoutStep> steps) {
  const auto next = std::find_if_not(steps.begin() + 1, steps.end(),
                                     [](const LayoutStep& step) { return step.joint; });
  return static_cast<std::size_t>(next - steps.begin());
}

}  // namespace drydock::strategies
