#pragma once

#include <cstdint>
#include <vector>

#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

/// Cuts of a tensor behind a Reshape, from those in front: first whole cuts where a dimension takes
/// them, then what is left of them as far as it divides.
[[nodiscard]] std::vector<std::int64_t> CutsThroughReshape(const Shape& from, const Shape& to,
                                                           std::vector<std::int64_t> cuts);

/// Halves a tensor until all ranks are used: first along dimension 0, then along the others, the
/// largest first.
[[nodiscard]] std::vector<std::int64_t> CutsOfShape(const Shape& shape, std::int64_t ranks);

}  // namespace drydock::strategies
