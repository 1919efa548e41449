// A step may have a hundred thousand kernels, a screen has two thousand columns. Of a long step the
// profile keeps two kernels of each stretch: the one with most memory in use and the one with
// least, so that every peak and every valley that a screen could show is there, with its own
// operator.
#include "reports/profile_report.h"

#include <algorithm>

#include "reports/tensor_list.h"

namespace drydock::reports {
namespace {

/// How much of one class is shown: of the heaviest, which people look at first, half of what a page
/// can draw; the others share the rest.
std::size_t MostOf(const ProfileLimit& limit, std::size_t classes, bool heaviest) {
  if (classes == 1) {
    return std::min(limit.of_all, limit.of_class);
  }
  const std::size_t half = limit.of_all / 2;
  return std::clamp(heaviest ? half : half / (classes - 1), limit.few, limit.of_class);
}

/// Kernels to show: all, or the extremes of `stretches` equal parts, and the peak.
std::vector<std::size_t> PickKernels(const sim::MemoryProfile& profile, std::size_t most) {
  const std::size_t count = profile.series.size();
  std::vector<std::size_t> picked;
  const std::size_t stretch = count <= most ? 1 : (2 * count + most - 1) / most;
  for (std::size_t begin = 0; begin < count; begin += stretch) {
    const auto first = profile.series.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        profile.series.begin() + static_cast<std::ptrdiff_t>(std::min(count, begin + stretch));
    const auto [least, largest] = std::minmax_element(
        first, last,
        [](const auto& a, const auto& b) { return a.at_launch_bytes < b.at_launch_bytes; });
    picked.push_back(static_cast<std::size_t>(least - profile.series.begin()));
    picked.push_back(static_cast<std::size_t>(largest - profile.series.begin()));
  }
  if (profile.at_kernel >= 0) {
    picked.push_back(static_cast<std::size_t>(profile.at_kernel));
  }
  std::ranges::sort(picked);
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  return picked;
}

void AddKernels(const StepLister& step, const std::vector<std::size_t>& picked,
                ClassProfileReport& report) {
  for (const std::size_t k : picked) {
    KernelFacts facts = step.Kernel(k);
    report.kernels.push_back({.kernel = static_cast<std::int64_t>(k),
                              .name = std::move(facts.name),
                              .kind = std::move(facts.kernel),
                              .phase = std::move(facts.phase),
                              .stream = facts.stream,
                              .micro_batch = facts.micro,
                              .place = std::move(facts.place)});
  }
  const std::vector<std::vector<std::int64_t>> series = step.PartSeries();
  for (std::size_t kind = 0; kind < series.size(); ++kind) {
    PartSeriesReport part = {
        .part = std::string(sim::BufferKindName(static_cast<sim::BufferKind>(kind)))};
    for (const std::size_t k : picked) {
      part.bytes.push_back(series[kind][k]);
    }
    if (std::ranges::any_of(part.bytes, [](std::int64_t bytes) { return bytes != 0; })) {
      report.parts.push_back(std::move(part));
    }
  }
}

}  // namespace

ProfileReport BuildProfile(const RunReport& run, const sim::DryRunResult& result) {
  ProfileReport report = {.run = run, .lanes = BuildLanes(result)};
  const std::size_t classes = std::max<std::size_t>(result.classes.size(), 1);
  const auto heaviest_class =
      std::ranges::max_element(result.classes, {}, [](const sim::ClassMemory& item) {
        return item.memory ? item.memory->actual_peak_bytes : 0;
      });
  for (const sim::ClassMemory& item : result.classes) {
    const strategies::LocalProgram& program = result.job.programs[item.program];
    const StepLister step(item, program);
    ClassProfileReport profile = {.ranks = strategies::RankSetText(item.ranks),
                                  .stage = ToInt(program.stage),
                                  .kernel_count = static_cast<std::int64_t>(step.KernelCount()),
                                  .peak_kernel = item.memory->at_kernel,
                                  .used_peak_bytes = item.memory->used_peak_bytes};
    const bool heaviest = &item == &*heaviest_class;
    AddKernels(step, PickKernels(*item.memory, MostOf(kProfileKernels, classes, heaviest)),
               profile);
    profile.tensors = step.Tensors(MostOf(kProfileTensors, classes, heaviest));
    profile.tensor_count = static_cast<std::int64_t>(step.TensorCount());
    report.classes.push_back(std::move(profile));
  }
  return report;
}

}  // namespace drydock::reports
