#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/graph/kept_constant.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/common/local_emit.h"
#include "strategies/rules/elementwise/random_numbers.h"

/// Dropout and its relatives (mindspore ops_info/random_distribute_info.cc). What is dropped is a
/// function of the seeds and of the element's position in the slice: ranks with equal seeds and
/// slices drop the same.
namespace drydock::strategies {
namespace {

/// Attribute of a Dropout that got a seed of its own.
constexpr std::string_view kNumbered = "numbered";

Result<double> KeepProbability(const AttrMap& attrs) {
  return FloatAttr(attrs, "keep_prob", 0.5);
}

Result<std::vector<TensorType>> InferDropout(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const double keep, KeepProbability(*op.attrs));
  if (!(keep > 0 && keep <= 1)) {
    return FailOp(op, "keep-prob",
                  "keep_prob of '" + std::string(op.op) + "' is " + AttrText(keep) +
                      ", but it must be in (0, 1]");
  }
  return std::vector<TensorType>{op.inputs[0], op.inputs[0]};
}

/// One more than there are operators with a number of their own so far.
std::int64_t NextSeed(const LocalizeContext& context) {
  return 1 + std::ranges::count_if(context.builder.graph().nodes,
                                   [](const Node& node) { return node.attrs.contains(kNumbered); });
}

/// Ranks that repeat the same calculation must drop the same elements: seeds of 0 (= any) become
/// one number, the same on all ranks and different for every operator of a program. The operator is
/// made anew for that, and what was said of the old one (that it makes the result of a recomputed
/// Cell, which is kept) is not said of the new one.
Status FixSeeds(const LocalizeContext& context, AttrMap& attrs) {
  DRYDOCK_TRY(const Seeds seeds, SeedsOf(attrs, "Seed0", "Seed1"));
  if (seeds.first == 0 && seeds.second == 0 && context.sharding.loss_divisor > 1) {
    attrs["Seed0"] = attrs["Seed1"] = NextSeed(context);
    attrs[std::string(kNumbered)] = true;
    attrs.erase(std::string(kRecompute));
  }
  return {};
}

Result<std::vector<ValueId>> LocalizeDropout(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  DRYDOCK_RETURN_IF_ERROR(FixSeeds(context, attrs));
  return EmitLocal(context, std::move(attrs));
}

Result<std::vector<ValueId>> GradientOfDropout(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  DRYDOCK_TRY(const double keep, KeepProbability(context.node.attrs));
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("DropoutGrad", {OutputGradient(context), context.node.outputs[1]},
                           {{"keep_prob", keep}}));
  return std::vector<ValueId>{gradient};
}

/// Elements kept: 1 with probability `keep`, else 0.
NdArray KeptElements(const Shape& shape, const Seeds& seeds, double keep) {
  NdArray mask = FilledArray(shape, 0.0);
  for (std::size_t i = 0; i < mask.data.size(); ++i) {
    mask.data[i] = UniformNumber(seeds, i) < keep ? 1.0 : 0.0;
  }
  return mask;
}

/// x * mask / keep.
NdArray Dropped(const NdArray& x, const NdArray& mask, double keep) {
  return MapArrays(x, mask, x.shape, [keep](double a, double m) { return a * m / keep; });
}

Result<std::vector<NdArray>> EvaluateDropout(const EvaluateContext& context) {
  DRYDOCK_TRY(const double keep, KeepProbability(context.attrs));
  DRYDOCK_TRY(const Seeds seeds, SeedsOf(context.attrs, "Seed0", "Seed1"));
  NdArray mask = KeptElements(context.inputs[0].shape, seeds, keep);
  return std::vector<NdArray>{Dropped(context.inputs[0], mask, keep), std::move(mask)};
}

/// dX = dY * mask / keep_prob.
Result<std::vector<NdArray>> EvaluateDropoutGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const double keep, KeepProbability(context.attrs));
  return std::vector<NdArray>{Dropped(context.inputs[0], context.inputs[1], keep)};
}

