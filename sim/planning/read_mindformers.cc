// mindformers' YAML files.
//
// The model stands under model.model_config, in one of two vocabularies: that of Hugging Face (with
// a model_type), or mindformers' own, whose names differ from class to class and are tried one
// after the other. The feed-forward width may be left to a rule: w = int(8h/3), with a multiplier
// int((q + 0.01) * w), then up to the next multiple. Source: mindspore-lab/mindformers:
// mindformers/models/llama/llama_config.py, convert_weight.py.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "sim/planning/read_model.h"
#include "sim/planning/read_model_parts.h"

namespace drydock::sim {
namespace {

/// The first of `names` that is written.
Result<std::int64_t> Any(const ModelSettings& settings,
                         std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (settings.Has(name)) {
      return settings.Integer(name);
    }
  }
  return settings.Integer(*names.begin());
}

Result<std::int64_t> AnyOr(const ModelSettings& settings,
                           std::initializer_list<std::string_view> names, std::int64_t absent) {
  for (const std::string_view name : names) {
    if (settings.Has(name)) {
      return settings.Integer(name);
    }
  }
  return absent;
}

Result<bool> AnySwitch(const ModelSettings& settings,
                       std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (settings.Has(name)) {
      return settings.Switch(name, false);
    }
  }
  return false;
}

Result<std::int64_t> MindFormersFeedForwardWidth(const ModelSettings& settings,
                                                 const ModelShape& shape) {
  if (settings.Has("intermediate_size") || settings.Has("ffn_hidden_size")) {
    return Any(settings, {"intermediate_size", "ffn_hidden_size"});
  }
  DRYDOCK_TRY(const std::int64_t multiple, settings.Integer("multiple_of", 256));
  DRYDOCK_TRY(const double multiplier, settings.Number("ffn_dim_multiplier", 0));
  std::int64_t width = SaturatedTimes(shape.hidden, 8) / 3;
  if (multiplier > 0 && multiplier < 100) {
    width = static_cast<std::int64_t>((multiplier + 0.01) * static_cast<double>(width));
  }
  if (multiple < 1 || multiple > (1 << 20) || width > (std::int64_t{1} << 40)) {
    return width;
  }
  return (width + multiple - 1) / multiple * multiple;
}

Status MindFormersAddExperts(const ModelSettings& all, ModelShape& shape) {
  const ModelSettings settings = all.Under("moe_config.");
  DRYDOCK_TRY(const std::int64_t count, AnyOr(settings, {"expert_num", "num_experts"}, 1));
  if (count <= 1) {
    return {};
  }
  shape.experts.count = count;
  DRYDOCK_TRY(shape.experts.per_token,
              AnyOr(settings, {"num_experts_chosen", "num_experts_per_tok"}, 1));
  DRYDOCK_TRY(shape.experts.width, AnyOr(settings, {"moe_intermediate_size"}, shape.ffn));
  DRYDOCK_TRY(const std::int64_t shared, AnyOr(settings, {"shared_expert_num"}, 0));
  shape.experts.shared_width = SaturatedTimes(shape.experts.width, shared);
  DRYDOCK_TRY(const std::int64_t dense, AnyOr(settings, {"first_k_dense_replace"}, 0));
  shape.experts.layers = std::max<std::int64_t>(0, shape.layers - std::max<std::int64_t>(0, dense));
  DRYDOCK_TRY(shape.experts.router_bias, AnySwitch(settings, {"balance_via_topk_bias"}));
  return {};
}

Status MindFormersAddLatent(const ModelSettings& settings, ModelShape& shape) {
  DRYDOCK_TRY(shape.latent.key_rank, settings.Integer("kv_lora_rank", 0));
  if (shape.latent.key_rank == 0) {
    return {};
  }
  DRYDOCK_TRY(shape.latent.query_rank, settings.Integer("q_lora_rank", 0));
  DRYDOCK_TRY(shape.latent.plain_width, settings.Integer("qk_nope_head_dim"));
  DRYDOCK_TRY(shape.latent.rotary_width, settings.Integer("qk_rope_head_dim"));
  DRYDOCK_TRY(shape.latent.value_width, settings.Integer("v_head_dim"));
  shape.kv_heads = shape.heads;
  return {};
}

