#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Pass: the gradient nodes of a part become the backward program. See expand_gradients.cc.
[[nodiscard]] Status ExpandGradients(LocalDraft& draft, const NodeRange& part);

}  // namespace drydock::strategies
