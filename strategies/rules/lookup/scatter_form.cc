#include "strategies/rules/lookup/scatter_form.h"

#include <string>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"

namespace drydock::strategies {
namespace {

/// Numbers of the rank where its slice begins, one for each coordinate: sum of unit vectors times
/// rank scalars.
Result<ValueId> EmitBegins(const LocalizeContext& context, const ScatterForm& form,
                           const Shape& local_x, DType dtype) {
  const Shape shape = {static_cast<std::int64_t>(form.picked)};
  ValueId sum = kNoValue;
  for (std::size_t j = 0; j < form.picked; ++j) {
    if (local_x[j] == context.global.inputs[0].shape[j]) {
      continue;
    }
    std::vector<double> unit(form.picked, 0.0);
    unit[j] = 1;
    DRYDOCK_TRY(const ValueId direction,
                context.builder.AddConstant({.shape = shape, .dtype = dtype}, std::move(unit)));
    const RankExpr begin = Times(context.sharding.axis_parts[j], local_x[j]);
    DRYDOCK_TRY(const ValueId number, EmitRankScalar(context, begin, dtype));
    DRYDOCK_TRY(const ValueId part, EmitHelper(context, ops::kMul, {direction, number}));
    if (sum == kNoValue) {
      sum = part;
    } else {
      DRYDOCK_TRY(sum, EmitHelper(context, ops::kAdd, {sum, part}));
    }
  }
  return sum;
}

Result<OwnPlaces> EmitOwnCoordinates(const LocalizeContext& context, const ScatterForm& form,
                                     ValueId indices, const Shape& local_x) {
  const DType dtype = context.builder.TypeOf(indices).dtype;
  DRYDOCK_TRY(const ValueId begins, EmitBegins(context, form, local_x, dtype));
  std::vector<double> last = {};
  for (std::size_t j = 0; j < form.picked; ++j) {
    last.push_back(static_cast<double>(local_x[j] - 1));
  }
  DRYDOCK_TRY(const ValueId lasts,
              context.builder.AddConstant(
                  {.shape = {static_cast<std::int64_t>(form.picked)}, .dtype = dtype}, last));
  DRYDOCK_TRY(const ValueId shifted, EmitHelper(context, "Sub", {indices, begins}));
  DRYDOCK_TRY(const ValueId positive, EmitHelper(context, "ReLU", {shifted}));
  OwnPlaces own = {};
  DRYDOCK_TRY(own.indices, EmitHelper(context, "Minimum", {positive, lasts}));
  DRYDOCK_TRY(const ValueId inside, EmitHelper(context, "Equal", {shifted, own.indices}));
  DRYDOCK_TRY(const ValueId flags, EmitHelperCast(context, inside, DType::kInt32));
  DRYDOCK_TRY(const ValueId all, EmitHelper(context, "ReduceProd", {flags}, {{"axis", -1}}));
  DRYDOCK_TRY(own.is_own, EmitHelperCast(context, all, DType::kBool));
  return own;
}

}  // namespace

ScatterForm RowForm(const OpView& op) {
  return {.picked = 1, .index_rank = op.inputs[1].shape.size()};
}

Result<ScatterForm> CoordinateForm(const OpView& op) {
  const Shape& indices = op.inputs[1].shape;
  const std::size_t rank = op.inputs[0].shape.size();
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 1, 1, std::string::npos));
  if (indices.back() < 1 || indices.back() > static_cast<std::int64_t>(rank)) {
    return FailOp(
        op, "shape-mismatch",
        "indices of shape " + TupleText(indices) + " hold " + std::to_string(indices.back()) +
            " coordinates in their last dimension, but "
            "the tensor of shape " +
            TupleText(op.inputs[0].shape) + " has " + std::to_string(rank) + " dimensions");
  }
  return ScatterForm{.picked = static_cast<std::size_t>(indices.back()),
                     .index_rank = indices.size() - 1,
                     .coordinates = true};
}

std::int64_t ScatterTarget(const ScatterForm& form, const NdArray& indices, const Shape& x,
                           std::size_t n) {
  std::int64_t offset = 0;
  for (std::size_t j = 0; j < form.picked; ++j) {
    const auto at = static_cast<std::int64_t>(indices.data[n * form.picked + j]);
    if (at < 0 || at >= x[j]) {
      return -1;
    }
    offset = offset * x[j] + at;
  }
  for (std::size_t d = form.picked; d < x.size(); ++d) {
    offset *= x[d];
  }
  return offset;
}

Shape UpdatesShape(const ScatterForm& form, const Shape& indices, const Shape& x) {
  Shape shape(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(form.index_rank));
  shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(form.picked), x.end());
  return shape;
}

NdArray ScatterRows(const ScatterForm& form, NdArray x, const NdArray& indices,
                    const NdArray& updates, double (*f)(double, double)) {
  const std::size_t count = indices.data.size() / form.picked;
  const std::size_t row = count == 0 ? 0 : updates.data.size() / count;
  for (std::size_t n = 0; n < count; ++n) {
    const std::int64_t begin = ScatterTarget(form, indices, x.shape, n);
    for (std::size_t i = 0; begin >= 0 && i < row; ++i) {
      double& slot = x.data[static_cast<std::size_t>(begin) + i];
      slot = f(slot, updates.data[n * row + i]);
    }
  }
  return x;
}

Result<OwnPlaces> EmitOwnPlaces(const LocalizeContext& context, const ScatterForm& form,
                                ValueId indices, const Shape& local_x) {
  if (form.coordinates) {
    return EmitOwnCoordinates(context, form, indices, local_x);
  }
  DRYDOCK_TRY(const OwnRows own, EmitOwnRows(context, indices, local_x[0], 0));
  return OwnPlaces{.indices = own.indices, .is_own = own.is_own};
}

Result<ValueId> EmitMaskFor(const LocalizeContext& context, ValueId mask, ValueId like) {
  const TensorType wanted = context.builder.TypeOf(like);
  DRYDOCK_TRY(ValueId value, EmitHelperCast(context, mask, wanted.dtype));
  Shape shape = context.builder.TypeOf(value).shape;
  if (shape.size() == wanted.shape.size()) {
    return value;
  }
  shape.resize(wanted.shape.size(), 1);
  return EmitHelper(context, ops::kReshape, {value}, {{"shape", shape}});
}

}  // namespace drydock::strategies
