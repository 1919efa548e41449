#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Joining and splitting along one dimension. Source: mindspore ops_info/concat_info.cc.
namespace drydock::strategies {
namespace {

Result<std::size_t> AxisOf(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(*op.attrs, "axis", 0));
  return NormalisedAxis(op, axis, op.inputs[0].shape.size());
}

/// The axis stays whole unless the script says that local pieces are to be taken as they are.
Result<std::vector<std::size_t>> WholeAxes(const OpView& op) {
  DRYDOCK_TRY(const std::size_t axis, AxisOf(op));
  DRYDOCK_TRY(const bool skip, BoolAttr(*op.attrs, "skip_redistribution", false));
  return skip ? std::vector<std::size_t>{} : std::vector<std::size_t>{axis};
}

// ---- Concat -------------------------------------------------------------------------------------

Result<std::vector<TensorType>> InferConcat(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  DRYDOCK_TRY(const std::size_t axis, AxisOf(op));
  TensorType type = op.inputs[0];
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    const Shape& shape = op.inputs[i].shape;
    const std::string begin = "'Concat' cannot join " + TupleText(op.inputs[0].shape) + " and " +
                              TupleText(shape) + " on dimension " + std::to_string(axis) + ": ";
    if (shape.size() != type.shape.size()) {
      return FailOp(op, "shape-mismatch", begin + "the numbers of dimensions differ");
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d != axis && shape[d] != type.shape[d]) {
        return FailOp(op, "shape-mismatch",
                      begin + "dimension " + std::to_string(d) + " of input 0 is " +
                          std::to_string(type.shape[d]) + ", of input " + std::to_string(i) +
                          " it is " + std::to_string(shape[d]));
      }
    }
    DRYDOCK_TRY(type.shape[axis], AddChecked(type.shape[axis], shape[axis]));
  }
  return std::vector<TensorType>{type};
}

Result<ShardRule> ShardConcat(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const auto whole, WholeAxes(op));
  ShardRule rule = AxisLocalRule(op, whole, "the dimension that is joined");
  rule.inputs.assign(op.inputs.size(), TensorAxes(rule.inputs[0]));
  return rule;
}

Result<Strategy> DefaultConcat(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const std::size_t axis, AxisOf(op));
  return BatchStrategy(op, device_count, std::vector<bool>(op.inputs.size(), axis != 0));
}

/// Each input gets its part of the gradient.
Result<std::vector<ValueId>> ConcatGradient(const GradientContext& context) {
  const Shape first = context.TypeOf(context.node.inputs[0]).shape;
  DRYDOCK_TRY(const std::int64_t signed_axis, IntAttr(context.node.attrs, "axis", 0));
  const std::int64_t axis = signed_axis < 0 ? signed_axis + std::ssize(first) : signed_axis;
  std::vector<std::int64_t> sizes;
  for (const ValueId input : context.node.inputs) {
    sizes.push_back(context.TypeOf(input).shape[static_cast<std::size_t>(axis)]);
  }
  return EmitAll(context, "SplitWithSize", {OutputGradient(context)},
                 {{"split_size", std::move(sizes)}, {"dim", signed_axis}});
}

Result<std::vector<NdArray>> EvaluateConcat(const EvaluateContext& context) {
  const OpView op{.op = ops::kConcat, .inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t axis, AxisOf(op));
  return std::vector<NdArray>{
      ConcatArrays(std::vector<NdArray>(context.inputs.begin(), context.inputs.end()), axis)};
}

DRYDOCK_OP(Concat, .family = "shape", .signature = "Concat(axis=0)(*tensors)",
           .folding = Folding::kWhole, .infer = InferConcat, .shard = ShardConcat,
           .default_strategy = DefaultConcat, .gradient = ConcatGradient,
           .evaluate = EvaluateConcat, .flops = NoFlops, .cost = CostFamily::kCast,
           .example = "(axis=0)((4, 6), (2, 6))", .ends_choice_at_reshape = true);

// ---- Split --------------------------------------------------------------------------------------

/// A node has one value per part; more than this is a mistake.
constexpr std::int64_t kMostParts = 65536;

