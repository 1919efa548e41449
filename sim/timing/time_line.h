#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/timing/timed_program.h"

namespace drydock::sim {

/// How a step is timed.
struct TimeOptions {
  HardwareProfile hardware = {};
  double jitter = 0;  ///< Share by which kernels are late on average; see TimedJob.
  std::uint64_t seed = 0;
};

/// Where the step of one rank of a class goes. `busy`, `exposed` and `bubble` sum to the step.
struct ClassTime {
  double end_seconds = 0;                ///< When its last task ends.
  double busy_seconds = 0;               ///< Kernels on the stream of computation.
  double transfer_seconds = 0;           ///< Transfers, each by itself.
  double exposed_seconds = 0;            ///< Something is transferred and nothing computes.
  double bubble_seconds = 0;             ///< Neither: the rank waits for another one.
  double model_flops = 0;                ///< Of products and attention, forward and backward.
  double hardware_flops = 0;             ///< And what is computed again.
  std::vector<double> level_bytes = {};  ///< Sent on each level of the network.
};

/// Transfers of one kind over one kind of group, of a rank on average.
struct TransferTime {
  CollectivePattern pattern = CollectivePattern::kAllReduce;
  strategies::GroupPattern group = {};
  std::size_t level = 0;  ///< The outermost one.
  std::int64_t group_size = 0;
  std::string ranks = {};  ///< A group as an example; of messages the two ends.
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  double count = 0;
  double bytes = 0;            ///< As CollectiveWork::bytes.
  double seconds = 0;          ///< Each by itself.
  double exposed_seconds = 0;  ///< While nothing computes.
};

/// Kernels of one operator, of a rank on average.
struct OperatorTime {
  std::string op = {};
  EfficiencyKind kind = EfficiencyKind::kVector;
  double kernels = 0;
  double seconds = 0;
  double flops = 0;
};

/// The same of one scope of the network.
struct ScopeTime {
  std::string scope = {};
  double seconds = 0;
  double recomputed_seconds = 0;
};

/// What stands on the longest chain of a step, by line of the script.
struct PathPart {
  std::string op = {};
  std::optional<SourcePlace> place = {};
  std::int64_t stage = 0;
  bool transfer = false;
  std::int64_t tasks = 0;
  double seconds = 0;
};

/// One training step on a device of a profile.
struct TimeLine {
  HardwareProfile hardware = {};
  double jitter = 0;
  std::uint64_t seed = 0;
  TimedPlan plan = {};
  TimedRun run = {};
  std::vector<ClassTime> classes = {};  ///< As TimedPlan::classes.
  std::vector<TransferTime> transfers = {};
  std::vector<OperatorTime> operators = {};
  std::vector<ScopeTime> scopes = {};
  std::vector<PathPart> path = {};                             ///< Longest first; sums to the step.
  strategies::DType flops_type = strategies::DType::kFloat32;  ///< Of most operations.
  double peak_flops = 0;                                       ///< Of one device in that type.
  std::optional<std::int64_t> samples = {};  ///< Of a step, all ranks: first dimension of the data.
  std::optional<std::int64_t> tokens = {};   ///< If the data is integers of two dimensions.
};

/// Means over all ranks.
struct MeanTime {
  double busy = 0;  ///< Shares of the step.
  double exposed = 0;
  double bubble = 0;
  double model_utilisation = 0;     ///< MFU.
  double hardware_utilisation = 0;  ///< HFU.
};
[[nodiscard]] MeanTime MeanOf(const TimeLine& line);

/// Simulates one step of all stages.
/// @error kInternal  the representatives of the ranks wait for each other
[[nodiscard]] Result<TimeLine> SimulateStep(const strategies::JobProgram& job,
                                            const TimeOptions& options);

}  // namespace drydock::sim
