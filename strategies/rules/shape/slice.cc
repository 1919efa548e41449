#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/shape/slice_plan.h"

/// Slices and their gradients: the gradient is placed where the slice was taken, zeros elsewhere.
/// Source: mindspore ops_info/strided_slice_info.cc, mindspore
/// python/mindspore/ops/_grad_experimental/grad_comm_ops.py.
namespace drydock::strategies {
namespace {

using Plan = std::vector<SliceStep>;
using PlanFn = Result<Plan> (*)(const OpView& op, const Shape& shape);

/// Position in the sliced tensor for every position of the result, in row-major order of the
/// result.
std::vector<std::size_t> SourceOffsets(const Plan& plan, const Shape& source) {
  std::vector<std::size_t> offsets = {};
  std::vector<std::int64_t> at(source.size(), 0);
  ForEachElement(SlicedShape(plan), [&](std::span<const std::int64_t> index) {
    std::size_t dim = 0;
    std::size_t position = 0;
    for (const SliceStep& step : plan) {
      const bool in_result = step.kind != SliceStep::Kind::kShrink;
      const std::int64_t n = in_result ? index[position] : 0;
      position += in_result ? 1 : 0;
      if (step.kind != SliceStep::Kind::kNewAxis) {
        at[dim++] = step.begin + n * step.stride;
      }
    }
    offsets.push_back(OffsetOf(source, at));
  });
  return offsets;
}

template <PlanFn MakePlan>
Result<std::vector<TensorType>> InferSlice(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_TRY(const Plan plan, MakePlan(op, op.inputs[0].shape));
  return std::vector<TensorType>{{.shape = SlicedShape(plan), .dtype = op.inputs[0].dtype}};
}

template <PlanFn MakePlan>
Result<std::vector<NdArray>> EvaluateSlice(const EvaluateContext& context) {
  const OpView op{.op = ops::kStridedSlice, .inputs = context.input_types, .attrs = &context.attrs};
  const NdArray& source = context.inputs[0];
  DRYDOCK_TRY(const Plan plan, MakePlan(op, source.shape));
  NdArray out{.shape = SlicedShape(plan)};
  for (const std::size_t offset : SourceOffsets(plan, source.shape)) {
    out.data.push_back(source.data[offset]);
  }
  return std::vector<NdArray>{out};
}

/// Gradient kernels take dY and the attributes of the slice plus `shape`, the sliced tensor's
/// shape.
template <PlanFn MakePlan>
Result<std::vector<TensorType>> InferSliceGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "shape"));
  DRYDOCK_TRY(const Plan plan, MakePlan(op, shape));
  if (SlicedShape(plan) != op.inputs[0].shape) {
    return FailOp(op, "shape-mismatch",
                  "'" + std::string(op.op) + "' cannot place a gradient of shape " +
                      TupleText(op.inputs[0].shape) + " where a slice of shape " +
                      TupleText(SlicedShape(plan)) + " was taken");
  }
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

template <PlanFn MakePlan>
Result<std::vector<NdArray>> EvaluateSliceGrad(const EvaluateContext& context) {
  const OpView op{.op = ops::kStridedSlice, .inputs = context.input_types, .attrs = &context.attrs};
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  DRYDOCK_TRY(const Plan plan, MakePlan(op, out.shape));
  std::size_t n = 0;
  for (const std::size_t offset : SourceOffsets(plan, out.shape)) {
    out.data[offset] += context.inputs[0].data[n++];
  }
  return std::vector<NdArray>{out};
}

constexpr char kStridedSliceGrad[] = "StridedSliceGrad";
constexpr char kSliceGrad[] = "SliceGrad";

template <const char* Op>
Result<std::vector<ValueId>> SliceGradient(const GradientContext& context) {
  AttrMap attrs = context.node.attrs;
  attrs["shape"] = context.TypeOf(context.node.inputs[0]).shape;
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(Op, {OutputGradient(context)}, std::move(attrs)));
  return std::vector<ValueId>{gradient};
}

// ---- StridedSlice -------------------------------------------------------------------------------

/// begin and end of the list positions with the masks folded in, taken literally as the rule does:
/// bit j uses the extent of input dimension j, and negative numbers stay negative.
struct Folded {
  std::vector<std::int64_t> begin = {};
  std::vector<std::int64_t> end = {};
  std::vector<std::int64_t> strides = {};
};

