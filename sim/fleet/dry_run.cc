#include "sim/fleet/dry_run.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "sim/fleet/memory_plan.h"
#include "sim/fleet/registration.h"

namespace drydock::sim {
namespace {

using strategies::CompiledProgram;
using strategies::Graph;
using strategies::GroupPattern;
using strategies::Node;
using strategies::Value;
using strategies::ValueKind;

Status CheckOptions(const CompiledProgram& program, const DryRunOptions& options) {
  if (options.level < 0 || options.level > 1) {
    return Fail(ErrorCode::kUnsupported,
                "simulation level " + std::to_string(options.level) + " is not handled yet",
                "use --sim_level=0 (compile and validate) or --sim_level=1 (and memory)");
  }
  if (options.only_rank &&
      (ToInt(*options.only_rank) < 0 || ToInt(*options.only_rank) >= program.config.world_size)) {
    return FailInput(
        "job:rank",
        "there is no rank " + std::to_string(ToInt(*options.only_rank)) + " among " +
            std::to_string(program.config.world_size) + " ranks",
        "use --sim_rank_id between 0 and " + std::to_string(program.config.world_size - 1));
  }
  return {};
}

Result<DeviceMemory> DeviceOf(const CompiledProgram& program) {
  if (program.config.max_device_memory.empty()) {
    return SimulatedDevice(std::nullopt);
  }
  DRYDOCK_TRY(const std::int64_t limit_bytes,
              ParseGigabytes(program.config.max_device_memory, "max_device_memory"));
  return SimulatedDevice(limit_bytes);
}

/// "MatMul result of matmul", "AllReduce (partial sum of MatMul-op1)", "MatMul in backward of
/// matmul".
std::string KernelResultName(const Graph& graph, const Value& value) {
  const Node& node = graph.at(value.producer);
  if (!node.reason_text.empty()) {
    return node.op + " (" + node.reason_text + ")";
  }
  constexpr std::string_view kGradientPrefix = "grad";
  std::string_view label = node.instance_name.empty() ? node.scope : node.instance_name;
  const bool backward = node.phase == strategies::Phase::kBackward;
  if (backward && label.starts_with(kGradientPrefix)) {
    label.remove_prefix(kGradientPrefix.size());
  }
  if (label.empty()) {
    return node.op + " result";
  }
  return node.op + (backward ? " in backward of " : " result of ") + std::string(label);
}

/// A tensor that only the kernel graph has: a value argument, or one between two kernels of an
/// operator.
PeakTensor DescribeInner(const Graph& graph, const strategies::KernelNode& node,
                         PeakTensor tensor) {
  tensor.name = "constant";
  if (node.kind == strategies::KernelKind::kKernel) {
    tensor.op = node.name;
    tensor.name = node.name + " result";
    if (node.origin != strategies::kNoNode) {
      tensor.place = PlaceOf(graph, graph.at(node.origin));
    }
  }
  return tensor;
}

PeakTensor DescribeBuffer(const CompiledProgram& program, const PeakBuffer& buffer,
                          const MemoryPlan& plan, const MemoryProfile& profile) {
  const Graph& graph = program.local;
  PeakTensor tensor{.kind = buffer.kind, .bytes = buffer.bytes};
  if (buffer.buffer < 0) {
    const auto node_index = plan.kernels[static_cast<std::size_t>(profile.at_kernel)].tag;
    tensor.name = "workspace";
    tensor.op = program.kernels.nodes[node_index].name;
    return tensor;
  }
  const auto index = static_cast<std::size_t>(buffer.buffer);
  const strategies::KernelNode& owner = program.kernels.nodes[plan.buffers[index].tag];
  const strategies::KernelResult& result = owner.results[ResultOf(plan, index)];
  if (result.value == strategies::kNoValue) {
    tensor.type_text = TypeText(result.type);
    return DescribeInner(graph, owner, std::move(tensor));
  }
  const Value& value = graph.at(result.value);
  tensor.type_text = TypeText(value.type);
  tensor.name = value.name;
  if (value.kind == ValueKind::kOutput) {
    const Node& node = graph.at(value.producer);
    tensor.op = node.op;
    tensor.place = PlaceOf(graph, node);
    if (tensor.name.empty()) {
      tensor.name = KernelResultName(graph, value);
    }
  } else if (tensor.name.empty()) {
    tensor.name = "constant";
  }
  return tensor;
}

/// Memory of one class of ranks: the same plan, hence the same profile, for every member.
Status AccountMemory(const CompiledProgram& program, const DryRunOptions& options,
                     const DeviceMemory& device, RankClass& ranks) {
  const MemoryPlan plan = PlanMemory(program);
  LifetimeOptions lifetimes{.steps = program.config.steps, .largest_count = options.largest_count};
  lifetimes.pool.capacity_bytes = device.ms_used_bytes;
  DRYDOCK_TRY(ranks.memory, ProfileMemory(plan, lifetimes));
  const MemoryProfile& profile = *ranks.memory;
  ranks.head_room_bytes = device.ms_used_bytes - profile.actual_peak_bytes;
  if (profile.at_kernel >= 0) {
    const auto node_index = plan.kernels[static_cast<std::size_t>(profile.at_kernel)].tag;
    const NodeId origin = program.kernels.nodes[node_index].origin;
    ranks.peak_op = FullNames(program.local)[ToIndex(origin)];
    ranks.peak_place = PlaceOf(program.local, program.local.at(origin));
  }
  for (const PeakBuffer& buffer : profile.largest) {
    ranks.largest.push_back(DescribeBuffer(program, buffer, plan, profile));
  }
  return {};
}

std::vector<GroupPattern> DistinctPatterns(const CompiledProgram& program) {
  std::vector<GroupPattern> patterns;
  for (const Node& node : program.local.nodes) {
    if (node.group) {
      patterns.push_back(*node.group);
    }
  }
  std::ranges::sort(patterns);
  patterns.erase(std::unique(patterns.begin(), patterns.end()), patterns.end());
  return patterns;
}

/// Which of the items each rank is in, from `first` on; 0 if it is in none.
template <typename Item>
std::vector<std::int32_t> IndexOfRank(std::int64_t world_size, const std::vector<Item>& items,
                                      std::int32_t first) {
  std::vector<std::int32_t> index(static_cast<std::size_t>(world_size), 0);
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const RankRange& range : items[i].ranks) {
      for (std::int64_t r = range.first; r <= std::min(range.last, world_size - 1); ++r) {
        index[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(i) + first;
      }
    }
  }
  return index;
}

/// Compares what the ranks issue, in all their programs if there are orders.
strategies::Agreement AgreementOf(const DryRunResult& result,
                                  const std::vector<CompiledProgram>& later,
                                  const std::vector<RankOrder>& orders,
                                  const std::vector<std::int32_t>& program_of_rank) {
  std::vector<strategies::CollectiveSequence> sequences = {SequenceOf(result.program)};
  for (const RankProgram& other : result.others) {
    sequences.push_back(SequenceOf(other.program));
  }
  if (orders.empty()) {
    return strategies::CheckAgreement(sequences, program_of_rank);
  }
  for (const CompiledProgram& program : later) {
    sequences.push_back(SequenceOf(program));
  }
  std::vector<strategies::CollectiveSequence> whole(orders.size());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    for (const std::size_t program : orders[i].programs) {
      whole[i].insert(whole[i].end(), sequences[program].begin(), sequences[program].end());
    }
  }
  return strategies::CheckAgreement(whole, IndexOfRank(std::ssize(program_of_rank), orders, 0));
}

