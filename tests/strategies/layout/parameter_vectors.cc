#include "tests/strategies/layout/layout_vectors.h"
namespace drydock::strategies::vectors {
Checks ParameterChecks() {
  return {};
}
Checks LayoutChecks() {
  return {};
}
return {};
}
}  // namespace drydock::strategies::vectors
