#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "strategies/graph/attr.h"
#include "strategies/passes/choose/recursive_follow.h"
#include "strategies/passes/choose/recursive_reshape.h"

/// The strategy of an operator that takes over cuts of a neighbour, form by form.
/// Source: mindspore/ccsrc/frontend/parallel/auto_parallel/rec_core/rec_generate_strategy.cc
/// (GenerateStrategiesFromStrategy and what it calls)
namespace drydock::strategies {
namespace {

Cuts Ones(const Shape& shape) {
  return Cuts(shape.size(), 1);
}

/// Entry by entry what the cuts say; dimensions of extent 1 stay whole.
Strategy Plain(const FollowingOperator& op, const Cuts& cuts) {
  Strategy strategy;
  for (const Shape& shape : op.inputs) {
    Cuts& entry = strategy.emplace_back();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      entry.push_back(shape[d] == 1 ? 1 : CutAlong(cuts, d));
    }
  }
  return strategy;
}

void KeepWhatDivides(const FollowingOperator& op, Strategy& strategy) {
  for (std::size_t i = 0; i < std::min(strategy.size(), op.inputs.size()); ++i) {
    for (std::size_t d = 0; d < std::min(strategy[i].size(), op.inputs[i].size()); ++d) {
      std::int64_t& cut = strategy[i][d];
      cut = cut > op.inputs[i][d] || op.inputs[i][d] % cut != 0 ? 1 : cut;
    }
  }
}

/// The smaller operand of two, cut as the larger one where it is not spread.
Cuts Spread(const Shape& shape, const Cuts& cuts) {
  Cuts entry = Ones(shape);
  for (std::size_t back = 1; back <= shape.size(); ++back) {
    const std::size_t d = shape.size() - back;
    entry[d] = shape[d] == 1 || back > cuts.size() ? 1 : cuts[cuts.size() - back];
  }
  return entry;
}

Strategy Broadcasting(const FollowingOperator& op, const Cuts& cuts) {
  Strategy strategy;
  if (op.inputs.size() < 2 || op.inputs[0].size() == op.inputs[1].size()) {
    strategy = Plain(op, cuts);
  } else {
    const std::size_t large = op.inputs[0].size() > op.inputs[1].size() ? 0 : 1;
    // Cuts of the smaller operand say nothing about the larger one.
    const bool fits = cuts.size() == op.inputs[large].size();
    strategy.resize(2);
    strategy[large] = fits ? cuts : Ones(op.inputs[large]);
    strategy[1 - large] = fits ? Spread(op.inputs[1 - large], cuts) : Ones(op.inputs[1 - large]);
  }
  KeepWhatDivides(op, strategy);
  return strategy;
}

Strategy SoftmaxForm(const FollowingOperator& op, const Cuts& cuts) {
  Strategy strategy = {cuts};
  const auto axes = IntListAttr(op.node->attrs, "axis").value_or(std::nullopt);
  for (std::int64_t axis : axes.value_or(std::vector<std::int64_t>{-1})) {
    axis += axis < 0 ? std::ssize(op.inputs.front()) : 0;
    if (axis >= 0 && axis < std::ssize(strategy[0])) {
      strategy[0][static_cast<std::size_t>(axis)] = 1;
    }
  }
  KeepWhatDivides(op, strategy);
  return strategy;
}

/// Whatever the neighbours say: along the first dimension into as many parts as there are ranks.
Strategy RmsNormForm(const FollowingOperator& op, std::int64_t stage_devices) {
  Cuts first = Ones(op.inputs[0]);
  if (!first.empty()) {
    first[0] = std::min(op.inputs[0][0], stage_devices);
  }
  Strategy strategy = {first};
  if (op.inputs.size() > 1) {
    const std::size_t more =
        op.inputs[0].size() - std::min(op.inputs[0].size(), op.inputs[1].size());
    strategy.emplace_back(first.begin() + static_cast<std::ptrdiff_t>(more), first.end());
  }
  return strategy;
}

/// The contracted dimension stays whole.
Strategy BatchMatMulForm(const FollowingOperator& op, const Cuts& cuts) {
  const auto from_end = [&](std::size_t back) {
    return back <= cuts.size() ? cuts[cuts.size() - back] : 1;
  };
  Strategy strategy;
  for (std::size_t i = 0; i < 2; ++i) {
    const bool turned =
        BoolAttr(op.node->attrs, i == 0 ? "transpose_a" : "transpose_b", false).value_or(false);
    Cuts entry = Ones(op.inputs[i]);
    const std::size_t rank = entry.size();
    for (std::size_t back = 3; back <= rank; ++back) {
      entry[rank - back] = from_end(back);
    }
    // Rows of the first operand and columns of the second one.
    const std::size_t kept = (i == 0) != turned ? 2 : 1;
    entry[rank - kept] = from_end(i == 0 ? 2 : 1);
    strategy.push_back(std::move(entry));
  }
  return strategy;
}

Strategy OneHotForm(const FollowingOperator& op, Cuts cuts) {
  const Shape& result = op.outputs.front();
  cuts.resize(std::max(cuts.size(), result.size()), 1);
  for (std::size_t d = 0; d < result.size(); ++d) {
    cuts[d] = cuts[d] > result[d] ? 1 : cuts[d];
  }
  Strategy strategy(op.inputs.size());
  strategy.front() = std::move(cuts);
  return strategy;
}

/// Dimensions of which a part is taken stay whole.
Strategy StridedSliceForm(const FollowingOperator& op, const Cuts& cuts) {
  const AttrMap& attrs = op.node->attrs;
  const auto list = [&](std::string_view name) {
    return IntListAttr(attrs, name).value_or(std::nullopt).value_or(std::vector<std::int64_t>{});
  };
  const auto bit = [&](std::string_view mask, std::size_t d) {
    return ((IntAttr(attrs, mask, 0).value_or(0) >> d) & 1) != 0;
  };
  const std::vector<std::int64_t> begin = list("begin");
  const std::vector<std::int64_t> end = list("end");
  const std::vector<std::int64_t> strides = list("strides");
  Cuts entry = cuts;
  const Shape& shape = op.inputs.front();
  for (std::size_t d = 0; d < std::min({begin.size(), end.size(), shape.size(), entry.size()});
       ++d) {
    const bool whole = (begin[d] == 0 || bit("begin_mask", d)) &&
                       (end[d] >= shape[d] || bit("end_mask", d)) && !bit("shrink_axis_mask", d);
    const bool steps = d < strides.size() && strides[d] != 1;
    entry[d] = !whole || steps ? 1 : entry[d];
  }
  return {entry};
}

/// Only what is batch, head or sequence is cut; keys and values keep their sequence whole.
Strategy AttentionForm(const FollowingOperator& op, const Cuts& cuts) {
  const std::string layout = TextAttr(op.node->attrs, "input_layout", "BSH").value_or("BSH");
  const auto place = [&](char letter) { return layout.find(letter); };
  const std::size_t batch = place('B') == std::string::npos ? 0 : place('B');
  const std::size_t head = layout.find_first_of("NH") == std::string::npos
                               ? cuts.size() - 1
                               : layout.find_first_of("NH");
  const std::size_t sequence = layout.find_first_of("ST");
  const Cuts whole = Ones(op.inputs[0]);
  Cuts query = whole;
  query[batch] = CutAlong(cuts, batch);
  query[head] = CutAlong(cuts, head);
  if (sequence < query.size()) {
    query[sequence] = CutAlong(cuts, sequence);
  }
  const bool splits_heads = op.inputs[0][head] == op.inputs[1][head] || op.inputs[1][head] != 1;
  Cuts key = Ones(op.inputs[1]);
  key[batch] = query[batch];
  key[head] = splits_heads ? query[head] : 1;
  Strategy strategy = {query, key, key};
  const std::int64_t rows = sequence < query.size() ? query[sequence] : 1;
  for (std::size_t i = 3; i < op.inputs.size(); ++i) {
    const Shape& shape = op.inputs[i];
    Cuts entry = Ones(shape);
    if (shape.size() == 4) {
      entry = {shape[0] == 1 ? 1 : query[batch], shape[1] == 1 ? 1 : query[head],
               shape[2] == 1 ? 1 : rows, 1};
    } else if (shape.size() == 2) {
      entry = {rows, 1};
    }
    strategy.push_back(std::move(entry));
  }
  return strategy;
}

/// Rows of the table or the indices are halved, indices first; a table is not cut along the axis if
/// the indices are cut.
Strategy GatherForm(const FollowingOperator& op, std::int64_t stage_devices) {
  std::int64_t axis = IntAttr(op.node->attrs, "axis", 0).value_or(0);
  axis += axis < 0 ? std::ssize(op.inputs[0]) : 0;
  const auto place = static_cast<std::size_t>(axis);
  const Cuts of_result = CutsOfShape(op.outputs.front(), stage_devices);
  Strategy strategy = {Ones(op.inputs[0]), Ones(op.inputs[1])};
  if (IntAttr(op.node->attrs, "batch_dims", 0).value_or(0) > 1) {
    strategy = {of_result, of_result};
    strategy[0][std::min(place, of_result.size() - 1)] = 1;
    return strategy;
  }
  if (axis == 0) {
    std::int64_t used = 1;
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      std::int64_t left = op.inputs[i].empty() ? 1 : op.inputs[i][0];
      for (; left > 0 && left % 2 == 0 && used < stage_devices; left /= 2) {
        used *= 2;
        strategy[i][0] *= 2;
      }
    }
  } else if (axis == 1) {
    strategy[0][0] = CutAlong(of_result, 0);
    for (std::size_t d = 0; d < op.inputs[1].size(); ++d) {
      strategy[1][d] = CutAlong(of_result, op.inputs[0].size() - 1 + d);
    }
  }
  const bool indices_cut =
      std::ranges::any_of(strategy[1], [](std::int64_t cut) { return cut > 1; });
  if (indices_cut && place < strategy[0].size()) {
    strategy[0][place] = 1;
  }
  return strategy;
}

