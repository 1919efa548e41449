// The files of MindSpore's memory tracker, for people who have tools that read them.
//
// MindSpore's dry run writes, in the folder of its rank, which kernels it launched and, with
// MS_ALLOC_CONF=memory_tracker:True, every block of memory that it handed out. The same files are
// written here, under the same names and with the same columns, for the rank that --sim_rank_id
// chooses (0 without it).
//
// Source: mindspore/ccsrc/memory/mem_pool/mem_tracker.cc,
// mindspore/ccsrc/debug/execute_order_tracker/execute_order_tracker.cc
#include "launcher/tracker_files.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "launcher/files.h"
#include "reports/execute_order.h"
#include "reports/ir_text.h"
#include "reports/memory_tracker_csv.h"
#include "sim/fleet/memory_plan.h"
#include "sim/memory/lifetimes.h"
#include "sim/memory/static_plan.h"

namespace drydock::launcher {
namespace {

/// Value of `key` in "key:value,key:value"; empty if it is not there.
std::string_view Setting(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    if (one.size() > key.size() && one.starts_with(key) && one[key.size()] == ':') {
      return one.substr(key.size() + 1);
    }
  }
  return {};
}

/// Every allocation of the steps of the job, and who asked for it.
Result<std::vector<OutputFile>> MemoryFiles(const sim::DryRunResult& result,
                                            const strategies::LocalProgram& program) {
  sim::MemoryPlan plan = sim::PlanMemory(program);
  if (result.options.workspaces) {
    (void)ApplyWorkspaces(*result.options.workspaces, program, plan);
  }
  sim::LifetimeOptions options{.count_workspace = result.options.level >= 2,
                               .steps = result.job.config.steps,
                               .keep_trace = true};
  options.pool.capacity_bytes = result.device.ms_used_bytes;
  DRYDOCK_TRY(const sim::MemoryProfile profile, sim::PlansMemoryBeforehand(program)
                                                    ? sim::ProfileStaticMemory(plan, options)
                                                    : sim::ProfileMemory(plan, options));
  const reports::TrackedNames names = reports::NamesOfPlan(program, plan);
  return std::vector<OutputFile>{
      {.path = "memory_block.csv",
       .text = reports::MemoryBlockCsv(profile.trace, names, {}),
       .ours = true},
      {.path = "task.csv", .text = reports::TaskCsv(profile.trace, names), .ours = true}};
}

}  // namespace

std::optional<std::string> TrackerFolder(const Environment& environment,
                                         const std::string& reports) {
  const std::string text = Variable(environment, "MS_ALLOC_CONF").value_or("");
  if (const std::string_view path = Setting(text, "memory_tracker_path"); !path.empty()) {
    return std::string(path);
  }
  const std::string_view on = Setting(text, "memory_tracker");
  return on == "True" || on == "true" ? std::optional(reports) : std::nullopt;
}

Status WriteTrackerFiles(const sim::DryRunResult& result, const std::string& folder) {
  const strategies::LocalProgram& program = sim::DescribedProgram(result);
  const RankId rank = sim::DescribedRank(result.options);
  const std::string own = PathIn(folder, reports::IrFolder(program, rank));
  const std::string order = PathIn(own, "execute_order");
  DRYDOCK_TRY(const std::vector<OutputFile> memory, MemoryFiles(result, program));
  DRYDOCK_RETURN_IF_ERROR(PrepareFolder(order));
  DRYDOCK_RETURN_IF_ERROR(WriteFiles(own, memory));
  return WriteFiles(
      order,
      {{.path = "execute_order.csv", .text = reports::ExecuteOrderCsv(program, rank), .ours = true},
       {.path = "comm_execute_order.csv",
        .text = reports::CommExecuteOrderCsv(program, rank),
        .ours = true}});
}

Status WriteMemoryFiles(const sim::DryRunResult& result, const std::string& folder) {
  for (const sim::ClassMemory& item : result.classes) {
    const strategies::LocalProgram& program = result.job.programs[item.program];
    const RankId rank{static_cast<std::int32_t>(item.ranks.ranges.front().first)};
    const std::string own = PathIn(folder, reports::IrFolder(program, rank));
    DRYDOCK_TRY(const std::vector<OutputFile> memory, MemoryFiles(result, program));
    DRYDOCK_RETURN_IF_ERROR(PrepareFolder(own));
    DRYDOCK_RETURN_IF_ERROR(WriteFiles(own, memory));
  }
  return {};
}

}  // namespace drydock::launcher
