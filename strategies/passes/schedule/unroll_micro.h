#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/passes/schedule/lower.h"

namespace drydock::strategies {

/// The kernels of all micro batches of a step.
struct UnrolledProgram {
  KernelGraph graph = {};
  /// Per micro batch: when these are done, so is its backward pass.
  std::vector<std::vector<KernelId>> ends = {};
};

/// The kernels of all micro batches of a step, one micro batch behind the other unless something
/// else (a pipeline) says their order. See unroll_micro.cc.
/// @error kUnsupported  a kernel of a micro batch needs what all of them give
[[nodiscard]] Result<UnrolledProgram> UnrollMicroBatches(LoweredProgram rolled,
                                                         std::int64_t micro_batches, bool ordered);

}  // namespace drydock::strategies
