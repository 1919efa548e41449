#pragma once

#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "sim/tracer/listed_open.h"
#include "strategies/program/local_program.h"

namespace drydock::sim {

/// What the compiler made of a traced program, for the Python side, as a JSON object:
///
///     nodes, redistributions, operators_without_rule: [name], violations: [text],
///     layouts: {name: [device matrix, tensor map, slice shape, field size, uniform cut, group of
///               the optimizer's shards, shape]} of inputs and parameters: matrix, map and slice
///               without the shards, the group of `rank`,
///     fusions: {parameter: number of the AllReduce that sums its gradients},
///     strategies: {full name of a node: [cuts per operand]}
/// Source: docs/compatibility.md.
[[nodiscard]] std::string CompileAnswer(const strategies::LocalProgram& program, RankId rank);

/// Listing (graph_listing.h) of the forward program of one rank, before differentiation.
[[nodiscard]] Result<std::string> ForwardListing(const strategies::LocalProgram& program,
                                                 RankId rank, const OpenInputs& open = {});

}  // namespace drydock::sim
