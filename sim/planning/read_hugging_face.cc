// The config.json of Hugging Face models.
//
// A family is its `model_type`. Most are Llama with one thing changed (Qwen2 has biases, Qwen3
// normalises heads, Mixtral has experts), so they share one reader and differ in a row of a table.
// Source: huggingface/transformers: src/transformers/models/<family>/configuration_<family>.py,
// modeling_<family>.py.
#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "sim/planning/read_model.h"
#include "sim/planning/read_model_parts.h"

namespace drydock::sim {
namespace {

using Reader = Result<ModelShape> (*)(const ModelSettings&);

/// Sizes that every family writes under the same names.
Result<ModelShape> ReadSizes(const ModelSettings& settings) {
  ModelShape shape{.name = settings.Text("_name_or_path")};
  if (shape.name.empty()) {
    shape.name = settings.Text("model_type");
  }
  DRYDOCK_TRY(shape.hidden, settings.Integer("hidden_size"));
  DRYDOCK_TRY(shape.layers, settings.Integer("num_hidden_layers"));
  DRYDOCK_TRY(shape.heads, settings.Integer("num_attention_heads"));
  DRYDOCK_TRY(shape.vocabulary, settings.Integer("vocab_size"));
  DRYDOCK_TRY(shape.tied, settings.Switch("tie_word_embeddings", false));
  return shape;
}

Result<ModelShape> ReadLlama(const ModelSettings& settings) {
  DRYDOCK_TRY(ModelShape shape, ReadSizes(settings));
  shape.gated = true;
  DRYDOCK_TRY(shape.ffn, settings.Integer("intermediate_size"));
  DRYDOCK_TRY(shape.kv_heads, settings.Integer("num_key_value_heads", shape.heads));
  DRYDOCK_TRY(shape.head_width, HeadWidth(settings, "head_dim", "num_attention_heads", shape));
  DRYDOCK_TRY(shape.query_bias, settings.Switch("attention_bias", false));
  shape.output_bias = shape.query_bias;
  DRYDOCK_TRY(shape.mlp_bias, settings.Switch("mlp_bias", false));
  return shape;
}

/// Gemma: the head is the token table unless the description says otherwise.
Result<ModelShape> ReadGemma(const ModelSettings& settings) {
  DRYDOCK_TRY(ModelShape shape, ReadLlama(settings));
  DRYDOCK_TRY(shape.tied, settings.Switch("tie_word_embeddings", true));
  return shape;
}

Result<ModelShape> ReadInternLm2(const ModelSettings& settings) {
  DRYDOCK_TRY(ModelShape shape, ReadLlama(settings));
  DRYDOCK_TRY(shape.query_bias, settings.Switch("bias", false));
  shape.output_bias = shape.query_bias;
  return shape;
}

Result<ModelShape> ReadQwen2(const ModelSettings& settings) {
  DRYDOCK_TRY(ModelShape shape, ReadLlama(settings));
  shape.query_bias = true;
  shape.output_bias = false;
  return shape;
}

Result<ModelShape> ReadQwen3(const ModelSettings& settings) {
  DRYDOCK_TRY(ModelShape shape, ReadLlama(settings));
  shape.head_norm = true;
  return shape;
}

/// Layers whose number is a multiple of the step, less those that are named as dense.
Result<std::int64_t> QwenSparseLayers(const ModelSettings& settings, std::int64_t layers) {
  DRYDOCK_TRY(const std::int64_t step, settings.Integer("decoder_sparse_step", 1));
  std::vector<std::int64_t> dense;
  if (const Setting* const named = settings.Find("mlp_only_layers")) {
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&named->value)) {
      dense = *list;
    }
  }
  std::int64_t sparse = 0;
  for (std::int64_t layer = 0; step > 0 && layer < std::min<std::int64_t>(layers, 1 << 16);
       ++layer) {
    sparse += (layer + 1) % step == 0 && std::ranges::count(dense, layer) == 0 ? 1 : 0;
  }
  return sparse;
}

Status AddQwenExperts(const ModelSettings& settings, ModelShape& shape) {
  DRYDOCK_TRY(shape.experts.count, settings.Integer("num_experts"));
  DRYDOCK_TRY(shape.experts.per_token, settings.Integer("num_experts_per_tok"));
  DRYDOCK_TRY(shape.experts.width, settings.Integer("moe_intermediate_size"));
  DRYDOCK_TRY(shape.experts.layers, QwenSparseLayers(settings, shape.layers));
  return {};
}