Result<Folded> FoldMasks(const OpView& op) {
  const Shape& shape = op.inputs[0].shape;
  Folded folded = {};
  DRYDOCK_TRY(folded.begin, RequiredListAttr(op, "begin"));
  DRYDOCK_TRY(folded.end, RequiredListAttr(op, "end"));
  DRYDOCK_TRY(folded.strides, RequiredListAttr(op, "strides"));
  DRYDOCK_TRY(const std::int64_t begin_mask, IntAttr(*op.attrs, "begin_mask", 0));
  DRYDOCK_TRY(const std::int64_t end_mask, IntAttr(*op.attrs, "end_mask", 0));
  for (std::size_t j = 0; j < folded.begin.size() && j < shape.size(); ++j) {
    const bool forward = folded.strides[j] > 0;
    if (MaskBit(begin_mask, j)) {
      folded.begin[j] = forward ? 0 : shape[j] - 1;
    }
    if (MaskBit(end_mask, j)) {
      folded.end[j] = forward ? shape[j] : -1;
    }
  }
  return folded;
}

/// One input dimension as the sharding rule sees it.
struct RuleDim {
  bool whole = false;   ///< Must not be cut.
  bool shrunk = false;  ///< Missing in the output.
};

struct RuleDims {
  std::vector<RuleDim> dims = {};
  std::vector<bool> output_is_new = {};  ///< Per output dimension.
};

Result<RuleDims> ReadRuleDims(const OpView& op) {
  DRYDOCK_TRY(const Folded folded, FoldMasks(op));
  DRYDOCK_TRY(const bool skip, BoolAttr(*op.attrs, "skip_redistribution", false));
  DRYDOCK_TRY(const std::int64_t new_mask, IntAttr(*op.attrs, "new_axis_mask", 0));
  DRYDOCK_TRY(const std::int64_t shrink_mask, IntAttr(*op.attrs, "shrink_axis_mask", 0));
  const Shape& shape = op.inputs[0].shape;
  RuleDims result{.dims = std::vector<RuleDim>(shape.size())};
  std::size_t i = 0;
  for (std::size_t j = 0; j < folded.begin.size(); ++j) {
    if (MaskBit(new_mask, j)) {
      result.output_is_new.push_back(true);
      continue;
    }
    const bool fetched = folded.begin[j] == 0 && folded.end[j] >= shape[i];
    const bool shrunk = MaskBit(shrink_mask, j);
    result.dims[i] = {.whole = shrunk || folded.strides[j] != 1 || (!fetched && !skip),
                      .shrunk = shrunk};
    if (!shrunk) {
      result.output_is_new.push_back(false);
    }
    ++i;
  }
  result.output_is_new.resize(result.output_is_new.size() + shape.size() - i, false);
  return result;
}

Result<ShardRule> ShardStridedSlice(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::int64_t ellipsis, IntAttr(*op.attrs, "ellipsis_mask", 0));
  if (ellipsis != 0) {
    return FailOp(op, "strategy-ellipsis", "'StridedSlice' with an ellipsis cannot be cut",
                  "write the slice without an ellipsis");
  }
  DRYDOCK_TRY(const RuleDims read, ReadRuleDims(op));
  const std::size_t rank = read.dims.size();
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank), .inputs = {AxesInOrder(rank)}};
  std::vector<AxisIndex> kept = {};
  for (std::size_t d = 0; d < rank; ++d) {
    const auto axis = static_cast<AxisIndex>(d);
    if (read.dims[d].whole) {
      rule.uncut.push_back({.axis = axis, .what = "a dimension that is not taken whole"});
    }
    if (!read.dims[d].shrunk) {
      kept.push_back(axis);
    }
  }
  TensorAxes out = {};
  std::size_t next = 0;
  for (const bool is_new : read.output_is_new) {
    out.push_back(is_new ? DimAxes{} : DimAxes{kept[next]});
    next += is_new ? 0 : 1;
  }
  rule.outputs = {std::move(out)};
  return rule;
}

Result<Strategy> DefaultStridedSlice(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const Folded folded, FoldMasks(op));
  const bool whole =
      folded.begin.empty() || (folded.begin[0] == 0 && folded.end[0] >= op.inputs[0].shape[0]);
  return BatchStrategy(op, device_count, {whole});
}

/// Attribute skip_redistribution: every rank takes its share of the folded range.
Result<std::vector<ValueId>> LocalizeStridedSlice(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  DRYDOCK_TRY(const bool skip, BoolAttr(attrs, "skip_redistribution", false));
  if (skip) {
    DRYDOCK_TRY(Folded folded, FoldMasks(context.global));
    const std::vector<std::int64_t>& cuts = context.sharding.strategy[0];
    for (std::size_t d = 0; d < folded.begin.size() && d < cuts.size(); ++d) {
      folded.begin[d] /= cuts[d];
      folded.end[d] /= cuts[d];
    }
    attrs["begin"] = folded.begin;
    attrs["end"] = folded.end;
    attrs["begin_mask"] = 0;
    attrs["end_mask"] = 0;
  }
  return EmitLocal(context, std::move(attrs));
}

