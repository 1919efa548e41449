#include <vector>

#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// A cell that says itself what its backward pass is (`bprop`).
///
/// What `bprop` computes is recorded behind what the cell computes, between two nodes:
///
///     _CellSeeds(results)                -> the gradients of the results, as `bprop` gets them
///     ...                                   what `bprop` does
///     _CellGradients(operands, answers)     what it returns for each operand
///
/// Those nodes never run where they stand. They are cut as what they read is cut, and backward
/// copies them in place of the gradients of the cell (passes/backward/own_backward.cc).
namespace drydock::strategies {
namespace {

DRYDOCK_OP_NAMED(CellSeeds, "_CellSeeds", .family = "virtual",
                 .signature = "_CellSeeds()(*results)", .kind = OpKind::kTransparent,
                 .infer = InferEach, .gradient = GradientNotNeeded, .values = "-", .flops = NoFlops,
                 .cost = CostFamily::kFree);

DRYDOCK_OP_NAMED(CellGradients, "_CellGradients", .family = "virtual",
                 .signature = "_CellGradients()(*operands)", .kind = OpKind::kTransparent,
                 .infer = InferFirst, .gradient = GradientNotNeeded, .values = "-",
                 .flops = NoFlops, .cost = CostFamily::kFree);

}  // namespace
}  // namespace drydock::strategies
