#include "strategies/rules/train/optimizer_operands.h"

#include <cstdint>
#include <string>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"

/// What all optimizer steps ask of their operands: the weight, states and the gradient in the
/// weight's shape, and numbers. Example: ApplyAdagrad(var (8, 4), accum (8, 4), lr (), grad (8,
/// 4)).
namespace drydock::strategies {

Result<std::vector<TensorType>> InferUpdate(const OpView& op, std::size_t count,
                                            const std::vector<std::size_t>& like_weight,
                                            std::size_t written) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, count, count));
  std::vector<bool> full(count, false);
  full[0] = true;
  for (const std::size_t position : like_weight) {
    full[position] = true;
  }
  for (std::size_t i = 1; i < count; ++i) {
    const bool fits =
        full[i] ? op.inputs[i].shape == op.inputs[0].shape : Elements(op.inputs[i]) == 1;
    if (!fits) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "' updates a weight of shape " +
                        TupleText(op.inputs[0].shape) + ", but input " + std::to_string(i) +
                        " has shape " + TupleText(op.inputs[i].shape));
    }
  }
  return std::vector<TensorType>(op.inputs.begin(),
                                 op.inputs.begin() + static_cast<std::ptrdiff_t>(written));
}

double NumberOperand(const EvaluateContext& context, std::size_t input) {
  return context.inputs[input].data.front();
}

}  // namespace drydock::strategies
