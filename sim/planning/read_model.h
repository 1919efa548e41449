#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/planning/model_settings.h"
#include "sim/planning/model_shape.h"

namespace drydock::sim {

/// A model description as a shape: the config.json of a Hugging Face model (Llama, Mistral,
/// Mixtral, Qwen2, Qwen3, their mixtures of experts, GPT-2, GPT-NeoX, BLOOM, DeepSeek V2 and V3), a
/// mindformers YAML file, or Megatron's arguments. Which of them it is shows in the text itself.
/// @param file  its name, for messages
/// @error kInvalidArgument  unreadable, a setting is missing, of another type, or contradicts
/// others;
///                          has a place
/// @error kUnsupported      a kind of model that is not known here; has a place
[[nodiscard]] Result<ModelShape> ReadModel(std::string_view text, const std::string& file);

/// The same for settings that are read already.
[[nodiscard]] Result<ModelShape> ShapeFromHuggingFace(const ModelSettings& settings);
[[nodiscard]] Result<ModelShape> ShapeFromMindformers(const ModelSettings& settings);
[[nodiscard]] Result<ModelShape> ShapeFromMegatron(const ModelSettings& settings);

}  // namespace drydock::sim
