#include "strategies/operators/checkpoint_transform.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
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

/// A parameter without elements of its own: every dimension long enough for both jobs.
TensorLayout WithStandInShape(const TensorLayout& layout, const Shape& shape) {
  TensorLayout result = layout;
  result.shape = shape;
  return result;
}

/// Positions in the larger of the two jobs that `position` reads for one parameter.
Result<std::vector<std::int64_t>> PositionsForParameter(const TensorLayout& source,
                                                        const TensorLayout& target,
                                                        std::int64_t position,
                                                        std::int64_t devices) {
  Shape shape = CutsOf(source);
  for (std::int64_t& extent : shape) {
    DRYDOCK_TRY(extent, MulChecked(extent, devices));
  }
  TensorLayout from = WithStandInShape(source, shape);
  TensorLayout to = WithStandInShape(target, shape);
  DRYDOCK_RETURN_IF_ERROR(AlignDeviceCounts(&from, &to));
  DRYDOCK_TRY(const auto ops, InferRedistribution(from, to, {.optimize = false}));
  return PositionsReadBy(ops, position);
}

Result<std::int64_t> DevicesOf(const StoredLayouts& layouts) {
  DRYDOCK_TRY(const std::int64_t devices,
              ProductChecked(layouts.begin()->second.layout.device_matrix));
  if (devices < 1) {
    return FailInput("Transform:device-count", "a layout has no devices");
  }
  return devices;
}

/// Splits the free axis at `index` from the left into {rest, inner} and renumbers the map.
void SplitAxis(TensorLayout* layout, std::size_t index, std::int64_t inner) {
  const auto axis_from_right = static_cast<std::int64_t>(layout->device_matrix.size() - 1 - index);
  layout->device_matrix[index] /= inner;
  layout->device_matrix.insert(
      layout->device_matrix.begin() + static_cast<std::ptrdiff_t>(index) + 1, inner);
  for (auto& axes : layout->tensor_map) {
    for (std::int64_t& axis : axes) {
      axis += axis > axis_from_right ? 1 : 0;
    }
  }
}

bool IsMapped(const TensorLayout& layout, std::int64_t axis) {
  return std::any_of(layout.tensor_map.begin(), layout.tensor_map.end(), [axis](const auto& axes) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  });
}

/// Free axes (from the right, outermost first) that number `size` ranks `step` apart; an axis that
/// is too long is split in `layout`.
std::optional<std::vector<std::int64_t>> FreeAxes(TensorLayout* layout, std::int64_t step,
                                                  std::int64_t size) {
  std::vector<std::int64_t> axes;
  std::int64_t stride = 1;
  std::int64_t missing = size;
  for (std::size_t index = layout->device_matrix.size(); index-- > 0 && missing > 1;) {
    const auto axis = static_cast<std::int64_t>(layout->device_matrix.size() - 1 - index);
    std::int64_t extent = layout->device_matrix[index];
    const bool wanted = extent > 1 && !IsMapped(*layout, axis) && stride >= step;
    if (wanted && axes.empty() && step != 1 && stride != step) {
      return std::nullopt;
    }
    stride *= extent;
    if (!wanted) {
      continue;
    }
    if (extent > missing && extent % missing == 0) {
      SplitAxis(layout, index, missing);
      extent = missing;
    }
    if (missing % extent != 0) {
      return std::nullopt;
    }
    missing /= extent;
    axes.insert(axes.begin(), axis);
  }
  return missing == 1 ? std::optional(std::move(axes)) : std::nullopt;
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

Result<std::vector<TransformOp>> TransformOps(const TensorLayout& from, const TensorLayout& to,
                                              std::int64_t position, std::int64_t stage_begin) {
  DRYDOCK_TRY(const auto ops, InferRedistribution(from, to, {.optimize = false}));
  DRYDOCK_RETURN_IF_ERROR(CheckPosition(from, position));
  return InTransformForm(ops, position, stage_begin);
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

Status AlignDeviceCounts(TensorLayout* from, TensorLayout* to) {
  DRYDOCK_TRY(const std::int64_t from_devices, ProductChecked(from->device_matrix));
  DRYDOCK_TRY(const std::int64_t to_devices, ProductChecked(to->device_matrix));
  const std::int64_t smaller = std::min(from_devices, to_devices);
  const std::int64_t larger = std::max(from_devices, to_devices);
  if (smaller < 1 || larger % smaller != 0) {
    return FailInput("Transform:device-count",
                     "layouts on " + std::to_string(from_devices) + " and " +
                         std::to_string(to_devices) + " devices cannot be brought together",
                     "one number of devices must be a multiple of the other");
  }
  if (from_devices != to_devices) {
    auto& matrix = (from_devices < to_devices ? from : to)->device_matrix;
    matrix.insert(matrix.begin(), larger / smaller);
  }
  return {};
}

Result<TensorLayout> OptimizerShardLayout(const TensorLayout& layout, std::int64_t step,
                                          std::int64_t size) {
  DRYDOCK_RETURN_IF_ERROR(ValidateLayout(layout));
  TensorLayout result = layout;
  const std::int64_t replicas = GroupSize(ReplicaPattern(layout));
  if (size == -1 || size == replicas) {
    size = replicas;
    step = 1;  // every free axis takes part, wherever it lies
  }
  if (size == 0 || size == 1 || layout.shape.empty()) {
    return result;
  }
  auto axes = size > 0 && step > 0 ? FreeAxes(&result, step, size) : std::nullopt;
  const std::int64_t cut = CutsOf(layout)[0];
  if (!axes || layout.shape[0] / cut % size != 0) {
    return FailInput("Transform:optimizer-shard", "no free device axes divide the rows among " +
                                                      std::to_string(size) + " ranks " +
                                                      std::to_string(step) + " apart");
  }
  result.shape[0] = cut;
  result.shape.insert(result.shape.begin() + 1, layout.shape[0] / cut);
  result.tensor_map.insert(result.tensor_map.begin() + 1, *std::move(axes));
  for (std::size_t& dimension : result.trailing_none) {
    dimension += dimension > 0 ? 1 : 0;
  }
  return result;
}

Result<std::vector<std::int64_t>> RanksForTransform(std::int64_t rank, const StoredLayouts& source,
                                                    const StoredLayouts& target) {
  if (source.empty()) {
    return std::vector<std::int64_t>{0};
  }
  if (target.empty() || rank < 0) {
    return FailInput("Transform:rank", "there is no layout for rank " + std::to_string(rank));
  }
  DRYDOCK_TRY(const std::int64_t source_devices, DevicesOf(source));
  DRYDOCK_TRY(const std::int64_t target_devices, DevicesOf(target));
  std::set<std::int64_t> positions;
  std::set<std::int64_t> stages;
  for (const auto& [name, stored] : target) {
    const auto& held = stored.stages;
    const auto found = source.find(name);
    if (found == source.end() ||
        std::find(held.begin(), held.end(), rank / target_devices) == held.end()) {
      continue;
    }
    DRYDOCK_TRY(const auto read,
                PositionsForParameter(found->second.layout, stored.layout, rank % target_devices,
                                      std::max(source_devices, target_devices)));
    for (const std::int64_t position : read) {
      positions.insert(position % source_devices);
    }
    stages.insert(found->second.stages.begin(), found->second.stages.end());
  }
  std::set<std::int64_t, std::greater<>> ranks;
  for (const std::int64_t stage : stages) {
    for (const std::int64_t position : positions) {
      ranks.insert(stage * source_devices + position);
    }
  }
  return std::vector<std::int64_t>(ranks.begin(), ranks.end());
}

}  // namespace drydock::strategies
