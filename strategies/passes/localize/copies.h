#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Step: an operator with an interleaved strategy, once per copy. See copies.cc.
[[nodiscard]] Status LocalizeCopies(LocalDraft& draft, NodeId id, const OpSharding& sharding);

/// Step: joins the copies of a value, so that `id` of its local counterpart can be used.
[[nodiscard]] Status JoinCopies(LocalDraft& draft, ValueId value);

/// The layout in which a rank holds what its copies hold together, as far as it is one slice; a
/// layout without copies as it is.
[[nodiscard]] TensorLayout JoinedLayout(const TensorLayout& layout);

}  // namespace drydock::strategies
