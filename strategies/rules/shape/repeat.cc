#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Operators that repeat a tensor: BroadcastTo and Tile. Source: mindspore ops_info/tile_info.cc.
namespace drydock::strategies {
namespace {

// ---- BroadcastTo --------------------------------------------------------------------------------

Result<std::vector<TensorType>> InferBroadcastTo(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "shape"));
  const Shape& from = op.inputs[0].shape;
  const std::string begin =
      "'BroadcastTo' cannot turn " + TupleText(from) + " into " + TupleText(shape) + ": ";
  if (shape.size() < from.size()) {
    return FailOp(op, "shape-mismatch", begin + "the target has fewer dimensions");
  }
  const std::size_t added = shape.size() - from.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool keeps = shape[d] == -1 && d >= added;
    if (keeps) {
      shape[d] = from[d - added];
    }
    const std::int64_t extent = d < added ? 1 : from[d - added];
    if (shape[d] < 0 || (extent != 1 && extent != shape[d])) {
      return FailOp(op, "shape-mismatch",
                    begin + "dimension " + std::to_string(d) + " of the target is " +
                        std::to_string(shape[d]) +
                        (d < added ? ", which is new and needs a positive extent"
                                   : ", dimension " + std::to_string(d - added) +
                                         " of the input is " + std::to_string(extent)));
    }
  }
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// New and repeated dimensions are whole, the others like the input's.
Result<ShardRule> ShardBroadcastTo(const OpView& op, const Strategy& strategy) {
  const Shape& from = op.inputs[0].shape;
  const Shape& to = op.outputs[0].shape;
  DRYDOCK_TRY(ShardRule rule, ShardElementwise(op, strategy));
  const std::size_t added = to.size() - from.size();
  TensorAxes out(to.size());
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] == to[added + d]) {
      out[added + d] = {static_cast<AxisIndex>(d)};
    }
  }
  rule.outputs = {std::move(out)};
  return rule;
}

Result<std::vector<ValueId>> LocalizeBroadcastTo(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  attrs["shape"] = SliceShape(context.sharding.outputs[0]);
  return EmitLocal(context, std::move(attrs));
}

std::string TypeNameOf(const GradientContext& context, ValueId value) {
  return std::string(DTypeName(context.TypeOf(value).dtype));
}

Result<std::vector<ValueId>> BroadcastToGradient(const GradientContext& context) {
  const Shape from = context.TypeOf(OutputGradient(context)).shape;
  const Shape shape = context.TypeOf(context.node.inputs[0]).shape;
  std::vector<std::int64_t> axes = {};
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::size_t added = from.size() - shape.size();
    if (d < added || (shape[d - added] == 1 && from[d] != 1)) {
      axes.push_back(static_cast<std::int64_t>(d));
    }
  }
  ValueId gradient = OutputGradient(context);
  if (!axes.empty()) {
    DRYDOCK_TRY(
        gradient,
        context.Emit(ops::kSumExt, {gradient},
                     {{"dim", axes}, {"keepdim", true}, {"dtype", TypeNameOf(context, gradient)}}));
  }
  DRYDOCK_TRY(gradient, EmitReshape(context, gradient, shape));
  return std::vector<ValueId>{gradient};
}

Result<std::vector<NdArray>> EvaluateBroadcastTo(const EvaluateContext& context) {
  return std::vector<NdArray>{BroadcastArray(context.inputs[0], context.output_types[0].shape)};
}

DRYDOCK_OP(BroadcastTo, .family = "shape", .signature = "BroadcastTo(shape)(input)",
           .folding = Folding::kSpread, .infer = InferBroadcastTo, .shard = ShardBroadcastTo,
           .localize = LocalizeBroadcastTo, .gradient = BroadcastToGradient,
           .evaluate = EvaluateBroadcastTo, .flops = NoFlops, .cost = CostFamily::kSoftmax,
           .example = "(shape=(4, 6))((4, 1))");

// ---- Tile ---------------------------------------------------------------------------------------

/// Shape and multiples aligned at the right, the shorter one padded with 1.
struct Tiling {
  Shape shape = {};
  std::vector<std::int64_t> multiples = {};
};

