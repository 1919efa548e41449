#include "sim/timing/kernel_time.h"

#include <algorithm>

/// Time of a kernel.
///
/// A product of 4,096 x 4,096 x 4,096 in fp16 is 137 GFLOP and 101 MB. On a device of 312 TFLOP/s
/// and 2 TB/s, which reach 0.82 and 0.9 at that size, it computes for 537 us and moves for 56: it
/// takes 537. Source: S. Williams et al.: Roofline, 2009
namespace drydock::sim {
namespace {

const EfficiencyCurve& CurveOf(const HardwareProfile& profile, EfficiencyKind kind) {
  return profile.efficiency[static_cast<std::size_t>(kind)];
}

}  // namespace

double KernelSeconds(const HardwareProfile& profile, const KernelWork& work) {
  const bool matrix =
      work.kind == EfficiencyKind::kProduct || work.kind == EfficiencyKind::kAttention;
  const EfficiencyKind mover = matrix ? EfficiencyKind::kVector : work.kind;
  const double moving =
      work.bytes > 0
          ? work.bytes / (profile.memory_bytes_per_second * CurveOf(profile, mover).At(work.bytes))
          : 0;
  // What the curve stands for (launch, waves that do not fill the device, loops that begin and end)
  // takes its time whatever the type: twice as fast a type reaches what half the work does.
  const double peak = PeakFlops(profile, work.dtype);
  const double half = PeakFlops(profile, strategies::DType::kBFloat16);
  const double size = matrix && peak > half ? work.flops * half / peak : work.flops;
  double computing = 0;
  if (work.flops > 0) {
    computing = matrix ? work.flops / (peak * CurveOf(profile, work.kind).At(size))
                       : work.flops / profile.vector_flops;
  }
  return std::max(computing, moving) + profile.kernel_launch_seconds;
}

}  // namespace drydock::sim
