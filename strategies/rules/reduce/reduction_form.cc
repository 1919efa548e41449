#include "strategies/rules/reduce/reduction_form.h"

#include <algorithm>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/common_rules.h"

namespace drydock::strategies {

Result<Reduction> ReductionOf(const OpView& op) {
  Reduction reduction = {};
  DRYDOCK_TRY(const bool keep_dims, BoolAttr(*op.attrs, "keep_dims", false));
  DRYDOCK_TRY(reduction.keep_dims, BoolAttr(*op.attrs, "keepdim", keep_dims));
  const char* name = op.attrs->contains("dim") ? "dim" : "axis";
  const std::size_t rank = op.inputs[0].shape.size();
  DRYDOCK_TRY(const auto listed, IntListAttr(*op.attrs, name));
  DRYDOCK_TRY(const bool skip_mode, BoolAttr(*op.attrs, "skip_mode", false));
  if (skip_mode && (!listed || listed->empty())) {
    return reduction;  // Nothing is reduced.
  }
  // A scalar counts as one dimension here, so axis 0 and -1 of it are legal.
  const std::size_t counted_rank = std::max<std::size_t>(rank, 1);
  DRYDOCK_TRY(reduction.axes, ReducedAxesAttr(op, name, counted_rank));
  if (rank == 0) {
    reduction.axes.clear();
  }
  return reduction;
}

Result<ValueId> WithReducedDims(const GradientContext& context, ValueId value) {
  OpViewStorage storage = {};
  const OpView view = ViewOf(context.builder.graph(), context.node, storage);
  DRYDOCK_TRY(const Reduction reduction, ReductionOf(view));
  const Shape kept = ReducedShape(view.inputs[0].shape, reduction.axes, true);
  if (context.TypeOf(value).shape == kept) {
    return value;
  }
  return context.Emit(ops::kReshape, {value}, {{"shape", kept}});
}

Result<ValueId> SpreadGradient(const GradientContext& context) {
  DRYDOCK_TRY(const ValueId kept, WithReducedDims(context, context.output_gradients[0]));
  const Shape shape = context.TypeOf(context.node.inputs[0]).shape;
  if (context.TypeOf(kept).shape == shape) {
    return kept;
  }
  const Shape& from = context.TypeOf(kept).shape;
  std::vector<std::int64_t> times(shape.size(), 1);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    times[d] = from[d] == shape[d] ? 1 : shape[d];
  }
  return context.Emit("Tile", {kept}, {{"dims", std::move(times)}});
}

}  // namespace drydock::strategies
