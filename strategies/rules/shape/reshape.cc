#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Operators that only rename or reorder dimensions. Source: mindspore ops_info/reshape_info.cc.
namespace drydock::strategies {
namespace {

// ---- Reshape ------------------------------------------------------------------------------------

tl::unexpected<Error> FailReshape(const OpView& op, const Shape& target, const std::string& why) {
  return FailOp(op, "shape-mismatch",
                "'Reshape' cannot turn " + TupleText(op.inputs[0].shape) + " into " +
                    TupleText(target) + ": " + why);
}

/// The target with its one -1 filled in.
Result<std::vector<TensorType>> InferReshape(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const Shape target, RequiredListAttr(op, "shape"));
  const std::int64_t count = Product(op.inputs[0].shape);
  const auto unknown = std::ranges::count(target, -1);
  if (unknown > 1 || std::ranges::any_of(target, [](std::int64_t e) { return e < -1; })) {
    return FailReshape(op, target, "at most one extent may be -1, none below -1");
  }
  std::int64_t known = 1;
  for (const std::int64_t extent : target) {
    if (extent > 0) {
      DRYDOCK_TRY(known, MulChecked(known, extent));
    }
  }
  Shape shape = target;
  std::ranges::replace(shape, std::int64_t{-1}, count / known);
  DRYDOCK_TRY(const std::int64_t elements, ProductChecked(shape));
  if (elements != count) {
    return FailReshape(
        op, target,
        "the input has " + std::to_string(count) + " elements" +
            (unknown == 0 ? ", the target " + std::to_string(elements)
                          : ", which " + std::to_string(known) + " does not divide"));
  }
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// Target = the output's slice.
Result<std::vector<ValueId>> LocalizeReshape(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  attrs["shape"] = SliceShape(context.sharding.outputs.at(0));
  return EmitLocal(context, std::move(attrs));
}

/// A Reshape to the shape that is there; a Reshape of a Reshape.
std::optional<Simplification> SimplerReshape(const SimplifyContext& context) {
  const ValueId x = context.node.inputs[0];
  if (context.TypeOf(x).shape == context.TypeOf(context.node.outputs[0]).shape) {
    return Simplification{.result = x};
  }
  const Node* const inner = context.ProducerOf(x);
  if (inner == nullptr || inner->entry != context.node.entry) {
    return std::nullopt;
  }
  AttrMap attrs = {{"shape", context.TypeOf(context.node.outputs[0]).shape}};
  return Simplification{.inputs = {inner->inputs[0]}, .attrs = std::move(attrs)};
}

/// Set where the back end makes the Reshape, from a Transpose.
constexpr char kLate[] = "late";

/// The shape of a late one is a constant of its own.
Result<std::vector<KernelId>> LowerReshape(const LowerContext& context) {
  if (!context.node.attrs.contains(kLate)) {
    return LowerByDefault(context);
  }
  const std::int64_t rank = std::ssize(context.OutputType().shape);
  return LowerTo(context, context.node.op,
                 {context.builder.Constant({.shape = {rank}, .dtype = DType::kInt64}, "")});
}

DRYDOCK_OP(Reshape, .family = "shape", .signature = "Reshape()(input, #shape)",
           .kind = OpKind::kReshape, .folding = Folding::kSpread, .simplify = SimplerReshape,
           .infer = InferReshape, .localize = LocalizeReshape, .gradient = GradientReshaped,
           .lower = LowerReshape, .evaluate = EvaluateCopy, .flops = NoFlops,
           .cost = CostFamily::kFree, .accepts_layout = true, .example = "(shape=(2, 12))((4, 6))");

/// All dimensions but the first become one.
Result<std::vector<TensorType>> InferFlatten(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  const Shape& shape = op.inputs[0].shape;
  const std::int64_t rest = Product(std::span(shape).subspan(1));
  return std::vector<TensorType>{{.shape = {shape[0], rest}, .dtype = op.inputs[0].dtype}};
}

/// The reference has no rule for it and falls back to batch parallel: only dimension 0 may be cut.
Result<ShardRule> ShardFlatten(const OpView& op, const Strategy& /*strategy*/) {
  std::vector<std::size_t> whole(op.inputs[0].shape.size() - 1);
  std::iota(whole.begin(), whole.end(), std::size_t{1});
  ShardRule rule = AxisLocalRule(op, whole, "a dimension that is flattened");
  rule.outputs = {{{0}, {}}};
  rule.loss_divisor_is_one = true;
  return rule;
}

DRYDOCK_OP(Flatten, .family = "shape", .signature = "Flatten()(input_x)", .kind = OpKind::kView,
           .infer = InferFlatten, .shard = ShardFlatten, .gradient = GradientReshaped,
           .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kFree,
           .example = "()((4, 6, 2))");

// ---- ExpandDims and Squeeze ---------------------------------------------------------------------

Result<std::size_t> InsertedAxis(const OpView& op) {
  if (!op.attrs->contains("axis")) {
    return FailOp(op, "attribute", "'ExpandDims' needs attribute 'axis', an integer");
  }
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(*op.attrs, "axis", 0));
  return NormalisedAxis(op, axis, op.inputs[0].shape.size() + 1);
}

Result<std::vector<TensorType>> InferExpandDims(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const std::size_t axis, InsertedAxis(op));
  TensorType type = op.inputs[0];
  type.shape.insert(type.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return std::vector<TensorType>{type};
}

Result<ShardRule> ShardExpandDims(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const std::size_t axis, InsertedAxis(op));
  DRYDOCK_TRY(ShardRule rule, ShardElementwise(op, strategy));
  TensorAxes& out = rule.outputs[0];
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), DimAxes{});
  return rule;
}

