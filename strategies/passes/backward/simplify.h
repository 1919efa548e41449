#pragma once

#include <cstdint>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Which constants the front end works out.
enum class ConstantWork : std::uint8_t {
  kAll,
  /// What was worked out is worked on no further: the backward pass of several micro batches begins
  /// with kernels on a constant.
  kOneStep,
};

/// The program with simpler forms of its nodes: constants are worked out, nodes that change nothing
/// are gone, sums of sums are one. Computes the same; inputs, outputs and their
/// order stay.
[[nodiscard]] Graph SimplifyGraph(Graph graph, ConstantWork work = ConstantWork::kAll);

}  // namespace drydock::strategies
