#include "strategies/rules/lookup/scatter_gradients.h"

#include <string_view>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/common_gradients.h"

namespace drydock::strategies {
namespace {

/// Indices of the forward node, in the forms that the gradient's operators take.
class Places {
 public:
  Places(const GradientContext& context, bool rows)
      : context_(context), indices_(context.node.inputs[1]), rows_(rows) {}

  /// Elements of `tensor` at the places.
  [[nodiscard]] Result<ValueId> From(ValueId tensor) const {
    return rows_ ? context_.Emit("Gather", {tensor, indices_}, {{"axis", 0}})
                 : context_.Emit("GatherNd", {tensor, indices_});
  }

  /// A copy of `tensor` with `updates` written to the places by a TensorScatter operator.
  [[nodiscard]] Result<ValueId> Into(std::string_view op, ValueId tensor, ValueId updates) const {
    ValueId coordinates = indices_;
    if (rows_) {
      DRYDOCK_TRY(coordinates, context_.Emit("ExpandDims", {indices_}, {{"axis", -1}}));
    }
    return context_.Emit(op, {tensor, coordinates, updates});
  }

 private:
  const GradientContext& context_;
  ValueId indices_;
  bool rows_;
};

using Gradients = Result<std::vector<ValueId>>;

std::vector<ValueId> Both(ValueId of_x, ValueId of_updates) {
  return {of_x, kNoValue, of_updates};
}

Gradients UpdateGradient(const GradientContext& context, bool rows, bool keeps_updates) {
  const Places places(context, rows);
  const ValueId dout = OutputGradient(context);
  DRYDOCK_TRY(const ValueId of_updates, places.From(dout));
  DRYDOCK_TRY(const ValueId zeros,
              EmitZeros(context, keeps_updates ? context.node.inputs[2] : of_updates));
  DRYDOCK_TRY(const ValueId of_x, places.Into("TensorScatterUpdate", dout, zeros));
  return Both(of_x, of_updates);
}

Gradients SumGradient(const GradientContext& context, bool rows, bool negative) {
  DRYDOCK_TRY(ValueId of_updates, Places(context, rows).From(OutputGradient(context)));
  if (negative) {
    DRYDOCK_TRY(of_updates, context.Emit("Neg", {of_updates}));
  }
  return Both(OutputGradient(context), of_updates);
}

/// dY * y: from the result where x is overwritten, else from x.
Result<ValueId> WeightedResult(const GradientContext& context, const Places& places, bool rows,
                               std::string_view op) {
  const ValueId dout = OutputGradient(context);
  if (rows) {
    return context.Emit(ops::kMul, {dout, context.node.outputs[0]});
  }
  DRYDOCK_TRY(const ValueId weighted, context.Emit(ops::kMul, {dout, context.node.inputs[0]}));
  return places.Into(op, weighted, context.node.inputs[2]);
}

Gradients ProductGradient(const GradientContext& context, bool rows, bool quotient) {
  const Places places(context, rows);
  const ValueId updates = context.node.inputs[2];
  const std::string_view op = quotient ? "TensorScatterDiv" : "TensorScatterMul";
  DRYDOCK_TRY(const ValueId of_x, places.Into(op, OutputGradient(context), updates));
  DRYDOCK_TRY(const ValueId weighted, WeightedResult(context, places, rows, op));
  DRYDOCK_TRY(const ValueId at_places, places.From(weighted));
  DRYDOCK_TRY(ValueId of_updates, context.Emit(ops::kRealDiv, {at_places, updates}));
  if (quotient) {
    DRYDOCK_TRY(of_updates, context.Emit("Neg", {of_updates}));
  }
  return Both(of_x, of_updates);
}

/// `value`, at least 1.
Result<ValueId> AtLeastOne(const GradientContext& context, ValueId value) {
  const ValueId one = context.builder.AddScalar(1, context.TypeOf(value).dtype);
  return context.Emit("Maximum", {value, one});
}

Gradients ExtremeGradient(const GradientContext& context, bool rows) {
  const Places places(context, rows);
  const Node& node = context.node;
  const ValueId result = node.outputs[0];
  DRYDOCK_TRY(const ValueId at_places, places.From(result));
  DRYDOCK_TRY(const ValueId chosen, EmitEqual(context, node.inputs[2], at_places));
  // Where x is overwritten it cannot be compared any more: it gets what no update has won.
  ValueId of_x = kNoValue;
  ValueId before = kNoValue;
  if (rows) {
    DRYDOCK_TRY(before, EmitZeros(context, OutputGradient(context)));
  } else {
    DRYDOCK_TRY(before, EmitEqual(context, node.inputs[0], result));
  }
  DRYDOCK_TRY(const ValueId winners, places.Into("TensorScatterAdd", before, chosen));
  DRYDOCK_TRY(const ValueId divisor, AtLeastOne(context, winners));
  DRYDOCK_TRY(const ValueId share, context.Emit(ops::kRealDiv, {OutputGradient(context), divisor}));
  if (rows) {
    DRYDOCK_TRY(before, EmitEqual(context, winners, before));
  }
  DRYDOCK_TRY(of_x, context.Emit(ops::kMul, {before, share}));
  DRYDOCK_TRY(const ValueId shares, places.From(share));
  DRYDOCK_TRY(const ValueId of_updates, context.Emit(ops::kMul, {chosen, shares}));
  return Both(of_x, of_updates);
}

}  // namespace

Gradients GradientOfRowUpdate(const GradientContext& context) {
  return UpdateGradient(context, true, false);
}
Gradients GradientOfPlaceUpdate(const GradientContext& context) {
  return UpdateGradient(context, false, false);
}
Gradients GradientOfCopyUpdate(const GradientContext& context) {
  return UpdateGradient(context, false, true);
}
Gradients GradientOfRowAdd(const GradientContext& context) {
  return SumGradient(context, true, false);
}
Gradients GradientOfRowSub(const GradientContext& context) {
  return SumGradient(context, true, true);
}
Gradients GradientOfPlaceAdd(const GradientContext& context) {
  return SumGradient(context, false, false);
}
Gradients GradientOfPlaceSub(const GradientContext& context) {
  return SumGradient(context, false, true);
}
Gradients GradientOfRowMul(const GradientContext& context) {
  return ProductGradient(context, true, false);
}
Gradients GradientOfRowDiv(const GradientContext& context) {
  return ProductGradient(context, true, true);
}
Gradients GradientOfPlaceMul(const GradientContext& context) {
  return ProductGradient(context, false, false);
}
Gradients GradientOfPlaceDiv(const GradientContext& context) {
  return ProductGradient(context, false, true);
}
Gradients GradientOfRowExtreme(const GradientContext& context) {
  return ExtremeGradient(context, true);
}
Gradients GradientOfPlaceExtreme(const GradientContext& context) {
  return ExtremeGradient(context, false);
}

}  // namespace drydock::strategies
