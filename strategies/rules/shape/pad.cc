#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Padding. The attribute `paddings` lists a pair (before, after) for each of the last dimensions,
/// last dimension first; negative numbers cut off. Source: mindspore ops_info/pad_info.cc, PadV3.
namespace drydock::strategies {
namespace {

struct Margin {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

/// No tensor is that wide; sums of paddings cannot overflow below it.
constexpr std::int64_t kMostPadding = std::int64_t{1} << 53;

/// Margins of all `rank` dimensions in order.
/// @error kInvalidArgument  an odd number of paddings, or more than two for each dimension
Result<std::vector<Margin>> MarginsOf(const OpView& op, std::size_t rank) {
  DRYDOCK_TRY(const auto paddings, RequiredListAttr(op, "paddings"));
  DRYDOCK_TRY(const bool contiguous, BoolAttr(*op.attrs, "paddings_contiguous", true));
  const std::size_t pairs = paddings.size() / 2;
  if (paddings.size() % 2 != 0 || pairs > rank) {
    return FailOp(op, "paddings",
                  "'" + std::string(op.op) + "' takes a pair of paddings for each of at most " +
                      std::to_string(rank) + " dimensions, but they are " + TupleText(paddings));
  }
  for (const std::int64_t padding : paddings) {
    if (padding < -kMostPadding || padding > kMostPadding) {
      return FailOp(op, "paddings",
                    "a padding of '" + std::string(op.op) + "' is " + std::to_string(padding));
    }
  }
  std::vector<Margin> margins(rank);
  for (std::size_t i = 0; i < pairs; ++i) {
    margins[rank - 1 - i] = contiguous ? Margin{paddings[2 * i], paddings[2 * i + 1]}
                                       : Margin{paddings[i], paddings[pairs + i]};
  }
  return margins;
}

/// `shape` with the margins added, or taken away if `Sign` is -1.
template <int Sign>
Result<Shape> PaddedShape(const OpView& op, Shape shape) {
  DRYDOCK_TRY(const std::vector<Margin> margins, MarginsOf(op, shape.size()));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    DRYDOCK_TRY(const std::int64_t margin, AddChecked(margins[d].before, margins[d].after));
    DRYDOCK_TRY(shape[d], AddChecked(shape[d], Sign * margin));
    if (shape[d] < 0) {
      return FailOp(op, "paddings",
                    "'" + std::string(op.op) + "' takes more from dimension " + std::to_string(d) +
                        " than it has");
    }
  }
  return shape;
}

Result<std::string> ModeOf(const AttrMap& attrs) {
  return TextAttr(attrs, "mode", "constant");
}

/// Paddings that show the tensor's own elements need some: at most as many as there are, one less
/// where the border is not repeated.
Status CheckShown(const OpView& op, std::string_view mode) {
  const Shape& shape = op.inputs[0].shape;
  DRYDOCK_TRY(const std::vector<Margin> margins, MarginsOf(op, shape.size()));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t wanted = std::max(margins[d].before, margins[d].after);
    const std::int64_t shown =
        mode == "edge" ? (shape[d] > 0 ? wanted : 0) : shape[d] - (mode == "reflect" ? 1 : 0);
    if (wanted > 0 && wanted > shown) {
      return FailOp(op, "paddings",
                    "'" + std::string(op.op) + "' in mode '" + std::string(mode) + "' cannot add " +
                        std::to_string(wanted) + " elements to dimension " + std::to_string(d) +
                        " of " + TupleText(shape));
    }
  }
  return {};
}

Result<std::vector<TensorType>> InferPad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 2));
  DRYDOCK_TRY(const std::string mode, ModeOf(*op.attrs));
  constexpr std::string_view kModes[] = {"constant", "reflect", "edge", "circular"};
  if (std::ranges::find(kModes, mode) == std::end(kModes)) {
    return FailOp(op, "mode", "mode of '" + std::string(op.op) + "' is '" + mode + "'",
                  "use constant, reflect, edge or circular");
  }
  if (mode != "constant") {
    DRYDOCK_RETURN_IF_ERROR(CheckShown(op, mode));
  }
  DRYDOCK_TRY(Shape shape, PaddedShape<1>(op, op.inputs[0].shape));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

Result<std::vector<std::size_t>> PaddedDims(const OpView& op) {
  DRYDOCK_TRY(const auto margins, MarginsOf(op, op.inputs[0].shape.size()));
  std::vector<std::size_t> dims = {};
  for (std::size_t d = 0; d < margins.size(); ++d) {
    if (margins[d].before != 0 || margins[d].after != 0) {
      dims.push_back(d);
    }
  }
  return dims;
}