/// One axis stays whole.
Cuts WithWholeAxis(const FollowingOperator& op, Cuts cuts, std::int64_t fallback) {
  const auto axes = IntListAttr(op.node->attrs, "axis").value_or(std::nullopt);
  std::int64_t axis = axes && !axes->empty() ? axes->front() : fallback;
  axis += axis < 0 ? std::ssize(op.inputs.front()) : 0;
  if (axis >= 0 && axis < std::ssize(cuts)) {
    cuts[static_cast<std::size_t>(axis)] = 1;
  }
  return cuts;
}

Strategy LayerNormForm(const Cuts& cuts) {
  Cuts first = cuts;
  if (!first.empty()) {
    first.back() = 1;
  }
  return {first, {1}, {1}};
}

Strategy FillForm(const FollowingOperator& op, Cuts cuts) {
  cuts.resize(std::max(cuts.size(), op.outputs.front().size()), 1);
  return {cuts, {}};
}

}  // namespace

Strategy WholeBatchStrategy(const FollowingOperator& op, std::int64_t stage_devices) {
  Strategy strategy;
  for (const Shape& shape : op.inputs) {
    Cuts& entry = strategy.emplace_back(shape.size(), 1);
    if (!shape.empty() && shape[0] % stage_devices == 0) {
      entry[0] = stage_devices;
    }
  }
  return strategy;
}

