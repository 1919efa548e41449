#include "sim/fleet/dry_run.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "sim/fleet/memory_plan.h"
#include "sim/fleet/registration.h"
#include "sim/memory/static_plan.h"

namespace drydock::sim {
namespace {

using strategies::GroupPattern;
using strategies::JobProgram;
using strategies::LocalProgram;
using strategies::Node;
using strategies::ProgramIndex;
using strategies::RankSet;

Status CheckOptions(const JobProgram& job, const DryRunOptions& options) {
  DRYDOCK_CHECK(options.level >= 0 && options.level <= 3);
  const std::int64_t world_size = job.config.world_size;
  if (options.only_rank &&
      (ToInt(*options.only_rank) < 0 || ToInt(*options.only_rank) >= world_size)) {
    return FailInput("job:rank",
                     "there is no rank " + std::to_string(ToInt(*options.only_rank)) + " among " +
                         std::to_string(world_size) + " ranks",
                     "use --sim_rank_id between 0 and " + std::to_string(world_size - 1));
  }
  return {};
}

const PlannedKernel& KernelAtPeak(const MemoryPlan& plan, const MemoryProfile& profile) {
  return plan.KernelsOf(profile.at_step)[static_cast<std::size_t>(profile.at_kernel)];
}

/// Memory of one class of ranks: the same plan, hence the same profile, for every member.
Status AccountMemory(const LocalProgram& program, const DryRunOptions& options,
                     const DeviceMemory& device, ClassMemory& ranks) {
  MemoryPlan plan = PlanMemory(program);
  if (options.level >= 2) {
    ranks.workspaces =
        ApplyWorkspaces(options.workspaces.value_or(WorkspaceTable()), program, plan);
  }
  LifetimeOptions lifetimes{.count_workspace = options.level >= 2,
                            .steps = program.from->config.steps,
                            .largest_count = plan.buffers.size() + 1,
                            .keep_series = options.keep_lifetimes};
  lifetimes.pool.capacity_bytes = device.ms_used_bytes;
  DRYDOCK_TRY(ranks.memory, PlansMemoryBeforehand(program) ? ProfileStaticMemory(plan, lifetimes)
                                                           : ProfileMemory(plan, lifetimes));
  MemoryProfile& profile = *ranks.memory;
  ranks.head_room_bytes = device.ms_used_bytes - profile.actual_peak_bytes;
  const TensorFacts facts(program, plan);
  if (profile.at_kernel >= 0) {
    // What passes add of their own, as copies of a weight's cast, belongs to no operator.
    const PlannedKernel& kernel = KernelAtPeak(plan, profile);
    const NodeId origin = facts.OriginOf(kernel);
    if (origin == strategies::kNoNode) {
      ranks.peak_op = program.kernels.nodes[kernel.tag].name.str();
    } else {
      ranks.peak_op = facts.OperatorName(origin);
      ranks.peak_place = PlaceOf(program.local, program.local.at(origin));
    }
  }
  ranks.layers = LayersAtPeak(facts, profile);
  ranks.kept_for_backward_bytes = KeptForBackward(program, plan, profile);
  profile.largest.resize(std::min(options.largest_count, profile.largest.size()));
  profile.largest.shrink_to_fit();
  for (const PeakBuffer& buffer : profile.largest) {
    ranks.largest.push_back(buffer.buffer < 0
                                ? facts.Workspace(KernelAtPeak(plan, profile), buffer.bytes)
                                : facts.Describe(buffer));
  }
  if (!options.keep_lifetimes) {
    profile.placements = std::vector<BufferPlacement>();  // As large as the plan; `= {}` keeps it.
  }
  return {};
}

std::vector<GroupPattern> DistinctPatterns(const LocalProgram& program) {
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

/// The ranks of each program that is told of some of them, by program.
std::vector<ClassMemory> ClassesOf(const JobProgram& job) {
  std::map<ProgramIndex, RankSet> ranks;
  for (const strategies::RankClass& item : job.classes) {
    ranks[item.described] = Merge(ranks[item.described], item.ranks);
  }
  std::vector<ClassMemory> classes;
  for (auto& [program, set] : ranks) {
    const std::int64_t count = CountRanks(set);
    classes.push_back({.ranks = std::move(set), .rank_count = count, .program = program});
  }
  return classes;
}

/// What a rank works out for itself once it knows its number: its place in every group.
struct Specialisation {
  const JobProgram& job;
  std::vector<std::int32_t> class_of_rank;
  std::vector<std::vector<GroupPattern>> patterns;  ///< Per class.
  std::vector<std::uint8_t> done;  ///< One slot per rank, written by that rank only.

  void Visit(RankId rank) {
    for (const GroupPattern& pattern :
         patterns[static_cast<std::size_t>(class_of_rank[ToIndex(rank)])]) {
      const std::int64_t index =
          IndexInGroup(pattern, PlaceIn(pattern, ToInt(rank), StageDevices(job.config)).position);
      DRYDOCK_CHECK(index >= 0 && index < GroupSize(pattern));
    }
    done[ToIndex(rank)] = 1;
  }
};

Specialisation SpecialisationOf(const JobProgram& job) {
  Specialisation specialisation{
      .job = job,
      .class_of_rank = ClassOfEachRank(job),
      .patterns = {},
      .done = std::vector<std::uint8_t>(static_cast<std::size_t>(job.config.world_size), 0)};
  for (const strategies::RankClass& item : job.classes) {
    specialisation.patterns.push_back(DistinctPatterns(job.programs[item.described]));
  }
  return specialisation;
}

std::int64_t CountDone(const Specialisation& specialisation) {
  return std::ranges::count(specialisation.done, std::uint8_t{1});
}

Result<FleetFacts> PlayFleet(const JobProgram& job, const DryRunOptions& options,
                             const Executor& executor) {
  Specialisation specialisation = SpecialisationOf(job);
  const FleetOptions fleet{.worker_num = static_cast<std::uint32_t>(job.config.world_size),
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
          static_cast<std::int64_t>(statistics.bytes_to_scheduler + statistics.bytes_to_workers),
      .specialised_ranks = CountDone(specialisation)};
  return facts;
}

/// The classes that are asked for; the others are dropped.
std::vector<ClassMemory> ClassesAskedFor(const JobProgram& job, const DryRunOptions& options) {
  std::vector<ClassMemory> classes = ClassesOf(job);
  if (const std::optional<RankId>& only = options.only_rank) {
    std::erase_if(classes,
                  [&](const ClassMemory& item) { return !Contains(item.ranks, ToInt(*only)); });
    for (ClassMemory& item : classes) {
      item.ranks = {.ranges = {{.first = ToInt(*only), .last = ToInt(*only)}}};
      item.rank_count = 1;
    }
  }
  return classes;
}

/// Level 2 promises workspaces: says how many kernels the table does not know.
void NoteUnknownWorkspaces(DryRunResult& result) {
  WorkspaceCover all;
  for (const ClassMemory& item : result.classes) {
    all.known += item.workspaces.known;
    all.unknown += item.workspaces.unknown;
  }
  if ((result.options.level != 2 && !result.options.workspaces) || all.unknown == 0) {
    return;
  }
  result.job.diagnostics.push_back(
      {.code = "workspace-unknown",
       .text = std::to_string(all.unknown) + " of " + std::to_string(all.known + all.unknown) +
               " kernels count without workspace" +
               (result.options.workspaces ? ": the table has none like them"
                                          : "; --workspaces takes a table that drydock calibrate "
                                            "makes of a real run's memory_block.csv"),
       .count = all.unknown});
}

/// Memory of every class of the result, several at once.
Status AccountClasses(DryRunResult& result, const Executor& executor) {
  if (result.options.level < 1) {
    return {};
  }
  std::vector<Status> outcomes(result.classes.size());
  ForEachIndex(executor, result.classes.size(), [&](std::size_t i) {
    ClassMemory& item = result.classes[i];
    outcomes[i] =
        AccountMemory(result.job.programs[item.program], result.options, result.device, item);
  });
  for (Status& outcome : outcomes) {
    DRYDOCK_RETURN_IF_ERROR(std::move(outcome));
  }
  NoteUnknownWorkspaces(result);
  return {};
}

/// Several graphs that are each to be planned beforehand.
void NotePlansOfBranches(DryRunResult& result) {
  if (result.options.level >= 1 && PlansMemoryBeforehand(result.job.config.alloc_conf) &&
      std::ranges::any_of(result.job.programs, [](const LocalProgram& program) {
        return !PlansMemoryBeforehand(program);
      })) {
    result.job.diagnostics.push_back(
        {.code = "not-modelled",
         .text = "memory_optimize_level O1: a step with a branch is several plans; its memory is "
                 "that of kernels that allocate as they run",
         .kind = strategies::DiagnosticKind::kLimit});
  }
}

/// Stages that get through only if a Send ends before its Receive begins.
void NoteUnbufferedSends(DryRunResult& result) {
  if (!result.agreement.first_wait.empty()) {
    result.job.diagnostics.push_back(
        {.code = "stages-may-wait",
         .text = "messages of the pipeline pass only if a Send ends before its Receive begins, as "
                 "small ones do; else " +
                 result.agreement.first_wait});
  }
}

}  // namespace

RankId DescribedRank(const DryRunOptions& options) {
  return options.only_rank.value_or(RankId{0});
}

const LocalProgram& DescribedProgram(const DryRunResult& result) {
  return ProgramOf(result.job, DescribedRank(result.options));
}

std::int64_t SpecialiseRanks(const JobProgram& job, std::span<const std::int64_t> ranks) {
  Specialisation specialisation = SpecialisationOf(job);
  for (const std::int64_t rank : ranks) {
    specialisation.Visit(static_cast<RankId>(rank));
  }
  return CountDone(specialisation);
}

Result<DryRunResult> DryRun(JobProgram job, const DryRunOptions& options,
                            const Executor& executor) {
  DRYDOCK_RETURN_IF_ERROR(CheckOptions(job, options));
  DryRunResult result{.job = std::move(job), .options = options};
  DRYDOCK_TRY(result.device, DeviceOfSetting(result.job.config.max_device_memory));
  result.classes = ClassesAskedFor(result.job, options);
  DRYDOCK_RETURN_IF_ERROR(AccountClasses(result, executor));
  result.agreement = CheckAgreement(result.job);
  NoteUnbufferedSends(result);
  NotePlansOfBranches(result);
  if (options.time && result.agreement.holds) {
    DRYDOCK_TRY(result.time, SimulateStep(result.job, *options.time));
  }
  DRYDOCK_TRY(result.fleet, PlayFleet(result.job, options, executor));
  return result;
}

Result<std::vector<ClassMemory>> AccountRanks(JobProgram job, const DryRunOptions& options,
                                              const strategies::RankSet& ranks,
                                              const Executor& executor) {
  DRYDOCK_RETURN_IF_ERROR(CheckOptions(job, options));
  DryRunResult result{.job = std::move(job), .options = options};
  DRYDOCK_TRY(result.device, DeviceOfSetting(result.job.config.max_device_memory));
  result.classes = ClassesAskedFor(result.job, options);
  std::erase_if(result.classes, [&](const ClassMemory& item) {
    return strategies::CountRanks(strategies::Common(item.ranks, ranks)) == 0;
  });
  DRYDOCK_RETURN_IF_ERROR(AccountClasses(result, executor));
  return std::move(result.classes);
}

}  // namespace drydock::sim