constexpr std::int64_t kMaskAlignment = 128;  ///< Elements; a mask is a multiple of 16 bytes.

/// Bytes of the mask of `elements` elements, one bit each.
std::int64_t MaskBytes(std::int64_t elements) {
  const std::int64_t groups = elements / kMaskAlignment + (elements % kMaskAlignment != 0 ? 1 : 0);
  return groups * (kMaskAlignment / 8);
}

/// x * mask / keep_prob; the number is a constant of its own.
KernelId DoMaskKernel(KernelBuilder& builder, KernelId x, KernelId mask) {
  const KernelId keep = builder.Constant({.shape = {}, .dtype = DType::kFloat32}, "");
  RepeatForMicroBatches(builder.graph(), keep);
  return builder.Kernel(
      {.name = "DropoutDoMask", .inputs = {x, mask, keep}, .results = {builder.TypeOf(x)}});
}

/// The operator's own numbers stay when it has become kernels: the probability, the seeds, and in
/// each micro batch one more for every time that it is computed.
void KeepNumbers(const LowerContext& context) {
  KernelGraph& graph = context.builder.graph();
  for (const std::string_view number : {"keep_prob", "Seed0", "Seed1"}) {
    if (const auto said = context.node.attrs.find(number); said != context.node.attrs.end()) {
      KeepUnread(graph, context.builder.Argument(said->second));
    }
  }
  const int own = context.node.attrs.contains(kCopyUnread) ? 2 : 1;
  for (int i = 0; i < own; ++i) {
    const KernelId number = context.builder.Constant({.shape = {}, .dtype = DType::kFloat32}, "");
    KeepUnread(graph, number);
    RepeatForMicroBatches(graph, number);
  }
}

/// On Ascend the mask is made first, one bit per element.
Result<std::vector<KernelId>> LowerDropout(const LowerContext& context) {
  KernelBuilder& builder = context.builder;
  const Shape& shape = context.InputType(0).shape;
  DRYDOCK_TRY(const std::int64_t elements, ElementCount(shape));
  const TensorType extents = {.shape = {std::ssize(shape)}, .dtype = DType::kInt64};
  const KernelId size = builder.Constant(extents, "");
  const KernelId keep = builder.Constant({.shape = {}, .dtype = DType::kFloat32}, "");
  RepeatForMicroBatches(builder.graph(), size);
  RepeatForMicroBatches(builder.graph(), keep);
  const KernelId mask =
      builder.Kernel({.name = "DropoutGenMask",
                      .inputs = {size, keep},
                      .results = {{.shape = {MaskBytes(elements)}, .dtype = DType::kUInt8}},
                      // It reads nothing of the micro batch, but each has its own.
                      .micro_use = MicroUse::kEach});
  KeepNumbers(context);
  const KernelId both = builder.Virtual(KernelKind::kMakeTuple,
                                        {DoMaskKernel(builder, context.inputs[0], mask), mask});
  std::vector<KernelId> results = {builder.Virtual(KernelKind::kTupleGetItem, {both}, 0),
                                   builder.Virtual(KernelKind::kTupleGetItem, {both}, 1)};
  builder.NoteResults(results);
  return results;
}

Result<std::vector<KernelId>> LowerDropoutGrad(const LowerContext& context) {
  return std::vector<KernelId>{DoMaskKernel(context.builder, context.inputs[0], context.inputs[1])};
}

DRYDOCK_OP(Dropout, .family = "random", .signature = "Dropout(keep_prob=0.5, Seed0=0, Seed1=0)(x)",
           .infer = InferDropout, .shard = ShardElementwise, .localize = LocalizeDropout,
           .gradient = GradientOfDropout, .lower = LowerDropout, .recomputed_as = "DropoutGrad",
           .evaluate = EvaluateDropout, .flops = FlopsPerInput<2>, .cost = CostFamily::kActivation,
           .accepts_layout = true, .example = "(keep_prob=1.0)((4, 6))");

