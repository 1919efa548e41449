#include "strategies/reference/executor.h"

namespace drydock::strategies {

Result<std::vector<NdArray>> RunCollective(const Node& node, const std::vector<NdArray>& inputs) {
  if (node.entry == nullptr || node.entry->collective == nullptr) {
    return Fail(ErrorCode::kUnsupported, "'" + node.op + "' has no reference execution");
  }
  return node.entry->collective->run(node, inputs);
}

}  // namespace drydock::strategies
