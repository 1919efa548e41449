#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Pass: adds the rank's inputs, parameters and constants. See leaves.cc.
[[nodiscard]] Status PlaceLeaves(LocalDraft& draft);

}  // namespace drydock::strategies