DRYDOCK_OP(DropoutGrad, .family = "gradient", .signature = "DropoutGrad(keep_prob=0.5)(grad, mask)",
           .infer = InferFirst, .gradient = GradientNotNeeded, .lower = LowerDropoutGrad,
           .evaluate = EvaluateDropoutGrad, .flops = FlopsPerInput<2>);

// ---- Masks packed into bytes --------------------------------------------------------------------

NdArray Packed(const NdArray& kept) {
  NdArray bytes = FilledArray({MaskBytes(std::ssize(kept.data))}, 0.0);
  for (std::size_t i = 0; i < kept.data.size(); ++i) {
    bytes.data[i / 8] += kept.data[i] * static_cast<double>(1U << (i % 8));
  }
  return bytes;
}

NdArray Unpacked(const NdArray& bytes, const Shape& shape) {
  NdArray kept = FilledArray(shape, 0.0);
  for (std::size_t i = 0; i < kept.data.size(); ++i) {
    const auto byte = static_cast<unsigned>(bytes.data[i / 8]);
    kept.data[i] = (byte >> (i % 8) & 1U) != 0 ? 1.0 : 0.0;
  }
  return kept;
}

Status ExpectMask(const OpView& op, std::size_t input, const Shape& x) {
  DRYDOCK_TRY(const std::int64_t elements, ElementCount(x));
  if (op.inputs[input].shape != Shape{MaskBytes(elements)}) {
    return FailOp(op, "shape-mismatch",
                  "the mask of '" + std::string(op.op) + "' of shape " + TupleText(x) + " has " +
                      std::to_string(MaskBytes(elements)) + " bytes, but its shape is " +
                      TupleText(op.inputs[input].shape));
  }
  return {};
}

// ---- DropoutGenMask and DropoutDoMask -----------------------------------------------------------

Result<std::vector<TensorType>> InferGenMask(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 0, 0));
  DRYDOCK_TRY(const Shape shape, RequiredListAttr(op, "shape"));
  DRYDOCK_TRY(const std::int64_t elements, ElementCount(shape));
  return std::vector<TensorType>{{.shape = {MaskBytes(elements)}, .dtype = DType::kUInt8}};
}

Result<std::vector<NdArray>> EvaluateGenMask(const EvaluateContext& context) {
  DRYDOCK_TRY(const Shape shape, RequiredListAttr(context.View(), "shape"));
  DRYDOCK_TRY(const double keep, KeepProbability(context.attrs));
  DRYDOCK_TRY(const Seeds seeds, SeedsOf(context.attrs, "Seed0", "Seed1"));
  return std::vector<NdArray>{Packed(KeptElements(shape, seeds, keep))};
}

constexpr std::string_view kGenMask = "DropoutGenMask";

DRYDOCK_OP(DropoutGenMask, .family = "random",
           .signature = "DropoutGenMask(Seed0=0, Seed1=0)(#shape, #keep_prob)",
           .kind = OpKind::kTransparent, .infer = InferGenMask, .gradient = GradientNotNeeded,
           .values = "-", .runs_once = true, .evaluate = EvaluateGenMask, .flops = NoFlops,
           .cost = CostFamily::kFree, .example = "(shape=(4, 6), keep_prob=0.5)()");

Result<std::vector<TensorType>> InferDoMask(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, 2));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectMask(op, 1, op.inputs[0].shape));
  return std::vector<TensorType>{op.inputs[0]};
}

/// One strategy entry, for x; the mask is made for the slice.
Result<ShardRule> ShardDoMask(const OpView& op, const Strategy& /*strategy*/) {
  const TensorAxes axes = AxesInOrder(op.inputs[0].shape.size());
  return ShardRule{.axis_count = static_cast<std::int32_t>(axes.size()),
                   .inputs = {axes, TensorAxes(1)},
                   .outputs = {axes},
                   .strategy_entries = {axes}};
}