DRYDOCK_OP(ExpandDims, .family = "shape", .signature = "ExpandDims()(input_x, #axis)",
           .kind = OpKind::kView, .infer = InferExpandDims, .shard = ShardExpandDims,
           .gradient = GradientReshaped, .evaluate = EvaluateCopy, .flops = NoFlops,
           .cost = CostFamily::kCast, .accepts_layout = true, .example = "(axis=1)((4, 6))");

/// Dimensions that disappear: the listed ones, or all of extent 1 if none is listed.
Result<std::vector<std::size_t>> SqueezedAxes(const OpView& op) {
  const Shape& shape = op.inputs[0].shape;
  DRYDOCK_TRY(const auto listed, IntListAttr(*op.attrs, "axis"));
  std::vector<std::size_t> axes = {};
  if (listed.has_value() && !listed->empty()) {
    DRYDOCK_TRY(axes, NormalisedAxes(op, *listed, shape.size()));
  } else {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) {
        axes.push_back(d);
      }
    }
  }
  for (const std::size_t axis : axes) {
    if (shape[axis] != 1) {
      return FailOp(op, "shape-mismatch",
                    "'Squeeze' cannot remove dimension " + std::to_string(axis) + " of " +
                        TupleText(shape) + ": its extent is " + std::to_string(shape[axis]) +
                        ", not 1");
    }
  }
  return axes;
}

Result<std::vector<TensorType>> InferSqueeze(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const auto axes, SqueezedAxes(op));
  return std::vector<TensorType>{
      {.shape = ReducedShape(op.inputs[0].shape, axes, false), .dtype = op.inputs[0].dtype}};
}

Result<ShardRule> ShardSqueeze(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const auto axes, SqueezedAxes(op));
  ShardRule rule = ReduceRule(op, axes, false, "sum", false);
  rule.communication.clear();  // the removed dimensions have extent 1 and are never cut
  return rule;
}

/// The axes found on the global shape stay, although local extents may be 1 elsewhere too.
Result<std::vector<ValueId>> LocalizeSqueeze(const LocalizeContext& context) {
  DRYDOCK_TRY(const auto axes, SqueezedAxes(context.global));
  if (axes.empty()) {
    return std::vector<ValueId>{context.spec.inputs[0]};
  }
  AttrMap attrs = context.spec.attrs;
  attrs["axis"] = std::vector<std::int64_t>(axes.begin(), axes.end());
  return EmitLocal(context, std::move(attrs));
}

/// The back end makes the axes of each one a constant of its own.
Result<std::vector<KernelId>> LowerSqueeze(const LowerContext& context) {
  const auto axes = context.node.attrs.find("axis");
  if (axes == context.node.attrs.end()) {
    return LowerByDefault(context);
  }
  const auto* const list = std::get_if<Attr::List>(&axes->second.value);
  const Shape shape = list == nullptr ? Shape{} : Shape{std::ssize(*list)};
  return LowerTo(context, context.node.op,
                 {context.builder.Constant({.shape = shape, .dtype = DType::kInt64}, "")});
}

DRYDOCK_OP(Squeeze, .family = "shape", .signature = "Squeeze(axis=())(input)",
           .kind = OpKind::kView, .infer = InferSqueeze, .shard = ShardSqueeze,
           .localize = LocalizeSqueeze, .gradient = GradientReshaped, .lower = LowerSqueeze,
           .evaluate = EvaluateCopy, .flops = NoFlops, .cost = CostFamily::kCast,
           .accepts_layout = true, .example = "(axis=(1,))((4, 1, 6))");

