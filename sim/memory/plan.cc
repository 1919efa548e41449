#include "sim/memory/plan.h"

namespace drydock::sim {

std::string_view BufferKindName(BufferKind kind) {
  static constexpr std::array<std::string_view, kBufferKindCount> kNames = {
      "parameters",  "optimizer_state", "accumulated_gradients", "constants", "inputs",
      "activations", "gradients",       "communication",         "outputs",   "workspace"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace drydock::sim