/// The mask is generated again, in the shape of the slice and with seeds that replicas share.
Result<std::vector<ValueId>> LocalizeDoMask(const LocalizeContext& context) {
  const Graph& graph = context.builder.graph();
  NodeSpec spec = context.spec;
  const Shape local = graph.at(spec.inputs[0]).type.shape;
  const Value& mask = graph.at(spec.inputs[1]);
  const bool generated = mask.kind == ValueKind::kOutput && graph.at(mask.producer).op == kGenMask;
  if (!generated) {
    if (local != context.global.inputs[0].shape) {
      return UnsupportedForm(context.global, "'" + std::string(context.global.op) +
                                                 "' is cut, but its mask does not come from '" +
                                                 std::string(kGenMask) + "'");
    }
    return EmitLocal(context, spec.attrs);
  }
  AttrMap attrs = graph.at(mask.producer).attrs;
  attrs["shape"] = local;
  DRYDOCK_RETURN_IF_ERROR(FixSeeds(context, attrs));
  DRYDOCK_TRY(spec.inputs[1], EmitHelper(context, kGenMask, {}, std::move(attrs)));
  DRYDOCK_TRY(const ValueId out, context.builder.Emit(std::move(spec)));
  return std::vector<ValueId>{out};
}

Result<std::vector<ValueId>> GradientOfDoMask(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(context.node.op, {OutputGradient(context), context.node.inputs[1]},
                           context.node.attrs));
  return std::vector<ValueId>{gradient, kNoValue};
}

Result<std::vector<NdArray>> EvaluateDoMask(const EvaluateContext& context) {
  DRYDOCK_TRY(const double keep, KeepProbability(context.attrs));
  const NdArray& x = context.inputs[0];
  return std::vector<NdArray>{Dropped(x, Unpacked(context.inputs[1], x.shape), keep)};
}

DRYDOCK_OP(DropoutDoMask, .family = "random", .signature = "DropoutDoMask()(x, mask, #keep_prob)",
           .infer = InferDoMask, .shard = ShardDoMask, .localize = LocalizeDoMask,
           .gradient = GradientOfDoMask, .values = "-", .evaluate = EvaluateDoMask,
           .flops = FlopsPerInput<2>, .cost = CostFamily::kActivation,
           .example = "(keep_prob=0.5)((4, 6), uint8(16))");

// ---- DropoutExt: probability p of dropping, seeds from tensors ----------------------------------

Result<double> KeepOfP(const AttrMap& attrs) {
  DRYDOCK_TRY(const double p, FloatAttr(attrs, "p", 0.5));
  return 1 - p;
}

Result<std::vector<TensorType>> InferDropoutExt(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 3, 3));
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_TRY(const double keep, KeepOfP(*op.attrs));
  if (!(keep >= 0 && keep <= 1)) {
    return FailOp(op, "p", "p of '" + std::string(op.op) + "' must be in [0, 1]");
  }
  DRYDOCK_TRY(const std::int64_t elements, ElementCount(op.inputs[0].shape));
  return std::vector<TensorType>{op.inputs[0],
                                 {.shape = {MaskBytes(elements)}, .dtype = DType::kUInt8}};
}

/// True if the packed masks of all slices together are that of the whole: slices fill groups.
bool MaskIsCut(std::int64_t elements, std::int64_t slices) {
  return slices == 1 || (elements % slices == 0 && elements / slices % kMaskAlignment == 0);
}

