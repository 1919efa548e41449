#pragma once

#include "strategies/operators/basic_program.h"

namespace drydock::strategies {

/// Computes numbers of numbers and leaves out what changes nothing.
void SimplifyBasic(BasicProgram& program);

}  // namespace drydock::strategies
