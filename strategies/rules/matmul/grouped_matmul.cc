#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/strategy_check.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/matmul/grouped_products.h"
#include "strategies/rules/matmul/matmul_form.h"

/// Several matrix products in one kernel. group_type -1: x[i] w[i]; 0: consecutive rows of one x
/// use one matrix each of w [e, k, n]; 2: consecutive columns of x [m, k] with the same rows of w
/// [k, n] give one matrix each. group_list holds the ends of the groups; with rows cut into s it
/// holds s such lists, one for each slice. Source: mindspore ops_info/grouped_matmul_info.cc.
namespace drydock::strategies {
namespace {

enum class GroupType : std::int8_t { kNone = -1, kRows = 0, kColumns = 2 };

/// Optional operands behind the tuples, by position after the last weight.
constexpr std::size_t kBias = 0;
constexpr std::size_t kGroupList = 5;
constexpr std::size_t kOptional = 6;

/// The operands taken apart: x and w of each product, and where the optional ones lie.
struct GroupedForm {
  GroupType type = GroupType::kNone;
  std::size_t products = 1;  ///< Entries of each tuple.
  /// Call position of an optional operand.
  [[nodiscard]] std::size_t Position(std::size_t optional) const { return 2 * products + optional; }
};

tl::unexpected<Error> FailGroups(const OpView& op, std::string why) {
  return FailOp(op, "group-type", "'" + std::string(op.op) + "' " + std::move(why));
}

Result<GroupType> TypeFrom(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t type, IntAttr(*op.attrs, "group_type", -1));
  DRYDOCK_TRY(const std::int64_t split, IntAttr(*op.attrs, "split_item", 0));
  DRYDOCK_TRY(const bool a, BoolAttr(*op.attrs, "transpose_a", false));
  DRYDOCK_TRY(const bool b, BoolAttr(*op.attrs, "transpose_b", false));
  if (a || b) {
    return UnsupportedForm(op, "'" + std::string(op.op) + "' with transposes is not handled");
  }
  const bool known = (type == -1 && split == 0) || ((type == 0 || type == 2) && split == 3);
  if (!known) {
    return FailGroups(op, "takes group_type -1 with split_item 0, or 0 or 2 with 3, not " +
                              std::to_string(type) + " with " + std::to_string(split));
  }
  return static_cast<GroupType>(type);
}

Result<GroupedForm> GroupedFormOf(const OpView& op) {
  GroupedForm form = {};
  DRYDOCK_TRY(form.type, TypeFrom(op));
  const std::size_t operands =
      op.inputs.size() + static_cast<std::size_t>(std::popcount(op.absent));
  const std::size_t tuples = operands > kOptional ? operands - kOptional : operands;
  form.products = tuples / 2;
  const std::uint64_t required = (std::uint64_t{1} << std::min<std::size_t>(tuples, 63)) - 1;
  if (tuples < 2 || tuples % 2 != 0 || (op.absent & required) != 0 ||
      (form.type != GroupType::kNone && form.products != 1)) {
    return FailGroups(op,
                      "takes as many matrices as inputs (one of each with group_type 0 or 2), "
                      "and " +
                          std::to_string(kOptional) + " optional operands");
  }
  return form;
}

/// Type of an optional operand; null if it is not there.
const TensorType* OptionalType(const OpView& op, const GroupedForm& form, std::size_t optional) {
  const std::ptrdiff_t index = PresentIndex(op, form.Position(optional));
  return index < 0 ? nullptr : &op.inputs[static_cast<std::size_t>(index)];
}

Status CheckProduct(const OpView& op, const GroupedForm& form, std::size_t i) {
  const Shape& x = op.inputs[i].shape;
  const Shape& w = op.inputs[form.products + i].shape;
  const std::size_t w_rank = form.type == GroupType::kRows ? 3 : 2;
  const bool fits = w.size() == w_rank && x.size() >= 2 && x.size() <= 6 &&
                    (form.type == GroupType::kNone || x.size() == 2) &&
                    x.back() == w[w.size() - 2] && w[0] > 0;
  if (!fits) {
    return FailOp(
        op, "shape-mismatch",
        "'" + std::string(op.op) + "' cannot multiply " + TupleText(x) + " by " + TupleText(w));
  }
  return {};
}

/// One bias for all rows, or one for each group (in separate products a row that all share).
Status CheckBias(const OpView& op, const GroupedForm& form) {
  const TensorType* bias = OptionalType(op, form, kBias);
  if (bias == nullptr) {
    return {};
  }
  const TensorType* list = OptionalType(op, form, kGroupList);
  const Shape& w = op.inputs[form.products].shape;
  std::int64_t groups = 1;
  if (form.type != GroupType::kNone) {
    groups = form.type == GroupType::kRows ? w[0] : list->shape[0];
  }
  const Shape& shape = bias->shape;
  const bool fits = shape == Shape{w.back()} || shape == Shape{groups, w.back()};
  return fits ? Status()
              : FailOp(op, "bias-shape",
                       "bias " + TupleText(shape) + " of '" + std::string(op.op) + "' is neither " +
                           TupleText(Shape{w.back()}) + " nor " +
                           TupleText(Shape{groups, w.back()}));
}

Result<std::vector<TensorType>> InferGrouped(const OpView& op) {
  DRYDOCK_TRY(const GroupedForm form, GroupedFormOf(op));
  std::vector<TensorType> out = {};
  for (std::size_t i = 0; i < form.products; ++i) {
    DRYDOCK_RETURN_IF_ERROR(CheckProduct(op, form, i));
    TensorType type = op.inputs[i];
    type.shape.back() = op.inputs[form.products + i].shape.back();
    out.push_back(std::move(type));
  }
  if (form.type == GroupType::kNone) {
    DRYDOCK_RETURN_IF_ERROR(CheckBias(op, form));
    return out;
  }
  const TensorType* list = OptionalType(op, form, kGroupList);
  if (list == nullptr || list->shape.size() != 1 || list->shape[0] < 1) {
    return FailGroups(op, "with group_type 0 or 2 needs group_list, a vector of the groups' ends");
  }
  if (form.type == GroupType::kColumns) {
    out[0].shape.insert(out[0].shape.begin(), list->shape[0]);
  } else if (list->shape[0] % op.inputs[1].shape[0] != 0) {
    return FailGroups(op, "has " + std::to_string(op.inputs[1].shape[0]) +
                              " matrices, but group_list holds " + std::to_string(list->shape[0]) +
                              " ends");
  }
  DRYDOCK_RETURN_IF_ERROR(CheckBias(op, form));
  return out;
}

// ---- Sharding -----------------------------------------------------------------------------------

/// Rows may be cut only as far as group_list brings a list for each slice; groups of columns make
/// the contracted dimension whole.
Status CheckGroupCuts(const OpView& op, const GroupedForm& form, const Strategy& strategy,
                      ShardRule& rule) {
  const auto k = static_cast<AxisIndex>(op.inputs[0].shape.size()) - 1;
  if (form.type == GroupType::kColumns) {
    rule.uncut.push_back({.axis = k, .what = "the dimension that is cut into groups"});
    return {};
  }
  const bool given = !strategy.empty() && strategy[0].size() == 2;
  const std::int64_t lists = OptionalType(op, form, kGroupList)->shape[0] / op.inputs[1].shape[0];
  if (given && lists % std::max<std::int64_t>(strategy[0][0], 1) != 0) {
    return FailOp(op, "strategy-groups",
                  CutText(op, 0, 0, strategy[0][0]) + ", but group_list holds the ends of " +
                      std::to_string(lists) + " slices");
  }
  return {};
}

Result<ShardRule> ShardGrouped(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const GroupedForm form, GroupedFormOf(op));
  const std::size_t rank = op.inputs[0].shape.size();
  const auto k = static_cast<AxisIndex>(rank) - 1;
  const AxisIndex n = k + 1;
  ShardRule rule{.axis_count = n + 1};
  for (const TensorType& input : op.inputs) {
    rule.inputs.emplace_back(input.shape.size());
  }
  for (std::size_t i = 0; i < form.products; ++i) {
    if (op.inputs[i].shape.size() != rank) {
      return UnsupportedForm(op, "'" + std::string(op.op) +
                                     "' of inputs of different numbers of dimensions is not cut");
    }
    rule.inputs[i] = AxesInOrder(rank);
    TensorAxes& w = rule.inputs[form.products + i];
    w[w.size() - 2] = {k};
    w.back() = {n};
    TensorAxes out = AxesInOrder(rank);
    out.back() = {n};
    if (form.type == GroupType::kColumns) {
      out.insert(out.begin(), DimAxes{});
    }
    rule.outputs.push_back(std::move(out));
    rule.communication.push_back({.output = static_cast<std::int32_t>(i), .axes = {k}});
  }
  for (std::size_t optional = kBias; optional < kGroupList; ++optional) {
    const std::ptrdiff_t index = PresentIndex(op, form.Position(optional));
    if (index >= 0) {
      rule.inputs[static_cast<std::size_t>(index)].back() = {n};
    }
  }
  const std::ptrdiff_t list = PresentIndex(op, form.Position(kGroupList));
  if (form.type != GroupType::kNone) {
    if (form.type == GroupType::kRows) {
      rule.inputs[static_cast<std::size_t>(list)] = {{k - 1}};
    }
    DRYDOCK_RETURN_IF_ERROR(CheckGroupCuts(op, form, strategy, rule));
  }
  return rule;
}

