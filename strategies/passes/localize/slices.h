#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Step: the operator on slices; one value per result, still partial. See slices.cc.
[[nodiscard]] Result<std::vector<ValueId>> EmitOnSlices(LocalDraft& draft, NodeId id,
                                                        const OpSharding& sharding, NodeSpec spec);

/// Step: completes the results of a node and says that they stand for the traced ones.
/// @error kUnsupported  a result without a layout is read
[[nodiscard]] Status TakeResults(LocalDraft& draft, NodeId id,
                                 const SharedValue<OpSharding>& sharding,
                                 std::vector<ValueId> outputs);

/// Whether a local result has the shape that its layout says.
/// @error kInvalidArgument  layouts of the user's own do not fit
[[nodiscard]] Status CheckLocalResult(const LocalDraft& draft, NodeId id, std::size_t output,
                                      ValueId local, const TensorLayout& layout);

}  // namespace drydock::strategies
