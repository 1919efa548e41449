#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "strategies/graph/builder.h"

namespace drydock::strategies {

/// Appends the reverse-mode derivative of `loss` to a program of local values.
///
/// Collectives are differentiated like any other operator (AllReduce <-> AllReduce, AllGather <->
/// ReduceScatter, ...), so the backward communication needs no table of its own.
///
/// @param loss  value to differentiate; a non-scalar counts as the sum of its elements unless
/// `sens` is given
/// @param wrt   values to differentiate by
/// @param sens  gradient that arrives at `loss`, kNoValue = ones
/// @return one gradient per entry of `wrt`, zeros where the loss does not depend on it
[[nodiscard]] Result<std::vector<ValueId>> Differentiate(GraphBuilder& builder, ValueId loss,
                                                         std::span<const ValueId> wrt,
                                                         ValueId sens);

}  // namespace drydock::strategies
