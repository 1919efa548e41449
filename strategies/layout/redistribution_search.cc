// Search for the cheapest way between two layouts. The states are tensor maps, the moves are the
// three layout steps: a slice is free, a concat multiplies the local tensor, a permute moves an
// axis from one dimension to another. Dijkstra's algorithm over (elements sent, steps) finds the
// optimum among these moves; the first of equal ways in a fixed order is taken, so the result
// depends on nothing but the layouts. Unlike the reference's greedy inference it may cut a
// dimension along an axis for the time being, which makes what is exchanged meanwhile smaller.

#include "strategies/layout/redistribution_search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "base/checked.h"

namespace drydock::strategies {
namespace {

constexpr std::int64_t kWhole = -1;
constexpr std::size_t kMaxStates = 4000;

std::int64_t SentBy(const LayoutStep& step, std::int64_t elements) {
  switch (step.kind) {
    case LayoutStep::Kind::kSplit:
      return 0;
    case LayoutStep::Kind::kConcat:
      return elements * (step.count - 1);
    case LayoutStep::Kind::kPermute:
      return elements / step.count * (step.count - 1);
  }
  return 0;
}

std::int64_t SentBy(const LayoutStep& step) {
  return SentBy(step, Product(step.slice_before));
}

class StepSearch {
 public:
  StepSearch(const PlainLayout& from, const std::vector<std::int64_t>& target, std::int64_t limit)
      : matrix_(from.device_matrix), target_(target), limit_(limit) {
    Shape slice = SliceShape(from);
    const std::int64_t elements = Product(slice);
    Reach({.map = from.tensor_map, .slice = std::move(slice), .elements = elements});
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
    std::int64_t elements = 1;  ///< In the slice.
    std::int64_t sent = 0;
    std::size_t steps = 0;
    std::size_t parent = 0;
    LayoutStep step = {};  ///< That led here from the parent.
    bool closed = false;
  };

  void Reach(State state) {
    const auto it = known_.lower_bound(state.map);
    if (it != known_.end() && it->first == state.map) {
      State& known = states_[it->second];
      if (std::pair(known.sent, known.steps) > std::pair(state.sent, state.steps)) {
        open_.emplace(state.sent, state.steps, it->second);
        known = std::move(state);
      }
      return;
    }
    known_.emplace_hint(it, state.map, states_.size());
    open_.emplace(state.sent, state.steps, states_.size());
    states_.push_back(std::move(state));
  }

  void Expand(std::size_t index) {
    const std::vector<std::int64_t> map = states_[index].map;
    for (std::size_t d = 0; d < map.size(); ++d) {
      if (map[d] != kWhole) {
        Try(index, {.kind = LayoutStep::Kind::kConcat, .dimension = Int(d), .axis = map[d]});
        continue;
      }
      for (std::int64_t axis = 0; axis < std::ssize(matrix_); ++axis) {
        const auto holder = std::ranges::find(map, axis);
        if (holder == map.end()) {
          Try(index, {.kind = LayoutStep::Kind::kSplit, .dimension = Int(d), .axis = axis});
        } else {
          Try(index, {.kind = LayoutStep::Kind::kPermute,
                      .dimension = Int(d),
                      .concat_dimension = holder - map.begin(),
                      .axis = axis});
        }
      }
    }
  }

  void Try(std::size_t index, LayoutStep step) {
    const State& from = states_[index];
    const auto dimension = static_cast<std::size_t>(step.dimension);
    step.count = matrix_[matrix_.size() - 1 - static_cast<std::size_t>(step.axis)];
    const std::int64_t sent = from.sent + SentBy(step, from.elements);
    const bool cuts = step.kind != LayoutStep::Kind::kConcat;
    if (sent >= limit_ || (cuts && from.slice[dimension] % step.count != 0)) {
      return;  // Most moves end here: nothing is copied before.
    }
    step.slice_before = from.slice;
    State next{.map = from.map,
               .slice = from.slice,
               .elements = from.elements,
               .sent = sent,
               .steps = from.steps + 1,
               .parent = index};
    if (cuts) {
      next.slice[dimension] /= step.count;
      next.elements /= step.count;
      next.map[dimension] = step.axis;
    } else {
      next.slice[dimension] *= step.count;
      next.elements *= step.count;
      next.map[dimension] = kWhole;
    }
    if (step.kind == LayoutStep::Kind::kPermute) {
      const auto joined = static_cast<std::size_t>(step.concat_dimension);
      next.slice[joined] *= step.count;
      next.elements *= step.count;
      next.map[joined] = kWhole;
    }
    next.step = std::move(step);
    Reach(std::move(next));
  }

  [[nodiscard]] std::vector<LayoutStep> StepsTo(std::size_t index) const {
    std::vector<LayoutStep> steps;
    for (; states_[index].steps > 0; index = states_[index].parent) {
      steps.push_back(states_[index].step);
    }
    std::ranges::reverse(steps);
    return steps;
  }

  static std::int64_t Int(std::size_t value) { return static_cast<std::int64_t>(value); }

  using Key = std::tuple<std::int64_t, std::size_t, std::size_t>;  // sent, steps, state

  const std::vector<std::int64_t>& matrix_;
  const std::vector<std::int64_t>& target_;
  std::int64_t limit_ = 0;
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

std::int64_t SentElements(const std::vector<LayoutStep>& steps) {
  std::int64_t sent = 0;
  for (const LayoutStep& step : steps) {
    sent += SentBy(step);
  }
  return sent;
}

}  // namespace drydock::strategies
