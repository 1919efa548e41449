#pragma once

#include "sim/timing/hardware_profile.h"

namespace drydock::sim {

/// A kernel as its time is asked for.
struct KernelWork {
  EfficiencyKind kind = EfficiencyKind::kVector;
  strategies::DType dtype = strategies::DType::kFloat32;  ///< Of the operands of products.
  double flops = 0;
  double bytes = 0;  ///< Read and written.
};

/// Roofline: what takes longer of computing and of moving the operands, each at the efficiency that
/// the profile has for work of that size, and what every kernel takes besides.
[[nodiscard]] double KernelSeconds(const HardwareProfile& profile, const KernelWork& work);

}  // namespace drydock::sim
