#pragma once

#include <cstdint>

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Step: result number `output` of a node, complete on every rank. See partial_results.cc.
[[nodiscard]] Result<ValueId> CompleteResult(LocalDraft& draft, NodeId id,
                                             const OpSharding& sharding, std::size_t output,
                                             ValueId value);

/// Completes one partial result over the group of `communication`, if that has members.
///
/// @param index    position among the communications of the result
/// @param divisor  for means: how many partial results there are
[[nodiscard]] Result<ValueId> CompletePartial(LocalDraft& draft, NodeId id,
                                              const OpSharding::Communication& communication,
                                              std::int64_t index, double divisor, ValueId value);

}  // namespace drydock::strategies
