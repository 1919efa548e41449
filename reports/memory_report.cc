#include "reports/memory_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/checked.h"
#include "reports/communication_report.h"
#include "reports/tensor_list.h"
#include "strategies/graph/dtype.h"

namespace drydock::reports {
namespace {

using strategies::LocalProgram;
using strategies::Node;

/// Phase of every node by its full name.
std::map<std::string, std::string> PhasesByName(const LocalProgram& program) {
  const std::vector<std::string> names = strategies::FullNames(program.local);
  std::map<std::string, std::string> phases;
  for (std::size_t i = 0; i < names.size(); ++i) {
    phases.emplace(names[i], PhaseName(program.local.nodes[i].phase));
  }
  return phases;
}

/// Groups every rank belongs to: one per pattern its collectives use.
std::int64_t GroupCount(const LocalProgram& program) {
  std::set<strategies::GroupPattern> patterns;
  for (const Node& node : program.local.nodes) {
    if (node.group && strategies::GroupSize(*node.group) > 1) {
      patterns.insert(*node.group);
    }
  }
  return static_cast<std::int64_t>(patterns.size());
}

PeakPointReport PeakPoint(const sim::ClassMemory& item,
                          const std::map<std::string, std::string>& phases) {
  const auto phase = phases.find(item.peak_op);
  return {.kernel = item.memory->at_kernel,
          .name = item.peak_op,
          .phase = phase == phases.end() ? "preparation" : phase->second,
          .place = ToPlaceReport(item.peak_place)};
}

/// Line that first uses each input and parameter, by name.
std::map<std::string, PlaceReport> FirstUses(const LocalProgram& program) {
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
                             .operator_name = tensor.operator_name,
                             .scope = tensor.scope,
                             .bytes = tensor.bytes,
                             .tensor = tensor.type_text,
                             .place = ToPlaceReport(tensor.place)};
  if (const auto use = first_uses.find(tensor.name);
      !report.place && tensor.op.empty() && use != first_uses.end()) {
    report.place = use->second;
  }
  return report;
}

std::int64_t WeightElements(const LocalProgram& program) {
  std::int64_t count = 0;
  for (const strategies::Parameter& parameter : program.local.parameters) {
    if (parameter.role == strategies::ParameterRole::kWeight) {
      count = AddSaturated(
          count,
          strategies::ElementCount(program.local.at(parameter.value).type.shape).value_or(0));
    }
  }
  return count;
}

std::vector<LayerMemoryReport> Layers(const sim::ClassMemory& item) {
  std::vector<LayerMemoryReport> list;
  for (const sim::LayerMemory& layer : item.layers) {
    LayerMemoryReport report = {.scope = layer.scope};
    for (std::size_t kind = 0; kind < sim::kBufferKindCount; ++kind) {
      if (layer.bytes[kind] > 0) {
        report.bytes += layer.bytes[kind];
        report.parts.push_back(
            {.part = std::string(sim::BufferKindName(static_cast<sim::BufferKind>(kind))),
             .bytes = layer.bytes[kind]});
      }
    }
    list.push_back(std::move(report));
  }
  return list;
}

/// What is told of a program wherever it is mentioned.
struct ProgramFacts {
  std::map<std::string, std::string> phases = {};
  std::map<std::string, PlaceReport> first_uses = {};
  std::int64_t communicator_bytes = 0;
};

ProgramFacts FactsOf(const LocalProgram& program) {
  return {.phases = PhasesByName(program),
          .first_uses = FirstUses(program),
          .communicator_bytes = sim::CollectiveLibraryBytes(GroupCount(program)).value_or(0)};
}

RankClassReport DescribeClass(const sim::ClassMemory& item, const LocalProgram& program,
                              const sim::DeviceMemory& device) {
  const sim::MemoryProfile& profile = *item.memory;
  const ProgramFacts facts = FactsOf(program);
  RankClassReport report = {.ranks = RankSetText(item.ranks),
                            .rank_count = item.rank_count,
                            .stage = ToInt(program.stage),
                            .used_peak_bytes = profile.used_peak_bytes,
                            .actual_peak_bytes = profile.actual_peak_bytes,
                            .reserved_bytes = profile.reserved_bytes,
                            .persistent_bytes = profile.persistent_bytes,
                            .communicator_bytes = facts.communicator_bytes,
                            .kept_for_backward_bytes = item.kept_for_backward_bytes,
                            .parameter_count = WeightElements(program),
                            .limit_bytes = device.ms_used_bytes,
                            .head_room_bytes = item.head_room_bytes,
                            .fits = item.head_room_bytes >= 0,
                            .peak = PeakPoint(item, facts.phases)};
  for (std::size_t kind = 0; kind < sim::kBufferKindCount; ++kind) {
    report.breakdown.push_back(
        {.part = std::string(sim::BufferKindName(static_cast<sim::BufferKind>(kind))),
         .bytes = profile.breakdown_bytes[kind]});
  }
  report.by_layer = Layers(item);
  for (const sim::PeakTensor& tensor : item.largest) {
    report.largest.push_back(DescribeTensor(tensor, facts.first_uses));
  }
  return report;
}

std::vector<std::string> NotModelled(const sim::DryRunOptions& options) {
  std::vector<std::string> list = {
      "buffers of the communication library (communicator_bytes estimates them)",
      "device context and runtime"};
  if (!options.workspaces) {
    list.insert(list.begin(), "workspace of kernels (from simulation level 2 on, by --workspaces)");
  }
  return list;
}

}  // namespace

std::optional<MemoryReport> BuildMemoryReport(const sim::DryRunResult& result,
                                              const MemoryReportOptions& options) {
  MemoryReport report = {.run = options.run,
                         .simulation_level = result.options.level,
                         .world_size = result.job.config.world_size,
                         .device_bytes = result.device.total_bytes,
                         .limit_bytes = result.device.ms_used_bytes,
                         .not_modelled = NotModelled(result.options)};
  for (const sim::ClassMemory& item : result.classes) {
    if (!item.memory) {
      return std::nullopt;
    }
    RankClassReport described =
        DescribeClass(item, result.job.programs[item.program], result.device);
    report.fits = report.fits && described.fits;
    report.all_ranks_bytes = AddSaturated(
        report.all_ranks_bytes, ScaledUp(described.actual_peak_bytes, item.rank_count, 1));
    if (options.all_tensors && !item.memory->series.empty()) {
      described.tensors = StepLister(item, result.job.programs[item.program]).Tensors();
    }
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