Result<Tiling> TilingOf(const OpView& op, Shape shape) {
  DRYDOCK_TRY(auto multiples, RequiredListAttr(op, "dims"));
  const std::size_t rank = std::max(shape.size(), multiples.size());
  shape.insert(shape.begin(), rank - shape.size(), 1);
  multiples.insert(multiples.begin(), rank - multiples.size(), 1);
  return Tiling{.shape = std::move(shape), .multiples = std::move(multiples)};
}

Result<std::vector<TensorType>> InferTile(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(const Tiling tiling, TilingOf(op, op.inputs[0].shape));
  Shape shape = {};
  for (std::size_t d = 0; d < tiling.shape.size(); ++d) {
    if (tiling.multiples[d] < 0) {
      return FailOp(op, "multiple",
                    "'Tile' repeats dimension " + std::to_string(d) + " " +
                        std::to_string(tiling.multiples[d]) + " times",
                    "multiples must not be negative");
    }
    DRYDOCK_TRY(const std::int64_t extent, MulChecked(tiling.shape[d], tiling.multiples[d]));
    shape.push_back(extent);
  }
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

/// Checks what one cut divides: the multiple where it exceeds 1, else the input's extent.
Status CheckTileCut(const OpView& op, std::int64_t cut, std::int64_t multiple, bool is_new,
                    std::size_t d) {
  const bool illegal = multiple > 1 ? cut < 1 || multiple % cut != 0 : is_new && cut != 1;
  if (!illegal) {
    return {};
  }
  return FailOp(op, "strategy-divisible",
                "strategy of 'Tile' cuts dimension " + std::to_string(d) +
                    " of strategy entry 0 (extent " + std::to_string(multiple) + ") into " +
                    std::to_string(cut) + ", but its multiple " + std::to_string(multiple) +
                    " is not divisible by " + std::to_string(cut));
}

/// The one strategy entry describes the multiples: where a multiple exceeds 1 the repetition is cut
/// and the input is whole, else input and output are cut alike.
Result<ShardRule> ShardTile(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const auto multiples, RequiredListAttr(op, "dims"));
  const Shape& shape = op.inputs[0].shape;
  if (multiples.size() < shape.size()) {
    return FailOp(op, "strategy-rank",
                  "'Tile' can only be cut with one multiple for each dimension of " +
                      TupleText(shape) + ", but they are " + TupleText(multiples));
  }
  const std::size_t rank = multiples.size();
  const std::size_t added = rank - shape.size();
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank),
                 .inputs = {TensorAxes(shape.size())},
                 .outputs = {AxesInOrder(rank)},
                 .strategy_entries = {AxesInOrder(rank)}};
  for (std::size_t d = 0; d < rank; ++d) {
    if (multiples[d] < 1) {
      return FailOp(op, "strategy-multiple",
                    "'Tile' with multiple " + std::to_string(multiples[d]) + " cannot be cut");
    }
    if (strategy.size() == 1 && d < strategy[0].size()) {
      DRYDOCK_RETURN_IF_ERROR(CheckTileCut(op, strategy[0][d], multiples[d], d < added, d));
    }
    const auto axis = static_cast<AxisIndex>(d);
    if (multiples[d] == 1 && d >= added) {
      rule.inputs[0][d - added] = {axis};
      rule.not_searched.push_back(axis);  // the search cuts copies only
    } else if (multiples[d] == 1) {
      rule.uncut.push_back({.axis = axis, .what = "a new dimension"});
    }
  }
  return rule;
}

/// First entry = devices, corrected by the input's extent only where ranks agree (as the
/// reference).
Result<Strategy> DefaultTile(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const auto multiples, RequiredListAttr(op, "dims"));
  const Shape& shape = op.inputs[0].shape;
  std::vector<std::int64_t> entry(multiples.size(), 1);
  if (!entry.empty()) {
    entry[0] = multiples.size() == shape.size() ? std::gcd(device_count, shape[0]) : device_count;
  }
  return Strategy{entry};
}

/// Layouts of the result may cut copies, and only these.
Status CheckCopies(const OpView& op, std::size_t dim, std::int64_t copies, std::int64_t cut) {
  if (copies % cut == 0) {
    return {};
  }
  return FailOp(op, "layout-divisible",
                "the layout of the result of 'Tile' cuts dimension " + std::to_string(dim) +
                    " into " + std::to_string(cut) + ", but its multiple " +
                    std::to_string(copies) + " is not divisible by " + std::to_string(cut));
}

