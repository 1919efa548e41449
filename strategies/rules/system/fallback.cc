#include <algorithm>
#include <string>
#include <utility>

#include "strategies/operators/kernel_builder.h"
#include "strategies/operators/strategy_check.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// What happens to operators without a rule: the pseudo rules, and the entry that stands for
/// everything outside the table. Source: mindspore ccsrc/frontend/parallel/step_parallel_utils.cc.
namespace drydock::strategies {
namespace {

TensorAxes Uncut(const TensorType& type) {
  return TensorAxes(type.shape.size());
}

// ---- Batch parallel -----------------------------------------------------------------------------

/// The dimension of one input that the strategy cuts, if any.
Result<TensorAxes> BatchAxes(const OpView& op, std::size_t input, const Strategy& strategy) {
  TensorAxes axes = Uncut(op.inputs[input]);
  if (input == 0 && !axes.empty()) {
    axes.front() = {0};
  }
  if (input >= strategy.size() || strategy[input].size() != axes.size()) {
    return axes;
  }
  std::size_t cut_dims = 0;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const std::int64_t cut = strategy[input][d];
    if (cut <= 1) {
      continue;
    }
    axes[d] = {0};
    if (++cut_dims > 1 || (op.device_count > 0 && cut != op.device_count)) {
      return FailOp(op, "strategy-batch",
                    CutText(op, input, d, cut) +
                        ", but it is batch parallel, which cuts one dimension of a tensor into " +
                        std::to_string(op.device_count) + " parts");
    }
  }
  return axes;
}

Result<ShardRule> ShardBatchParallel(const OpView& op, const Strategy& strategy) {
  ShardRule rule{.axis_count = 1, .loss_divisor_is_one = true};
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    DRYDOCK_TRY(TensorAxes axes, BatchAxes(op, i, strategy));
    rule.inputs.push_back(std::move(axes));
  }
  for (const TensorType& output : op.outputs) {
    rule.outputs.push_back(Uncut(output));
    if (!output.shape.empty()) {
      rule.outputs.back().front() = {0};
    }
  }
  return rule;
}

DRYDOCK_OP(BatchParallel, .family = "fallback", .signature = "BatchParallel()(*x)",
           .shard = ShardBatchParallel, .gradient = GradientNotNeeded, .flops = NoFlops,
           .example = "()((4, 6))");

// ---- Stand alone --------------------------------------------------------------------------------

DRYDOCK_OP(StandAlone, .family = "fallback", .signature = "StandAlone()(*x)", .shard = ShardWhole,
           .default_strategy = DefaultWhole, .gradient = GradientNotNeeded, .flops = NoFlops,
           .example = "()((4, 6))");

// ---- Layouts as given ---------------------------------------------------------------------------

DRYDOCK_OP(SelfDefineShard, .family = "fallback", .signature = "SelfDefineShard()(*x)",
           .gradient = NoBackward, .flops = NoFlops, .accepts_layout = true,
           .accepts_out_layout = true, .layouts_as_given = true, .example = "()((4, 6))");
DRYDOCK_OP(AShardIdentity, .family = "fallback", .signature = "AShardIdentity()(x)",
           .kind = OpKind::kView, .infer = InferSame, .shard = ShardElementwise,
           .gradient = GradientPassedOn, .lower = LowerToOperand, .evaluate = EvaluateCopy,
           .flops = NoFlops, .cost = CostFamily::kFree, .accepts_layout = true,
           .accepts_out_layout = true);

// ---- Meshgrid: no rule, always whole

/// Dimension of the results along which vector `input` runs.
Result<std::size_t> MeshDimension(const AttrMap& attrs, std::size_t input) {
  DRYDOCK_TRY(const std::string indexing, TextAttr(attrs, "indexing", "xy"));
  return indexing == "xy" && input < 2 ? 1 - input : input;
}

Result<std::vector<TensorType>> InferMeshgrid(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 2, std::string::npos));
  DRYDOCK_RETURN_IF_ERROR(ExpectSameDType(op));
  Shape shape(op.inputs.size());
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, i, 1, 1));
    DRYDOCK_TRY(const std::size_t dimension, MeshDimension(*op.attrs, i));
    shape[dimension] = op.inputs[i].shape[0];
  }
  return std::vector<TensorType>(op.inputs.size(), {.shape = shape, .dtype = op.inputs[0].dtype});
}

