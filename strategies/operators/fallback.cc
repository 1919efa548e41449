#include "strategies/operators/fallback.h"

#include <algorithm>

#include "strategies/operators/known_ops.h"

namespace drydock::strategies {
namespace {

bool BatchDivides(std::span<const TensorType> types, std::int64_t devices) {
  return std::ranges::all_of(types, [devices](const TensorType& type) {
    return !type.shape.empty() && type.shape.front() % devices == 0;
  });
}

}  // namespace

const OpEntry& FallbackRule(const OpEntry& entry, const OpView& view, std::int64_t stage_devices) {
  const bool batch = !entry.replicated_without_rule && !view.inputs.empty() &&
                     BatchDivides(view.inputs.first(1), stage_devices) &&
                     BatchDivides(view.outputs, stage_devices);
  return *FindOp(batch ? ops::kBatchParallel : ops::kStandAlone);
}

}  // namespace drydock::strategies
