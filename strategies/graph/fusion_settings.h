#pragma once

#include <cstdint>
#include <vector>

namespace drydock::strategies {

/// Which collectives of a step become one: what `comm_fusion`, `all_reduce_fusion_config` and the
/// setters of the auto-parallel context leave behind, in whatever order the script calls them.
///
/// Nothing is fused unless a switch is on. Thresholds are "MB" of the reference: times 262,144, in
/// elements where operators are cut, in bytes in data_parallel mode.
/// Example: comm_fusion={"allreduce": {"mode": "size", "config": 2}} -> all_reduce = true,
/// all_reduce_mb = data_parallel_mb = 2.
/// Source: mindspore/ccsrc/utils/parallel_context.cc;
/// mindspore/python/mindspore/parallel/_auto_parallel_context.py
struct FusionSettings {
  bool all_reduce = false;
  bool all_gather = false;
  bool reduce_scatter = false;
  std::int64_t all_reduce_mb = 64;
  std::int64_t all_gather_mb = 64;
  std::int64_t reduce_scatter_mb = 64;
  std::int64_t data_parallel_mb = -1;  ///< Negative: no limit; 0: the back end fuses nothing.
  /// Last members of the first, second ... part of the gradients, counted from 0.
  std::vector<std::int64_t> split_indices = {};
  friend bool operator==(const FusionSettings&, const FusionSettings&) = default;
};

}  // namespace drydock::strategies