/// One class per program: its ranks, ascending.
std::vector<RankClass> ClassesOf(const std::vector<std::int32_t>& program_of_rank,
                                 std::size_t programs) {
  std::vector<RankClass> classes(programs);
  for (std::size_t r = 0; r < program_of_rank.size(); ++r) {
    RankClass& item = classes[static_cast<std::size_t>(program_of_rank[r])];
    const auto rank = static_cast<std::int64_t>(r);
    if (!item.ranks.empty() && item.ranks.back().last + 1 == rank) {
      item.ranks.back().last = rank;
    } else {
      item.ranks.push_back({.first = rank, .last = rank});
    }
    ++item.rank_count;
  }
  return classes;
}

/// What a rank works out for itself once it knows its number: its place in every group.
struct Specialisation {
  const CompiledProgram& program;
  const std::vector<std::int32_t>& program_of_rank;
  std::vector<std::vector<GroupPattern>> patterns;  ///< Per program.
  std::vector<std::uint8_t> done;  ///< One slot per rank, written by that rank only.

  void Visit(RankId rank) {
    const std::int64_t position = ToInt(rank) % StageDevices(program.config);
    for (const GroupPattern& pattern :
         patterns[static_cast<std::size_t>(program_of_rank[ToIndex(rank)])]) {
      const std::int64_t index = IndexInGroup(pattern, position);
      DRYDOCK_CHECK(index >= 0 && index < GroupSize(pattern));
    }
    done[ToIndex(rank)] = 1;
  }
};

