#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/ids.h"
#include "base/result.h"
#include "sim/memory/device_memory.h"
#include "sim/memory/lifetimes.h"
#include "sim/rank_range.h"
#include "strategies/program/program.h"

namespace drydock::sim {

/// What is asked of a dry run.
struct DryRunOptions {
  std::int32_t level = 1;                ///< 0 compile and validate, 1 also memory.
  std::optional<RankId> only_rank = {};  ///< Play this rank only; the whole fleet still registers.
  std::size_t largest_count = 10;        ///< Tensors listed at the peak.
};

/// A tensor alive at the peak, in terms of the user's network.
struct PeakTensor {
  std::string name = {};  ///< Parameter name, or "<op> result of <instance>", or "workspace".
  std::string op = {};    ///< Producing operator; empty for parameters and inputs.
  BufferKind kind = BufferKind::kActivation;
  std::int64_t bytes = 0;      ///< As placed (rounded).
  std::string type_text = {};  ///< "float32 (8, 16)", local.
  std::optional<SourcePlace> place = {};
};

/// Ranks that run the same program on equally large slices; they differ only in offsets and peers.
struct RankClass {
  std::vector<RankRange> ranks = {};
  std::int64_t rank_count = 0;
  StageId stage = StageId{0};
  std::optional<MemoryProfile> memory = {};  ///< Absent at level 0.
  std::string peak_op = {};  ///< Full name of the operator at whose launch the peak is.
  std::optional<SourcePlace> peak_place = {};
  std::vector<PeakTensor> largest = {};
  std::int64_t head_room_bytes = 0;  ///< Usable device memory minus the peak with fragments.
};

/// What the virtual ranks did together.
struct FleetFacts {
  std::int64_t registered_ranks = 0;
  std::int64_t messages = 0;  ///< Frames that went over the in-process transport.
  std::int64_t message_bytes = 0;
  std::int64_t specialised_ranks = 0;
};

/// A program and the ranks that run it. The ranks of a job differ in their programs if the script
/// asks for its rank (docs/adr/0009).
struct RankProgram {
  strategies::CompiledProgram program = {};
  std::vector<RankRange> ranks = {};  ///< Ascending.
};

/// All programs of some ranks, in the order of their script.
struct RankOrder {
  /// Indices into: DryRun's `program`, `others`, `later`, one behind the other.
  std::vector<std::size_t> programs = {};
  std::vector<RankRange> ranks = {};
};

/// What the ranks compute besides the program of rank 0.
struct ScriptPrograms {
  std::vector<RankProgram> others = {};  ///< Programs of ranks that do not run the first one.
  /// Further ones, whose collectives are compared; their memory is not accounted.
  std::vector<strategies::CompiledProgram> later = {};
  std::vector<RankOrder> orders = {};  ///< Every rank in one of them; empty: one program per rank.
};

/// Everything a dry run found out.
struct DryRunResult {
  strategies::CompiledProgram program = {};  ///< Of all ranks that are not in `others`.
  std::vector<RankProgram> others = {};
  DryRunOptions options = {};
  DeviceMemory device = {};
  std::vector<RankClass> classes = {};
  strategies::Agreement agreement = {};
  FleetFacts fleet = {};
};

/// Plays all ranks of the job: register, wait for the topology, specialise, account memory, leave.
///
/// The result does not depend on the executor's thread count.
/// @param script  programs for the same number of ranks; docs/adr/0009
/// @error kInvalidArgument  only_rank is no rank of the job; the device memory limit is no size
/// @error kUnsupported      level 2 or 3
[[nodiscard]] Result<DryRunResult> DryRun(strategies::CompiledProgram program,
                                          const DryRunOptions& options, const Executor& executor,
                                          ScriptPrograms script = {});

}  // namespace drydock::sim
