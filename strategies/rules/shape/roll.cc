#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Elements moved round along some dimensions, or round the whole tensor where none is named.
///
/// Example: [0, 1, 2, 3] by 1 -> [3, 0, 1, 2]. The gradient moves back. There is no sharding rule,
/// in the reference neither. Source: mindspore ops/grad/grad_array_ops.cc.
namespace drydock::strategies {
namespace {

struct Moves {
  std::vector<std::int64_t> shifts = {};
  std::vector<std::size_t> dims = {};  ///< Empty: the elements in their order.
};

Result<Moves> MovesOf(const OpView& op) {
  Moves moves;
  DRYDOCK_TRY(moves.shifts, RequiredListAttr(op, "shifts"));
  const auto given = op.attrs->find("dims");
  if (given != op.attrs->end() && !IsNone(given->second)) {
    DRYDOCK_TRY(const std::vector<std::int64_t> dims, RequiredListAttr(op, "dims"));
    for (const std::int64_t dim : dims) {
      DRYDOCK_TRY(const std::size_t normal, NormalisedAxis(op, dim, op.inputs[0].shape.size()));
      moves.dims.push_back(normal);
    }
  }
  const std::size_t wanted = moves.dims.empty() ? 1 : moves.dims.size();
  if (moves.shifts.size() != wanted) {
    return FailOp(op, "shifts",
                  "'Roll' has " + std::to_string(moves.shifts.size()) + " shifts for " +
                      std::to_string(wanted) + " dimensions");
  }
  return moves;
}

Result<std::vector<TensorType>> InferRoll(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(MovesOf(op));
  return std::vector<TensorType>{op.inputs[0]};
}

Result<std::vector<ValueId>> GradientOfRoll(const GradientContext& context) {
  AttrMap attrs = context.node.attrs;
  const OpView op{.op = context.node.op, .attrs = &attrs};
  DRYDOCK_TRY(std::vector<std::int64_t> shifts, RequiredListAttr(op, "shifts"));
  for (std::int64_t& shift : shifts) {
    shift = -shift;
  }
  attrs["shifts"] = shifts;
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit(context.node.op, {OutputGradient(context)}, std::move(attrs)));
  return std::vector<ValueId>{gradient};
}

std::int64_t Wrapped(std::int64_t position, std::int64_t extent) {
  return ((position % extent) + extent) % extent;
}

Result<std::vector<NdArray>> EvaluateRoll(const EvaluateContext& context) {
  const OpView op{.op = "Roll", .inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(Moves moves, MovesOf(op));
  NdArray source = context.inputs[0];
  const Shape shape = source.shape;
  if (moves.dims.empty()) {
    source.shape = {std::ssize(source.data)};
    moves.dims = {0};
  }
  NdArray out{.shape = source.shape, .data = {}};
  ForEachElement(source.shape, [&](std::span<const std::int64_t> index) {
    std::vector<std::int64_t> from(index.begin(), index.end());
    for (std::size_t i = 0; i < moves.dims.size(); ++i) {
      const std::size_t dim = moves.dims[i];
      from[dim] = Wrapped(from[dim] - moves.shifts[i], source.shape[dim]);
    }
    out.data.push_back(source.data[OffsetOf(source.shape, from)]);
  });
  return std::vector<NdArray>{ReshapeArray(std::move(out), shape)};
}

DRYDOCK_OP(Roll, .family = "shape", .signature = "Roll()(input, #shifts, #dims=None)",
           .infer = InferRoll, .gradient = GradientOfRoll, .evaluate = EvaluateRoll,
           .flops = NoFlops, .cost = CostFamily::kCast,
           .example = "(shifts=(1,), dims=(1,))((4, 6))");

}  // namespace
}  // namespace drydock::strategies