/// The bias counts once in the sum over k.
Result<std::vector<ValueId>> LocalizeGrouped(const LocalizeContext& context) {
  DRYDOCK_TRY(const GroupedForm form, GroupedFormOf(context.global));
  NodeSpec spec = context.spec;
  const auto k = static_cast<AxisIndex>(context.global.inputs[0].shape.size()) - 1;
  const std::size_t bias = form.Position(kBias);
  if (bias < spec.inputs.size() && PresentIndex(context.global, bias) >= 0) {
    DRYDOCK_TRY(spec.inputs[bias], EmitOnlyOnFirst(context, spec.inputs[bias], k));
  }
  DRYDOCK_TRY(const NodeId id, context.builder.AddNode(std::move(spec)));
  Node& node = context.builder.mutable_graph().nodes[ToIndex(id)];
  node.in_strategy = context.sharding.strategy;
  return node.outputs;
}

// ---- Gradient -----------------------------------------------------------------------------------

Result<ValueId> EmitGrouped(const GradientContext& context, ValueId x, ValueId w, ValueId list,
                            GroupType type) {
  std::vector<ValueId> operands = {x, w};
  operands.resize(2 + kOptional, kNoValue);
  operands.back() = list;
  return context.Emit(context.node.op, std::move(operands),
                      {{"split_item", 3}, {"group_type", static_cast<std::int64_t>(type)}});
}

