#include "strategies/passes/localize/localize.h"

#include "strategies/passes/localize/local_builder.h"

namespace drydock::strategies {

Result<LocalProgram> BuildLocalProgram(const Graph& traced, const std::vector<Region>& regions,
                                       const std::vector<NodePlan>& plans,
                                       const JobConfig& config) {
  return LocalBuilder(traced, regions, plans, config).Build();
}

Result<Graph> BuildForwardProgram(const Graph& traced, const std::vector<Region>& regions,
                                  const std::vector<NodePlan>& plans, const JobConfig& config) {
  return LocalBuilder(traced, regions, plans, config).BuildForward();
}

}  // namespace drydock::strategies