Result<FleetFacts> PlayFleet(const DryRunResult& result,
                             const std::vector<std::int32_t>& program_of_rank,
                             const Executor& executor) {
  const CompiledProgram& program = result.program;
  const DryRunOptions& options = result.options;
  Specialisation specialisation{.program = program,
                                .program_of_rank = program_of_rank,
                                .patterns = {DistinctPatterns(program)},
                                .done = std::vector<std::uint8_t>(program_of_rank.size(), 0)};
  for (const RankProgram& other : result.others) {
    specialisation.patterns.push_back(DistinctPatterns(other.program));
  }
  const FleetOptions fleet{.worker_num = static_cast<std::uint32_t>(program.config.world_size),
                           .on_ready = [&](RankId rank) {
                             if (!options.only_rank || *options.only_rank == rank) {
                               specialisation.Visit(rank);
                             }
                           }};
  DRYDOCK_TRY(const FleetStatistics statistics, RegisterFleet(executor, fleet));
  FleetFacts facts{
      .registered_ranks = statistics.ranks,
      .messages =
          static_cast<std::int64_t>(statistics.frames_to_scheduler + statistics.frames_to_workers),
      .message_bytes =
          static_cast<std::int64_t>(statistics.bytes_to_scheduler + statistics.bytes_to_workers)};
  for (const std::uint8_t done : specialisation.done) {
    facts.specialised_ranks += done;
  }
  return facts;
}

/// Memory of every class that is asked for; the others are dropped.
Status AccountClasses(std::vector<RankClass> classes, DryRunResult& result) {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    RankClass& item = classes[i];
    const CompiledProgram& program = i == 0 ? result.program : result.others[i - 1].program;
    if (const std::optional<RankId>& only = result.options.only_rank) {
      const std::int64_t rank = ToInt(*only);
      if (std::ranges::none_of(item.ranks, [rank](const RankRange& range) {
            return range.first <= rank && rank <= range.last;
          })) {
        continue;
      }
      item.ranks = {{.first = rank, .last = rank}};
      item.rank_count = 1;
    }
    if (item.rank_count == 0) {
      continue;
    }
    if (result.options.level >= 1) {
      DRYDOCK_RETURN_IF_ERROR(AccountMemory(program, result.options, result.device, item));
    }
    result.classes.push_back(std::move(item));
  }
  return {};
}

}  // namespace

Result<DryRunResult> DryRun(CompiledProgram program, const DryRunOptions& options,
                            const Executor& executor, ScriptPrograms script) {
  DRYDOCK_RETURN_IF_ERROR(CheckOptions(program, options));
  DryRunResult result{.options = options};
  DRYDOCK_TRY(result.device, DeviceOf(program));
  const std::vector<std::int32_t> program_of_rank =
      IndexOfRank(program.config.world_size, script.others, 1);
  result.program = std::move(program);
  result.others = std::move(script.others);
  DRYDOCK_RETURN_IF_ERROR(
      AccountClasses(ClassesOf(program_of_rank, result.others.size() + 1), result));
  result.agreement = AgreementOf(result, script.later, script.orders, program_of_rank);
  DRYDOCK_TRY(result.fleet, PlayFleet(result, program_of_rank, executor));
  return result;
}

}  // namespace drydock::sim
