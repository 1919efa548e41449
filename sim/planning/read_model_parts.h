#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/planning/model_settings.h"
#include "sim/planning/model_shape.h"

/// What the readers of model descriptions share.
namespace drydock::sim {

/// `value` times `factor` (> 0); a number that no bound lets pass if it does not fit.
[[nodiscard]] std::int64_t SaturatedTimes(std::int64_t value, std::int64_t factor);

/// The setting `name`, or else hidden size over heads.
/// @param heads_name  how the setting with the heads is called, for the message
/// @error kInvalidArgument  the hidden size is not divisible by the heads
[[nodiscard]] Result<std::int64_t> HeadWidth(const ModelSettings& settings, std::string_view name,
                                             std::string_view heads_name, const ModelShape& shape);

/// A GPT as GPT-2 is one: LayerNorm, biases everywhere, two matrices in the feed-forward block,
/// learned positions, dropout; without sizes.
[[nodiscard]] ModelShape GptShape(std::string name);

}  // namespace drydock::sim
