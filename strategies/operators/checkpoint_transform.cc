#include "strategies/operators/checkpoint_transform.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/checked.h"
#include "strategies/layout/plain_layout.h"
#include "strategies/operators/known_ops.h"

namespace drydock::strategies {
namespace {

Status CheckPosition(const TensorLayout& layout, std::int64_t position) {
  const std::int64_t devices = Product(layout.device_matrix);
  if (position < 0 || position >= devices) {
    return FailInput("Transform:rank", "position " + std::to_string(position) +
                                           " is not below the " + std::to_string(devices) +
                                           " devices of the layout");
  }
  return {};
}

void AppendValues(const std::vector<RankExpr>& exprs, std::int64_t position,
                  std::vector<std::int64_t>* values) {
  for (const RankExpr& expr : exprs) {
    values->push_back(ValueAt(expr, position));
  }
}

std::vector<TransformOp> InTransformForm(const std::vector<RedistributionOp>& ops,
                                         std::int64_t position, std::int64_t stage_begin) {
  std::vector<TransformOp> result;
  for (const RedistributionOp& op : ops) {
    switch (op.kind) {
      case RedistributionOp::Kind::kAllGather:
        result.push_back(
            {.name = "AllConcat", .args = GroupRanks(op.group, position, stage_begin)});
        result.back().args.push_back(0);
        break;
      case RedistributionOp::Kind::kSplit:
        break;  // belongs to the AllGather before and the Concat behind
      case RedistributionOp::Kind::kConcat:
        result.back().args.back() = op.axis;
        break;
      case RedistributionOp::Kind::kStridedSlice: {
        TransformOp& slice =
            result.emplace_back(TransformOp{.name = std::string(ops::kStridedSlice)});
        AppendValues(op.begin, position, &slice.args);
        AppendValues(op.end, position, &slice.args);
        slice.args.resize(slice.args.size() + op.begin.size(), 1);
        break;
      }
      case RedistributionOp::Kind::kReshape:
        result.push_back({.name = std::string(ops::kReshape), .args = op.output_shape});
        break;
      case RedistributionOp::Kind::kAlltoAll:
        DRYDOCK_CHECK(false);  // transformation never enables it
    }
  }
  return result;
}

TensorLayout AsLayout(const PlainLayout& plain) {
  return MakeLayout(plain.device_matrix, plain.tensor_map, plain.shape);
}

RedistributionOp ReshapeOp(const Shape& input, const Shape& output) {
  return {.kind = RedistributionOp::Kind::kReshape, .input_shape = input, .output_shape = output};
}

/// Optimized redistribution in which the Reshapes between the user's dimensions and those of the
/// extended form stay outside of the optimizer, as the reference's tool for it does.
Result<std::vector<RedistributionOp>> OptimizedBetweenExtendedForms(const TensorLayout& from,
                                                                    const TensorLayout& to) {
  DRYDOCK_TRY(auto whole, InferRedistribution(from, to, {}));
  if (std::all_of(whole.begin(), whole.end(), [](const RedistributionOp& op) {
        return op.kind == RedistributionOp::Kind::kReshape;
      })) {
    return whole;
  }
  const TensorLayout inner_from = AsLayout(ExtendedForm(from));
  const TensorLayout inner_to = AsLayout(ExtendedForm(to));
  DRYDOCK_TRY(auto ops, InferRedistribution(inner_from, inner_to, {}));
  if (SliceShape(from) != SliceShape(inner_from)) {
    ops.insert(ops.begin(), ReshapeOp(SliceShape(from), SliceShape(inner_from)));
  }
  if (SliceShape(to) != SliceShape(inner_to)) {
    ops.push_back(ReshapeOp(SliceShape(inner_to), SliceShape(to)));
  }
  return ops;
}

/// The operators of every rank that `position` reads, by rank.
std::map<std::int64_t, std::vector<TransformOp>> OfAllThatAreRead(
    const std::vector<RedistributionOp>& ops, std::int64_t position, std::int64_t stage_begin) {
  std::map<std::int64_t, std::vector<TransformOp>> by_rank;
  for (const std::int64_t reader : PositionsReadBy(ops, position)) {
    by_rank.emplace(stage_begin + reader, InTransformForm(ops, reader, stage_begin));
  }
  return by_rank;
}

}  // namespace

std::vector<std::int64_t> PositionsReadBy(const std::vector<RedistributionOp>& ops,
                                          std::int64_t position) {
  std::set<std::int64_t> positions = {position};
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    if (op->group.digits.empty()) {
      continue;
    }
    std::set<std::int64_t> earlier;
    for (const std::int64_t reader : positions) {
      const auto members = GroupRanks(op->group, reader, 0);
      earlier.insert(members.begin(), members.end());
    }
    positions = std::move(earlier);
  }
  return {positions.begin(), positions.end()};
}

Result<std::map<std::int64_t, std::vector<TransformOp>>> ReshardOps(const TensorLayout& from,
                                                                    const TensorLayout& to,
                                                                    std::int64_t position,
                                                                    std::int64_t stage_begin) {
  DRYDOCK_TRY(const auto ops, OptimizedBetweenExtendedForms(from, to));
  DRYDOCK_RETURN_IF_ERROR(CheckPosition(from, position));
  return OfAllThatAreRead(ops, position, stage_begin);
}

Result<std::map<std::int64_t, std::vector<TransformOp>>> TransformOpsOfAll(
    const TensorLayout& from, const TensorLayout& to, std::int64_t position,
    std::int64_t stage_begin) {
  DRYDOCK_TRY(const auto ops, InferRedistribution(from, to, {.optimize = false}));
  DRYDOCK_RETURN_IF_ERROR(CheckPosition(from, position));
  return OfAllThatAreRead(ops, position, stage_begin);
}

}  // namespace drydock::strategies
