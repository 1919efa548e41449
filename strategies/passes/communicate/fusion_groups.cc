#include "strategies/passes/communicate/fusion_groups.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "strategies/graph/walk.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/program/micro_nodes.h"

/// Which collectives become one.
///
/// The reference's back end takes every AllReduce with an attribute `fusion` other than 0, if the
/// job fuses sums; likewise the gathers of a sharded optimizer and the scattered sums of its
/// gradients. Those
/// with equal group, reduction, fusion id, element type and zone are candidates for one node; the
/// zone counts how many such sums lie between a node and the end of the step, so that none waits
/// for its own neighbour. The candidates are listed in the order in which a depth-first walk from
/// the result meets them: the gradient of the first parameter, whose update the result depends on
/// directly, then those of the other updates as these follow each other. `split_indices` cut the
/// list of the world group; in data_parallel mode a threshold in bytes cuts it further, behind the
/// member that exceeds it. What the front end does to fusion ids is number_fusion.h.
///
/// Example: gradients of 1, 2 and 3 MiB with a threshold of 2 * 262,144 bytes: each alone, since
/// the first exceeds it already.
/// Source: mindspore/ccsrc/backend/common/pass/communication_op_fusion.cc; the running reference.
namespace drydock::strategies {
namespace {

using Members = std::vector<std::size_t>;
using Key = std::tuple<GroupPattern, std::string, std::int64_t, DType, std::int64_t>;

/// One "MB" of the reference's thresholds.
constexpr std::int64_t kUnitsPerMb = 262'144;

/// What may become one: sums, gathers of sharded weights, the scattered sums of their gradients.
enum class FusionKind : std::uint8_t { kAllReduce, kAllGather, kReduceScatter };

FusionKind KindOf(const Node& node) {
  if (ReducesToAll(node)) {
    return FusionKind::kAllReduce;
  }
  return node.reason == CommReason::kOptimizerShard ? FusionKind::kAllGather
                                                    : FusionKind::kReduceScatter;
}

std::int64_t FusionOf(const Node& node, FusionKind kind) {
  if (CollectiveOf(node) == nullptr || KindOf(node) != kind) {
    return 0;
  }
  return IntAttr(node.attrs, "fusion", 0).value_or(0);
}

/// Per node: collectives of a kind with a fusion id from there to the end of the step, itself
/// included.
std::vector<std::int64_t> Zones(const Graph& graph, FusionKind kind) {
  std::vector<std::int64_t> behind_value(graph.values.size(), 0);
  std::vector<std::int64_t> zones(graph.nodes.size(), 0);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    for (const ValueId output : node.outputs) {
      zones[n] = std::max(zones[n], behind_value[ToIndex(output)]);
    }
    zones[n] += FusionOf(node, kind) > 0 ? 1 : 0;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) {
        behind_value[ToIndex(input)] = std::max(behind_value[ToIndex(input)], zones[n]);
      }
    }
  }
  return zones;
}

/// Nodes that write parameters, in program order, that of the first weight in front.
std::vector<NodeId> UpdatesFromTheResult(const Graph& graph) {
  std::vector<NodeId> updates;
  std::size_t first = 0;
  std::int32_t least = -1;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::vector<std::size_t> written = WrittenOperands(*graph.nodes[n].entry);
    if (written.empty() || written.front() >= graph.nodes[n].inputs.size()) {
      continue;
    }
    const ValueId state = graph.nodes[n].inputs[written.front()];
    const bool weight = state != kNoValue && graph.at(state).kind == ValueKind::kParameter &&
                        graph.parameters[static_cast<std::size_t>(graph.at(state).detail)].role ==
                            ParameterRole::kWeight;
    if (weight && (least < 0 || graph.at(state).detail < least)) {
      least = graph.at(state).detail;
      first = updates.size();
    }
    updates.push_back(NodeId{static_cast<std::int32_t>(n)});
  }
  if (!updates.empty()) {
    std::rotate(updates.begin(), updates.begin() + static_cast<std::ptrdiff_t>(first),
                updates.begin() + static_cast<std::ptrdiff_t>(first) + 1);
  }
  return updates;
}

/// Per node: when the walk from the result leaves it; 0 if it does not come there.
std::vector<std::size_t> WalkFromTheResult(const Graph& graph) {
  std::vector<NodeId> roots;
  for (const ValueId output : graph.outputs) {
    if (graph.at(output).kind == ValueKind::kOutput) {
      roots.push_back(graph.at(output).producer);
    }
  }
  const std::vector<NodeId> updates = UpdatesFromTheResult(graph);
  roots.insert(roots.end(), updates.begin(), updates.end());
  std::vector<std::size_t> position(graph.nodes.size(), 0);
  std::size_t next = 0;
  for (const NodeId id : OperandsFirst(graph, roots)) {
    position[ToIndex(id)] = ++next;
  }
  return position;
}

/// The list of one key in the order in which it is cut.
void PutInOrder(const Graph& graph, const std::vector<std::size_t>& position, Members& members) {
  const auto index = [&graph](std::size_t n) {
    return IntAttr(graph.nodes[n].attrs, "index", 0).value_or(0);
  };
  std::ranges::stable_sort(members, {}, [&position](std::size_t n) { return position[n]; });
  if (index(members.front()) > 0) {
    std::ranges::stable_sort(members, {}, index);
  }
}

