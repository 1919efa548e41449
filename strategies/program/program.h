#pragma once

#include "strategies/program/agreement.h"
#include "strategies/program/collectives.h"

/// All that a compiled job is, for sources that are not moved to the headers of its parts yet.
namespace drydock::strategies {

using CompiledProgram = LocalProgram;

}  // namespace drydock::strategies
