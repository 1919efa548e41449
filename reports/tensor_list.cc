#include "reports/tensor_list.h"

#include <algorithm>

#include "reports/communication_report.h"
#include "sim/fleet/memory_plan.h"

namespace drydock::reports {
namespace {

using strategies::LocalProgram;

/// The list of the tensors of one class while it is made.
class TensorLister {
 public:
  TensorLister(const sim::ClassMemory& item, const LocalProgram& program)
      : profile_(*item.memory), plan_(sim::PlanMemory(program)), facts_(program, plan_) {}

  std::vector<TensorReport> Run() {
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].alias_of < 0) {
        Add(b, profile_.placements[b]);
      }
      if (b < profile_.left_over.size()) {
        Add(b, profile_.left_over[b]);
      }
    }
    std::ranges::stable_sort(list_, {}, &TensorReport::first_kernel);
    return std::move(list_);
  }

 private:
  void Add(std::size_t buffer, const sim::BufferPlacement& placement) {
    if (placement.bytes == 0) {
      return;
    }
    const std::int64_t last = std::ssize(plan_.KernelsOf(profile_.at_step)) - 1;
    const sim::PeakTensor tensor = facts_.Describe({.buffer = static_cast<std::int32_t>(buffer),
                                                    .kind = profile_.kinds[buffer],
                                                    .bytes = placement.bytes});
    list_.push_back({.name = tensor.name,
                     .part = std::string(sim::BufferKindName(tensor.kind)),
                     .producer = tensor.op,
                     .operator_name = tensor.operator_name,
                     .scope = tensor.scope,
                     .bytes = tensor.bytes,
                     .tensor = tensor.type_text,
                     .address = placement.address,
                     .first_kernel = placement.first_kernel,
                     .last_kernel = std::min<std::int64_t>(placement.last_kernel, last),
                     .place = ToPlaceReport(tensor.place)});
  }

  const sim::MemoryProfile& profile_;
  sim::MemoryPlan plan_;
  sim::TensorFacts facts_;
  std::vector<TensorReport> list_ = {};
};

}  // namespace

std::vector<TensorReport> ListTensors(const sim::ClassMemory& item, const LocalProgram& program) {
  return TensorLister(item, program).Run();
}

std::vector<KernelFacts> ListKernels(const sim::ClassMemory& item, const LocalProgram& program) {
  const sim::MemoryPlan plan = sim::PlanMemory(program);
  const sim::TensorFacts facts(program, plan);
  const std::vector<sim::PlannedKernel>& kernels = plan.KernelsOf(item.memory->at_step);
  std::vector<KernelFacts> list;
  list.reserve(kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const strategies::KernelNode& node = program.kernels.nodes[kernels[k].tag];
    KernelFacts row = {.name = facts.OperatorName(node.origin),
                       .kernel = node.name.str(),
                       .phase = "forward",
                       .stream = kernels[k].stream,
                       .micro = node.micro,
                       .at_launch_bytes = item.memory->series[k].at_launch_bytes,
                       .after_bytes = item.memory->series[k].after_bytes};
    if (node.origin != strategies::kNoNode) {
      const strategies::Node& origin = program.local.at(node.origin);
      row.phase = PhaseName(origin.phase);
      row.place = PlaceReportOf(program.local, origin);
    }
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace drydock::reports
