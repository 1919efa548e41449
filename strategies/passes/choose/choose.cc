#include "strategies/passes/choose/choose.h"

#include "strategies/passes/choose/dynamic_search.h"
#include "strategies/passes/choose/optimal_search.h"
#include "strategies/passes/choose/propagate.h"
#include "strategies/passes/choose/recursive_search.h"

/// Who is cut how, in order of authority:
///
///   the user's strategies and the data set's        assign.cc
///   auto_parallel: what a search finds for others   propagate.cc, recursive_search.cc,
///                                                   dynamic_search.cc, optimal_search.cc
///   outputs of an evaluation become data parallel   here
///   the batch-parallel default for the rest         assign.cc
///
/// Modes that do not cut operators have no plans.
namespace drydock::strategies {
namespace {

/// What a network that is not trained returns becomes data parallel, unless the job says how its
/// batches are cut. No search looks at that: what is added follows its operand.
void GatherOutputs(Graph& graph, std::vector<Region>& regions, const JobConfig& config,
                   Assignment& assignment) {
  if (config.training || config.dataset.kind == DatasetStrategy::Kind::kCuts) {
    return;
  }
  graph = AppendOutputNodes(std::move(graph), regions, StageDevices(config),
                            config.dataset.kind == DatasetStrategy::Kind::kFullBatch);
  regions.resize(graph.nodes.size(), Region::kForward);
  assignment.plans.resize(graph.nodes.size());
}

Status Search(const Graph& graph, const std::vector<Region>& regions, const JobConfig& config,
              Assignment& assignment) {
  if (config.search_mode == SearchMode::kRecursiveProgramming) {
    return SearchRecursively(graph, regions, config, assignment);
  }
  if (config.search_mode == SearchMode::kDynamicProgramming) {
    return SearchDynamically(graph, regions, config, assignment);
  }
  if (config.search_mode == SearchMode::kOptimal) {
    return SearchOptimally(graph, regions, config, assignment);
  }
  return PropagateStrategies(graph, regions, config, assignment);
}

}  // namespace

Result<Assignment> ChooseStrategies(Graph& graph, std::vector<Region>& regions,
                                    const JobConfig& config) {
  if (!CutsOperators(config.mode)) {
    return Assignment{.plans = std::vector<NodePlan>(graph.nodes.size())};
  }
  DRYDOCK_TRY(Assignment assignment, AssignGiven(graph, regions, config));
  if (config.mode == ParallelMode::kAutoParallel) {
    DRYDOCK_RETURN_IF_ERROR(Search(graph, regions, config, assignment));
  }
  GatherOutputs(graph, regions, config, assignment);
  DRYDOCK_RETURN_IF_ERROR(AssignDefaults(graph, regions, config, assignment));
  return assignment;
}

}  // namespace drydock::strategies
