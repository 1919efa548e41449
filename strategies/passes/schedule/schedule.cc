#include "strategies/passes/schedule/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "strategies/graph/kept_constant.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/backward/recompute.h"
#include "strategies/passes/schedule/branches_first.h"
#include "strategies/passes/schedule/call_order.h"
#include "strategies/passes/schedule/check_waits.h"
#include "strategies/passes/schedule/dataflow_order.h"
#include "strategies/passes/schedule/delay.h"
#include "strategies/passes/schedule/exec_order.h"
#include "strategies/passes/schedule/fuse_graph_kernels.h"
#include "strategies/passes/schedule/hold_results.h"
#include "strategies/passes/schedule/lower.h"
#include "strategies/passes/schedule/overlap_shards.h"
#include "strategies/passes/schedule/pipeline_borders.h"
#include "strategies/passes/schedule/pipeline_control.h"
#include "strategies/passes/schedule/shared_calls.h"
#include "strategies/passes/schedule/streams.h"
#include "strategies/passes/schedule/tuples.h"
#include "strategies/passes/schedule/unroll_micro.h"
#include "strategies/program/micro_nodes.h"

/// From the local program to the kernels of a step: the list of what is done.
namespace drydock::strategies {

namespace {

/// Level 3 of a sharded optimizer.
bool GathersInEachCall(const JobConfig& config) {
  return config.enable_parallel_optimizer && config.optimizer_sharding.level == 3;
}

/// Whether each micro batch has a gradient of its own to begin with. Not so where the calls of a
/// shared graph stay apart, and without stages only where they share a graph that recomputes
/// nothing; what is shared by level 3 of a sharded optimizer waits for nothing and is there once.
bool HasSeedOfEach(const Graph& local, const JobConfig& config, bool piped) {
  const bool shared = StageCallsSharedGraph(local);
  return (piped || (shared && !AsksForRecomputation(local))) && !CallsStayApart(local, config) &&
         !(shared && GathersInEachCall(config));
}

/// Random masks that read numbers only are made once for the micro batches of a pipeline and where
/// these call one graph, as recorded; accumulated ones have each their own.
void MakeMasksOnce(LoweredProgram& rolled, const Graph& local) {
  KernelGraph& graph = rolled.graph;
  for (KernelNode& node : graph.nodes) {
    const bool numbers = std::ranges::all_of(node.inputs, [&graph](KernelId input) {
      return graph.at(input).kind == KernelKind::kConstant;
    });
    if (node.kind == KernelKind::kKernel && node.micro_use == MicroUse::kEach && numbers &&
        node.origin != kNoNode && PointToPointOf(local.at(node.origin)) == PointToPoint::kNone) {
      node.micro_use = MicroUse::kFollow;
    }
  }
}

/// Where gradients are scattered for each micro batch (levels 2 and 3 of a sharded optimizer) a
/// micro batch ends when they are added up: the next would hold them whole otherwise, as recorded.
void EndBehindSums(LoweredProgram& rolled, const Graph& local) {
  const KernelGraph& graph = rolled.graph;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const KernelNode& kernel = graph.nodes[n];
    if (kernel.kind != KernelKind::kKernel || kernel.origin == kNoNode) {
      continue;
    }
    const Node& node = local.at(kernel.origin);
    if (node.phase == Phase::kBackward && node.entry->kind == OpKind::kUpdate &&
        node.entry->unordered_effect) {
      rolled.micro_batch_ends.push_back(KernelId{static_cast<std::int32_t>(n)});
    }
  }
}

/// A called graph casts the weights that it reads in each call: the calls wait for each other, so
/// their reads differ. Weights that are gathered first are cast before, and given to the call.
/// @param recomputed  those of recomputed cells, too; interleaved ones are taken to be cast once
void CastInEachCall(LoweredProgram& rolled, const Graph& local, bool recomputed) {
  KernelGraph& graph = rolled.graph;
  const auto is_hyper = [&local](const KernelNode& leaf) {
    const ValueId value = leaf.results.empty() ? kNoValue : leaf.results.front().value;
    return value != kNoValue && local.at(value).kind == ValueKind::kParameter &&
           local.parameters[static_cast<std::size_t>(local.at(value).detail)].role ==
               ParameterRole::kHyper;
  };
  const auto is_weight = [&](KernelId id) {
    const KernelNode& load = graph.at(id);
    return load.kind == KernelKind::kLoad &&
           graph.at(load.inputs.back()).kind == KernelKind::kState &&
           !is_hyper(graph.at(load.inputs.front()));
  };
  for (KernelNode& node : graph.nodes) {
    if (node.kind != KernelKind::kKernel || node.origin == kNoNode ||
        std::ranges::none_of(node.inputs, is_weight)) {
      continue;
    }
    const Node& origin = local.at(node.origin);
    if (origin.entry->is_cast && origin.phase == Phase::kForward &&
        (recomputed || !IsInRecomputedScope(origin))) {
      node.micro_use = MicroUse::kEach;
    }
  }
}

/// Rows of weights that each call gathers (level 3 of a sharded optimizer) are cast in it, too.
void CastGatheredRows(LoweredProgram& rolled, const Graph& local) {
  KernelGraph& graph = rolled.graph;
  for (const KernelNode& gather : graph.nodes) {
    if (gather.kind != KernelKind::kKernel || gather.micro_use != MicroUse::kEach ||
        gather.origin == kNoNode || !local.at(gather.origin).attrs.contains(kEachMicroBatch)) {
      continue;
    }
    KernelNode& rows = graph.at(gather.inputs.front());
    if (rows.kind == KernelKind::kKernel && rows.origin != kNoNode &&
        local.at(rows.origin).entry->is_cast) {
      rows.micro_use = MicroUse::kEach;
    }
  }
}

/// Each forward call and its backward call behind it.
CallOrder OneAfterTheOther(const Graph& local, const JobConfig& config) {
  CallOrder order{.apart = false, .copies = CallsHandOverTuples(local), .pieces_wait = true};
  for (std::int64_t micro = 0; micro < config.micro_batches; ++micro) {
    for (const bool backward : {false, true}) {
      std::vector<PipelineTask>& list = backward ? order.backward : order.forward;
      order.calls.push_back({.backward = backward, .index = list.size()});
      list.push_back({.backward = backward, .micro = static_cast<std::int32_t>(micro)});
    }
  }
  return order;
}

/// What each micro batch has for itself, before there are several.
void PrepareMicroBatches(LoweredProgram& lowered, const Graph& local, const JobConfig& config,
                         bool piped) {
  const bool calls = StageCallsSharedGraph(local);
  if (piped || calls) {
    MakeMasksOnce(lowered, local);
  }
  if (calls) {
    CastInEachCall(lowered, local, !config.pipeline_interleave);
    if (!piped) {
      CastGatheredRows(lowered, local);
    }
    // Kernels of a called graph are made once, for all calls.
    ShareConstantsOfMicroBatches(lowered.graph);
  }
  if (HasSeedOfEach(local, config, piped)) {
    RepeatSeeds(lowered, local);
  }
  if (!piped && config.enable_parallel_optimizer && config.optimizer_sharding.level >= 2) {
    EndBehindSums(lowered, local);
  }
}

/// Accumulated micro batches that call one graph.
void OrderCalls(UnrolledProgram& unrolled, const Graph& local, const JobConfig& config) {
  const auto micros = static_cast<std::size_t>(config.micro_batches);
  const Borders borders = FindBorders(unrolled.graph, local, micros, true, unrolled.ends);
  FormCalls(unrolled.graph, local, borders, micros, OneAfterTheOther(local, config));
}

}  // namespace

