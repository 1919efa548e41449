#pragma once

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Joins sums of gradients over the same ranks into one collective with several tensors.
///
/// Candidates are collectives behind the loss with a non-zero attribute `fusion`; those with equal
/// operator, reduction, group, fusion id and element type that do not depend on each other become
/// one node at the place of the last one. The order of everything else stays as near to the old one
/// as the data allow. Such a node takes and gives one continuous buffer. Source: spec
/// compiler-passes section 9 (back end); spec memory-and-dump section 3.
[[nodiscard]] Graph FuseCollectives(Graph local);

}  // namespace drydock::strategies