Result<ModelShape> ReadQwen2Moe(const ModelSettings& settings) {
  DRYDOCK_TRY(ModelShape shape, ReadQwen2(settings));
  DRYDOCK_RETURN_IF_ERROR(AddQwenExperts(settings, shape));
  DRYDOCK_TRY(shape.experts.shared_width, settings.Integer("shared_expert_intermediate_size"));
  shape.experts.shared_gate = true;
  return shape;
}

Result<ModelShape> ReadQwen3Moe(const ModelSettings& settings) {
  DRYDOCK_TRY(ModelShape shape, ReadQwen3(settings));
  DRYDOCK_RETURN_IF_ERROR(AddQwenExperts(settings, shape));
  return shape;
}

Result<ModelShape> ReadMixtral(const ModelSettings& settings) {
  DRYDOCK_TRY(ModelShape shape, ReadLlama(settings));
  DRYDOCK_TRY(shape.experts.count, settings.Integer("num_local_experts"));
  DRYDOCK_TRY(shape.experts.per_token, settings.Integer("num_experts_per_tok"));
  shape.experts.width = shape.ffn;
  shape.experts.layers = shape.layers;
  return shape;
}

Result<ModelShape> ReadGpt2(const ModelSettings& settings) {
  ModelShape shape = GptShape(settings.Text("_name_or_path"));
  DRYDOCK_TRY(shape.hidden, settings.Integer("n_embd"));
  DRYDOCK_TRY(shape.layers, settings.Integer("n_layer"));
  DRYDOCK_TRY(shape.heads, settings.Integer("n_head"));
  DRYDOCK_TRY(shape.vocabulary, settings.Integer("vocab_size"));
  DRYDOCK_TRY(shape.position_rows, settings.Integer("n_positions"));
  DRYDOCK_TRY(shape.ffn, settings.Integer("n_inner", SaturatedTimes(shape.hidden, 4)));
  DRYDOCK_TRY(shape.tied, settings.Switch("tie_word_embeddings", true));
  DRYDOCK_TRY(shape.head_width, HeadWidth(settings, "head_dim", "n_head", shape));
  shape.kv_heads = shape.heads;
  return shape;
}

Result<ModelShape> ReadGptNeoX(const ModelSettings& settings) {
  DRYDOCK_TRY(const ModelShape sizes, ReadSizes(settings));
  ModelShape shape = GptShape(sizes.name);
  shape.hidden = sizes.hidden;
  shape.layers = sizes.layers;
  shape.heads = sizes.heads;
  shape.kv_heads = sizes.heads;
  shape.vocabulary = sizes.vocabulary;
  shape.tied = sizes.tied;
  shape.positions = Positions::kRotary;
  DRYDOCK_TRY(shape.ffn, settings.Integer("intermediate_size"));
  DRYDOCK_TRY(shape.head_width, HeadWidth(settings, "head_dim", "num_attention_heads", shape));
  DRYDOCK_TRY(shape.query_bias, settings.Switch("attention_bias", true));
  shape.output_bias = shape.query_bias;
  return shape;
}

Result<ModelShape> ReadBloom(const ModelSettings& settings) {
  ModelShape shape = GptShape(settings.Text("_name_or_path"));
  DRYDOCK_TRY(shape.hidden, settings.Has("n_embed") ? settings.Integer("n_embed")
                                                    : settings.Integer("hidden_size"));
  DRYDOCK_TRY(shape.layers, settings.Integer("n_layer"));
  DRYDOCK_TRY(shape.heads, settings.Has("n_head") ? settings.Integer("n_head")
                                                  : settings.Integer("num_attention_heads"));
  DRYDOCK_TRY(shape.vocabulary, settings.Integer("vocab_size"));
  DRYDOCK_TRY(shape.head_width, HeadWidth(settings, "head_dim", "n_head", shape));
  shape.ffn = SaturatedTimes(shape.hidden, 4);
  shape.kv_heads = shape.heads;
  shape.tied = true;
  shape.positions = Positions::kNone;
  shape.embedding_norm = true;
  return shape;
}

