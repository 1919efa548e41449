#include "strategies/passes/propagate.h"
namespace drydock::strategies {
Status PropagateStrategies(const Graph&, const std::vector<Region>&, const JobConfig&,
                           Assignment&) {
  return {};
}
}  // namespace drydock::strategies
