// The greedy inference keeps the dimensions whose map entry is not final yet ("pending") and tries,
// in this order: cut a whole dimension along a free axis; move an axis from one dimension to
// another; join a dimension whose axis the target does not use. Communication on whole tensors
// comes last because cutting early makes later communication smaller. A cycle (axes that wait for
// each other) is broken by joining the first pending dimension.

#include "strategies/layout/layout_steps.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"
#include "strategies/layout/pending_order_table.h"

namespace drydock::strategies {
namespace {

constexpr std::int64_t kWhole = -1;
constexpr std::size_t kMaxMapped = 255;

class StepInference {
 public:
  StepInference(const PlainLayout& from, const std::vector<std::int64_t>& to_map,
                bool enable_alltoall)
      : matrix_(from.device_matrix),
        target_(to_map),
        enable_alltoall_(enable_alltoall),
        map_(from.tensor_map),
        slice_(SliceShape(from)) {
    DRYDOCK_CHECK(map_.size() == target_.size() && map_.size() <= kMaxMapped);
    pending_count_ = map_.size();
    PendingOrder(std::span(pending_).first(pending_count_));
  }

  std::vector<LayoutStep> Run() {
    while (pending_count_ > 0) {
      const std::size_t steps_before = steps_.size();
      SplitAndPermuteWhilePossible();
      ConcatPass();
      if (steps_.size() == steps_before && pending_count_ > 0) {
        Concat(pending_[0]);
      }
    }
    return std::move(steps_);
  }

 private:
  enum class Pending : std::uint8_t { kStays, kDone };

  /// Calls `visit` for every pending dimension in order and drops those that are done. What is
  /// dropped counts as not pending for the dimensions after it.
  template <typename Visit>
  void ForEachPending(Visit visit) {
    for (std::size_t i = 0; i < pending_count_;) {
      if (visit(std::size_t{pending_[i]}) == Pending::kStays) {
        ++i;
        continue;
      }
      std::copy(pending_.begin() + i + 1, pending_.begin() + pending_count_, pending_.begin() + i);
      --pending_count_;
    }
  }

  void SplitAndPermuteWhilePossible() {
    std::size_t steps_before = 0;
    do {
      steps_before = steps_.size();
      SplitPass();
      std::size_t steps_before_permute = 0;
      do {
        steps_before_permute = steps_.size();
        PermutePass();
      } while (steps_.size() != steps_before_permute);
    } while (steps_.size() != steps_before && pending_count_ > 0);
  }

  void SplitPass() {
    ForEachPending([this](std::size_t d) {
      if (map_[d] == target_[d]) {
        return Pending::kDone;
      }
      if (map_[d] != kWhole || HolderOf(target_[d]) != map_.size()) {
        return Pending::kStays;
      }
      Split(d);
      return Pending::kDone;
    });
  }

  void PermutePass() {
    ForEachPending([this](std::size_t d) {
      if (map_[d] == target_[d]) {
        return Pending::kDone;
      }
      const std::size_t holder = map_[d] == kWhole ? HolderOf(target_[d]) : map_.size();
      if (holder == map_.size()) {
        return Pending::kStays;
      }
      if (enable_alltoall_) {
        Permute(d, holder);
      } else {
        Concat(holder);
        Split(d);
      }
      return Pending::kDone;
    });
  }

  void ConcatPass() {
    ForEachPending([this](std::size_t d) {
      const bool joinable =
          map_[d] != kWhole && std::find(target_.begin(), target_.end(), map_[d]) == target_.end();
      if (!joinable) {
        return Pending::kStays;
      }
      Concat(d);
      return target_[d] == kWhole ? Pending::kDone : Pending::kStays;
    });
  }

  /// The pending dimension that `axis` cuts now, map_.size() if there is none.
  [[nodiscard]] std::size_t HolderOf(std::int64_t axis) const {
    for (std::size_t i = 0; i < pending_count_; ++i) {
      if (map_[pending_[i]] == axis) {
        return pending_[i];
      }
    }
    return map_.size();
  }

  [[nodiscard]] std::int64_t CountAlong(std::int64_t axis) const {
    return matrix_[matrix_.size() - 1 - static_cast<std::size_t>(axis)];
  }

  LayoutStep& Emit(LayoutStep::Kind kind, std::size_t dimension, std::int64_t axis) {
    return steps_.emplace_back(LayoutStep{.kind = kind,
                                          .dimension = static_cast<std::int64_t>(dimension),
                                          .axis = axis,
                                          .count = CountAlong(axis),
                                          .slice_before = slice_});
  }

  void Split(std::size_t dimension) {
    const LayoutStep& step = Emit(LayoutStep::Kind::kSplit, dimension, target_[dimension]);
    slice_[dimension] /= step.count;
    map_[dimension] = step.axis;
  }

  void Concat(std::size_t dimension) {
    const LayoutStep& step = Emit(LayoutStep::Kind::kConcat, dimension, map_[dimension]);
    slice_[dimension] *= step.count;
    map_[dimension] = kWhole;
  }

  void Permute(std::size_t split, std::size_t concat) {
    LayoutStep& step = Emit(LayoutStep::Kind::kPermute, split, target_[split]);
    step.concat_dimension = static_cast<std::int64_t>(concat);
    slice_[split] /= step.count;
    slice_[concat] *= step.count;
    map_[split] = step.axis;
    map_[concat] = kWhole;
  }

  const std::vector<std::int64_t>& matrix_;
  const std::vector<std::int64_t>& target_;
  bool enable_alltoall_ = false;
  std::vector<std::int64_t> map_;
  Shape slice_;
  std::array<std::uint8_t, kMaxMapped> pending_ = {};
  std::size_t pending_count_ = 0;
  std::vector<LayoutStep> steps_;
};

}  // namespace

std::vector<LayoutStep> InferSteps(const PlainLayout& from, const std::vector<std::int64_t>& to_map,
                                   bool enable_alltoall) {
  return StepInference(from, to_map, enable_alltoall).Run();
}

}  // namespace drydock::strategies
