#include "strategies/passes/choose/recursive_follow.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "strategies/graph/attr.h"
#include "strategies/passes/choose/recursive_reshape.h"

/// How cuts pass through an operator that the recursive search does not cut itself.
///
/// Three questions: how is the result cut that an operator leaves (towards its users), how should
/// it be cut so that a user gets what it wants (towards its producers), and which strategy follows
/// from cuts that it takes over. Source:
/// mindspore/ccsrc/frontend/parallel/auto_parallel/rec_core/rec_generate_strategy.cc
namespace drydock::strategies {
namespace {

/// The axes an operator names, counted from the front.
std::vector<std::int64_t> AxesOf(const FollowingOperator& op, std::int64_t fallback) {
  const auto rank = static_cast<std::int64_t>(op.inputs.front().size());
  auto axes = IntListAttr(op.node->attrs, "axis").value_or(std::nullopt);
  std::vector<std::int64_t> result = axes.value_or(std::vector<std::int64_t>{fallback});
  for (std::int64_t& axis : result) {
    axis += axis < 0 ? rank : 0;
  }
  return result;
}

bool Contains(const std::vector<std::int64_t>& list, std::size_t item) {
  return std::ranges::find(list, static_cast<std::int64_t>(item)) != list.end();
}

/// Dimensions that a reduction takes away: none with keep_dims, all without axes.
std::vector<std::int64_t> ReducedDimensions(const FollowingOperator& op) {
  if (BoolAttr(op.node->attrs, "keep_dims", false).value_or(false)) {
    return {};
  }
  std::vector<std::int64_t> axes = AxesOf(op, 0);
  const auto given = IntListAttr(op.node->attrs, "axis").value_or(std::nullopt);
  if (!given || given->empty()) {
    axes.resize(op.inputs.front().size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

Cuts Without(const Cuts& cuts, const std::vector<std::int64_t>& dimensions) {
  Cuts result;
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    if (!Contains(dimensions, d)) {
      result.push_back(cuts[d]);
    }
  }
  return result;
}

std::vector<std::int64_t> Permutation(const FollowingOperator& op) {
  return IntListAttr(op.node->attrs, "input_perm")
      .value_or(std::nullopt)
      .value_or(std::vector<std::int64_t>{});
}

Cuts Permuted(const FollowingOperator& op, const Cuts& cuts) {
  Cuts result;
  for (const std::int64_t from : Permutation(op)) {
    const auto rank = static_cast<std::int64_t>(cuts.size());
    result.push_back(CutAlong(cuts, static_cast<std::size_t>(from < 0 ? from + rank : from)));
  }
  return result;
}

/// Entry of the operand of the most dimensions, the first of equals.
Cuts OfLargest(const FollowingOperator& op, const Strategy& strategy) {
  std::size_t largest = 0;
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    largest = op.inputs[i].size() > op.inputs[largest].size() ? i : largest;
  }
  return largest < strategy.size() ? strategy[largest] : Cuts{};
}

/// Entry of the first operand that is no scalar.
Cuts OfFirst(const FollowingOperator& op, const Strategy& strategy) {
  for (std::size_t i = 0; i < std::min(op.inputs.size(), strategy.size()); ++i) {
    if (!op.inputs[i].empty()) {
      return strategy[i];
    }
  }
  return {};
}

Cuts Flattened(const Cuts& cuts) {
  if (cuts.empty()) {
    return {};
  }
  return {cuts.front(),
          std::accumulate(cuts.begin() + 1, cuts.end(), std::int64_t{1}, std::multiplies<>())};
}

Cuts WithAxis(const FollowingOperator& op, Cuts cuts) {
  const auto rank = static_cast<std::int64_t>(op.inputs.front().size());
  std::int64_t axis = IntAttr(op.node->attrs, "axis", 0).value_or(0);
  axis += axis < 0 ? rank + 1 : 0;
  cuts.insert(cuts.begin() + std::min<std::int64_t>(axis, std::ssize(cuts)), 1);
  return cuts;
}

}  // namespace

Cuts CutsLeftBy(const FollowingOperator& op, const Strategy& strategy) {
  if (strategy.empty() || op.inputs.empty()) {
    return {};
  }
  Cuts own = OfFirst(op, strategy);
  switch (op.form) {
    case FollowForm::kStridedSlice:
      return {};
    case FollowForm::kArithmetic:
    case FollowForm::kBiasAdd:
      return OfLargest(op, strategy);
    case FollowForm::kReshape:
      return CutsThroughReshape(op.inputs.front(), op.outputs.front(), own);
    case FollowForm::kTranspose:
      return Permuted(op, own);
    case FollowForm::kExpandDims:
      return WithAxis(op, own);
    case FollowForm::kCumulative: {
      const std::vector<std::int64_t> axes = AxesOf(op, 1);
      for (std::size_t d = 0; d < own.size(); ++d) {
        own[d] = Contains(axes, d) ? 1 : own[d];
      }
      return own;
    }
    case FollowForm::kSqueeze:
      return Without(own, AxesOf(op, 0));
    case FollowForm::kReduce:
      return Without(own, ReducedDimensions(op));
    case FollowForm::kArgument:
      return BoolAttr(op.node->attrs, "keep_dims", false).value_or(false)
                 ? own
                 : Without(own, AxesOf(op, 0));
    case FollowForm::kFlatten:
      return Flattened(own);
    default:
      return own;
  }
}

namespace {

Cuts BeforeReduction(const FollowingOperator& op, const Cuts& wanted) {
  const bool keeps = BoolAttr(op.node->attrs, "keep_dims", false).value_or(false);
  const std::vector<std::int64_t> reduced = ReducedDimensions(op);
  Cuts result;
  std::size_t next = 0;
  for (std::size_t d = 0; d < op.inputs.front().size(); ++d) {
    const bool gone = Contains(reduced, d);
    result.push_back(gone ? 1 : CutAlong(wanted, next));
    next += gone && !keeps ? 0 : 1;
  }
  return result;
}

Cuts BeforeExpandDims(const FollowingOperator& op, const Cuts& wanted) {
  std::int64_t axis = IntAttr(op.node->attrs, "axis", 0).value_or(0);
  axis += axis < 0 ? std::ssize(wanted) : 0;
  return Without(wanted, {axis});
}

/// Nothing unless all ranks are used.
Cuts BeforeSqueeze(const FollowingOperator& op, const Cuts& wanted, std::int64_t stage_devices) {
  const auto axes = IntListAttr(op.node->attrs, "axis").value_or(std::nullopt);
  if (!axes || axes->empty()) {
    return {};
  }
  Cuts result;
  std::size_t next = 0;
  std::size_t axis = 0;
  for (std::size_t d = 0; d < wanted.size() + axes->size(); ++d) {
    if (axis < axes->size() && (*axes)[axis] > 0 && static_cast<std::int64_t>(d) == (*axes)[axis]) {
      result.push_back(1);
      ++axis;
    } else {
      result.push_back(CutAlong(wanted, next++));
    }
  }
  const std::int64_t used =
      std::accumulate(result.begin(), result.end(), std::int64_t{1}, std::multiplies<>());
  return used == stage_devices ? result : Cuts{};
}

}  // namespace

Cuts CutsForUser(const FollowingOperator& op, const Cuts& wanted, const Shape& user,
                 std::int64_t stage_devices) {
  if (op.outputs.empty() || op.inputs.empty()) {
    return {};
  }
  switch (op.form) {
    case FollowForm::kArgument:
    case FollowForm::kFlatten:
      return {};
    case FollowForm::kExpandDims:
      return BeforeExpandDims(op, wanted);
    case FollowForm::kReshape:
      return CutsThroughReshape(op.outputs.front(), op.inputs.front(), wanted);
    case FollowForm::kGather:
      return CutsOfShape(user, stage_devices);
    case FollowForm::kReduce:
      return BeforeReduction(op, wanted);
    case FollowForm::kTranspose:
      return Permuted(op, wanted);
    default:
      break;
  }
  Cuts result;
  for (std::size_t d = 0; d < op.outputs.front().size(); ++d) {
    result.push_back(CutAlong(wanted, d));
  }
  return op.form == FollowForm::kSqueeze ? BeforeSqueeze(op, result, stage_devices) : result;
}

}  // namespace drydock::strategies