/// Last members of the parts that the script names; only sums over all ranks know them.
std::vector<std::size_t> SplitEnds(const Key& key, std::size_t count, const JobConfig& config) {
  std::vector<std::size_t> ends;
  const auto& [group, reduction, fusion, dtype, zone] = key;
  const bool named = fusion == 1 && reduction == "sum" && GroupSize(group) == config.world_size &&
                     (dtype == DType::kFloat32 || dtype == DType::kFloat16) &&
                     !config.enable_parallel_optimizer;
  if (named) {
    for (const std::int64_t index : config.fusion.split_indices) {
      if (static_cast<std::size_t>(index) + 1 < count) {
        ends.push_back(static_cast<std::size_t>(index));
      }
    }
  }
  ends.push_back(count - 1);
  return ends;
}

/// Parts cut again behind each member with which the bytes exceed the limit.
std::vector<std::size_t> ByBytes(const Graph& graph, const Members& members,
                                 const std::vector<std::size_t>& ends, std::int64_t limit) {
  std::vector<std::size_t> result;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    std::int64_t bytes = 0;
    for (std::size_t i = begin; i <= end; ++i) {
      const std::int64_t own = ByteSize(graph.at(graph.nodes[members[i]].outputs.front()).type);
      const bool closes = bytes + own > limit;
      bytes = closes ? 0 : bytes + own;
      if (closes || i == end) {
        result.push_back(i);
      }
    }
    begin = end + 1;
  }
  return result;
}

void AppendParts(const Members& members, std::span<const std::size_t> ends,
                 std::vector<Members>& groups) {
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    if (end > begin) {
      groups.emplace_back(members.begin() + static_cast<std::ptrdiff_t>(begin),
                          members.begin() + static_cast<std::ptrdiff_t>(end) + 1);
    }
    begin = end + 1;
  }
}

/// Gathers and scattered sums that are there for each micro batch are part of the graph that all of
/// them call, and stay apart.
std::vector<bool> RepeatsForMicroBatches(const Graph& local, const JobConfig& config,
                                         FusionKind kind) {
  std::vector<bool> repeats(local.nodes.size(), false);
  if (config.micro_batches <= 1 || kind == FusionKind::kAllReduce) {
    return repeats;
  }
  const std::vector<MicroPart> parts = MicroParts(local);
  for (std::size_t n = 0; n < repeats.size(); ++n) {
    repeats[n] = parts[n] == MicroPart::kEach || local.nodes[n].attrs.contains(kEachMicroBatch);
  }
  return repeats;
}

void AddGroups(const Graph& local, const JobConfig& config, FusionKind kind,
               const std::vector<std::size_t>& position, std::vector<Members>& groups) {
  const std::vector<std::int64_t> zones = Zones(local, kind);
  const std::vector<bool> repeats = RepeatsForMicroBatches(local, config, kind);
  std::map<Key, Members> candidates;
  for (std::size_t n = 0; n < local.nodes.size(); ++n) {
    const Node& node = local.nodes[n];
    const std::int64_t fusion = FusionOf(node, kind);
    if (fusion > 0 && !repeats[n]) {
      candidates[Key{*node.group, TextAttr(node.attrs, "op", "sum").value_or("sum"), fusion,
                     local.at(node.inputs.front()).type.dtype, zones[n]}]
          .push_back(n);
    }
  }
  for (auto& [key, members] : candidates) {
    if (members.size() < 2) {
      continue;
    }
    PutInOrder(local, position, members);
    std::vector<std::size_t> ends = SplitEnds(key, members.size(), config);
    if (config.mode == ParallelMode::kDataParallel && config.fusion.data_parallel_mb > 0) {
      ends = ByBytes(local, members, ends, config.fusion.data_parallel_mb * kUnitsPerMb);
    }
    AppendParts(members, ends, groups);
  }
}

}  // namespace

void SettleScatteredSums(Graph& local, const JobConfig& config) {
  if (!config.fusion.reduce_scatter || config.fusion.data_parallel_mb == 0) {
    return;
  }
  for (Node& node : local.nodes) {
    if (FusionOf(node, FusionKind::kReduceScatter) > 0) {
      node.attrs.insert_or_assign("fusion", std::int64_t{node.inputs.size() > 1 ? 1 : 0});
    }
  }
}

std::vector<Members> FusionGroups(const Graph& local, const JobConfig& config) {
  std::vector<Members> groups;
  const FusionSettings& fusion = config.fusion;
  const bool any = fusion.all_reduce || fusion.all_gather || fusion.reduce_scatter;
  if (!any || fusion.data_parallel_mb == 0) {
    return groups;
  }
  const std::vector<std::size_t> position = WalkFromTheResult(local);
  for (const auto& [kind, on] : {std::pair(FusionKind::kAllReduce, fusion.all_reduce),
                                 std::pair(FusionKind::kAllGather, fusion.all_gather),
                                 std::pair(FusionKind::kReduceScatter, fusion.reduce_scatter)}) {
    if (on) {
      AddGroups(local, config, kind, position, groups);
    }
  }
  return groups;
}

}  // namespace drydock::strategies
