#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "strategies/operators/sharding.h"
#include "strategies/passes/prepare/rewrite.h"
#include "strategies/program/traced_plan.h"

namespace drydock::strategies {

/// Strategies chosen so far for the nodes of a graph.
struct Assignment {
  std::vector<NodePlan> plans = {};
  std::vector<Diagnostic> diagnostics = {};
  std::optional<SearchOutcome> search = {};
};

/// Number of ranks as the rule engine wants it.
[[nodiscard]] DeviceContext DevicesOf(const JobConfig& config);

/// True if the user's layouts of a node's operands and results hold as they are, without a rule.
/// @error kInvalidArgument  attribute self_define_shard is no bool
[[nodiscard]] Result<bool> IsSelfDefined(const Node& node);

/// True if a node takes part in the choice of strategies (it has a rule and is no data-set node).
[[nodiscard]] bool HasRule(const Node& node);

/// Sharding of one node under one strategy, errors with the node's place and name.
[[nodiscard]] Result<OpSharding> ShardNode(const Graph& graph, const Node& node,
                                           const Strategy& strategy, const JobConfig& config);

/// Strategies given by the user and by the data set; nothing else is decided yet.
///
/// @error kInvalidArgument  a user strategy is illegal, or a node must not have one
/// Source: mindspore ops_info/operator_info.cc.
[[nodiscard]] Result<Assignment> AssignGiven(const Graph& graph, const std::vector<Region>& regions,
                                             const JobConfig& config);

/// Fills in the batch-parallel default wherever nothing is decided, and the fallback for operators
/// without a rule (each counted in the diagnostics).
[[nodiscard]] Status AssignDefaults(const Graph& graph, const std::vector<Region>& regions,
                                    const JobConfig& config, Assignment& assignment);

/// Adds one occurrence of a diagnostic, merging equal codes and texts.
void AddDiagnostic(std::vector<Diagnostic>& diagnostics, Diagnostic diagnostic);

}  // namespace drydock::strategies
