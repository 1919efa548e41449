#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"
#include "strategies/graph/shared_value.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// Who decided an operator's strategy.
enum class StrategySource : std::uint8_t {
  kNone,        ///< No rule applies: local values pass through.
  kUser,        ///< shard() in the script.
  kDefault,     ///< Batch-parallel default.
  kPropagated,  ///< Sharding propagation.
  kDataset,     ///< dataset_strategy.
  kFallback,  ///< No rule for this operator: replicated or batch parallel, counted in diagnostics.
};

/// What a diagnostic means for the verdict.
enum class DiagnosticKind : std::uint8_t {
  kNote,     ///< Nothing.
  kLimit,    ///< Counts as "our limit": --strict turns it into an error.
  kFailure,  ///< The script failed behind its network: an error under --strict.
};

/// Something a user should know although compilation went on.
struct Diagnostic {
  std::string code = {};  ///< "operator-without-rule", "strategy-ignored", ...
  std::string text = {};
  std::int64_t count = 1;
  std::optional<SourcePlace> first_place = {};
  DiagnosticKind kind = DiagnosticKind::kNote;
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
  NodeId look_up = kNoNode;                  ///< In TracedPlan::traced.
  std::vector<std::int64_t> rows = {};       ///< Of each part.
  RankExpr part = {};                        ///< Number of the part that a rank has.
};

/// What SearchMode::kOptimal found, and how good that is. Costs are bytes that a rank computes on,
/// plus those it sends times a weight (docs/sharding.md).
struct SearchOutcome {
  double cost = 0;
  double lower_bound = 0;  ///< No strategies that fit cost less: `cost` if nothing can be better.
  double bytes = 0;        ///< Estimated memory of the fullest stage's ranks.
  double limit_bytes = 0;  ///< What it may be; 0: anything.
  bool fits = true;
  std::optional<double> dynamic_cost = {};    ///< What dynamic programming finds, by these costs.
  std::optional<double> recursive_cost = {};  ///< The same of recursive programming.
};

/// A network of the script and what was decided about it: under which settings, who is cut how.
struct TracedPlan {
  JobConfig config = {};
  Graph traced = {};                 ///< After clean-up; global shapes.
  std::vector<NodePlan> plans = {};  ///< Per node of `traced`.
  std::vector<Diagnostic> diagnostics = {};
  /// Tables whose rows differ between ranks. All other members describe ranks whose part has as
  /// many rows as the compiled rank's; for them the table is modelled as equal parts of that size.
  std::vector<HandCut> hand_cuts = {};
  std::optional<SearchOutcome> search = {};
};

/// How many rows a rank has of each table in `hand_cuts`: ranks that have equally many run the same
/// program.
[[nodiscard]] std::vector<std::int64_t> HandCutRows(const TracedPlan& plan, RankId rank);

/// Number of the part of a table that a rank has.
[[nodiscard]] std::size_t PartOf(const HandCut& cut, const JobConfig& config, RankId rank);

}  // namespace drydock::strategies
