#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Pass: averaging, clipping, optimizers of a part. See behind_gradients.cc.
[[nodiscard]] Status LocalizeBehindGradients(LocalDraft& draft, const NodeRange& part);

/// One node that has no plan, on its operands as they are on the rank.
[[nodiscard]] Status LocalizeOnLocalValues(LocalDraft& draft, NodeId id);

/// True if an operator computes on slices of gradients or weights what it computes on the whole:
/// element by element, or an update.
[[nodiscard]] bool WorksOnSlices(const Node& node);

}  // namespace drydock::strategies
