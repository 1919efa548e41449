#pragma once

#include <cstdint>

#include "base/result.h"
#include "strategies/passes/schedule/lower.h"

namespace drydock::strategies {

/// The kernels of all micro batches of a step. See unroll_micro.cc.
/// @error kUnsupported  a kernel of a micro batch needs what all of them give
[[nodiscard]] Result<KernelGraph> UnrollMicroBatches(LoweredProgram rolled,
                                                     std::int64_t micro_batches);

}  // namespace drydock::strategies
