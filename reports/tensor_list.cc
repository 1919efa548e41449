#include "reports/tensor_list.h"

#include <algorithm>

#include "reports/communication_report.h"
#include "sim/fleet/memory_plan.h"

namespace drydock::reports {

StepLister::StepLister(const sim::ClassMemory& item, const strategies::LocalProgram& program)
    : program_(program),
      profile_(*item.memory),
      plan_(sim::PlanMemory(program)),
      facts_(program, plan_),
      kernels_(plan_.KernelsOf(profile_.at_step)) {}

std::vector<StepLister::Held> StepLister::AllHeld() const {
  std::vector<Held> held;
  for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
    if (plan_.buffers[b].alias_of < 0 && profile_.placements[b].bytes > 0) {
      held.push_back({.buffer = b, .placement = &profile_.placements[b]});
    }
    if (b < profile_.left_over.size() && profile_.left_over[b].bytes > 0) {
      held.push_back({.buffer = b, .placement = &profile_.left_over[b]});
    }
  }
  return held;
}

TensorReport StepLister::Describe(const Held& held) const {
  const sim::PeakTensor tensor = facts_.Describe({.buffer = static_cast<std::int32_t>(held.buffer),
                                                  .kind = profile_.kinds[held.buffer],
                                                  .bytes = held.placement->bytes});
  const NodeId owner = facts_.OwnerOf(held.buffer);
  return {
      .name = tensor.name,
      .part = std::string(sim::BufferKindName(tensor.kind)),
      .producer = tensor.op,
      .operator_name = tensor.operator_name,
      .scope = tensor.scope,
      .bytes = tensor.bytes,
      .tensor = tensor.type_text,
      .address = held.placement->address,
      .first_kernel = held.placement->first_kernel,
      .last_kernel = std::min<std::int64_t>(held.placement->last_kernel, std::ssize(kernels_) - 1),
      .place = tensor.place || owner == strategies::kNoNode
                   ? ToPlaceReport(tensor.place)
                   : PlaceReportOf(program_.local, program_.local.at(owner))};
}

std::vector<TensorReport> StepLister::Tensors(std::size_t most) const {
  std::vector<Held> held = AllHeld();
  if (held.size() > most) {
    std::ranges::stable_sort(held, std::ranges::greater(),
                             [](const Held& one) { return one.placement->bytes; });
    // The largest of the peak get most of the places, whoever is largest the others.
    const std::int64_t peak = profile_.at_kernel;
    const auto others = std::stable_partition(held.begin(), held.end(), [peak](const Held& one) {
      return one.placement->first_kernel <= peak && peak <= one.placement->last_kernel;
    });
    const auto kept =
        std::min<std::ptrdiff_t>(others - held.begin(), static_cast<std::ptrdiff_t>(most * 3 / 4));
    std::inplace_merge(held.begin() + kept, others, held.end(), [](const Held& a, const Held& b) {
      return a.placement->bytes > b.placement->bytes;
    });
    held.resize(most);
    std::ranges::sort(held, {}, &Held::buffer);
  }
  std::ranges::stable_sort(held, {}, [](const Held& one) { return one.placement->first_kernel; });
  std::vector<TensorReport> list;
  list.reserve(held.size());
  for (const Held& one : held) {
    list.push_back(Describe(one));
  }
  return list;
}

std::vector<std::vector<std::int64_t>> StepLister::PartSeries() const {
  // Per kind: what is added and taken away before each kernel, then summed up.
  std::vector<std::vector<std::int64_t>> series(sim::kBufferKindCount,
                                                std::vector<std::int64_t>(kernels_.size() + 1, 0));
  for (const Held& held : AllHeld()) {
    std::vector<std::int64_t>& part = series[static_cast<std::size_t>(profile_.kinds[held.buffer])];
    const std::int64_t first = std::max<std::int64_t>(held.placement->first_kernel, 0);
    const std::int64_t last =
        std::min<std::int64_t>(held.placement->last_kernel, std::ssize(kernels_) - 1);
    if (last >= first) {
      part[static_cast<std::size_t>(first)] += held.placement->bytes;
      part[static_cast<std::size_t>(last) + 1] -= held.placement->bytes;
    }
  }
  auto& workspace = series[static_cast<std::size_t>(sim::BufferKind::kWorkspace)];
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    std::int64_t sum = 0;
    for (std::vector<std::int64_t>& part : series) {
      part[k] += k > 0 && &part != &workspace ? part[k - 1] : 0;
      sum += part[k];
    }
    workspace[k] += profile_.series[k].at_launch_bytes - sum;
  }
  for (std::vector<std::int64_t>& part : series) {
    part.resize(kernels_.size());
  }
  return series;
}

KernelFacts StepLister::Kernel(std::size_t index) const {
  const strategies::KernelNode& node = program_.kernels.nodes[kernels_[index].tag];
  KernelFacts facts = {.name = facts_.OperatorName(node.origin),
                       .kernel = node.name.str(),
                       .phase = "forward",
                       .stream = kernels_[index].stream,
                       .micro = node.micro,
                       .at_launch_bytes = profile_.series[index].at_launch_bytes,
                       .after_bytes = profile_.series[index].after_bytes};
  if (node.origin != strategies::kNoNode) {
    const strategies::Node& origin = program_.local.at(node.origin);
    facts.phase = PhaseName(origin.phase);
    facts.place = PlaceReportOf(program_.local, origin);
  }
  return facts;
}

}  // namespace drydock::reports
