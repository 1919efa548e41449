// What config.json, mindformers' YAML and Megatron's arguments have in common once they are
// settings: bounded products, the width of a head, and the shape of a GPT as GPT-2 is one.

#include "sim/planning/read_model_parts.h"

#include <limits>

namespace drydock::sim {

std::int64_t SaturatedTimes(std::int64_t value, std::int64_t factor) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(value, factor, &product) ? std::numeric_limits<std::int64_t>::max()
                                                         : product;
}

Result<std::int64_t> HeadWidth(const ModelSettings& settings, std::string_view name,
                               std::string_view heads_name, const ModelShape& shape) {
  if (settings.Has(name)) {
    return settings.Integer(name);
  }
  if (shape.heads > 0 && shape.hidden % shape.heads == 0) {
    return shape.hidden / shape.heads;
  }
  Error error = FailInput("Model:contradiction",
                          "hidden size " + std::to_string(shape.hidden) + " is not divisible by " +
                              std::to_string(shape.heads) + " attention heads",
                          "use a number of heads that divides the hidden size, or give '" +
                              std::string(name) + "'")
                    .value();
  error.place = settings.PlaceOf(heads_name);
  return tl::unexpected(std::move(error));
}

ModelShape GptShape(std::string name) {
  return {.name = std::move(name),
          .positions = Positions::kLearned,
          .norm_bias = true,
          .query_bias = true,
          .output_bias = true,
          .mlp_bias = true,
          .dropout = true};
}

}  // namespace drydock::sim
