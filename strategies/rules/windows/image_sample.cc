#include "strategies/rules/windows/image_sample.h"

#include <algorithm>
#include <cmath>

#include "strategies/operators/known_ops.h"
#include "strategies/rules/common/local_emit.h"

namespace drydock::strategies {

Sample SampleAt(double y, double x, std::int64_t height, std::int64_t width) {
  Sample sample{.top = static_cast<std::int64_t>(std::floor(y)),
                .left = static_cast<std::int64_t>(std::floor(x))};
  sample.bottom = std::min(sample.top + 1, height - 1);
  sample.right = std::min(sample.left + 1, width - 1);
  sample.down = y - static_cast<double>(sample.top);
  sample.across = x - static_cast<double>(sample.left);
  return sample;
}

Result<ValueId> EmitOwnEntries(const LocalizeContext& context, ValueId value, ValueId is_own) {
  const TensorType type = context.builder.TypeOf(value);
  DRYDOCK_TRY(const ValueId mask, EmitHelperCast(context, is_own, type.dtype));
  const Shape column = {type.shape[0], 1, 1, 1};
  DRYDOCK_TRY(const ValueId shaped,
              EmitHelper(context, ops::kReshape, {mask}, {{"shape", column}}));
  return EmitHelper(context, ops::kMul, {value, shaped});
}

}  // namespace drydock::strategies
