#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/operators/kernel_builder.h"

namespace drydock::strategies {

/// LowerFn of an Adam step with decay outside of the moments: 1 - beta1 and 1 - beta2, once for all
/// parameters, then one kernel per parameter.
[[nodiscard]] Result<std::vector<KernelId>> LowerAdamWeightDecay(const LowerContext& context);

/// LowerFn of a Lamb step: the step of the moments, the norms of weight and step, the weight.
[[nodiscard]] Result<std::vector<KernelId>> LowerLamb(const LowerContext& context);

/// LowerFn of a step whose constants are those of its own: the optimizer holds them as numbers, and
/// each kernel gets tensors of them.
[[nodiscard]] Result<std::vector<KernelId>> LowerWithOwnNumbers(const LowerContext& context);

/// The same of a step that gives the weight alone on Ascend; the states stand for their results.
///
/// @param own  its constants are its own
[[nodiscard]] std::vector<KernelId> LowerToWeight(const LowerContext& context, bool own);

}  // namespace drydock::strategies
