#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "launcher/environment.h"

namespace drydock::launcher {

class FlagSet;
struct MsrunOptions;

/// A job of processes of which msrun is one: `mpirun -n 4 msrun net.py`, `srun msrun net.py`, pods
/// of a Kubernetes job. Each such msrun is the launcher of one node of ours, and the job's
/// variables say which.
struct OuterJob {
  std::string system = {};           ///< "Open MPI": for people.
  std::string index_name = {};       ///< Variable of `index`.
  std::int64_t index = 0;            ///< Of this process: our node rank.
  std::string size_name = {};        ///< Variable of `size`.
  std::int64_t size = 0;             ///< Number of processes; 0: it does not say.
  std::int64_t local_index = 0;      ///< Among the processes on this machine.
  std::int64_t local_size = 1;       ///< Processes on this machine.
  std::string ranks_each_name = {};  ///< Variable of `ranks_each`.
  std::int64_t ranks_each = 0;       ///< Ranks that each process is to start; 0: it does not say.
  std::string master = {};           ///< Machine of process 0; empty: it does not say.

  /// It says who all the others are, so that process 0 is the master wherever it runs.
  [[nodiscard]] bool is_complete() const { return size > 0; }
  /// All processes run on this machine.
  [[nodiscard]] bool is_on_one_machine() const { return size > 0 && local_size == size; }
};

/// The outer job by the variables that it gives its processes; nothing outside of one, in a job of
/// one process, in an interactive shell of Slurm, and in a rank of ours.
///
/// Source: environments documented by Open MPI (man mpirun), Slurm (man srun, OUTPUT ENVIRONMENT
/// VARIABLES), Kubernetes (Indexed Job), Volcano (svc and env plugins), Kubeflow (PyTorchJob).
/// @error USAGE  variables that are no numbers or contradict each other
[[nodiscard]] Result<std::optional<OuterJob>> FindOuterJob(const Environment& environment);

/// "node[01-04,07],gpu3" -> "node01"
[[nodiscard]] std::string FirstHostOf(std::string_view nodelist);

/// Takes node rank, numbers of ranks and master from the outer job where no flag gives them, and
/// joins unless told otherwise, since the outer job ends what a process leaves behind. Of a job of
/// one process it takes the number of ranks, where no flag says which node that is.
/// @error USAGE  a flag contradicts the outer job; both are named
[[nodiscard]] Status TakeOuterJob(MsrunOptions& options, const FlagSet& flags,
                                  const Environment& environment);

}  // namespace drydock::launcher