Strategy StrategyFromCuts(const FollowingOperator& op, const Cuts& cuts,
                          std::int64_t stage_devices) {
  if (cuts.empty()) {
    return Strategy(op.inputs.size());
  }
  switch (op.form) {
    case FollowForm::kArithmetic:
    case FollowForm::kBroadcast:
      return Broadcasting(op, cuts);
    case FollowForm::kBiasAdd:
      return {cuts, {CutAlong(cuts, 1)}};
    case FollowForm::kSoftmax:
      return SoftmaxForm(op, cuts);
    case FollowForm::kLayerNorm:
      return LayerNormForm(cuts);
    case FollowForm::kRmsNorm:
      return RmsNormForm(op, stage_devices);
    case FollowForm::kBatchMatMul:
      return BatchMatMulForm(op, cuts);
    case FollowForm::kAttention:
      return AttentionForm(op, cuts);
    case FollowForm::kGather:
      return GatherForm(op, stage_devices);
    case FollowForm::kOneHot:
      return OneHotForm(op, cuts);
    case FollowForm::kStridedSlice:
      return StridedSliceForm(op, cuts);
    case FollowForm::kL2Normalize:
      return {WithWholeAxis(op, cuts, 0)};
    case FollowForm::kFill:
      return FillForm(op, cuts);
    case FollowForm::kFirstOperand:
      return {cuts};
    case FollowForm::kFlatten:
    case FollowForm::kWholeBatch:
      return WholeBatchStrategy(op, stage_devices);
    default:
      return Plain(op, cuts);
  }
}

}  // namespace drydock::strategies
