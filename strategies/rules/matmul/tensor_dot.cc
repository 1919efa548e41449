#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Products that contract any pairs of dimensions.
/// Source: mindspore ops_info/tensordot_info.cc.
namespace drydock::strategies {
namespace {

// ---- TensorDot ----------------------------------------------------------------------------------

/// Contracted dimensions of both operands, paired, and the others in order.
struct DotForm {
  std::vector<std::size_t> contracted[2] = {};
  std::vector<std::size_t> kept[2] = {};
};

tl::unexpected<Error> FailAxes(const OpView& op) {
  return FailOp(op, "axes",
                "attribute 'axes' of '" + std::string(op.op) +
                    "' must be a number of dimensions or a pair of lists of equal length");
}

/// One entry of the pair: a list of dimensions.
std::vector<std::int64_t> AxesFrom(const Attr& attr) {
  const auto list = IntListAttr({{"axes", attr}}, "axes");
  return list && list->has_value() ? **list : std::vector<std::int64_t>{};
}

/// Fills in the dimensions that are not contracted.
void AddKept(const OpView& op, DotForm& form) {
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t d = 0; d < op.inputs[side].shape.size(); ++d) {
      if (std::ranges::find(form.contracted[side], d) == form.contracted[side].end()) {
        form.kept[side].push_back(d);
      }
    }
  }
}

Result<DotForm> DotFormOf(const OpView& op) {
  const auto it = op.attrs->find("axes");
  const std::size_t ranks[2] = {op.inputs[0].shape.size(), op.inputs[1].shape.size()};
  DotForm form = {};
  if (it == op.attrs->end()) {
    return FailAxes(op);
  }
  if (const auto* count = std::get_if<std::int64_t>(&it->second.value)) {
    if (*count < 0 || *count > std::ssize(op.inputs[0].shape) ||
        *count > std::ssize(op.inputs[1].shape)) {
      return FailAxes(op);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(*count); ++i) {
      form.contracted[0].push_back(ranks[0] - static_cast<std::size_t>(*count) + i);
      form.contracted[1].push_back(i);
    }
  } else {
    const auto* pair = std::get_if<Attr::List>(&it->second.value);
    if (pair == nullptr || pair->size() != 2) {
      return FailAxes(op);
    }
    for (std::size_t side = 0; side < 2; ++side) {
      if (!std::holds_alternative<Attr::List>((*pair)[side].value)) {
        return FailAxes(op);
      }
      for (const std::int64_t axis : AxesFrom((*pair)[side])) {
        DRYDOCK_TRY(const std::size_t dim, NormalisedAxis(op, axis, ranks[side]));
        if (std::ranges::find(form.contracted[side], dim) != form.contracted[side].end()) {
          return FailAxes(op);  // The same dimension twice.
        }
        form.contracted[side].push_back(dim);
      }
    }
  }
  if (form.contracted[0].size() != form.contracted[1].size()) {
    return FailAxes(op);
  }
  AddKept(op, form);
  return form;
}

Result<std::vector<TensorType>> InferTensorDot(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_TRY(const DotForm form, DotFormOf(op));
  for (std::size_t i = 0; i < form.contracted[0].size(); ++i) {
    const std::size_t d0 = form.contracted[0][i];
    const std::size_t d1 = form.contracted[1][i];
    if (op.inputs[0].shape[d0] != op.inputs[1].shape[d1]) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "' cannot contract dimension " + std::to_string(d0) +
                        " of " + TupleText(op.inputs[0].shape) + " with dimension " +
                        std::to_string(d1) + " of " + TupleText(op.inputs[1].shape));
    }
  }
  TensorType out{.dtype = op.inputs[0].dtype};
  for (std::size_t side = 0; side < 2; ++side) {
    for (const std::size_t d : form.kept[side]) {
      out.shape.push_back(op.inputs[side].shape[d]);
    }
  }
  return std::vector<TensorType>{std::move(out)};
}

/// D = dimensions of x1, then the kept ones of x2.
Result<ShardRule> ShardTensorDot(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const DotForm form, DotFormOf(op));
  const TensorAxes first = AxesInOrder(op.inputs[0].shape.size());
  TensorAxes second(op.inputs[1].shape.size());
  ForwardCommunication sum = {};
  for (std::size_t i = 0; i < form.contracted[0].size(); ++i) {
    second[form.contracted[1][i]] = first[form.contracted[0][i]];
    sum.axes.push_back(first[form.contracted[0][i]].front());
  }
  TensorAxes out = {};
  for (const std::size_t d : form.kept[0]) {
    out.push_back(first[d]);
  }
  auto next = static_cast<AxisIndex>(first.size());
  for (const std::size_t d : form.kept[1]) {
    second[d] = {next++};
    out.push_back(second[d]);
  }
  ShardRule rule{
      .axis_count = next, .inputs = {first, std::move(second)}, .outputs = {std::move(out)}};
  if (!sum.axes.empty()) {
    rule.communication.push_back(std::move(sum));
  }
  return rule;
}

