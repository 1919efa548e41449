#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/ids.h"
#include "base/result.h"
#include "sim/calibration/workspace_table.h"
#include "sim/fleet/tensor_facts.h"
#include "sim/fleet/workspaces.h"
#include "sim/memory/device_memory.h"
#include "sim/memory/lifetimes.h"
#include "sim/timing/time_line.h"
#include "strategies/program/agreement.h"

namespace drydock::sim {

/// What is asked of a dry run.
struct DryRunOptions {
  std::int32_t level = 1;  ///< 0 compile and validate, 1 also memory, 2 workspaces, 3 time.
  std::optional<RankId> only_rank = {};  ///< Play this rank only; the whole fleet still registers.
  std::size_t largest_count = 10;        ///< Tensors listed at the peak.
  bool keep_lifetimes = false;           ///< Keep when and where each tensor lives, and the series.
  /// From level 2 on: workspaces of kernels that were seen; without a table they count as nothing.
  std::optional<WorkspaceTable> workspaces = {};
  std::optional<TimeOptions> time = {};  ///< Wanted at level 3.
};

/// Ranks of which the same program is told: they differ only in offsets and peers.
struct ClassMemory {
  strategies::RankSet ranks = {};
  std::int64_t rank_count = 0;
  strategies::ProgramIndex program = 0;      ///< In DryRunResult::job.
  std::optional<MemoryProfile> memory = {};  ///< Absent at level 0.
  std::string peak_op = {};  ///< Full name of the operator at whose launch the peak is.
  std::optional<SourcePlace> peak_place = {};
  std::vector<PeakTensor> largest = {};
  std::vector<LayerMemory> layers = {};  ///< What is alive at the peak by layer; sums to the peak.
  std::int64_t kept_for_backward_bytes = 0;  ///< See KeptForBackward.
  WorkspaceCover workspaces = {};            ///< From level 2 on.
  std::int64_t head_room_bytes = 0;  ///< Usable device memory minus the peak with fragments.
};

/// What the virtual ranks did together.
struct FleetFacts {
  std::int64_t registered_ranks = 0;
  std::int64_t messages = 0;  ///< Frames that went over the in-process transport.
  std::int64_t message_bytes = 0;
  std::int64_t specialised_ranks = 0;
};

/// Everything a dry run found out.
struct DryRunResult {
  strategies::JobProgram job = {};
  DryRunOptions options = {};
  DeviceMemory device = {};
  std::vector<ClassMemory> classes = {};  ///< By program; of those that are asked for.
  strategies::Agreement agreement = {};
  FleetFacts fleet = {};
  std::optional<TimeLine> time = {};  ///< At level 3, of all ranks, if they agree.
};

/// The rank that reports describe where they describe one: the chosen one, else rank 0.
[[nodiscard]] RankId DescribedRank(const DryRunOptions& options);

/// The program of that rank.
[[nodiscard]] const strategies::LocalProgram& DescribedProgram(const DryRunResult& result);

/// What ranks work out for themselves once they know their number: their place in every group of
/// their program. Gives how many different ranks did.
[[nodiscard]] std::int64_t SpecialiseRanks(const strategies::JobProgram& job,
                                           std::span<const std::int64_t> ranks);

/// Plays all ranks of the job: register, wait for the topology, specialise, account memory, leave.
///
/// The result does not depend on the executor's thread count.
/// @error kInvalidArgument  only_rank is no rank of the job; the device memory limit is no size
/// @error kInternal         as SimulateStep
[[nodiscard]] Result<DryRunResult> DryRun(strategies::JobProgram job, const DryRunOptions& options,
                                          const Executor& executor);

/// Memory of the classes that have one of `ranks`, which is all that a change is tried for: no
/// agreement, no fleet.
/// @error as DryRun
[[nodiscard]] Result<std::vector<ClassMemory>> AccountRanks(strategies::JobProgram job,
                                                            const DryRunOptions& options,
                                                            const strategies::RankSet& ranks,
                                                            const Executor& executor);

}  // namespace drydock::sim
