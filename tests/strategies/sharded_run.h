#pragma once

#include <string>

#include "tests/strategies/random_network.h"

namespace drydock::strategies {

/// Compiles and runs a step on all ranks of its job and, whole, on one device, and compares every
/// slice of every output and of every parameter after the step. Empty if they are equal, else the
/// first difference.
[[nodiscard]] std::string Difference(const RandomStep& step);

}  // namespace drydock::strategies
