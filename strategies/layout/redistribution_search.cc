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
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "base/checked.h"

namespace drydock::strategies {
namespace {

constexpr std::int64_t kWhole = -1;
constexpr std::size_t kMaxStates = 4000;
constexpr std::size_t kMaxJointAxes = 8;

using Move = std::vector<LayoutStep>;  ///< One step, or permutes that are one exchange.

/// What a rank sends that holds `elements`.
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

/// Tensor map and slice shape after a step.
void Apply(const LayoutStep& step, std::vector<std::int64_t>* map, Shape* slice) {
  const auto change = [&](std::int64_t dimension, bool cuts) {
    const auto d = static_cast<std::size_t>(dimension);
    (*map)[d] = cuts ? step.axis : kWhole;
    (*slice)[d] = cuts ? (*slice)[d] / step.count : (*slice)[d] * step.count;
  };
  change(step.dimension, step.kind != LayoutStep::Kind::kConcat);
  if (step.kind == LayoutStep::Kind::kPermute) {
    change(step.concat_dimension, false);
  }
}

class StepSearch {
 public:
  StepSearch(const PlainLayout& from, const std::vector<std::int64_t>& target, std::int64_t limit)
      : matrix_(from.device_matrix), target_(target), limit_(limit) {
    PlainLayout to = from;
    to.tensor_map = target;
    target_slice_ = SliceShape(to);
    target_elements_ = Product(target_slice_);
    Reach({.map = from.tensor_map, .slice = SliceShape(from)});
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
    std::vector<std::int64_t> map = {};
    Shape slice = {};
    std::int64_t sent = 0;
    std::size_t moves = 0;
    std::size_t parent = 0;
    Move move = {};  ///< That led here from the parent.
    bool closed = false;
  };

  /// Least that some rank must still be sent: its target less what it holds of it already.
  [[nodiscard]] std::int64_t Missing(const std::vector<std::int64_t>& map,
                                     const Shape& slice) const {
    std::int64_t held = 1;
    for (std::size_t d = 0; d < map.size(); ++d) {
      if (map[d] == target_[d] || map[d] == kWhole) {
        held *= target_slice_[d];
      } else if (target_[d] == kWhole) {
        held *= slice[d];
      } else {
        return target_elements_;  // Of two axes' cuts some rank has parts that do not meet.
      }
    }
    return target_elements_ - held;
  }

  void Reach(State state) {
    const std::int64_t least = state.sent + Missing(state.map, state.slice);
    if (least >= limit_) {
      return;
    }
    const auto it = known_.lower_bound(state.map);
    if (it != known_.end() && it->first == state.map) {
      State& known = states_[it->second];
      if (std::pair(known.sent, known.moves) > std::pair(state.sent, state.moves)) {
        open_.emplace(least, state.moves, it->second);
        known = std::move(state);
      }
      return;
    }
    known_.emplace_hint(it, state.map, states_.size());
    open_.emplace(least, state.moves, states_.size());
    states_.push_back(std::move(state));
  }

  void Expand(std::size_t index) {
    const std::vector<std::int64_t> map = states_[index].map;
    Move towards_target;
    for (std::int64_t axis = std::ssize(matrix_); axis-- > 0;) {
      const auto holder = std::ranges::find(map, axis);
      const std::int64_t held = holder == map.end() ? kWhole : holder - map.begin();
      if (held != kWhole) {
        Try(index, {Step(LayoutStep::Kind::kConcat, axis, held)});
      }
      for (std::size_t d = 0; d < map.size(); ++d) {
        if (map[d] != kWhole) {
          continue;
        }
        if (held == kWhole) {
          Try(index, {Step(LayoutStep::Kind::kSplit, axis, Int(d))});
          continue;
        }
        const LayoutStep permute = Step(LayoutStep::Kind::kPermute, axis, Int(d), held);
        Try(index, {permute});
        ExpandPairs(index, permute);
        if (target_[d] == axis) {
          towards_target.push_back(permute);
        }
      }
    }
    ExpandSubsets(index, towards_target);
  }