bool WantsBias(const GradientContext& context, std::size_t position) {
  return position < context.node.inputs.size() && context.wanted[position];
}

/// left^T right per group of rows of both, [groups, columns of left, columns of right], summed over
/// the slices where group_list holds several lists. `left_swapped` is left^T.
Result<ValueId> EmitProductOfGroups(const GradientContext& context, ValueId left_swapped,
                                    ValueId right, ValueId list, std::int64_t groups) {
  const Shape left = context.TypeOf(left_swapped).shape;
  const std::int64_t ends_count = context.TypeOf(list).shape[0];
  const std::int64_t lists = ends_count / groups;
  if (lists == 1) {
    return EmitGrouped(context, left_swapped, right, list, GroupType::kColumns);
  }
  std::vector<double> begins = {};  // The ends of each slice count from its own first row.
  for (std::int64_t i = 0; i < ends_count; ++i) {
    const std::int64_t slice = i / groups;
    const std::int64_t rows = left[1] / lists;
    begins.push_back(static_cast<double>(slice * rows));
  }
  DRYDOCK_TRY(const ValueId begin, context.builder.AddConstant(context.TypeOf(list), begins));
  DRYDOCK_TRY(const ValueId ends, context.Emit(ops::kAdd, {list, begin}));
  DRYDOCK_TRY(const ValueId parts,
              EmitGrouped(context, left_swapped, right, ends, GroupType::kColumns));
  const std::int64_t width = context.TypeOf(right).shape[1];
  DRYDOCK_TRY(const ValueId by_list, EmitReshape(context, parts, {lists, groups, left[0], width}));
  return ReduceTo(context, by_list, {groups, left[0], width});
}