/// The constant is whole on every rank; a strategy need not mention it.
Result<ShardRule> ShardPad(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(const std::string mode, ModeOf(*op.attrs));
  if (mode != "constant") {
    return FailOp(
        op, "strategy-mode",
        "'" + std::string(op.op) + "' can only be cut in mode 'constant', not '" + mode + "'");
  }
  DRYDOCK_TRY(const auto padded, PaddedDims(op));
  ShardRule rule = AxisLocalRule(op, padded, "a dimension that is padded");
  if (op.inputs.size() == 2) {
    rule.inputs.emplace_back(op.inputs[1].shape.size());
    if (strategy.size() == 1) {
      rule.strategy_entries = {rule.inputs[0]};
    }
  }
  return rule;
}

Result<Strategy> DefaultPad(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const auto padded, PaddedDims(op));
  return BatchStrategy(op, device_count, {padded.empty() || padded[0] != 0});
}

/// What was padded with a constant is cut off again; other modes have a kernel.
Result<std::vector<ValueId>> GradientOfPad(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  AttrMap attrs = context.node.attrs;
  DRYDOCK_TRY(const std::string mode, ModeOf(attrs));
  if (mode != "constant") {
    DRYDOCK_TRY(gradients[0],
                context.Emit("PadV3Grad", {OutputGradient(context)}, std::move(attrs)));
    return gradients;
  }
  DRYDOCK_TRY(auto paddings, IntListAttr(attrs, "paddings"));
  for (std::int64_t& padding : *paddings) {
    padding = -padding;
  }
  attrs["paddings"] = *paddings;
  DRYDOCK_TRY(gradients[0], context.Emit("PadV3", {OutputGradient(context)}, std::move(attrs)));
  return gradients;
}

/// Position in the unpadded dimension that position `at` behind its beginning shows; -1 = constant.
std::int64_t SourceOf(std::int64_t at, std::int64_t extent, std::string_view mode) {
  if (at >= 0 && at < extent) {
    return at;
  }
  if (mode == "edge") {
    return at < 0 ? 0 : extent - 1;
  }
  if (mode == "circular") {
    return ((at % extent) + extent) % extent;
  }
  if (mode == "reflect") {
    return at < 0 ? -at : 2 * (extent - 1) - at;
  }
  return -1;
}

/// For every element of the padded tensor the element it shows, -1 for the constant.
Result<std::vector<std::int64_t>> SourceOffsets(const EvaluateContext& context, const Shape& plain,
                                                const Shape& padded) {
  const OpView op{.op = "PadV3", .inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const std::vector<Margin> margins, MarginsOf(op, plain.size()));
  DRYDOCK_TRY(const std::string mode, ModeOf(context.attrs));
  std::vector<std::int64_t> offsets = {};
  std::vector<std::int64_t> source(plain.size(), 0);
  ForEachElement(padded, [&](std::span<const std::int64_t> index) {
    bool shown = true;
    for (std::size_t d = 0; d < plain.size(); ++d) {
      source[d] = SourceOf(index[d] - margins[d].before, plain[d], mode);
      shown = shown && source[d] >= 0;
    }
    offsets.push_back(shown ? static_cast<std::int64_t>(OffsetOf(plain, source)) : -1);
  });
  return offsets;
}

Result<std::vector<NdArray>> EvaluatePad(const EvaluateContext& context) {
  const NdArray& x = context.inputs[0];
  const double constant = context.inputs.size() > 1 ? context.inputs[1].data.at(0) : 0.0;
  NdArray out{.shape = context.output_types[0].shape};
  DRYDOCK_TRY(const auto offsets, SourceOffsets(context, x.shape, out.shape));
  for (const std::int64_t offset : offsets) {
    out.data.push_back(offset < 0 ? constant : x.data[static_cast<std::size_t>(offset)]);
  }
  return std::vector<NdArray>{out};
}

Result<std::vector<TensorType>> InferPadGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(Shape shape, PaddedShape<-1>(op, op.inputs[0].shape));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = op.inputs[0].dtype}};
}

Result<std::vector<NdArray>> EvaluatePadGrad(const EvaluateContext& context) {
  const NdArray& dy = context.inputs[0];
  NdArray out = FilledArray(context.output_types[0].shape, 0.0);
  DRYDOCK_TRY(const auto offsets, SourceOffsets(context, out.shape, dy.shape));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] >= 0) {
      out.data[static_cast<std::size_t>(offsets[i])] += dy.data[i];
    }
  }
  return std::vector<NdArray>{out};
}

DRYDOCK_OP(PadV3, .family = "shape",
           .signature =
               "PadV3(mode='constant', paddings_contiguous=True)"
               "(x, #paddings, ?constant_value)",
           .infer = InferPad, .shard = ShardPad, .default_strategy = DefaultPad,
           .gradient = GradientOfPad, .values = "-", .evaluate = EvaluatePad, .flops = NoFlops,
           .cost = CostFamily::kCast, .example = "(paddings=(1, 2))((4, 6), ())");
DRYDOCK_OP(PadV3Grad, .family = "gradient",
           .signature = "PadV3Grad(mode='constant', paddings_contiguous=True)(x, #paddings)",
           .infer = InferPadGrad, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluatePadGrad, .flops = NoFlops);

}  // namespace
}  // namespace drydock::strategies