  /// `outer` together with a permute along an axis within its own.
  void ExpandPairs(std::size_t index, const LayoutStep& outer) {
    const std::vector<std::int64_t> map = states_[index].map;
    for (std::size_t joined = 0; joined < map.size(); ++joined) {
      if (map[joined] == kWhole || map[joined] >= outer.axis) {
        continue;
      }
      for (std::size_t d = 0; d < map.size(); ++d) {
        if (map[d] == kWhole && Int(d) != outer.dimension) {
          Try(index, {outer, Step(LayoutStep::Kind::kPermute, map[joined], Int(d), Int(joined))});
        }
      }
    }
  }

  /// Every three or more permutes that bring axes to where they belong.
  void ExpandSubsets(std::size_t index, const Move& permutes) {
    const std::size_t count = std::min(permutes.size(), kMaxJointAxes);
    for (std::uint32_t subset = 0; subset < 1U << count; ++subset) {
      Move move;
      for (std::size_t i = 0; i < count; ++i) {
        if ((subset >> i & 1U) != 0) {
          move.push_back(permutes[i]);
        }
      }
      if (move.size() > 2) {
        Try(index, std::move(move));
      }
    }
  }

  [[nodiscard]] LayoutStep Step(LayoutStep::Kind kind, std::int64_t axis, std::int64_t dimension,
                                std::int64_t concat_dimension = 0) const {
    return {.kind = kind,
            .dimension = dimension,
            .concat_dimension = concat_dimension,
            .axis = axis,
            .count = matrix_[matrix_.size() - 1 - static_cast<std::size_t>(axis)]};
  }

  void Try(std::size_t index, Move move) {
    const State& from = states_[index];
    const std::int64_t sent = from.sent + SentBy(move, Product(from.slice));
    if (sent >= limit_ || !Divides(move, from.slice)) {
      return;  // Most moves end here: nothing is copied before.
    }
    State next{.map = from.map,
               .slice = from.slice,
               .sent = sent,
               .moves = from.moves + 1,
               .parent = index};
    for (std::size_t i = 0; i < move.size(); ++i) {
      move[i].joint = i > 0;
      move[i].slice_before = next.slice;
      Apply(move[i], &next.map, &next.slice);
    }
    next.move = std::move(move);
    Reach(std::move(next));
  }

  static bool Divides(const Move& move, const Shape& slice) {
    return std::ranges::all_of(move, [&](const LayoutStep& step) {
      return step.kind == LayoutStep::Kind::kConcat ||
             slice[static_cast<std::size_t>(step.dimension)] % step.count == 0;
    });
  }

  [[nodiscard]] std::vector<LayoutStep> StepsTo(std::size_t index) const {
    std::vector<LayoutStep> steps;
    for (; states_[index].moves > 0; index = states_[index].parent) {
      const Move& move = states_[index].move;
      steps.insert(steps.end(), move.rbegin(), move.rend());
    }
    std::ranges::reverse(steps);
    return steps;
  }

  static std::int64_t Int(std::size_t value) { return static_cast<std::int64_t>(value); }

  using Key = std::tuple<std::int64_t, std::size_t, std::size_t>;  // least sent, moves, state

  const std::vector<std::int64_t>& matrix_;
  const std::vector<std::int64_t>& target_;
  std::int64_t limit_ = 0;
  Shape target_slice_ = {};
  std::int64_t target_elements_ = 0;
  std::vector<State> states_ = {};
  std::map<std::vector<std::int64_t>, std::size_t> known_ = {};
  std::priority_queue<Key, std::vector<Key>, std::greater<>> open_ = {};
};

}  // namespace

std::optional<std::vector<LayoutStep>> CheapestSteps(const PlainLayout& from,
                                                     const std::vector<std::int64_t>& to_map,
                                                     std::int64_t limit) {
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
