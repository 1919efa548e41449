#include "strategies/program/local_program.h"

#include <algorithm>

#include "base/text.h"
#include "strategies/layout/group_name.h"

namespace drydock::strategies {
std::vector<Diagnostic> DiagnosticsOf(const LocalProgram& program) {
  std::vector<Diagnostic> all = program.from->diagnostics;
  all.insert(all.end(), program.diagnostics.begin(), program.diagnostics.end());
  return all;
}

std::vector<Range> OwnedRanges(const LocalProgram& program, std::size_t parameter, RankId rank) {
  const JobConfig& config = program.from->config;
  std::vector<Range> ranges =
      SliceOf(program.parameter_layouts[parameter], ToInt(rank) % StageDevices(config));
  const std::string& name = program.local.at(program.local.parameters[parameter].value).name;
  for (const HandCut& cut : program.from->hand_cuts) {
    if (std::ranges::find(cut.parameters, name) != cut.parameters.end()) {
      const std::size_t part = PartOf(cut, config, rank);
      std::int64_t begin = 0;
      for (std::size_t before = 0; before < part; ++before) {
        begin += cut.rows[before];
      }
      ranges[0] = {.begin = begin, .end = begin + cut.rows[part]};
    }
  }
  return ranges;
}

Graph SpecialiseForRank(const LocalProgram& program, RankId rank) {
  Graph graph = program.local;
  const JobConfig& config = program.from->config;
  const std::int64_t stage_devices = StageDevices(config);
  const std::int64_t position = ToInt(rank) % stage_devices;
  for (Node& node : graph.nodes) {
    for (auto& [name, attr] : node.attrs) {
      attr = ResolveAttr(attr, position);
    }
    if (node.group) {
      const GroupPlace place = PlaceIn(*node.group, ToInt(rank), stage_devices);
      const std::vector<std::int64_t> ranks = GroupRanks(*node.group, place.position, place.begin);
      node.attrs["group"] = GroupName(ranks, config.world_size, BackendName(config));
      node.attrs["group_ranks"] = GroupRanksText(ranks, config.world_size);
      node.attrs["rank_list"] = Attr(ranks);
      const CollectiveFacts* facts = CollectiveOf(node);
      if (facts != nullptr && facts->specialise != nullptr) {
        facts->specialise(node, ranks, IndexInGroup(*node.group, place.position));
      }
    }
  }
  return graph;
}

}  // namespace drydock::strategies
