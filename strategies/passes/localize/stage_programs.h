#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"
#include "strategies/program/local_program.h"

namespace drydock::strategies {

/// The finished draft of all stages, taken apart: one program per stage, not yet cleaned. See
/// stage_programs.cc.
/// @error kUnsupported  an operator behind the gradients mixes tensors of several stages
[[nodiscard]] Result<std::vector<Graph>> PartStages(LocalDraft& draft,
                                                    const std::vector<ValueId>& outputs);

}  // namespace drydock::strategies