Result<std::vector<TensorType>> InferSplit(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_TRY(const std::size_t axis, AxisOf(op));
  DRYDOCK_TRY(const std::int64_t parts, IntAttr(*op.attrs, "output_num", 1));
  TensorType type = op.inputs[0];
  const std::int64_t extent = type.shape[axis];
  if (parts > kMostParts) {
    return FailOp(op, "too-many-parts",
                  "'Split' into " + std::to_string(parts) + " parts: at most " +
                      std::to_string(kMostParts) + " are handled");
  }
  if (parts < 1 || (extent > 0 && parts > extent) || extent % parts != 0) {
    return FailOp(op, "not-divisible",
                  "'Split' cannot cut dimension " + std::to_string(axis) + " of " +
                      TupleText(type.shape) + " into " + std::to_string(parts) +
                      " equal parts: its extent is " + std::to_string(extent));
  }
  type.shape[axis] = extent / parts;
  return std::vector<TensorType>(static_cast<std::size_t>(parts), type);
}

Result<ShardRule> ShardSplit(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const auto whole, WholeAxes(op));
  return AxisLocalRule(op, whole, "the dimension that is split");
}

Result<Strategy> DefaultSplit(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const std::size_t axis, AxisOf(op));
  return BatchStrategy(op, device_count, {op.inputs[0].shape.size() > 1 && axis != 0});
}

/// Gradients of all parts, joined along attribute `name`; parts that nobody uses count as zeros.
Result<std::vector<ValueId>> JoinedGradient(const GradientContext& context, const char* name) {
  DRYDOCK_TRY(std::vector<ValueId> parts, GradientsOfResults(context));
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(context.node.attrs, name, 0));
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(ops::kConcat, std::move(parts), {{"axis", axis}}));
  return std::vector<ValueId>{gradient};
}

Result<std::vector<ValueId>> SplitGradient(const GradientContext& context) {
  return JoinedGradient(context, "axis");
}

Result<std::vector<NdArray>> EvaluateSplit(const EvaluateContext& context) {
  const OpView op{.op = ops::kSplit, .inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::size_t axis, AxisOf(op));
  return SplitArray(context.inputs[0], axis, std::ssize(context.output_types));
}

DRYDOCK_OP(Split, .family = "shape", .signature = "Split(axis=0, output_num=1)(input_x) -> *y",
           .infer = InferSplit, .shard = ShardSplit, .default_strategy = DefaultSplit,
           .gradient = SplitGradient, .evaluate = EvaluateSplit, .flops = NoFlops,
           .cost = CostFamily::kCast, .accepts_layout = true, .accepts_interleaved = true,
           .example = "(axis=0, output_num=2)((4, 6))");

// ---- Parts of given sizes

/// Names of the attributes that say where and how large the parts are.
struct PartNames {
  const char* axis = "dim";
  const char* sizes = "split_size";  ///< A list, or one number for parts of equal size.
};
constexpr PartNames kOfDim = {};
constexpr PartNames kOfSplitDim = {.axis = "split_dim", .sizes = "size_splits"};

struct Parts {
  std::size_t axis = 0;
  std::vector<std::int64_t> sizes = {};
};

tl::unexpected<Error> FailParts(const OpView& op, const Parts& parts) {
  return FailOp(op, "sizes",
                "'" + std::string(op.op) + "' cannot cut dimension " + std::to_string(parts.axis) +
                    " of " + TupleText(op.inputs[0].shape) + " into parts of " +
                    TupleText(parts.sizes),
                "the sizes must not be negative and must add up to the extent");
}

/// Parts of `each` elements, the last one smaller if it does not fit.
std::vector<std::int64_t> EqualParts(std::int64_t extent, std::int64_t each) {
  std::vector<std::int64_t> sizes = {};
  for (std::int64_t begin = 0; begin < extent; begin += each) {
    sizes.push_back(std::min(each, extent - begin));
  }
  return sizes.empty() ? std::vector<std::int64_t>{extent} : sizes;
}

