#pragma once

#include "base/result.h"
#include "strategies/operators/builder.h"

namespace drydock::strategies {

/// Moves dumps of what an operator reads (input_output "in") behind the exchanges that bring it
/// there, one for every reader; those of what an operator gives stay where they are. Call it before
/// the program has gradients.
Status PlaceDumps(GraphBuilder& builder);

}  // namespace drydock::strategies
