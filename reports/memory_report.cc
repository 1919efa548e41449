#include "reports/memory_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "reports/communication_report.h"

namespace drydock::reports {
namespace {

using strategies::CompiledProgram;
using strategies::Node;

/// Phase of every node by its full name.
std::map<std::string, std::string> PhasesByName(const CompiledProgram& program) {
  const std::vector<std::string> names = strategies::FullNames(program.local);
  std::map<std::string, std::string> phases;
  for (std::size_t i = 0; i < names.size(); ++i) {
    phases.emplace(names[i], PhaseName(program.local.nodes[i].phase));
  }
  return phases;
}

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

PeakPointReport PeakPoint(const sim::RankClass& item,
                          const std::map<std::string, std::string>& phases) {
  const auto phase = phases.find(item.peak_op);
  return {.kernel = item.memory->at_kernel,
          .name = item.peak_op,
          .phase = phase == phases.end() ? "preparation" : phase->second,
          .place = ToPlaceReport(item.peak_place)};
}

/// Line that first uses each input and parameter, by name.
std::map<std::string, PlaceReport> FirstUses(const CompiledProgram& program) {
  std::map<std::string, PlaceReport> places;
  for (const Node& node : program.local.nodes) {
    const std::optional<PlaceReport> place = PlaceReportOf(program.local, node);
    if (!place) {
      continue;
    }
    for (const ValueId input : node.inputs) {
      if (input != strategies::kNoValue &&
          program.local.at(input).producer == strategies::kNoNode) {
        places.emplace(program.local.at(input).name, *place);
      }
    }
  }
  return places;
}

PeakTensorReport DescribeTensor(const sim::PeakTensor& tensor,
                                const std::map<std::string, PlaceReport>& first_uses) {
  PeakTensorReport report = {.name = tensor.name,
                             .part = std::string(sim::BufferKindName(tensor.kind)),
                             .producer = tensor.op,
                             .bytes = tensor.bytes,
                             .tensor = tensor.type_text,
                             .place = ToPlaceReport(tensor.place)};
  if (const auto use = first_uses.find(tensor.name);
      !report.place && tensor.op.empty() && use != first_uses.end()) {
    report.place = use->second;
  }
  return report;
}

RankClassReport DescribeClass(const sim::RankClass& item, const sim::DeviceMemory& device) {
  const sim::MemoryProfile& profile = *item.memory;
  RankClassReport report = {.ranks = RangesText(item.ranks),
                            .rank_count = item.rank_count,
                            .stage = ToInt(item.stage),
                            .used_peak_bytes = profile.used_peak_bytes,
                            .actual_peak_bytes = profile.actual_peak_bytes,
                            .reserved_bytes = profile.reserved_bytes,
                            .persistent_bytes = profile.persistent_bytes,
                            .limit_bytes = device.ms_used_bytes,
                            .head_room_bytes = item.head_room_bytes,
                            .fits = item.head_room_bytes >= 0};
  for (std::size_t kind = 0; kind < sim::kBufferKindCount; ++kind) {
    report.breakdown.push_back(
        {.part = std::string(sim::BufferKindName(static_cast<sim::BufferKind>(kind))),
         .bytes = profile.breakdown_bytes[kind]});
  }
  return report;
}

std::vector<std::string> NotModelled(std::int64_t simulation_level) {
  std::vector<std::string> list = {
      "buffers of the communication library (communicator_bytes estimates them)",
      "device context and runtime"};
  if (simulation_level < 2) {
    list.insert(list.begin(), "workspace of kernels (from simulation level 2 on)");
  }
  return list;
}

}  // namespace

std::string RangesText(const std::vector<sim::RankRange>& ranges) {
  std::string text;
  for (const sim::RankRange& range : ranges) {
    text += (text.empty() ? "" : ",") + std::to_string(range.first);
    if (range.last > range.first) {
      text += "-" + std::to_string(range.last);
    }
  }
  return text;
}

std::optional<MemoryReport> BuildMemoryReport(const sim::DryRunResult& result) {
  MemoryReport report = {.simulation_level = result.options.level,
                         .world_size = result.program.config.world_size,
                         .device_bytes = result.device.total_bytes,
                         .limit_bytes = result.device.ms_used_bytes,
                         .not_modelled = NotModelled(result.options.level)};
  const std::map<std::string, std::string> phases = PhasesByName(result.program);
  const std::map<std::string, PlaceReport> first_uses = FirstUses(result.program);
  const std::int64_t communicator_bytes =
      sim::CollectiveLibraryBytes(GroupCount(result.program)).value_or(0);
  for (const sim::RankClass& item : result.classes) {
    if (!item.memory) {
      return std::nullopt;
    }
    RankClassReport described = DescribeClass(item, result.device);
    described.peak = PeakPoint(item, phases);
    described.communicator_bytes = communicator_bytes;
    for (const sim::PeakTensor& tensor : item.largest) {
      described.largest.push_back(DescribeTensor(tensor, first_uses));
    }
    report.fits = report.fits && described.fits;
    report.classes.push_back(std::move(described));
  }
  if (report.classes.empty()) {
    return std::nullopt;
  }
  const auto heaviest =
      std::ranges::max_element(report.classes, {}, &RankClassReport::actual_peak_bytes);
  report.heaviest = heaviest - report.classes.begin();
  return report;
}

}  // namespace drydock::reports
