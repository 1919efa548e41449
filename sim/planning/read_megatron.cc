// Megatron's command line.
//
// Sizes have their own flags and defaults follow from others: the feed-forward width is 4 h, with
// --swiglu the multiple of 64 below 8/3 h; the vocabulary is padded to a multiple of
// --make-vocab-size-divisible-by times tensor parallelism. Source: NVIDIA/Megatron-LM:
// megatron/training/arguments.py, megatron/training/tokenizer/tokenizer.py.
#include <algorithm>

#include "sim/planning/read_model.h"
#include "sim/planning/read_model_parts.h"

namespace drydock::sim {
namespace {

Result<std::int64_t> MegatronFeedForwardWidth(const ModelSettings& settings,
                                              const ModelShape& shape) {
  const std::int64_t wide = SaturatedTimes(shape.hidden, 4);
  return settings.Integer("ffn_hidden_size", shape.gated ? wide / 3 * 2 / 64 * 64 : wide);
}

Result<std::int64_t> PaddedVocabulary(const ModelSettings& settings) {
  if (settings.Has("padded_vocab_size")) {
    return settings.Integer("padded_vocab_size");
  }
  DRYDOCK_TRY(const std::int64_t words, settings.Integer("vocab_size"));
  DRYDOCK_TRY(const std::int64_t multiple, settings.Integer("make_vocab_size_divisible_by", 128));
  DRYDOCK_TRY(const std::int64_t cuts, settings.Integer("tensor_model_parallel_size", 1));
  if (multiple < 1 || cuts < 1 || multiple > (1 << 20) || cuts > (1 << 20) || words < 1 ||
      words > (1 << 28)) {
    return words;  // the check of the shape names the bounds
  }
  return (words + multiple * cuts - 1) / (multiple * cuts) * (multiple * cuts);
}

Status AddAttention(const ModelSettings& settings, ModelShape& shape) {
  DRYDOCK_TRY(shape.head_width, HeadWidth(settings, "kv_channels", "num_attention_heads", shape));
  DRYDOCK_TRY(const bool grouped, settings.Switch("group_query_attention", false));
  DRYDOCK_TRY(const std::int64_t groups, settings.Integer("num_query_groups", shape.heads));
  shape.kv_heads = grouped ? groups : shape.heads;
  DRYDOCK_TRY(shape.head_norm, settings.Switch("qk_layernorm", false));
  DRYDOCK_TRY(const bool latent, settings.Switch("multi_latent_attention", false));
  if (latent) {
    shape.head_norm = false;  // its own norms stand behind the compressed vectors
    shape.kv_heads = shape.heads;
    DRYDOCK_TRY(shape.latent.query_rank, settings.Integer("q_lora_rank", 0));
    DRYDOCK_TRY(shape.latent.key_rank, settings.Integer("kv_lora_rank", 32));
    DRYDOCK_TRY(shape.latent.plain_width, settings.Integer("qk_head_dim", 128));
    DRYDOCK_TRY(shape.latent.rotary_width, settings.Integer("qk_pos_emb_head_dim", 64));
    DRYDOCK_TRY(shape.latent.value_width, settings.Integer("v_head_dim", 128));
  }
  return {};
}

/// Layers with experts: a list of 0 and 1 is a text here, "([0]*3+[1]*58)"; a number is a period.
Result<std::int64_t> SparseLayers(const ModelSettings& settings, std::int64_t layers) {
  const std::string pattern = settings.Text("moe_layer_freq");
  if (!pattern.empty()) {
    const std::size_t ones = pattern.find("[1]*");
    const std::string count = ones == std::string::npos ? "" : pattern.substr(ones + 4, 9);
    if (count.empty() || count.front() < '0' || count.front() > '9') {
      Error error = FailInput("Model:wrong-type",
                              "'moe_layer_freq' is neither a number nor of the form "
                              "([0]*3+[1]*58)",
                              "give the period of layers with experts")
                        .value();
      error.place = settings.PlaceOf("moe_layer_freq");
      return tl::unexpected(std::move(error));
    }
    return std::stoll(count);
  }
  DRYDOCK_TRY(const std::int64_t every, settings.Integer("moe_layer_freq", 1));
  return every > 0 ? (layers + every - 1) / every : 0;
}

Status MegatronAddExperts(const ModelSettings& settings, ModelShape& shape) {
  DRYDOCK_TRY(shape.experts.count, settings.Integer("num_experts", 0));
  if (shape.experts.count == 0) {
    return {};
  }
  DRYDOCK_TRY(shape.experts.per_token, settings.Integer("moe_router_topk", 2));
  DRYDOCK_TRY(shape.experts.width, settings.Integer("moe_ffn_hidden_size", shape.ffn));
  DRYDOCK_TRY(shape.experts.shared_width,
              settings.Integer("moe_shared_expert_intermediate_size", 0));
  DRYDOCK_TRY(shape.experts.router_bias, settings.Switch("moe_router_enable_expert_bias", false));
  DRYDOCK_TRY(shape.experts.layers, SparseLayers(settings, shape.layers));
  return {};
}

Status AddPositions(const ModelSettings& settings, ModelShape& shape) {
  const std::string kind = settings.Text("position_embedding_type");
  DRYDOCK_TRY(const bool rotary, settings.Switch("use_rotary_position_embeddings", false));
  if (rotary || kind == "rope" || kind == "yarn" || kind == "mrope") {
    shape.positions = Positions::kRotary;
  } else if (kind == "none" || kind == "relative") {
    shape.positions = Positions::kNone;
  } else {
    shape.positions = Positions::kLearned;
    DRYDOCK_TRY(shape.position_rows, settings.Integer("max_position_embeddings"));
  }
  return {};
}

}  // namespace

Result<ModelShape> ShapeFromMegatron(const ModelSettings& settings) {
  ModelShape shape{.name = "megatron"};
  DRYDOCK_TRY(shape.layers, settings.Integer("num_layers"));
  DRYDOCK_TRY(shape.hidden, settings.Integer("hidden_size"));
  DRYDOCK_TRY(shape.heads, settings.Integer("num_attention_heads"));
  DRYDOCK_TRY(shape.sequence, settings.Integer("seq_length", 0));
  DRYDOCK_TRY(shape.vocabulary, PaddedVocabulary(settings));
  DRYDOCK_TRY(shape.gated, settings.Switch("swiglu", false));
  DRYDOCK_TRY(shape.ffn, MegatronFeedForwardWidth(settings, shape));
  DRYDOCK_TRY(const bool untied, settings.Switch("untie_embeddings_and_output_weights", false));
  shape.tied = !untied;
  DRYDOCK_TRY(const bool no_bias, settings.Switch("disable_bias_linear", false));
  DRYDOCK_TRY(const bool query_bias, settings.Switch("add_qkv_bias", false));
  shape.mlp_bias = shape.output_bias = !no_bias;
  shape.query_bias = !no_bias || query_bias;
  shape.norm_bias = settings.Text("normalization") != "RMSNorm";
  DRYDOCK_TRY(const double dropout, settings.Number("hidden_dropout", 0.1));
  shape.dropout = dropout > 0;
  DRYDOCK_TRY(shape.prediction_layers, settings.Integer("mtp_num_layers", 0));
  DRYDOCK_RETURN_IF_ERROR(AddAttention(settings, shape));
  DRYDOCK_RETURN_IF_ERROR(AddPositions(settings, shape));
  DRYDOCK_RETURN_IF_ERROR(MegatronAddExperts(settings, shape));
  return shape;
}

}  // namespace drydock::sim
