#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/timing/collective_time.h"
#include "sim/timing/event_engine.h"
#include "sim/timing/hardware_profile.h"
#include "strategies/program/job_program.h"

namespace drydock::sim {

/// What is known of all tasks that cost alike: kernels of one operator in all micro batches.
struct CostFacts {
  NodeId origin = strategies::kNoNode;                  ///< In the local program.
  strategies::KernelId kernel = strategies::kNoKernel;  ///< The first of them.
  EfficiencyKind kind = EfficiencyKind::kVector;
  strategies::DType dtype = strategies::DType::kFloat32;  ///< Of the first operand.
  double flops = 0;
  double bytes = 0;  ///< Of a kernel: read and written; of a transfer: CollectiveWork::bytes.
  bool recomputed = false;
  std::optional<CollectivePattern> transfer = {};
  strategies::PointToPoint half = strategies::PointToPoint::kNone;
  strategies::GroupPattern group = {};
  CollectiveCost cost = {};  ///< Of a transfer.
  GroupSpan span = {};
};

/// Ranks that run the same program, and one of them that stands for all.
struct TimedClass {
  strategies::RankSet ranks = {};
  std::int64_t rank_count = 0;
  strategies::ProgramIndex program = 0;
  std::int64_t representative = 0;
  std::vector<CostFacts> facts = {};  ///< By TimedTask::cost.
};

/// A job as the event engine wants it: programs by class.
struct TimedPlan {
  std::vector<TimedClass> classes = {};
  TimedJob job = {};
  std::int64_t unmet_transfers = 0;  ///< Halves of transfers without the other half.
};

/// Prices the kernels of a job: one representative rank of each class of ranks, all stages.
[[nodiscard]] TimedPlan PlanTime(const strategies::JobProgram& job, const HardwareProfile& profile);

}  // namespace drydock::sim
