#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Ends of a network besides the data set's entry (virtual.cc): GetNext takes tensors from a queue,
/// _VirtualOutput marks what a network returns. Source: mindspore ops_info/virtual_dataset_info.cc.
namespace drydock::strategies {
namespace {

// ---- GetNext: one tensor for each entry of attributes `types` and `shapes` ----------------------

tl::unexpected<Error> FailQueue(const OpView& op, std::string why) {
  return FailOp(op, "attribute", "'" + std::string(op.op) + "' " + std::move(why));
}

/// List of an attribute; null if it is none.
const Attr::List* ListOf(const AttrMap& attrs, std::string_view name) {
  const auto it = attrs.find(name);
  return it == attrs.end() ? nullptr : std::get_if<Attr::List>(&it->second.value);
}

Result<std::vector<TensorType>> InferGetNext(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 0, 0));
  const Attr::List* types = ListOf(*op.attrs, "types");
  const Attr::List* shapes = ListOf(*op.attrs, "shapes");
  if (types == nullptr || shapes == nullptr) {
    return FailQueue(op, "needs attributes 'types' and 'shapes', one entry for each tensor");
  }
  DRYDOCK_TRY(const std::int64_t count, IntAttr(*op.attrs, "output_num", std::ssize(*types)));
  if (count != std::ssize(*types) || count != std::ssize(*shapes)) {
    return FailQueue(op, "gives " + std::to_string(count) + " tensors, but has " +
                             std::to_string(types->size()) + " types and " +
                             std::to_string(shapes->size()) + " shapes");
  }
  std::vector<TensorType> outputs = {};
  for (std::size_t i = 0; i < types->size(); ++i) {
    const auto* name = std::get_if<std::string>(&(*types)[i].value);
    DRYDOCK_TRY(const auto shape, IntListAttr({{"shape", (*shapes)[i]}}, "shape"));
    if (name == nullptr || !shape) {
      return FailQueue(op, "has no type or no shape for tensor " + std::to_string(i));
    }
    DRYDOCK_TRY(const DType dtype, ParseDType(*name));
    outputs.push_back({.shape = *shape, .dtype = dtype});
  }
  return outputs;
}

/// The strategy describes the results. The longest gives the device matrix; every other result is
/// cut on dimension 0 like it, or whole.
Result<ShardRule> ShardGetNext(const OpView& op, const Strategy& strategy) {
  std::size_t longest = 0;
  for (std::size_t i = 1; i < op.outputs.size(); ++i) {
    longest = op.outputs[i].shape.size() > op.outputs[longest].shape.size() ? i : longest;
  }
  const std::size_t rank = op.outputs.empty() ? 0 : op.outputs[longest].shape.size();
  ShardRule rule{.axis_count = static_cast<std::int32_t>(rank),
                 .repeat_on_left = true,
                 .loss_divisor_is_one = true};
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    TensorAxes axes(op.outputs[i].shape.size());
    const bool cut = i >= strategy.size() || strategy[i].empty() || strategy[i][0] > 1;
    if (i == longest) {
      axes = AxesInOrder(rank);
    } else if (!axes.empty() && cut) {
      axes[0] = {0};
    }
    rule.outputs.push_back(std::move(axes));
  }
  for (std::size_t d = 1; d < rank; ++d) {
    rule.uncut.push_back({.axis = static_cast<AxisIndex>(d),
                          .what = "a dimension of the data other than the batch"});
  }
  rule.strategy_entries = rule.outputs;
  return rule;
}

/// Dimension 0 of every result on all devices.
Result<Strategy> DefaultGetNext(const OpView& op, std::int64_t device_count) {
  OpView results = op;
  results.inputs = op.outputs;
  return DefaultBatchAll(results, device_count);
}

/// The queue of a rank holds its own slices.
Result<std::vector<ValueId>> LocalizeGetNext(const LocalizeContext& context) {
  AttrMap attrs = context.spec.attrs;
  Attr::List shapes = {};
  for (const TensorLayout& output : context.sharding.outputs) {
    shapes.emplace_back(SliceShape(output));
  }
  attrs["shapes"] = std::move(shapes);
  return EmitLocal(context, std::move(attrs));
}

/// No reference execution: the numbers come from a queue outside the network.
DRYDOCK_OP(GetNext, .family = "dataset",
           .signature = "GetNext(types, shapes, output_num, shared_name='')()",
           .infer = InferGetNext, .shard = ShardGetNext, .default_strategy = DefaultGetNext,
           .localize = LocalizeGetNext, .gradient = GradientNotNeeded, .values = "-",
           .flops = NoFlops, .cost = CostFamily::kFree, .mirrored = "-",
           .example = "(output_num=1, shapes=((4, 6),), types=('float32',))()");

// ---- _VirtualOutput -----------------------------------------------------------------------------

Result<ShardRule> ShardVirtualOutput(const OpView& op, const Strategy& strategy) {
  DRYDOCK_TRY(ShardRule rule, ShardElementwise(op, strategy));
  rule.loss_divisor_is_one = true;
  return rule;
}

/// Dimension 0 on all devices if that divides and the job does not feed whole batches (which the
/// pass that inserts the node says), else whole.
Result<Strategy> DefaultVirtualOutput(const OpView& op, std::int64_t device_count) {
  const Shape& shape = op.inputs[0].shape;
  DRYDOCK_TRY(const bool full_batch, BoolAttr(*op.attrs, "full_batch", false));
  const bool divides = !shape.empty() && shape[0] % device_count == 0;
  return BatchStrategy(op, device_count, {divides && !full_batch});
}

DRYDOCK_OP_NAMED(VirtualOutput, "_VirtualOutput", .family = "dataset",
                 .signature = "_VirtualOutput()(x)", .kind = OpKind::kView, .infer = InferSame,
                 .shard = ShardVirtualOutput, .default_strategy = DefaultVirtualOutput,
                 .gradient = GradientPassedOn, .lower = LowerToOperand, .evaluate = EvaluateCopy,
                 .flops = NoFlops, .cost = CostFamily::kFree, .accepts_layout = true,
                 .mirrored = "-", .steers = true);

}  // namespace
}  // namespace drydock::strategies