/// Extent 1 everywhere but along the vector's dimension.
Result<Shape> VectorShape(const AttrMap& attrs, std::size_t input, std::size_t rank,
                          std::int64_t extent) {
  DRYDOCK_TRY(const std::size_t dimension, MeshDimension(attrs, input));
  Shape shape(rank, 1);
  shape[dimension] = extent;
  return shape;
}

Result<std::vector<NdArray>> EvaluateMeshgrid(const EvaluateContext& context) {
  std::vector<NdArray> results;
  const Shape& full = context.output_types[0].shape;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    DRYDOCK_TRY(Shape vector,
                VectorShape(context.attrs, i, full.size(), context.inputs[i].shape[0]));
    results.push_back(BroadcastArray(ReshapeArray(context.inputs[i], std::move(vector)), full));
  }
  return results;
}

Result<std::vector<ValueId>> MeshgridGradient(const GradientContext& context) {
  std::vector<ValueId> gradients(context.node.inputs.size(), kNoValue);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const ValueId arriving = context.output_gradients[i];
    if (!context.wanted[i] || arriving == kNoValue) {
      continue;
    }
    const Shape own = context.TypeOf(context.node.inputs[i]).shape;
    DRYDOCK_TRY(const Shape vector,
                VectorShape(context.node.attrs, i, context.TypeOf(arriving).shape.size(), own[0]));
    DRYDOCK_TRY(const ValueId sum, ReduceTo(context, arriving, vector));
    DRYDOCK_TRY(gradients[i], EmitReshape(context, sum, own));
  }
  return gradients;
}

DRYDOCK_OP(Meshgrid, .family = "fallback", .signature = "Meshgrid(indexing='xy')(*inputs)",
           .infer = InferMeshgrid, .replicated_without_rule = true, .gradient = MeshgridGradient,
           .evaluate = EvaluateMeshgrid, .flops = NoFlops, .cost = CostFamily::kFree,
           .example = "()((4), (6))");

// ---- Outside the table --------------------------------------------------------------------------

/// Keeps the backward pass going: a gradient kernel that reads everything and gives every wanted
/// operand a gradient of its own type. Counted with the operator in the diagnostics.
Result<std::vector<ValueId>> UnknownGradient(const GradientContext& context) {
  const std::string op = context.node.op + "Grad";
  NodeSpec spec = context.spec;
  spec.op = op;
  std::vector<TensorType> types;
  std::vector<ValueId> gradients(context.node.inputs.size(), kNoValue);
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    const ValueId input = context.node.inputs[i];
    if (input == kNoValue) {
      continue;
    }
    spec.inputs.push_back(input);
    if (context.wanted[i] && IsFloating(context.TypeOf(input).dtype)) {
      types.push_back(context.TypeOf(input));
    }
  }
  DRYDOCK_TRY(const bool keeps_results, BoolAttr(context.node.attrs, "keeps_results", false));
  if (keeps_results) {
    std::ranges::copy(context.node.outputs, std::back_inserter(spec.inputs));
  }
  std::ranges::copy_if(context.output_gradients, std::back_inserter(spec.inputs),
                       [](ValueId id) { return id != kNoValue; });
  if (types.empty()) {
    return gradients;
  }
  const NodeId id = context.builder.AddNodeWithTypes(std::move(spec), types);
  Node& emitted = context.builder.mutable_graph().nodes[ToIndex(id)];
  emitted.origin = context.node.origin;
  std::size_t next = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const ValueId input = context.node.inputs[i];
    if (input != kNoValue && context.wanted[i] && IsFloating(context.TypeOf(input).dtype)) {
      gradients[i] = emitted.outputs[next++];
    }
  }
  return gradients;
}

DRYDOCK_OP(Custom, .family = "fallback", .signature = "Custom()(*inputs)",
           .gradient = UnknownGradient, .flops = NoFlops, .accepts_layout = true,
           .accepts_out_layout = true, .layouts_as_given = true, .example = "()((4, 6))",
           .given_layouts_stand_alone = true);

constexpr OpEntry kUnknown = {.family = "unknown", .gradient = UnknownGradient};

}  // namespace

const OpEntry& UnknownOp() {
  return kUnknown;
}

}  // namespace drydock::strategies
