#include <vector>

#include "strategies/rules/common/common_rules.h"

/// The end of a step that saves an integrated checkpoint: (parameters...). What becomes of it is
/// told in passes/localize/checkpoint.cc; there is no such kernel.
namespace drydock::strategies {
namespace {

/// Saving gives nothing back.
Result<std::vector<TensorType>> InferSave(const OpView& /*op*/) {
  return std::vector<TensorType>{};
}

DRYDOCK_OP_NAMED(SaveCheckpoint, "_SaveCheckpoint", .family = "virtual",
                 .signature = "_SaveCheckpoint(each_step=True)(*parameters)",
                 .kind = OpKind::kUpdate, .infer = InferSave, .gradient = GradientNotNeeded,
                 .flops = NoFlops, .cost = CostFamily::kFree, .saves = true);

}  // namespace
}  // namespace drydock::strategies
