#include "strategies/rules/common/common_gradients.h"

#include <string>
#include <utility>

#include "strategies/operators/known_ops.h"

namespace drydock::strategies {

std::vector<ValueId> NoGradients(const GradientContext& context) {
  return std::vector<ValueId>(context.node.inputs.size(), kNoValue);
}

ValueId OutputGradient(const GradientContext& context) {
  return context.output_gradients[0];
}

Result<ValueId> ReduceTo(const GradientContext& context, ValueId gradient, const Shape& shape) {
  const Shape from = context.TypeOf(gradient).shape;
  if (from == shape) {
    return gradient;
  }
  std::vector<std::int64_t> axes = {};
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (d + shape.size() < from.size() ||
        (shape[d + shape.size() - from.size()] == 1 && from[d] != 1)) {
      axes.push_back(static_cast<std::int64_t>(d));
    }
  }
  ValueId value = gradient;
  if (!axes.empty()) {
    AttrMap attrs = {{"keepdim", !shape.empty() && from.size() == shape.size()},
                     {"dtype", std::string(DTypeName(context.TypeOf(value).dtype))}};
    if (!shape.empty()) {
      attrs["dim"] = axes;
    }
    DRYDOCK_TRY(value, context.Emit(ops::kSumExt, {value}, std::move(attrs)));
  }
  return EmitReshape(context, value, shape);
}

Result<ValueId> EmitReshape(const GradientContext& context, ValueId value, const Shape& shape) {
  if (context.TypeOf(value).shape == shape) {
    return value;
  }
  return context.Emit(ops::kReshape, {value}, {{"shape", shape}});
}

Result<ValueId> EmitEqual(const GradientContext& context, ValueId a, ValueId b) {
  const DType dtype = context.TypeOf(a).dtype;
  DRYDOCK_TRY(const ValueId equal, context.Emit("Equal", {a, b}));
  return CastTo(context, equal, dtype);
}

Result<ValueId> CastTo(const GradientContext& context, ValueId gradient, DType dtype) {
  if (context.TypeOf(gradient).dtype == dtype) {
    return gradient;
  }
  return context.Emit(ops::kCast, {gradient}, {{"dtype", std::string(DTypeName(dtype))}});
}

Result<ValueId> FitToInput(const GradientContext& context, ValueId gradient, std::size_t input) {
  const TensorType type = context.TypeOf(context.node.inputs[input]);
  DRYDOCK_TRY(const ValueId reduced, ReduceTo(context, gradient, type.shape));
  return CastTo(context, reduced, type.dtype);
}

Result<ValueId> EmitScaled(const GradientContext& context, ValueId value, double factor) {
  return context.Emit("Muls", {value}, {{"other", factor}});
}

Result<ValueId> EmitPowerSlope(const GradientContext& context, ValueId x, double exponent) {
  DRYDOCK_TRY(const ValueId power,
              context.Emit("PowTensorScalar", {x}, {{"exponent", exponent - 1.0}}));
  DRYDOCK_TRY(const ValueId slope, EmitScaled(context, power, exponent));
  return context.Emit(ops::kMul, {OutputGradient(context), slope});
}

Result<ValueId> EmitPlus(const GradientContext& context, ValueId value, double constant) {
  return context.Emit("AddScalar", {value}, {{"other", constant}});
}

Result<std::vector<ValueId>> EmitAll(const GradientContext& context, std::string_view op,
                                     std::vector<ValueId> inputs, AttrMap attrs) {
  NodeSpec spec = context.spec;
  spec.op = op;
  spec.inputs = std::move(inputs);
  spec.attrs = std::move(attrs);
  DRYDOCK_TRY(const NodeId node, context.builder.AddNode(std::move(spec)));
  context.builder.mutable_graph().nodes[ToIndex(node)].origin = context.node.origin;
  return context.builder.graph().at(node).outputs;
}

Result<ValueId> EmitZeros(const GradientContext& context, ValueId like) {
  return context.Emit(ops::kZerosLike, {like});
}

Result<std::vector<ValueId>> GradientsOfResults(const GradientContext& context) {
  std::vector<ValueId> gradients;
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i) {
    ValueId gradient = context.output_gradients[i];
    if (gradient == kNoValue) {
      DRYDOCK_TRY(gradient, EmitZeros(context, context.node.outputs[i]));
    }
    gradients.push_back(gradient);
  }
  return gradients;
}

ValueId LeftOf(const GradientContext& context) {
  return context.node.inputs[0];
}

ValueId RightOf(const GradientContext& context) {
  return context.node.inputs[1];
}

ValueId ResultOf(const GradientContext& context) {
  return context.node.outputs[0];
}

Result<ValueId> GradientItself(const GradientContext& context) {
  return OutputGradient(context);
}

Result<ValueId> GradientNegated(const GradientContext& context) {
  return context.Emit("Neg", {OutputGradient(context)});
}

Result<ValueId> TimesGradient(const GradientContext& context, const Result<ValueId>& factor) {
  if (!factor) {
    return tl::unexpected(factor.error());
  }
  return context.Emit(ops::kMul, {*factor, OutputGradient(context)});
}

Result<std::vector<ValueId>> FittedGradients(const GradientContext& context,
                                             std::span<const OperandGradient> functions) {
  std::vector<ValueId> gradients = NoGradients(context);
  for (std::size_t i = 0; i < gradients.size() && i < functions.size(); ++i) {
    if (context.wanted[i] && functions[i] != nullptr) {
      DRYDOCK_TRY(const ValueId whole, functions[i](context));
      DRYDOCK_TRY(gradients[i], FitToInput(context, whole, i));
    }
  }
  return gradients;
}

ValueId OperandOf(const GradientContext& context, Reads what) {
  switch (what) {
    case Reads::kInput:
      return context.node.inputs[0];
    case Reads::kOutput:
      return context.node.outputs[0];
    default:
      return context.output_gradients[0];
  }
}

Result<std::vector<ValueId>> EmitPutBack(const GradientContext& context, ValueId index,
                                         ValueId gradient, std::size_t dim) {
  const Shape shape = context.TypeOf(context.node.inputs[0]).shape;
  DRYDOCK_TRY(const ValueId whole,
              context.Emit("GatherDGrad", {index, gradient},
                           {{"dim", static_cast<std::int64_t>(dim)}, {"shape", shape}}));
  return std::vector<ValueId>{whole};
}

Result<std::vector<ValueId>> GradientPassedOn(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  gradients[0] = OutputGradient(context);
  return gradients;
}

Result<std::vector<ValueId>> GradientReshaped(const GradientContext& context) {
  std::vector<ValueId> gradients = NoGradients(context);
  const Shape shape = context.TypeOf(context.node.inputs[0]).shape;
  DRYDOCK_TRY(gradients[0],
              context.Emit(ops::kReshape, {OutputGradient(context)}, {{"shape", shape}}));
  return gradients;
}

}  // namespace drydock::strategies