/// The packed mask is cut by all axes together. Slices that do not fill whole groups of bits have
/// masks of more bytes than their share, which no layout says: see LocalizeDropoutExt.
Result<ShardRule> ShardDropoutExt(const OpView& op, const Strategy& strategy) {
  const TensorAxes axes = AxesInOrder(op.inputs[0].shape.size());
  DimAxes all = {};
  std::int64_t slices = 1;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    all.push_back(axes[d].front());
    const bool given = !strategy.empty() && d < strategy[0].size();
    DRYDOCK_TRY(slices, MulChecked(slices, given ? strategy[0][d] : 1));
  }
  DRYDOCK_TRY(const std::int64_t elements, ElementCount(op.inputs[0].shape));
  return ShardRule{.axis_count = static_cast<std::int32_t>(axes.size()),
                   .inputs = {axes, TensorAxes(op.inputs[1].shape.size()),
                              TensorAxes(op.inputs[2].shape.size())},
                   .outputs = {axes, {MaskIsCut(elements, slices) ? std::move(all) : DimAxes()}}};
}

/// A mask that no layout describes stays with the rank, for its gradient.
Result<std::vector<ValueId>> LocalizeDropoutExt(const LocalizeContext& context) {
  DRYDOCK_TRY(std::vector<ValueId> outputs, EmitLocal(context, context.spec.attrs));
  DRYDOCK_TRY(const std::int64_t whole, ElementCount(context.global.inputs[0].shape));
  DRYDOCK_TRY(const std::int64_t own, ElementCount(context.builder.TypeOf(outputs[0]).shape));
  if (own > 0 && !MaskIsCut(whole, whole / own)) {
    outputs[1] = kNoValue;
  }
  return outputs;
}

Result<std::vector<ValueId>> GradientOfDropoutExt(const GradientContext& context) {
  if (OutputGradient(context) == kNoValue) {
    return NoGradients(context);
  }
  std::vector<ValueId> gradients = NoGradients(context);
  DRYDOCK_TRY(gradients[0],
              context.Emit("DropoutGradExt", {OutputGradient(context), context.node.outputs[1]},
                           context.node.attrs));
  return gradients;
}

Result<std::vector<NdArray>> EvaluateDropoutExt(const EvaluateContext& context) {
  DRYDOCK_TRY(const double keep, KeepOfP(context.attrs));
  const NdArray& x = context.inputs[0];
  const Seeds seeds = {.first = static_cast<std::int64_t>(context.inputs[1].data.front()),
                       .second = static_cast<std::int64_t>(context.inputs[2].data.front())};
  const NdArray kept = KeptElements(x.shape, seeds, keep);
  return std::vector<NdArray>{keep > 0 ? Dropped(x, kept, keep) : FilledArray(x.shape, 0.0),
                              Packed(kept)};
}

Result<std::vector<NdArray>> EvaluateDropoutGradExt(const EvaluateContext& context) {
  DRYDOCK_TRY(const double keep, KeepOfP(context.attrs));
  const NdArray& dout = context.inputs[0];
  const NdArray kept = Unpacked(context.inputs[1], dout.shape);
  return std::vector<NdArray>{keep > 0 ? Dropped(dout, kept, keep) : FilledArray(dout.shape, 0.0)};
}

DRYDOCK_OP(DropoutExt, .family = "random", .signature = "DropoutExt()(input, #p, seed, offset)",
           .infer = InferDropoutExt, .shard = ShardDropoutExt, .localize = LocalizeDropoutExt,
           .gradient = GradientOfDropoutExt, .recomputed_as = "DropoutGradExt",
           .evaluate = EvaluateDropoutExt, .flops = FlopsPerInput<2>,
           .cost = CostFamily::kActivation, .mirrored = "0",
           .example = "(p=0.5)((4, 6), int64(1), int64(1))");

DRYDOCK_OP(DropoutGradExt, .family = "gradient", .signature = "DropoutGradExt()(dout, mask, #p)",
           .infer = InferFirst, .gradient = GradientNotNeeded, .evaluate = EvaluateDropoutGradExt,
           .flops = FlopsPerInput<2>);

}  // namespace
}  // namespace drydock::strategies