template <const PartNames& N>
Result<Parts> PartsOf(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 1, std::string::npos));
  DRYDOCK_TRY(const std::int64_t axis, IntAttr(*op.attrs, N.axis, 0));
  Parts parts = {};
  DRYDOCK_TRY(parts.axis, NormalisedAxis(op, axis, op.inputs[0].shape.size()));
  DRYDOCK_TRY(parts.sizes, RequiredListAttr(op, N.sizes));
  const std::int64_t extent = op.inputs[0].shape[parts.axis];
  const auto named = op.attrs->find(N.sizes);
  if (std::holds_alternative<std::int64_t>(named->second.value)) {
    if (parts.sizes[0] < 1 || extent / parts.sizes[0] > kMostParts) {
      return FailParts(op, parts);
    }
    parts.sizes = EqualParts(extent, parts.sizes[0]);
  }
  std::int64_t sum = 0;
  for (const std::int64_t size : parts.sizes) {
    DRYDOCK_TRY(sum, AddChecked(sum, size));
    if (size < 0) {
      return FailParts(op, parts);
    }
  }
  return sum == extent ? Result<Parts>(std::move(parts)) : FailParts(op, parts);
}

template <const PartNames& N>
Result<std::vector<TensorType>> InferParts(const OpView& op) {
  DRYDOCK_TRY(const Parts parts, PartsOf<N>(op));
  std::vector<TensorType> types(parts.sizes.size(), op.inputs[0]);
  for (std::size_t i = 0; i < types.size(); ++i) {
    types[i].shape[parts.axis] = parts.sizes[i];
  }
  return types;
}

template <const PartNames& N>
Result<ShardRule> ShardParts(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const Parts parts, PartsOf<N>(op));
  DRYDOCK_TRY(const bool skip, BoolAttr(*op.attrs, "skip_redistribution", false));
  std::vector<std::size_t> whole = {};
  if (!skip) {
    whole.push_back(parts.axis);
  }
  return AxisLocalRule(op, whole, "the dimension that is split");
}

template <const PartNames& N>
Result<Strategy> DefaultParts(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const Parts parts, PartsOf<N>(op));
  return BatchStrategy(op, device_count, {op.inputs[0].shape.size() > 1 && parts.axis != 0});
}

/// Every rank takes its share of each part where the script asks for local pieces.
template <const PartNames& N>
Result<std::vector<ValueId>> LocalizeParts(const LocalizeContext& context) {
  DRYDOCK_TRY(Parts parts, PartsOf<N>(context.global));
  AttrMap attrs = context.spec.attrs;
  const std::int64_t cut = CutsOf(context.sharding.inputs[0])[parts.axis];
  if (cut > 1) {
    for (std::int64_t& size : parts.sizes) {
      size /= cut;
    }
    attrs[N.sizes] = parts.sizes;
  }
  return EmitLocal(context, std::move(attrs));
}

template <const PartNames& N>
Result<std::vector<ValueId>> PartsGradient(const GradientContext& context) {
  return JoinedGradient(context, N.axis);
}

template <const PartNames& N>
Result<std::vector<NdArray>> EvaluateParts(const EvaluateContext& context) {
  const OpView op{.op = ops::kSplit, .inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const Parts parts, PartsOf<N>(op));
  std::vector<NdArray> pieces = {};
  std::vector<Range> ranges = {};
  for (const std::int64_t extent : context.inputs[0].shape) {
    ranges.push_back({.begin = 0, .end = extent});
  }
  ranges[parts.axis].end = 0;
  for (const std::int64_t size : parts.sizes) {
    ranges[parts.axis].begin = ranges[parts.axis].end;
    ranges[parts.axis].end += size;
    pieces.push_back(SliceArray(context.inputs[0], ranges));
  }
  return pieces;
}

#define DRYDOCK_SPLIT(id, arguments, names, example_call)                                   \
  DRYDOCK_OP(id, .family = "shape", .signature = #id arguments, .infer = InferParts<names>, \
             .shard = ShardParts<names>, .default_strategy = DefaultParts<names>,           \
             .localize = LocalizeParts<names>, .gradient = PartsGradient<names>,            \
             .evaluate = EvaluateParts<names>, .flops = NoFlops, .cost = CostFamily::kCast, \
             .accepts_layout = true, .example = example_call)

DRYDOCK_SPLIT(SplitTensor, "()(input, #split_size, #dim=0)", kOfDim,
              "(split_size=2, dim=1)((4, 6))");
DRYDOCK_SPLIT(SplitWithSize, "()(input, #split_size, #dim=0)", kOfDim,
              "(split_size=(2, 4), dim=1)((4, 6))");
DRYDOCK_SPLIT(SplitV, "(size_splits, split_dim, num_split)(x)", kOfSplitDim,
              "(size_splits=(2, 4), split_dim=1, num_split=2)((4, 6))");

}  // namespace
}  // namespace drydock::strategies
