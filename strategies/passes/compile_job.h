#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "strategies/program/job_program.h"

namespace drydock::strategies {

/// A network as the script's run recorded it.
struct TracedNetwork {
  Graph graph = {};
  JobConfig config = {};
  std::string note = {};  ///< Added to its errors: which run of the script it comes from.
};

/// Ranks for which the script does the same. Numbers are those of TracedJob::networks.
struct TracedClass {
  RankSet ranks = {};
  std::vector<std::size_t> runs = {};  ///< In the order of the script.
  std::size_t described = 0;           ///< One of `runs`: whose memory is accounted.
};

/// What all ranks of a job do, before it is compiled.
struct TracedJob {
  std::vector<TracedNetwork> networks = {};
  std::vector<TracedClass> classes = {};  ///< Partition the ranks.
  /// Stages of a pipeline without one of these ranks get no kernels: their memory is not asked
  /// for. Empty: all stages do.
  RankSet wanted = {};
};

/// A job of which all ranks run one network.
[[nodiscard]] TracedJob JobOf(Graph graph, const JobConfig& config);

/// Compiles a network for all ranks that run it; with tables cut by hand, for `rank` and those with
/// as many rows of them.
///
/// @error kInvalidArgument  a strategy is illegal; place, operator, input, dimension, numbers,
/// remedy
/// @error kUnsupported      a mode or operator form that is not handled
[[nodiscard]] Result<LocalProgram> Compile(Graph traced, const JobConfig& config,
                                           RankId rank = RankId{0});

/// Is told that a network is about to be compiled: its number from 1, and how many there are.
using CompileWatch = std::function<void(std::size_t, std::size_t)>;

/// How a job is compiled; nothing of it changes the result.
struct CompileHelp {
  CompileWatch watch = {};
  const Executor* executor = nullptr;  ///< Stages of a pipeline are scheduled side by side.
};

/// Compiles every network of a job, once for all ranks that run the same program.
///
/// A network that no class describes and that is beyond our limits becomes nullopt in the runs.
/// @param described  the rank whose class reports describe; programs of its network come first
/// @error kUnsupported  tables cut by hand into more than 64 different lengths; otherwise as
/// Compile
[[nodiscard]] Result<JobProgram> CompileJob(TracedJob job, RankId described,
                                            const CompileHelp& help = {});

}  // namespace drydock::strategies