Result<std::vector<ValueId>> LocalizeTile(const LocalizeContext& context) {
  DRYDOCK_TRY(auto multiples, RequiredListAttr(context.global, "dims"));
  // From the output: layouts describe the input only, which may have fewer dimensions.
  const std::vector<std::int64_t> cuts = CutsOf(context.sharding.outputs[0]);
  for (std::size_t d = 0; d < multiples.size(); ++d) {
    if (multiples[d] > 1) {
      DRYDOCK_RETURN_IF_ERROR(CheckCopies(context.global, d, multiples[d], cuts[d]));
      multiples[d] /= cuts[d];
    }
  }
  AttrMap attrs = context.spec.attrs;
  attrs["dims"] = multiples;
  return EmitLocal(context, std::move(attrs));
}

constexpr std::size_t kMostDims = 8;

/// All multiples are 1, and no dimension is added.
std::optional<Simplification> SimplerTile(const SimplifyContext& context) {
  const ValueId x = context.node.inputs[0];
  return context.TypeOf(x) == context.TypeOf(context.node.outputs[0])
             ? std::optional(Simplification{.result = x})
             : std::nullopt;
}

/// The repetitions become dimensions of their own, which are then summed.
Result<std::vector<ValueId>> TileGradient(const GradientContext& context) {
  const OpView op{.op = context.node.op, .attrs = &context.node.attrs};
  const Shape shape = context.TypeOf(context.node.inputs[0]).shape;
  DRYDOCK_TRY(const Tiling tiling, TilingOf(op, shape));
  // The reference gives every dimension a partner; 8 dimensions are the most a tensor has here.
  const bool all = 2 * tiling.shape.size() <= kMostDims;
  Shape wide = {};
  std::vector<std::int64_t> axes = {};
  for (std::size_t d = 0; d < tiling.shape.size(); ++d) {
    if (all || tiling.multiples[d] != 1) {
      axes.push_back(std::ssize(wide));
      wide.push_back(tiling.multiples[d]);
    }
    wide.push_back(tiling.shape[d]);
  }
  DRYDOCK_TRY(ValueId gradient,
              context.Emit(ops::kReshape, {OutputGradient(context)}, {{"shape", wide}}));
  if (!axes.empty()) {
    DRYDOCK_TRY(gradient,
                context.Emit(
                    ops::kSumExt, {gradient},
                    {{"dim", axes}, {"keepdim", false}, {"dtype", TypeNameOf(context, gradient)}}));
  }
  if (context.TypeOf(gradient).shape != shape) {
    DRYDOCK_TRY(gradient, context.Emit(ops::kReshape, {gradient}, {{"shape", shape}}));
  }
  return std::vector<ValueId>{gradient};
}

Result<std::vector<NdArray>> EvaluateTile(const EvaluateContext& context) {
  const NdArray& source = context.inputs[0];
  NdArray out{.shape = context.output_types[0].shape};
  const std::size_t added = out.shape.size() - source.shape.size();
  std::vector<std::int64_t> at(source.shape.size(), 0);
  ForEachElement(out.shape, [&](std::span<const std::int64_t> index) {
    for (std::size_t d = 0; d < at.size(); ++d) {
      at[d] = index[added + d] % source.shape[d];
    }
    out.data.push_back(source.data[OffsetOf(source.shape, at)]);
  });
  return std::vector<NdArray>{out};
}

DRYDOCK_OP(Tile, .family = "shape", .signature = "Tile()(input, #dims)",
           .folding = Folding::kSpread, .simplify = SimplerTile, .infer = InferTile,
           .shard = ShardTile, .default_strategy = DefaultTile, .localize = LocalizeTile,
           .gradient = TileGradient, .evaluate = EvaluateTile, .flops = NoFlops,
           .cost = CostFamily::kSoftmax, .accepts_layout = true, .accepts_out_layout = true,
           .example = "(dims=(2, 1))((4, 6))");

}  // namespace
}  // namespace drydock::strategies
