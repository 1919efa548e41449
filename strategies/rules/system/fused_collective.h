#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/operators/kernel_builder.h"

namespace drydock::strategies {

/// One kernel; of several tensors those that lie in parameters are moved into its buffer first.
[[nodiscard]] Result<std::vector<KernelId>> LowerAllReduce(const LowerContext& context);

/// Kernels of an AllGather of several tensors: they come rank by rank, and each is put together
/// behind it. One of one tensor is the kernel itself. See fused_collective.cc.
[[nodiscard]] Result<std::vector<KernelId>> LowerAllGather(const LowerContext& context);

/// Kernels of a ReduceScatter of several tensors: each is taken apart in front of it, so that they
/// go rank by rank. One of one tensor is the kernel itself.
[[nodiscard]] Result<std::vector<KernelId>> LowerReduceScatter(const LowerContext& context);

}  // namespace drydock::strategies
