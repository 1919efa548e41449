#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"
#include "strategies/graph/kernel_graph.h"
#include "strategies/graph/shared_value.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// Who decided an operator's strategy.
enum class StrategySource : std::uint8_t {
  kNone,        ///< No rule applies: local values pass through.
  kUser,        ///< shard() in the script.
  kDefault,     ///< Batch-parallel default (spec operators 1.5).
  kPropagated,  ///< Sharding propagation.
  kDataset,     ///< dataset_strategy.
  kFallback,  ///< No rule for this operator: replicated or batch parallel, counted in diagnostics.
};

/// Something a user should know although compilation went on.
struct Diagnostic {
  std::string code = {};  ///< "operator-without-rule", "strategy-ignored", ...
  std::string text = {};
  std::int64_t count = 1;
  std::optional<SourcePlace> first_place = {};
  bool unsupported = false;  ///< Counts as "our limit": --strict turns it into an error.
};

/// Strategy and layouts of one traced node.
struct NodePlan {
  StrategySource source = StrategySource::kNone;
  SharedValue<OpSharding> sharding = {};  ///< Absent for nodes without a rule.
  std::string_view fallback_rule = {};    ///< Pseudo rule in place of a missing one; else empty.
};

/// A table that the script cuts into parts of different length (attribute manual_split), and the
/// optimizer states of its shape. Ranks whose parts differ in length run programs of their own
/// (docs/adr/0010).
struct HandCut {
  std::vector<std::string> parameters = {};  ///< Names; the table is the first.
  NodeId look_up = kNoNode;                  ///< In CompiledProgram::traced.
  std::vector<std::int64_t> rows = {};       ///< Of each part.
  RankExpr part = {};                        ///< Number of the part that a rank has.
};

/// What the compiler made of a traced step: the program of every rank, symbolic in the rank.
struct CompiledProgram {
  JobConfig config = {};
  Graph traced = {};                 ///< After clean-up; global shapes.
  std::vector<NodePlan> plans = {};  ///< Per node of `traced`.
  Graph local = {};          ///< Program of one rank; local shapes; node order = execution order.
  KernelGraph kernels = {};  ///< What a rank launches for `local`, in order.
  /// Layout of each parameter of `local.parameters`, same order.
  std::vector<TensorLayout> parameter_layouts = {};
  /// Layout of each output of `local`, same order; absent where nothing is known about it.
  std::vector<std::optional<TensorLayout>> output_layouts = {};
  std::vector<Diagnostic> diagnostics = {};
  std::int64_t redistribution_count = 0;  ///< Edges on which operators were inserted.
  /// Tables whose rows differ between ranks. Everything else here speaks of the ranks whose parts
  /// are as long as those of the rank that was compiled for: to them such a table is as many parts
  /// as there are, all as long as their own.
  std::vector<HandCut> hand_cuts = {};
};

/// Compiles a traced step for all ranks of the job; with tables cut by hand, for `rank` and those
/// with as many rows of them.
///
/// @error kInvalidArgument  a strategy is illegal; place, operator, input, dimension, numbers,
/// remedy
/// @error kUnsupported      a mode or operator form that is not handled
[[nodiscard]] Result<CompiledProgram> Compile(Graph traced, const JobConfig& config,
                                              RankId rank = RankId{0});

/// False for steps that have one program for all ranks: no look-up is cut by hand.
[[nodiscard]] bool MayHaveHandCuts(const Graph& traced);

/// How many rows a rank has of each table in `hand_cuts`: ranks that have equally many run the same
/// program.
[[nodiscard]] std::vector<std::int64_t> HandCutRows(const CompiledProgram& program, RankId rank);

/// Part of a whole parameter (index in `local.parameters`) that a rank holds.
[[nodiscard]] std::vector<Range> OwnedRanges(const CompiledProgram& program, std::size_t parameter,
                                             RankId rank);

/// Program of one rank: every rank-dependent attribute is a number, every collective has attributes
/// `group` (name), `group_ranks` ("0-1-2-3") and `rank_list`.
[[nodiscard]] Graph SpecialiseForRank(const CompiledProgram& program, RankId rank);

/// False for what is done after some steps only: the gathers of a checkpoint that is not saved at
/// each.
[[nodiscard]] bool RunsEachStep(const Node& node);

/// Collectives of a step in issue order.
struct CollectiveUse {
  NodeId node = kNoNode;  ///< In CompiledProgram::local.
  GroupPattern group = {};
  std::int64_t payload_bytes = 0;  ///< Local input, bytes.
  std::int64_t sent_bytes = 0;     ///< By each rank in a ring algorithm, rounded up.
  /// By the rank that sends least: less than `sent_bytes` only where ranks at an edge have fewer
  /// neighbours to exchange border rows with.
  std::int64_t least_sent_bytes = 0;
};
[[nodiscard]] std::vector<CollectiveUse> CollectivesOf(const CompiledProgram& program);

/// Verdict of the agreement check (every member of every group issues the same collectives in the
/// same order with equal sizes and types).
struct Agreement {
  bool holds = true;
  std::int64_t groups_checked = 0;
  std::int64_t collectives_checked = 0;  ///< Per group and position in its order.
  std::string first_conflict = {};       ///< Names ranks, group and operators; empty if it holds.
};

/// One rank's collectives as the agreement check sees them.
struct RankCollective {
  std::string_view op = {};
  std::string_view reduce_op = {};
  DType dtype = DType::kFloat32;
  std::int64_t payload_bytes = 0;
  GroupPattern group = {};
  friend bool operator==(const RankCollective&, const RankCollective&) = default;
};
using CollectiveSequence = std::vector<RankCollective>;

/// Checks that the ranks agree. `sequence_of_rank[r]` is an index into `sequences`; ranks that run
/// the same program share one. All ranks belong to the stage that begins at 0 and has
/// `sequence_of_rank.size()` ranks.
[[nodiscard]] Agreement CheckAgreement(const std::vector<CollectiveSequence>& sequences,
                                       const std::vector<std::int32_t>& sequence_of_rank);

/// Collectives of a program in the form CheckAgreement wants.
[[nodiscard]] CollectiveSequence SequenceOf(const CompiledProgram& program);

}  // namespace drydock::strategies