// ---- Transpose ----------------------------------------------------------------------------------

/// Source dimension of each output dimension.
Result<std::vector<std::size_t>> PermutationOf(const OpView& op) {
  DRYDOCK_TRY(const auto listed, RequiredListAttr(op, "input_perm"));
  const std::size_t rank = op.inputs[0].shape.size();
  std::vector<std::size_t> permutation = {};
  for (const std::int64_t axis : listed) {
    DRYDOCK_TRY(const std::size_t normal, NormalisedAxis(op, axis, rank));
    permutation.push_back(normal);
  }
  std::vector<std::size_t> sorted = permutation;
  std::ranges::sort(sorted);
  std::vector<std::size_t> all(rank);
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (sorted != all) {
    return FailOp(op, "permutation",
                  "'Transpose' needs each dimension of " + TupleText(op.inputs[0].shape) +
                      " once, but its permutation is " + TupleText(listed));
  }
  return permutation;
}

Result<std::vector<TensorType>> InferTranspose(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const auto permutation, PermutationOf(op));
  TensorType type{.shape = {}, .dtype = op.inputs[0].dtype};
  for (const std::size_t d : permutation) {
    type.shape.push_back(op.inputs[0].shape[d]);
  }
  return std::vector<TensorType>{type};
}

Result<ShardRule> ShardTranspose(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const auto listed, RequiredListAttr(op, "input_perm"));
  if (std::ranges::any_of(listed, [](std::int64_t axis) { return axis < 0; })) {
    return FailOp(op, "strategy-permutation",
                  "'Transpose' cannot be cut with the negative permutation " + TupleText(listed),
                  "count all dimensions from the left");
  }
  DRYDOCK_TRY(ShardRule rule, ShardElementwise(op, strategy));
  for (std::size_t d = 0; d < listed.size(); ++d) {
    rule.outputs[0][d] = {static_cast<AxisIndex>(listed[d])};
  }
  return rule;
}

Result<std::vector<ValueId>> TransposeGradient(const GradientContext& context) {
  const OpView op{.op = context.node.op,
                  .inputs = std::span(&context.TypeOf(context.node.inputs[0]), 1),
                  .attrs = &context.node.attrs};
  DRYDOCK_TRY(const auto permutation, PermutationOf(op));
  std::vector<std::int64_t> inverse(permutation.size());
  for (std::size_t d = 0; d < permutation.size(); ++d) {
    inverse[permutation[d]] = static_cast<std::int64_t>(d);
  }
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("Transpose", {OutputGradient(context)}, {{"input_perm", inverse}}));
  return std::vector<ValueId>{gradient};
}

Result<std::vector<NdArray>> EvaluateTranspose(const EvaluateContext& context) {
  const OpView op{.op = "Transpose", .inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const auto permutation, PermutationOf(op));
  return std::vector<NdArray>{TransposeArray(context.inputs[0], permutation)};
}

/// Nothing moves, or dimensions of extent 1 do: then it is a Reshape.
std::optional<Simplification> SimplerTranspose(const SimplifyContext& context) {
  const ValueId x = context.node.inputs[0];
  const TensorType& type = context.TypeOf(x);
  const OpView op{
      .op = context.node.op, .inputs = std::span(&type, 1), .attrs = &context.node.attrs};
  const auto permutation = PermutationOf(op);
  if (!permutation) {
    return std::nullopt;
  }
  if (std::ranges::is_sorted(*permutation)) {
    return Simplification{.result = x};
  }
  std::vector<std::size_t> moved = *permutation;
  std::erase_if(moved, [&type](std::size_t d) { return type.shape[d] == 1; });
  if (!std::ranges::is_sorted(moved)) {
    return std::nullopt;
  }
  AttrMap attrs = {{"shape", context.TypeOf(context.node.outputs[0]).shape}, {kLate, true}};
  return Simplification{.op = ops::kReshape, .inputs = {x}, .attrs = std::move(attrs)};
}

DRYDOCK_OP(Transpose, .family = "shape", .signature = "Transpose()(input, #input_perm)",
           .simplify = SimplerTranspose, .infer = InferTranspose, .shard = ShardTranspose,
           .gradient = TransposeGradient, .evaluate = EvaluateTranspose, .flops = NoFlops,
           .cost = CostFamily::kCast, .accepts_layout = true, .accepts_interleaved = true,
           .mirrored = "-", .example = "(input_perm=(1, 0))((4, 6))");

}  // namespace
}  // namespace drydock::strategies
