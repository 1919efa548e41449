#pragma once

#include <string>

#include "sim/tracer/listed_open.h"
#include "strategies/graph/graph.h"

namespace drydock::sim {

/// The program of one rank as a listing: {"@graph_0": {"MatMul-0": {"inputs": [...], "attrs":
/// {...}}}}.
///
/// Nodes are numbered per operator in depth-first post-order from the results, operands from left
/// to right. An operand is the name of a node, input or parameter; attributes that the reference
/// hands over as operands stand behind the tensors in the order of the signature. Several tensors
/// that are one operand go through a MakeTuple, one result of several through a TupleGetItem; so do
/// the inputs of the data set, `dataset` true. Where extents are open, the slices that a
/// redistribution takes are a Split and the part taken, and target shapes have -1 for them.
/// Parameters are read through a Load, constants of cut operators are a _GetTensorSlice.
/// Source: docs/compatibility.md.
[[nodiscard]] std::string GraphListing(const strategies::Graph& rank_graph, bool dataset,
                                       const OpenInputs& open = {});

}  // namespace drydock::sim