/// Rows in groups: dX = dY w^T in the same groups, dW = x^T dY in groups of columns, and likewise
/// the bias of each group with ones for x.
Result<std::vector<ValueId>> RowsGradient(const GradientContext& context,
                                          std::vector<ValueId> gradients, ValueId list) {
  const ValueId w = context.node.inputs[1];
  const ValueId dout = OutputGradient(context);
  const std::int64_t groups = context.TypeOf(w).shape[0];
  if (context.wanted[0]) {
    DRYDOCK_TRY(const ValueId w_swapped, EmitSwappedLast(context, w));
    DRYDOCK_TRY(gradients[0], EmitGrouped(context, dout, w_swapped, list, GroupType::kRows));
  }
  if (context.wanted[1]) {
    DRYDOCK_TRY(const ValueId x_swapped, EmitSwappedLast(context, context.node.inputs[0]));
    DRYDOCK_TRY(gradients[1], EmitProductOfGroups(context, x_swapped, dout, list, groups));
  }
  if (WantsBias(context, 2 + kBias)) {
    const ValueId bias = context.node.inputs[2 + kBias];
    const Shape shape = context.TypeOf(bias).shape;
    if (shape.size() == 1) {
      DRYDOCK_TRY(gradients[2 + kBias], ReduceTo(context, dout, shape));
      return gradients;
    }
    const TensorType type = context.TypeOf(dout);
    DRYDOCK_TRY(const ValueId ones,
                context.Emit("FillV2", {context.builder.AddScalar(1, type.dtype)},
                             {{"shape", Shape{1, type.shape[0]}}}));
    DRYDOCK_TRY(const ValueId sums, EmitProductOfGroups(context, ones, dout, list, groups));
    DRYDOCK_TRY(gradients[2 + kBias], EmitReshape(context, sums, shape));
  }
  return gradients;
}

/// Columns in groups: dX rows of x^T use dY[g]; dW rows of w use dY[g] too.
Result<std::vector<ValueId>> ColumnsGradient(const GradientContext& context,
                                             std::vector<ValueId> gradients, ValueId list) {
  const ValueId dout = OutputGradient(context);
  if (context.wanted[0]) {  // dX^T = w dY[g]^T, rows of w in groups.
    DRYDOCK_TRY(const ValueId swapped, EmitSwappedLast(context, dout));
    DRYDOCK_TRY(const ValueId of_x,
                EmitGrouped(context, context.node.inputs[1], swapped, list, GroupType::kRows));
    DRYDOCK_TRY(gradients[0], EmitSwappedLast(context, of_x));
  }
  if (context.wanted[1]) {  // dW = x^T dY[g], rows of x^T in groups.
    DRYDOCK_TRY(const ValueId x_swapped, EmitSwappedLast(context, context.node.inputs[0]));
    DRYDOCK_TRY(gradients[1], EmitGrouped(context, x_swapped, dout, list, GroupType::kRows));
  }
  if (WantsBias(context,
                2 + kBias)) {  // The sum over the rows of dY[g], over all groups or of each.
    Shape shape = context.TypeOf(context.node.inputs[2 + kBias]).shape;
    const bool by_group = shape.size() == 2;
    if (by_group) {
      shape.insert(shape.begin() + 1, 1);
    }
    DRYDOCK_TRY(gradients[2 + kBias], ReduceTo(context, dout, shape));
    if (by_group) {
      shape.erase(shape.begin() + 1);
      DRYDOCK_TRY(gradients[2 + kBias], EmitReshape(context, gradients[2 + kBias], shape));
    }
  }
  return gradients;
}

/// Separate products: dX = dY w^T, dW = x^T dY over all leading dimensions.
Result<std::vector<ValueId>> SeparateGradient(const GradientContext& context,
                                              std::vector<ValueId> gradients,
                                              std::size_t products) {
  for (std::size_t i = 0; i < products; ++i) {
    const ValueId dout = context.output_gradients[i];
    const ValueId x = context.node.inputs[i];
    const ValueId w = context.node.inputs[products + i];
    if (dout == kNoValue) {
      continue;
    }
    const Shape x_shape = context.TypeOf(x).shape;
    const std::int64_t width = context.TypeOf(w).shape.back();
    std::int64_t rows = 1;
    for (std::size_t d = 0; d + 1 < x_shape.size(); ++d) {
      rows *= x_shape[d];
    }
    DRYDOCK_TRY(const ValueId dout_rows, EmitReshape(context, dout, {rows, width}));
    if (context.wanted[i]) {
      DRYDOCK_TRY(const ValueId of_x,
                  context.Emit("MatMul", {dout_rows, w}, {{"transpose_b", true}}));
      DRYDOCK_TRY(gradients[i], EmitReshape(context, of_x, x_shape));
    }
    if (context.wanted[products + i]) {
      DRYDOCK_TRY(const ValueId x_rows, EmitReshape(context, x, {rows, x_shape.back()}));
      DRYDOCK_TRY(gradients[products + i],
                  context.Emit("MatMul", {x_rows, dout_rows}, {{"transpose_a", true}}));
    }
    const std::size_t bias = 2 * products + kBias;
    if (WantsBias(context, bias)) {
      const Shape shape = context.TypeOf(context.node.inputs[bias]).shape;
      DRYDOCK_TRY(const ValueId sum, ReduceTo(context, dout_rows, shape));
      const bool first = gradients[bias] == kNoValue;
      DRYDOCK_TRY(gradients[bias], first ? sum : context.Emit(ops::kAdd, {gradients[bias], sum}));
    }
  }
  return gradients;
}

