#include "reports/memory_report.h"

#include <algorithm>
#include <set>

#include "reports/communication_report.h"

namespace drydock::reports {
namespace {

using strategies::CompiledProgram;
using strategies::Graph;
using strategies::Node;
using strategies::Value;

/// Turns the tags of a memory plan back into what the user wrote.
class Describer {
 public:
  explicit Describer(const CompiledProgram& program)
      : program_(program),
        names_(strategies::FullNames(program.local)),
        first_user_(program.local.values.size(), strategies::kNoNode) {
    for (std::size_t i = program.local.nodes.size(); i > 0; --i) {
      for (const ValueId input : program.local.nodes[i - 1].inputs) {
        if (input != strategies::kNoValue) {
          first_user_[ToIndex(input)] = NodeId{static_cast<std::int32_t>(i - 1)};
        }
      }
    }
  }

  [[nodiscard]] PeakPointReport PeakPoint(const ClassMemory& item) const {
    const std::int32_t kernel = item.profile->at_kernel;
    if (kernel < 0) {
      return {.kernel = kernel, .phase = "preparation"};
    }
    const NodeId id{
        static_cast<std::int32_t>(item.plan->kernels[static_cast<std::size_t>(kernel)].tag)};
    return {.kernel = kernel,
            .name = names_[ToIndex(id)],
            .phase = std::string(PhaseName(program_.local.at(id).phase)),
            .place = PlaceOf(id)};
  }

  [[nodiscard]] PeakTensorReport Tensor(const ClassMemory& item,
                                        const sim::PeakBuffer& buffer) const {
    PeakTensorReport report = {.part = std::string(sim::BufferKindName(buffer.kind)),
                               .bytes = buffer.bytes};
    if (buffer.buffer < 0) {
      PeakPointReport peak = PeakPoint(item);
      report.name = std::move(peak.name);
      report.place = std::move(peak.place);
      return report;
    }
    const auto tag = item.plan->buffers[static_cast<std::size_t>(buffer.buffer)].tag;
    const Value& value = program_.local.values[tag];
    report.name = NameOf(value);
    report.tensor = strategies::TypeText(value.type);
    report.place =
        PlaceOf(value.producer != strategies::kNoNode ? value.producer : first_user_[tag]);
    return report;
  }

 private:
  [[nodiscard]] std::string NameOf(const Value& value) const {
    if (value.producer == strategies::kNoNode) {
      return value.name.empty() ? "constant" : value.name;
    }
    std::string name = names_[ToIndex(value.producer)];
    if (program_.local.at(value.producer).outputs.size() > 1) {
      name += ":" + std::to_string(value.output_index);
    }
    return name;
  }

  [[nodiscard]] std::optional<PlaceReport> PlaceOf(NodeId id) const {
    if (id == strategies::kNoNode) {
      return std::nullopt;
    }
    const Node& node = program_.local.at(id);
    std::optional<PlaceReport> place = PlaceReportOf(program_.local, node);
    if (!place && node.origin != strategies::kNoNode) {
      place = PlaceReportOf(program_.traced, program_.traced.at(node.origin));
    }
    return place;
  }

  const CompiledProgram& program_;
  std::vector<std::string> names_;
  std::vector<NodeId> first_user_;  // Per value.
};

/// Groups every rank belongs to: one per pattern its collectives use.
std::int64_t GroupCount(const CompiledProgram& program) {
  std::set<strategies::GroupPattern> patterns;
  for (const Node& node : program.local.nodes) {
    if (node.group && strategies::GroupSize(*node.group) > 1) {
      patterns.insert(*node.group);
    }
  }
  return static_cast<std::int64_t>(patterns.size());
}

RankClassReport DescribeClass(const ClassMemory& item, const Describer& describer,
                              const sim::DeviceMemory& device) {
  const sim::MemoryProfile& profile = *item.profile;
  RankClassReport report = {.ranks = RankSetText(item.ranks),
                            .rank_count = static_cast<std::int64_t>(item.ranks.size()),
                            .stage = item.stage,
                            .used_peak_bytes = profile.used_peak_bytes,
                            .actual_peak_bytes = profile.actual_peak_bytes,
                            .reserved_bytes = profile.reserved_bytes,
                            .persistent_bytes = profile.persistent_bytes,
                            .limit_bytes = device.ms_used_bytes,
                            .head_room_bytes = device.ms_used_bytes - profile.actual_peak_bytes,
                            .peak = describer.PeakPoint(item)};
  report.fits = report.head_room_bytes >= 0;
  for (std::size_t kind = 0; kind < sim::kBufferKindCount; ++kind) {
    report.breakdown.push_back(
        {.part = std::string(sim::BufferKindName(static_cast<sim::BufferKind>(kind))),
         .bytes = profile.breakdown_bytes[kind]});
  }
  for (const sim::PeakBuffer& buffer : profile.largest) {
    report.largest.push_back(describer.Tensor(item, buffer));
  }
  return report;
}

std::vector<std::string> NotModelled(std::int64_t simulation_level) {
  std::vector<std::string> list = {
      "buffers of the communication library (communicator_bytes is an "
      "estimate of them)",
      "device context and runtime", "fusion of gradient collectives"};
  if (simulation_level < 2) {
    list.insert(list.begin(), "workspace of kernels (from simulation level 2 on)");
  }
  return list;
}

}  // namespace

MemoryReport BuildMemoryReport(const CompiledProgram& program,
                               const std::vector<ClassMemory>& classes,
                               const sim::DeviceMemory& device, std::int64_t simulation_level) {
  MemoryReport report = {.simulation_level = simulation_level,
                         .world_size = program.config.world_size,
                         .device_bytes = device.total_bytes,
                         .limit_bytes = device.ms_used_bytes,
                         .not_modelled = NotModelled(simulation_level)};
  const Describer describer(program);
  const std::int64_t communicator_bytes =
      sim::CollectiveLibraryBytes(GroupCount(program)).value_or(0);
  for (const ClassMemory& item : classes) {
    RankClassReport described = DescribeClass(item, describer, device);
    described.communicator_bytes = communicator_bytes;
    report.fits = report.fits && described.fits;
    report.classes.push_back(std::move(described));
  }
  const auto heaviest =
      std::ranges::max_element(report.classes, {}, &RankClassReport::actual_peak_bytes);
  report.heaviest = heaviest - report.classes.begin();
  return report;
}

}  // namespace drydock::reports
