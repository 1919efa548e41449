#pragma once

#include <cstddef>

#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Makes the equal AllGathers of one result one, among the local nodes from `first` on. See
/// merge_gathers.cc.
void MergeGathers(LocalDraft& draft, std::size_t first);

}  // namespace drydock::strategies