Result<std::vector<ValueId>> GradientOfGrouped(const GradientContext& context) {
  OpViewStorage storage = {};
  const OpView view = ViewOf(context.builder.graph(), context.node, storage);
  DRYDOCK_TRY(const GroupedForm form, GroupedFormOf(view));
  for (std::size_t optional = kBias + 1; optional < kGroupList; ++optional) {
    if (PresentIndex(view, form.Position(optional)) >= 0) {
      return UnsupportedForm(view, "'" + context.node.op +
                                       "' with scales or offsets has no gradient: it is quantised");
    }
  }
  if (form.type == GroupType::kNone) {
    return SeparateGradient(context, NoGradients(context), form.products);
  }
  const ValueId list = context.node.inputs[form.Position(kGroupList)];
  return form.type == GroupType::kRows ? RowsGradient(context, NoGradients(context), list)
                                       : ColumnsGradient(context, NoGradients(context), list);
}

// ---- Evaluation ---------------------------------------------------------------------------------

Result<std::vector<NdArray>> EvaluateGrouped(const EvaluateContext& context) {
  const OpView view = context.View();
  DRYDOCK_TRY(const GroupedForm form, GroupedFormOf(view));
  for (std::size_t optional = kBias + 1; optional < kGroupList; ++optional) {
    if (PresentIndex(view, form.Position(optional)) >= 0) {
      return Fail(ErrorCode::kUnsupported,
                  "a quantised grouped product has no reference execution");
    }
  }
  const std::ptrdiff_t list = PresentIndex(view, form.Position(kGroupList));
  const std::ptrdiff_t bias = PresentIndex(view, form.Position(kBias));
  std::vector<NdArray> out = {};
  for (std::size_t i = 0; i < form.products; ++i) {
    const NdArray& x = context.inputs[i];
    const NdArray& w = context.inputs[form.products + i];
    const Shape& shape = context.output_types[i].shape;
    const NdArray* ends = list < 0 ? nullptr : &context.inputs[static_cast<std::size_t>(list)];
    if (form.type == GroupType::kNone) {
      out.push_back(MatMulArrays(x, w));
    } else {
      out.push_back(form.type == GroupType::kRows ? GroupedRows(x, w, *ends, shape)
                                                  : GroupedColumns(x, w, *ends, shape));
    }
    if (bias >= 0) {
      const NdArray& addend = context.inputs[static_cast<std::size_t>(bias)];
      out.back() = form.type == GroupType::kRows && addend.shape.size() == 2
                       ? WithBiasOfGroups(out.back(), addend, *ends)
                       : WithBias(out.back(), addend);
    }
  }
  return out;
}

/// 2 * M * K * N over all groups: groups share rows or columns, so each element is used once.
double GroupedFlops(const OpView& op) {
  const auto form = GroupedFormOf(op);
  double flops = 0;
  for (std::size_t i = 0; form && i < form->products; ++i) {
    flops += 2 * Elements(op.inputs[i]) *
             static_cast<double>(op.inputs[form->products + i].shape.back());
  }
  return flops;
}

DRYDOCK_OP(
    GroupedMatmul, .family = "matmul",
    .signature =
        "GroupedMatmul(split_item=0, group_type=-1, transpose_a=False, "
        "transpose_b=False)(*x, *weight, ?bias, ?scale, ?offset, "
        "?antiquant_scale, ?antiquant_offset, ?group_list) -> *y",
    .infer = InferGrouped, .shard = ShardGrouped, .default_strategy = DefaultWhole,
    .localize = LocalizeGrouped, .gradient = GradientOfGrouped, .evaluate = EvaluateGrouped,
    .flops = GroupedFlops, .cost = CostFamily::kMatMul, .work = WorkKind::kProduct,
    .example =
        "(group_type=0, split_item=3)((4, 6), (2, 6, 8), None, None, None, None, None, int64(2))");

}  // namespace
}  // namespace drydock::strategies
