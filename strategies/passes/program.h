#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"
#include "strategies/graph/shared_value.h"
#include "strategies/rules/op_entry.h"

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

/// What the compiler made of a traced step: the program of every rank, symbolic in the rank.
struct CompiledProgram {
  JobConfig config = {};
  Graph traced = {};                 ///< After clean-up; global shapes.
  std::vector<NodePlan> plans = {};  ///< Per node of `traced`.
  Graph local = {};  ///< Program of one rank; local shapes; node order = execution order.
  /// Layout of each parameter of `local.parameters`, same order.
  std::vector<TensorLayout> parameter_layouts = {};
  /// Layout of each output of `local`, same order; absent where nothing is known about it.
  std::vector<std::optional<TensorLayout>> output_layouts = {};
  std::vector<Diagnostic> diagnostics = {};
  std::int64_t redistribution_count = 0;  ///< Edges on which operators were inserted.
};

/// Compiles a traced step for all ranks of the job.
///
/// @error kInvalidArgument  a strategy is illegal; place, operator, input, dimension, numbers,
/// remedy
/// @error kUnsupported      a mode or operator form that is not handled
[[nodiscard]] Result<CompiledProgram> Compile(Graph traced, const JobConfig& config);

/// Program of one rank: every rank-dependent attribute is a number, every collective has attributes
/// `group` (name), `group_ranks` ("0-1-2-3") and `rank_list`.
[[nodiscard]] Graph SpecialiseForRank(const CompiledProgram& program, RankId rank);

/// Collectives of a program in issue order.
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
