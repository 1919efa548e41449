#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Step: the layout in which a rank stores a parameter that the network wants in layout `used`: the
/// same, or some of its rows. Notes the latter in the draft. See weight_shard.cc.
[[nodiscard]] Result<TensorLayout> StoredLayout(LocalDraft& draft, const Parameter& parameter,
                                                TensorLayout used);

/// The layout in which the operators of the network get a value: that in which it is stored, unless
/// it is a weight that is gathered in front of them.
[[nodiscard]] SharedValue<TensorLayout> UsedLayout(const LocalDraft& draft, ValueId value);

/// The layout of the sum of a weight's gradients over micro batches.
[[nodiscard]] TensorLayout AccumulatorLayout(const LocalDraft& draft, ValueId weight);

/// Step: the gathered weight, the same value for all who ask. @pre it is one of `draft.shards`
[[nodiscard]] Result<ValueId> GatheredWeight(LocalDraft& draft, ValueId weight);

/// Step: the gathered weight for one more user, whose gradient is accumulated.
[[nodiscard]] Result<ValueId> AccumulatedUse(LocalDraft& draft, ValueId weight, ValueId gathered);

}  // namespace drydock::strategies
