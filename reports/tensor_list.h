#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "reports/memory_report.h"
#include "sim/fleet/dry_run.h"

namespace drydock::reports {

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

/// What a class of ranks has in memory during the step with the peak, kernel by kernel and tensor
/// by tensor. Lifetimes must have been kept (sim::DryRunOptions::keep_lifetimes); class and program
/// must outlive the object.
class StepLister {
 public:
  StepLister(const sim::ClassMemory& item, const strategies::LocalProgram& program);

  [[nodiscard]] std::size_t KernelCount() const { return kernels_.size(); }

  /// Kernel `index`, 0 <= index < KernelCount(): the number that PeakPointReport::kernel and
  /// TensorReport mean.
  [[nodiscard]] KernelFacts Kernel(std::size_t index) const;

  /// The same kernel in LocalProgram::kernels.
  [[nodiscard]] std::size_t NodeOf(std::size_t index) const { return kernels_[index].tag; }

  [[nodiscard]] std::size_t TensorCount() const { return AllHeld().size(); }

  /// All tensors, or `most` of them, by the kernel before which they are placed, then in the order
  /// of the network: up to three quarters are the largest that are alive at the peak, the others
  /// the largest of the rest.
  [[nodiscard]] std::vector<TensorReport> Tensors(
      std::size_t most = std::numeric_limits<std::size_t>::max()) const;

  /// Bytes of each kind of tensors at the launch of each kernel: [kind][kernel]. The kinds sum to
  /// at_launch_bytes.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> PartSeries() const;

 private:
  struct Held {
    std::size_t buffer = 0;
    const sim::BufferPlacement* placement = nullptr;
  };
  [[nodiscard]] std::vector<Held> AllHeld() const;
  [[nodiscard]] TensorReport Describe(const Held& held) const;

  const strategies::LocalProgram& program_;
  const sim::MemoryProfile& profile_;
  sim::MemoryPlan plan_;
  sim::TensorFacts facts_;
  const std::vector<sim::PlannedKernel>& kernels_;
};

}  // namespace drydock::reports
