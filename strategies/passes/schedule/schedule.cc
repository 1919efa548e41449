#include "strategies/passes/schedule/schedule.h"

#include "strategies/passes/schedule/delay.h"
#include "strategies/passes/schedule/exec_order.h"
#include "strategies/passes/schedule/lower.h"
#include "strategies/passes/schedule/streams.h"
#include "strategies/passes/schedule/tuples.h"
#include "strategies/passes/schedule/unroll_micro.h"

/// From the local program to the kernels of a step: the list of what is done.
namespace drydock::strategies {

Result<KernelGraph> ScheduleKernels(const Graph& local, const JobConfig& config) {
  DRYDOCK_TRY(LoweredProgram lowered, LowerProgram(local, config.data_sink));
  DRYDOCK_TRY(KernelGraph graph, UnrollMicroBatches(std::move(lowered), config.micro_batches));
  ReadThroughTuples(graph);
  const VisitOrder visit =
      config.exec_order == "dfs" ? VisitOrder::kDepthFirst : VisitOrder::kBreadthFirst;
  const std::vector<KernelId> order = DelayKernels(graph, ExecOrder(graph, visit));
  graph.launches = AssignStreams(graph, order);
  for (const KernelId kernel : graph.after_step) {
    graph.launches.push_back({.kind = Launch::Kind::kKernel, .kernel = kernel});
  }
  return graph;
}

}  // namespace drydock::strategies
