#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "strategies/graph/kernel_graph.h"
#include "strategies/program/traced_plan.h"

namespace drydock::strategies {

/// What the compiler makes of a plan: the program of every rank that runs it, symbolic in the rank.
/// Ranks of one stage run the same program on slices of equal shape; offsets and groups are
/// expressions in the rank.
struct LocalProgram {
  SharedValue<TracedPlan> from = {};  ///< Never absent in a compiled program.
  StageId stage = StageId{0};
  Graph local = {};          ///< Local shapes; helpers of differentiation removed.
  KernelGraph kernels = {};  ///< What a rank launches for `local`, in order.
  /// Layout of each parameter of `local.parameters`, same order.
  std::vector<TensorLayout> parameter_layouts = {};
  /// Layout of each output of `local`, same order; absent where nothing is known about it.
  std::vector<std::optional<TensorLayout>> output_layouts = {};
  std::int64_t redistribution_count = 0;     ///< Edges on which operators were inserted.
  std::vector<Diagnostic> diagnostics = {};  ///< What the backward program leaves out.
};

/// What is to be said of a program: of its plan, then of itself.
[[nodiscard]] std::vector<Diagnostic> DiagnosticsOf(const LocalProgram& program);

/// Part of a whole parameter (index in `local.parameters`) that a rank holds.
[[nodiscard]] std::vector<Range> OwnedRanges(const LocalProgram& program, std::size_t parameter,
                                             RankId rank);

/// Program of one rank: every rank-dependent attribute is a number, every collective has attributes
/// `group` (name), `group_ranks` ("0-1-2-3") and `rank_list`.
[[nodiscard]] Graph SpecialiseForRank(const LocalProgram& program, RankId rank);

}  // namespace drydock::strategies
