#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Pass: the forward nodes of a part on slices. See forward.cc.
/// @error kInvalidArgument  a parameter is wanted in two layouts, layouts of the user's own do not
/// fit
[[nodiscard]] Status LocalizeForward(LocalDraft& draft, const NodeRange& part);

}  // namespace drydock::strategies
