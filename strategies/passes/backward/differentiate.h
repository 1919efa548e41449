#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "strategies/operators/builder.h"

namespace drydock::strategies {

/// What Differentiate appended.
struct Derivative {
  /// One gradient per value differentiated by, zeros where the loss does not depend on it.
  std::vector<ValueId> gradients = {};
  /// Nodes at which a gradient that is wanted further up ends, because their operator has no
  /// backward form; last one first.
  std::vector<NodeId> stopped = {};
};

/// Appends the reverse-mode derivative of `loss` to a program of local values.
///
/// Collectives are differentiated like any other operator (AllReduce <-> AllReduce, AllGather <->
/// ReduceScatter, ...), so the backward communication needs no table of its own.
///
/// @param loss  value to differentiate; a non-scalar counts as the sum of its elements unless
/// `sens` is given
/// @param wrt   values to differentiate by
/// @param sens  gradient that arrives at `loss`, kNoValue = ones
[[nodiscard]] Result<Derivative> Differentiate(GraphBuilder& builder, ValueId loss,
                                               std::span<const ValueId> wrt, ValueId sens);

}  // namespace drydock::strategies
