#pragma once

#include <cstdint>
#include <span>

namespace drydock::strategies {

/// Reads bytes as one operator with any operands, attributes and strategies, and asks everything
/// that the compiler asks about it: inference, default and given strategies, layouts, the nearest
/// legal strategy, the local program with its gradient.
///
/// @return true if the operator was compiled, false if it was refused; anything else is a defect
bool TryStrategyBytes(std::span<const std::uint8_t> bytes);

}  // namespace drydock::strategies
