#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "sim/fleet/dry_run.h"
#include "sim/rank_range.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"
#include "strategies/program/program.h"

namespace drydock::sim {

/// A network as the ranks that run it have it: one program, or, with tables cut by hand into parts
/// of different length, one per different length (docs/adr/0010).
struct NetworkPrograms {
  strategies::CompiledProgram program = {};  ///< Of the rank that was asked for.
  std::vector<RankProgram> others = {};      ///< Of the ranks with other rows.
};

/// Compiles a network for the ranks `ranks`.
///
/// @param described  one of them, whose program comes first
/// @error kUnsupported  more than 64 different lengths; otherwise as strategies::Compile
[[nodiscard]] Result<NetworkPrograms> CompileForRanks(strategies::Graph traced,
                                                      const strategies::JobConfig& job,
                                                      const std::vector<RankRange>& ranks,
                                                      RankId described);

/// The ranks of a job that are in none of the given programs.
[[nodiscard]] std::vector<RankRange> RemainingRanks(
    std::int64_t world_size, const std::vector<std::vector<RankRange>>& taken);

}  // namespace drydock::sim
