#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// True for operators of a script in PyNative mode: gradients of its weights are summed by nobody
/// (attribute `pynative`).
[[nodiscard]] bool RunsInPyNative(const Node& node);

/// True for those outside of functions with a shard(): every rank computes all of them.
[[nodiscard]] bool RunsWhole(const Node& node);

}  // namespace drydock::strategies