DRYDOCK_OP(
    StridedSlice, .family = "shape",
    .signature =
        "StridedSlice(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, "
        "shrink_axis_mask=0)(input_x, #begin, #end, #strides)",
    .infer = InferSlice<PlanStridedSlice>, .shard = ShardStridedSlice,
    .default_strategy = DefaultStridedSlice, .localize = LocalizeStridedSlice,
    .gradient = SliceGradient<kStridedSliceGrad>,
    .values = "begin,end,strides,begin_mask,end_mask,ellipsis_mask,new_axis_mask,shrink_axis_mask",
    .evaluate = EvaluateSlice<PlanStridedSlice>, .flops = NoFlops, .cost = CostFamily::kCast,
    .reads_part = true, .ir_attrs = "input_names=x,begin,end,strides",
    .example = "(begin=(0, 2), end=(4, 6), strides=(1, 2))((4, 6))",
    .ir_inserted_attr = "keep_value_node_input");
DRYDOCK_OP(StridedSliceGrad, .family = "gradient",
           .signature =
               "StridedSliceGrad(begin_mask=0, end_mask=0, ellipsis_mask=0, "
               "new_axis_mask=0, shrink_axis_mask=0)(dy, #shape, #begin, #end, #strides)",
           .infer = InferSliceGrad<PlanStridedSlice>, .gradient = GradientNotNeeded,
           .values = "shape,begin,end,strides", .evaluate = EvaluateSliceGrad<PlanStridedSlice>,
           .flops = NoFlops);

// ---- Slice --------------------------------------------------------------------------------------

/// Attributes begin and size; size -1 takes the rest.
Result<Plan> PlanSlice(const OpView& op, const Shape& shape) {
  DRYDOCK_TRY(const auto begin, RequiredListAttr(op, "begin"));
  DRYDOCK_TRY(const auto size, RequiredListAttr(op, "size"));
  if (begin.size() != shape.size() || size.size() != shape.size()) {
    return FailOp(op, "lists",
                  "'" + std::string(op.op) +
                      "' needs one begin and one size for each dimension of " + TupleText(shape) +
                      ", but begin is " + TupleText(begin) + " and size " + TupleText(size));
  }
  Plan plan = {};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool begin_fits = begin[d] >= 0 && begin[d] <= shape[d];
    if (!begin_fits || size[d] < -1 || size[d] > shape[d] - begin[d]) {
      return FailOp(op, "out-of-range",
                    "'" + std::string(op.op) + "' takes " + std::to_string(size[d]) +
                        " elements from position " + std::to_string(begin[d]) + " of dimension " +
                        std::to_string(d) + ", whose extent is " + std::to_string(shape[d]));
    }
    plan.push_back(
        {.begin = begin[d], .stride = 1, .length = size[d] == -1 ? shape[d] - begin[d] : size[d]});
  }
  return plan;
}

Result<std::vector<std::size_t>> PartlyTaken(const OpView& op) {
  const Shape& shape = op.inputs[0].shape;
  DRYDOCK_TRY(const Plan plan, PlanSlice(op, shape));
  std::vector<std::size_t> dims = {};
  for (std::size_t d = 0; d < plan.size(); ++d) {
    if (plan[d].begin != 0 || plan[d].length < shape[d]) {
      dims.push_back(d);
    }
  }
  return dims;
}

Result<ShardRule> ShardSlice(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const auto partly, PartlyTaken(op));
  return AxisLocalRule(op, partly, "a dimension that is not taken whole");
}

Result<Strategy> DefaultSlice(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const auto partly, PartlyTaken(op));
  return BatchStrategy(op, device_count, {partly.empty() || partly[0] != 0});
}

/// Sizes of cut dimensions become the local extents.
Result<std::vector<ValueId>> LocalizeSlice(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  attrs["size"] = SliceShape(context.sharding.outputs[0]);
  return EmitLocal(context, std::move(attrs));
}

DRYDOCK_OP(Slice, .family = "shape", .signature = "Slice()(input, #begin, #size)",
           .infer = InferSlice<PlanSlice>, .shard = ShardSlice, .default_strategy = DefaultSlice,
           .localize = LocalizeSlice, .gradient = SliceGradient<kSliceGrad>,
           .evaluate = EvaluateSlice<PlanSlice>, .flops = NoFlops, .cost = CostFamily::kCast,
           .reads_part = true, .example = "(begin=(1, 0), size=(2, 6))((4, 6))");