/// Switches of the Llama-like classes, ChatGLM's among them.
Status AddSwitches(const ModelSettings& settings, ModelShape& shape) {
  shape.gated = true;
  DRYDOCK_TRY(shape.query_bias,
              AnySwitch(settings, {"qkv_has_bias", "add_qkv_bias", "attention_bias"}));
  DRYDOCK_TRY(shape.head_norm, AnySwitch(settings, {"qk_layernorm", "use_qk_norm"}));
  DRYDOCK_TRY(shape.tied, AnySwitch(settings, {"tie_word_embeddings"}));
  if (settings.Has("untie_embeddings_and_output_weights")) {
    DRYDOCK_TRY(const bool untied, settings.Switch("untie_embeddings_and_output_weights", true));
    shape.tied = !untied;
  }
  return {};
}

/// What tells GPT's own class from the Llama-like ones.
bool IsGpt(const ModelSettings& settings) {
  const std::string type = settings.Text("type");
  return type == "GPT2Config" || type == "PanguAlphaConfig";
}

Status AddGpt(const ModelSettings& settings, ModelShape& shape) {
  const ModelShape gpt = GptShape("");
  shape.norm_bias = shape.query_bias = shape.output_bias = shape.mlp_bias = true;
  shape.dropout = true;
  shape.positions = gpt.positions;
  shape.tied = true;
  shape.position_rows = shape.sequence;
  DRYDOCK_TRY(shape.ffn, AnyOr(settings, {"intermediate_size", "ffn_hidden_size"},
                               SaturatedTimes(shape.hidden, 4)));
  return {};
}

Result<ModelShape> ShapeOfConfig(const ModelSettings& settings) {
  ModelShape shape{.name = settings.Text("type")};
  DRYDOCK_TRY(shape.hidden, settings.Integer("hidden_size"));
  DRYDOCK_TRY(shape.layers, Any(settings, {"num_layers", "num_hidden_layers"}));
  DRYDOCK_TRY(shape.heads, Any(settings, {"num_heads", "num_attention_heads"}));
  DRYDOCK_TRY(shape.vocabulary, Any(settings, {"vocab_size", "padded_vocab_size"}));
  DRYDOCK_TRY(shape.sequence, AnyOr(settings, {"seq_length"}, 0));
  DRYDOCK_TRY(
      shape.kv_heads,
      AnyOr(settings, {"n_kv_heads", "num_key_value_heads", "multi_query_group_num"}, shape.heads));
  const std::string_view width = settings.Has("kv_channels") ? "kv_channels" : "head_dim";
  DRYDOCK_TRY(shape.head_width,
              HeadWidth(settings, width,
                        settings.Has("num_heads") ? "num_heads" : "num_attention_heads", shape));
  if (IsGpt(settings)) {
    DRYDOCK_RETURN_IF_ERROR(AddGpt(settings, shape));
    return shape;
  }
  DRYDOCK_TRY(shape.ffn, MindFormersFeedForwardWidth(settings, shape));
  DRYDOCK_RETURN_IF_ERROR(AddSwitches(settings, shape));
  DRYDOCK_RETURN_IF_ERROR(MindFormersAddLatent(settings, shape));
  return shape;
}

}  // namespace

Result<ModelShape> ShapeFromMindformers(const ModelSettings& all) {
  const ModelSettings settings = all.Under("model.model_config.");
  if (settings.all().empty()) {
    Error error =
        FailInput("Model:unreadable", "there is no 'model.model_config' in it",
                  "give a mindformers YAML file, the config.json of a Hugging Face model, "
                  "or a file with Megatron arguments")
            .value();
    error.place = SourcePlace{.file = all.file()};
    return tl::unexpected(std::move(error));
  }
  if (settings.Has("model_type")) {
    DRYDOCK_TRY(ModelShape shape, ShapeFromHuggingFace(settings));
    DRYDOCK_TRY(shape.sequence, settings.Integer("seq_length", 0));
    return shape;
  }
  DRYDOCK_TRY(ModelShape shape, ShapeOfConfig(settings));
  ModelSettings experts = all.Under("");
  if (settings.Has("moe_config.expert_num")) {
    experts = settings;
  }
  DRYDOCK_RETURN_IF_ERROR(MindFormersAddExperts(experts, shape));
  return shape;
}

}  // namespace drydock::sim