Result<KernelGraph> ScheduleKernels(const Graph& local, const JobConfig& config, StageId stage) {
  DRYDOCK_TRY(LoweredProgram lowered, LowerProgram(local, config.data_sink));
  const bool piped = config.pipeline_stages > 1 && config.micro_batches > 1;
  const bool calls = StageCallsSharedGraph(local);
  PrepareMicroBatches(lowered, local, config, piped);
  DRYDOCK_TRY(UnrolledProgram unrolled,
              UnrollMicroBatches(std::move(lowered), config.micro_batches, !piped && !calls));
  if (calls && !piped && config.micro_batches > 1) {
    OrderCalls(unrolled, local, config);
  }
  KernelGraph graph = std::move(unrolled.graph);
  if (piped) {
    if (!calls) {  // Calls hand out results behind their reads themselves.
      HoldResults(graph, local, static_cast<std::size_t>(config.micro_batches));
    }
    DRYDOCK_RETURN_IF_ERROR(OrderPipeline(graph, local, config, stage, unrolled.ends));
    DRYDOCK_RETURN_IF_ERROR(CheckWaits(graph));
    OverlapShards(graph, local, config);
  }
  ReadThroughTuples(graph);
  if (config.jit_level == "O1") {
    std::vector<std::int32_t> parts = GraphParts(graph, local, config.micro_batches == 1);
    graph = FuseGraphKernels(std::move(graph), std::move(parts));
  }
  const VisitOrder visit =
      config.exec_order == "dfs" ? VisitOrder::kDepthFirst : VisitOrder::kBreadthFirst;
  std::vector<KernelId> order = DelayKernels(graph, ExecOrder(graph, visit));
  if (config.micro_batches == 1) {
    order = BranchesFirst(graph, local, order);
  }
  if (RunsAsDataflow(graph, order)) {
    DataflowOrders orders = DataflowOrder(graph, order, config.data_sink);
    order = std::move(orders.first_step);
    graph.later_launches = std::move(orders.later_steps);
  }
  graph.launches = AssignStreams(graph, order, local);
  for (const KernelId kernel : graph.after_step) {
    graph.launches.push_back({.kind = Launch::Kind::kKernel, .kernel = kernel});
    if (!graph.later_launches.empty()) {
      graph.later_launches.push_back(kernel);
    }
  }
  return graph;
}

}  // namespace drydock::strategies
