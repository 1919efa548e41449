#include "strategies/passes/schedule/overlap_shards.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// A sharded optimizer in a pipeline: gathers while the stage waits, scatters when it is done.
///
/// A stage that begins with a Receive has nothing to do until the message is there, so all its
/// weights are gathered before: the first Receive waits for every AllGather. The gradients are
/// scattered once a step, behind the last message that the stage sends back, so that no other stage
/// waits for them.
///
/// Example, stage 1 of 2 with weights a and b:
///     Receive(Depend(a, MakeTuple(AllGather(a), AllGather(b))))
///     ReduceScatter(Depend(sum of a, Send of the last micro batch's gradient))
///
/// Only for what is gathered and scattered once a step (level 1), and not where it would close a
/// circle: the last stage of a pipeline whose weight is what the message carries.
/// Source: mindspore/ccsrc/frontend/parallel/pass/overlap_opt_shard_in_pipeline.cc
namespace drydock::strategies {
namespace {

class Overlap {
 public:
  Overlap(KernelGraph& graph, const Graph& local) : graph_(graph), local_(local) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      Look(KernelId{static_cast<std::int32_t>(n)});
    }
  }

  void Run() {
    if (!gathers_.empty() && first_receive_ != kNoKernel) {
      const KernelId all = Add({.kind = KernelKind::kMakeTuple, .inputs = gathers_});
      Wait(first_receive_, all);
    }
    for (const KernelId scatter : scatters_) {
      if (last_send_ != kNoKernel) {
        Wait(scatter, last_send_);
      }
    }
  }

 private:
  void Look(KernelId id) {
    const KernelNode& node = graph_.at(id);
    if (node.kind != KernelKind::kKernel || node.origin == kNoNode) {
      return;
    }
    const Node& origin = local_.at(node.origin);
    const PointToPoint half = PointToPointOf(origin);
    const bool backward = origin.phase == Phase::kBackward;
    if (half == PointToPoint::kReceives && !backward && node.micro == 0) {
      first_receive_ = first_receive_ == kNoKernel ? id : first_receive_;
    } else if (half == PointToPoint::kSends && backward && node.micro > last_micro_) {
      last_micro_ = node.micro;
      last_send_ = id;
    } else if (node.communication && origin.reason == CommReason::kOptimizerShard) {
      gathers_.push_back(id);
    } else if (node.communication && backward && origin.entry == scatter_ &&
               origin.reason == CommReason::kParameterGradient) {
      scatters_.push_back(id);
    }
  }

  KernelId Add(KernelNode node) {
    graph_.nodes.push_back(std::move(node));
    return KernelId{static_cast<std::int32_t>(graph_.nodes.size()) - 1};
  }

  void Wait(KernelId kernel, KernelId prior) {
    const KernelId depend =
        Add({.kind = KernelKind::kDepend, .inputs = {graph_.at(kernel).inputs.front(), prior}});
    graph_.at(kernel).inputs.front() = depend;
  }

  KernelGraph& graph_;
  const Graph& local_;
  const OpEntry* scatter_ = FindOp(ops::kReduceScatter);
  std::vector<KernelId> gathers_ = {};
  std::vector<KernelId> scatters_ = {};
  KernelId first_receive_ = kNoKernel;
  KernelId last_send_ = kNoKernel;
  std::int32_t last_micro_ = 0;  ///< One micro batch alone has no last message.
};

}  // namespace

void OverlapShards(KernelGraph& graph, const Graph& local, const JobConfig& config) {
  if (config.enable_parallel_optimizer && config.optimizer_sharding.level == 1) {
    Overlap(graph, local).Run();
  }
}

}  // namespace drydock::strategies