DRYDOCK_OP(SliceGrad, .family = "gradient", .signature = "SliceGrad()(dy, #shape, #begin, #size)",
           .infer = InferSliceGrad<PlanSlice>, .gradient = GradientNotNeeded,
           .values = "begin,size", .evaluate = EvaluateSliceGrad<PlanSlice>, .flops = NoFlops);

// ---- SliceExt -----------------------------------------------------------------------------------

/// Attributes dim, start, end, step: one dimension, as Python slices.
Result<Plan> PlanSliceExt(const OpView& op, const Shape& shape) {
  DRYDOCK_TRY(const std::int64_t named, IntAttr(*op.attrs, "dim", 0));
  DRYDOCK_TRY(const std::size_t dim, NormalisedAxis(op, named, shape.size()));
  const std::int64_t extent = shape[dim];
  DRYDOCK_TRY(std::int64_t start, IntAttr(*op.attrs, "start", 0));
  DRYDOCK_TRY(std::int64_t end, IntAttr(*op.attrs, "end", extent));
  DRYDOCK_TRY(const std::int64_t step, IntAttr(*op.attrs, "step", 1));
  if (step < 1) {
    return FailOp(op, "step", "step of '" + std::string(op.op) + "' is " + std::to_string(step),
                  "the step must be at least 1");
  }
  start = std::clamp<std::int64_t>(start < 0 ? start + extent : start, 0, extent);
  end = std::clamp<std::int64_t>(end < 0 ? end + extent : end, start, extent);
  Plan plan = {};
  for (const std::int64_t whole : shape) {
    plan.push_back({.begin = 0, .stride = 1, .length = whole});
  }
  const std::int64_t rest = (end - start) % step == 0 ? 0 : 1;
  plan[dim] = {.begin = start, .stride = step, .length = (end - start) / step + rest};
  return plan;
}

Result<std::size_t> SlicedDim(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t named, IntAttr(*op.attrs, "dim", 0));
  return NormalisedAxis(op, named, op.inputs[0].shape.size());
}

Result<ShardRule> ShardSliceExt(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const std::size_t dim, SlicedDim(op));
  return AxisLocalRule(op, std::span(&dim, 1), "the dimension that is sliced");
}

Result<Strategy> DefaultSliceExt(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const std::size_t dim, SlicedDim(op));
  return BatchStrategy(op, device_count, {dim != 0});
}

constexpr char kSliceExtGrad[] = "SliceExtGrad";

DRYDOCK_OP(SliceExt, .family = "shape",
           .signature = "SliceExt()(input, #dim=0, #start=0, #end=None, #step=1)",
           .infer = InferSlice<PlanSliceExt>, .shard = ShardSliceExt,
           .default_strategy = DefaultSliceExt, .gradient = SliceGradient<kSliceExtGrad>,
           .evaluate = EvaluateSlice<PlanSliceExt>, .flops = NoFlops, .cost = CostFamily::kCast,
           .reads_part = true, .example = "(dim=1, end=4, start=1, step=1)((4, 6))");
DRYDOCK_OP(SliceExtGrad, .family = "gradient",
           .signature = "SliceExtGrad()(dy, #shape, #dim=0, #start=0, #end=None, #step=1)",
           .infer = InferSliceGrad<PlanSliceExt>, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateSliceGrad<PlanSliceExt>, .flops = NoFlops);

// ---- _GetTensorSlice ----------------------------------------------------------------------------

/// Slice of a constant that each rank holds whole: `slice_shape` elements from `begin` (numbers
/// that may depend on the rank).
Result<Plan> PlanTensorSlice(const OpView& op, const Shape& shape) {
  DRYDOCK_TRY(const auto size, RequiredListAttr(op, "slice_shape"));
  AttrMap attrs = {{"size", size}};
  const auto begin = op.attrs->find("begin");
  attrs["begin"] =
      begin == op.attrs->end() ? Attr(std::vector<std::int64_t>(shape.size(), 0)) : begin->second;
  OpView view = op;
  view.attrs = &attrs;
  return PlanSlice(view, shape);
}

DRYDOCK_OP_NAMED(GetTensorSlice, "_GetTensorSlice", .family = "virtual",
                 .signature = "_GetTensorSlice()(input, #begin, #slice_shape)",
                 .infer = InferSlice<PlanTensorSlice>, .gradient = GradientNotNeeded,
                 .evaluate = EvaluateSlice<PlanTensorSlice>, .flops = NoFlops,
                 .cost = CostFamily::kFree);

}  // namespace
}  // namespace drydock::strategies