/// Dimension 0 of x1, and the dimension of x2 it is paired with.
Result<Strategy> DefaultTensorDot(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const DotForm form, DotFormOf(op));
  Strategy strategy = BatchStrategy(op, device_count, {true});
  for (std::size_t i = 0; i < form.contracted[0].size(); ++i) {
    if (form.contracted[0][i] == 0) {
      strategy[1][form.contracted[1][i]] = strategy[0][0];
    }
  }
  return strategy;
}

Attr::List DimsAttr(const std::vector<std::size_t>& dims) {
  Attr::List list = {};
  for (const std::size_t d : dims) {
    list.emplace_back(static_cast<std::int64_t>(d));
  }
  return list;
}

std::vector<std::size_t> Range(std::size_t first, std::size_t count) {
  std::vector<std::size_t> range(count);
  std::iota(range.begin(), range.end(), first);
  return range;
}

/// `value` with the dimensions that are listed in `dims` put to those places.
Result<ValueId> EmitPlaced(const GradientContext& context, ValueId value,
                           const std::vector<std::size_t>& dims) {
  std::vector<std::int64_t> order(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    order[dims[i]] = static_cast<std::int64_t>(i);
  }
  if (std::ranges::is_sorted(order)) {
    return value;
  }
  return context.Emit("Transpose", {value}, {{"input_perm", order}});
}

/// Gradient of one operand: dY contracted with the other operand over that one's kept dimensions
/// gives [kept of this, contracted], which is put back in this operand's order.
Result<ValueId> EmitDotGradient(const GradientContext& context, const DotForm& form,
                                std::size_t side) {
  const std::size_t other = 1 - side;
  const std::size_t first = other == 0 ? 0 : form.kept[0].size();
  const std::vector<std::size_t> of_gradient = Range(first, form.kept[other].size());
  DRYDOCK_TRY(
      const ValueId product,
      context.Emit("TensorDot", {OutputGradient(context), context.node.inputs[other]},
                   {{"axes", Attr::List{DimsAttr(of_gradient), DimsAttr(form.kept[other])}}}));
  // The product keeps the other operand's contracted dimensions in that operand's order.
  std::vector<std::size_t> by_place = Range(0, form.contracted[other].size());
  std::ranges::sort(by_place, {}, [&](std::size_t i) { return form.contracted[other][i]; });
  std::vector<std::size_t> dims = form.kept[side];
  for (const std::size_t i : by_place) {
    dims.push_back(form.contracted[side][i]);
  }
  return EmitPlaced(context, product, dims);
}

Result<std::vector<ValueId>> GradientOfTensorDot(const GradientContext& context) {
  OpViewStorage storage = {};
  DRYDOCK_TRY(const DotForm form,
              DotFormOf(ViewOf(context.builder.graph(), context.node, storage)));
  std::vector<ValueId> gradients = NoGradients(context);
  for (std::size_t side = 0; side < 2; ++side) {
    if (context.wanted[side]) {
      DRYDOCK_TRY(gradients[side], EmitDotGradient(context, form, side));
    }
  }
  return gradients;
}

NdArray AsMatrix(const NdArray& array, std::vector<std::size_t> rows,
                 const std::vector<std::size_t>& columns) {
  std::int64_t count = 1;
  for (const std::size_t d : rows) {
    count *= array.shape[d];
  }
  std::int64_t width = 1;
  for (const std::size_t d : columns) {
    width *= array.shape[d];
  }
  rows.insert(rows.end(), columns.begin(), columns.end());
  return ReshapeArray(TransposeArray(array, rows), {count, width});
}

Result<std::vector<NdArray>> EvaluateTensorDot(const EvaluateContext& context) {
  DRYDOCK_TRY(const DotForm form, DotFormOf(context.View()));
  const NdArray product =
      MatMulArrays(AsMatrix(context.inputs[0], form.kept[0], form.contracted[0]),
                   AsMatrix(context.inputs[1], form.contracted[1], form.kept[1]));
  return std::vector<NdArray>{ReshapeArray(product, context.output_types[0].shape)};
}

/// 2 * elements of the result * contracted elements.
double TensorDotFlops(const OpView& op) {
  double flops = 2 * Elements(op.outputs[0]);
  if (const auto form = DotFormOf(op)) {
    for (const std::size_t d : form->contracted[0]) {
      flops *= static_cast<double>(op.inputs[0].shape[d]);
    }
  }
  return flops;
}

DRYDOCK_OP(TensorDot, .family = "matmul", .signature = "TensorDot(axes=2)(x1, x2)",
           .infer = InferTensorDot, .shard = ShardTensorDot, .default_strategy = DefaultTensorDot,
           .gradient = GradientOfTensorDot, .values = "-", .evaluate = EvaluateTensorDot,
           .flops = TensorDotFlops, .cost = CostFamily::kMatMul, .work = WorkKind::kProduct,
           .example = "(axes=1)((4, 6), (6, 8))");

}  // namespace
}  // namespace drydock::strategies