Status AddLatent(const ModelSettings& settings, ModelShape& shape) {
  DRYDOCK_TRY(shape.latent.query_rank, settings.Integer("q_lora_rank", 0));
  DRYDOCK_TRY(shape.latent.key_rank, settings.Integer("kv_lora_rank"));
  DRYDOCK_TRY(shape.latent.plain_width, settings.Integer("qk_nope_head_dim"));
  DRYDOCK_TRY(shape.latent.rotary_width, settings.Integer("qk_rope_head_dim"));
  DRYDOCK_TRY(shape.latent.value_width, settings.Integer("v_head_dim"));
  return {};
}

Result<ModelShape> ReadDeepSeek(const ModelSettings& settings) {
  DRYDOCK_TRY(ModelShape shape, ReadSizes(settings));
  shape.gated = true;
  DRYDOCK_TRY(shape.ffn, settings.Integer("intermediate_size"));
  shape.kv_heads = shape.heads;
  DRYDOCK_RETURN_IF_ERROR(AddLatent(settings, shape));
  shape.head_width = shape.latent.value_width;
  DRYDOCK_TRY(shape.prediction_layers, settings.Integer("num_nextn_predict_layers", 0));
  DRYDOCK_TRY(shape.experts.count, settings.Integer("n_routed_experts", 0));
  if (shape.experts.count > 0) {
    DRYDOCK_TRY(shape.experts.per_token, settings.Integer("num_experts_per_tok"));
    DRYDOCK_TRY(shape.experts.width, settings.Integer("moe_intermediate_size"));
    DRYDOCK_TRY(const std::int64_t shared, settings.Integer("n_shared_experts", 0));
    shape.experts.shared_width = SaturatedTimes(shape.experts.width, shared);
    DRYDOCK_TRY(const std::int64_t dense, settings.Integer("first_k_dense_replace", 0));
    DRYDOCK_TRY(const std::int64_t every, settings.Integer("moe_layer_freq", 1));
    shape.experts.layers =
        every > 0 ? std::max<std::int64_t>(0, (shape.layers - dense + every - 1) / every) : 0;
    shape.experts.router_bias = settings.Text("topk_method") == "noaux_tc";
  }
  return shape;
}

struct Family {
  std::string_view model_type;
  Reader read;
};

constexpr std::array kFamilies = {Family{"bloom", ReadBloom},
                                  Family{"deepseek_v2", ReadDeepSeek},
                                  Family{"deepseek_v3", ReadDeepSeek},
                                  Family{"gemma", ReadGemma},
                                  Family{"gpt2", ReadGpt2},
                                  Family{"gpt_neox", ReadGptNeoX},
                                  Family{"internlm2", ReadInternLm2},
                                  Family{"llama", ReadLlama},
                                  Family{"mistral", ReadLlama},
                                  Family{"mixtral", ReadMixtral},
                                  Family{"phi3", ReadLlama},
                                  Family{"qwen2", ReadQwen2},
                                  Family{"qwen2_moe", ReadQwen2Moe},
                                  Family{"qwen3", ReadQwen3},
                                  Family{"qwen3_moe", ReadQwen3Moe}};

tl::unexpected<Error> UnknownFamily(const ModelSettings& settings, const std::string& type) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Family& family : kFamilies) {
    names.push_back(family.model_type);
    list += (list.empty() ? "" : ", ") + std::string(family.model_type);
  }
  // 'gemma2' is no slip of the pen for 'gemma', but another architecture.
  const auto stem = [](std::string_view name) {
    return name.substr(0, name.find_first_of("0123456789"));
  };
  std::string nearest = NearestWord(type, names);
  nearest = stem(nearest) == stem(type) ? "" : nearest;
  Error error{
      .code = ErrorCode::kUnsupported,
      .message = type.empty() ? "the model description has no 'model_type'"
                              : "model type '" + type + "' is not known",
      .hint =
          nearest.empty()
              ? "known are " + list +
                    "; a model that is one of these but for its name can be given under that name"
              : "did you mean '" + nearest + "'?",
      .reason = "Model:unknown-type"};
  error.place = settings.PlaceOf("model_type");
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<ModelShape> ShapeFromHuggingFace(const ModelSettings& settings) {
  const std::string type = settings.Text("model_type");
  for (const Family& family : kFamilies) {
    if (family.model_type == type) {
      return family.read(settings);
    }
  }
  if (settings.Has("text_config.model_type")) {
    return ShapeFromHuggingFace(settings.Under("text_config."));
  }
  return UnknownFamily(settings, type);
}

}  // namespace drydock::sim
