#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/memory_report.h"
#include "sim/fleet/dry_run.h"

namespace drydock::reports {

/// All tensors of the step with the peak, by the kernel before which they are placed, then in the
/// order of the network. Lifetimes must have been kept (sim::DryRunOptions::keep_lifetimes).
[[nodiscard]] std::vector<TensorReport> ListTensors(const sim::ClassMemory& item,
                                                    const strategies::LocalProgram& program);

/// One kernel of the step with the peak.
struct KernelFacts {
  std::string name = {};    ///< Full name, "Default/net/MatMul-op0".
  std::string kernel = {};  ///< What is launched: "MatMul".
  std::string phase = {};   ///< "forward", "backward" or "optimizer".
  std::int64_t stream = 0;  ///< 0: computation.
  std::int64_t micro = -1;  ///< Micro batch; -1: none.
  std::int64_t at_launch_bytes = 0;
  std::int64_t after_bytes = 0;
  std::optional<PlaceReport> place = {};
};

/// The kernels in the order of their numbers, which PeakPointReport::kernel and TensorReport mean.
[[nodiscard]] std::vector<KernelFacts> ListKernels(const sim::ClassMemory& item,
                                                   const strategies::LocalProgram& program);

}  // namespace drydock::reports
