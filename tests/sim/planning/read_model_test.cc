// Parameter counts, each by hand in its comment (numbers side by side are multiplied), and against
// what the publishers print: the number of elements of the weights on the model's page (Hugging
// Face, "safetensors"), for Pythia the table of EleutherAI/pythia: README.md, for MPT
// mosaicml/llm-foundry.
#include "sim/planning/read_model.h"

#include <ostream>
#include <string>

#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

struct Published {
  std::string name = {};
  std::string config = {};
  std::int64_t parameters = 0;
  friend std::ostream& operator<<(std::ostream& out, const Published& one) {
    return out << one.name;
  }
};

std::string LlamaConfig(const std::string& type, const std::string& sizes) {
  return R"({"model_type": ")" + type + R"(", )" + sizes + "}";
}

/// hidden, layers, heads, key-value heads, feed-forward, vocabulary.
std::string Sizes(const std::array<std::int64_t, 6>& n) {
  return "\"hidden_size\": " + std::to_string(n[0]) +
         ", \"num_hidden_layers\": " + std::to_string(n[1]) +
         ", \"num_attention_heads\": " + std::to_string(n[2]) +
         ", \"num_key_value_heads\": " + std::to_string(n[3]) +
         ", \"intermediate_size\": " + std::to_string(n[4]) +
         ", \"vocab_size\": " + std::to_string(n[5]);
}

std::string NeoX(const std::array<std::int64_t, 6>& n) {
  return LlamaConfig("gpt_neox", Sizes(n));
}

class PublishedCounts : public testing::TestWithParam<Published> {};

TEST_P(PublishedCounts, AreOurs) {
  const auto shape = ReadModel(GetParam().config, "config.json");
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(CountParameters(*shape).Sum(), GetParam().parameters);
}

const std::string kDeepSeekV3 =
    R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "intermediate_size": 18432, "vocab_size": 129280, "q_lora_rank": 1536,
    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1,
    "first_k_dense_replace": 3, "moe_layer_freq": 1, "topk_method": "noaux_tc", "num_nextn_predict_layers": 1,
    "tie_word_embeddings": false})";

INSTANTIATE_TEST_SUITE_P(
    HuggingFace, PublishedCounts,
    testing::Values(
        // Llama-2-7B: 32 (2 4096 4096 + 2 4096 4096 + 3 4096 11008 + 2 4096) + 2 32000 4096
        // + 4096.
        Published{"Llama-2-7B", LlamaConfig("llama", Sizes({4096, 32, 32, 32, 11008, 32000})),
                  6738415616},
        // Llama-2-13B: 40 (2 5120 5120 + 2 5120 5120 + 3 5120 13824 + 2 5120) + 2 32000
        // 5120 + 5120.
        Published{"Llama-2-13B", LlamaConfig("llama", Sizes({5120, 40, 40, 40, 13824, 32000})),
                  13015864320},
        // Llama-2-70B: 80 (2 8192 8192 + 2 8192 1024 + 3 8192 28672 + 2 8192) + 2 32000
        // 8192 + 8192.
        Published{"Llama-2-70B", LlamaConfig("llama", Sizes({8192, 80, 64, 8, 28672, 32000})),
                  68976648192},
        // Llama-3-8B: 32 (2 4096 4096 + 2 4096 1024 + 3 4096 14336 + 2 4096) + 2 128256
        // 4096 + 4096.
        Published{"Llama-3-8B", LlamaConfig("llama", Sizes({4096, 32, 32, 8, 14336, 128256})),
                  8030261248},
        // Llama-3-70B: 80 (2 8192 8192 + 2 8192 1024 + 3 8192 28672 + 2 8192) + 2 128256
        // 8192 + 8192.
        Published{"Llama-3-70B", LlamaConfig("llama", Sizes({8192, 80, 64, 8, 28672, 128256})),
                  70553706496},
        // Llama-3.1-405B: 126 (2 16384 16384 + 2 16384 1024 + 3 16384 53248 + 2 16384) + 2
        // 128256 16384 + 16384.
        Published{"Llama-3.1-405B",
                  LlamaConfig("llama", Sizes({16384, 126, 128, 8, 53248, 128256})), 405853388800},
        // Mistral-7B-v0.1: 32 (2 4096 4096 + 2 4096 1024 + 3 4096 14336 + 2 4096) + 2 32000
        // 4096 + 4096.
        Published{"Mistral-7B-v0.1", LlamaConfig("mistral", Sizes({4096, 32, 32, 8, 14336, 32000})),
                  7241732096},
        // Phi-3-mini: 32 (4 3072 3072 + 3 3072 8192 + 2 3072) + 2 32064 3072 + 3072.
        Published{"Phi-3-mini", LlamaConfig("phi3", Sizes({3072, 32, 32, 32, 8192, 32064})),
                  3821079552},
        // Gemma-7B: 28 (3072 3 4096 + 4096 3072 + 3 3072 24576 + 2 3072) + 256000 3072 + 3072.
        Published{
            "Gemma-7B",
            LlamaConfig("gemma", Sizes({3072, 28, 16, 16, 24576, 256000}) + R"(, "head_dim": 256)"),
            8537680896},
        // InternLM2-7B: 32 (2 4096 4096 + 2 4096 1024 + 3 4096 14336 + 2 4096) + 2 92544 4096
        // + 4096.
        Published{"InternLM2-7B", LlamaConfig("internlm2", Sizes({4096, 32, 32, 8, 14336, 92544})),
                  7737708544},
        // Mixtral-8x7B: 32 (2 4096 4096 + 2 4096 1024 + 8 3 4096 14336 + 4096 8 + 2 4096) +
        // 2 32000 4096 + 4096.
        Published{
            "Mixtral-8x7B",
            LlamaConfig("mixtral", Sizes({4096, 32, 32, 8, 14336, 32000}) +
                                       R"(, "num_local_experts": 8, "num_experts_per_tok": 2)"),
            46702792704},
        // Qwen2-7B: 28 (2 3584 3584 + 2 3584 512 + 3584 + 2 512 + 3 3584 18944 + 2 3584) +
        // 2 152064 3584 + 3584.
        Published{"Qwen2-7B", LlamaConfig("qwen2", Sizes({3584, 28, 28, 4, 18944, 152064})),
                  7615616512},
        // Qwen2-0.5B: 24 (2 896 896 + 2 896 128 + 896 + 2 128 + 3 896 4864 + 2 896) +
        // 151936 896 + 896.
        Published{"Qwen2-0.5B",
                  LlamaConfig("qwen2", Sizes({896, 24, 14, 2, 4864, 151936}) +
                                           R"(, "tie_word_embeddings": true)"),
                  494032768},
        // Qwen3-8B: 36 (2 4096 4096 + 2 4096 1024 + 2 128 + 3 4096 12288 + 2 4096) + 2
        // 151936 4096 + 4096.
        Published{
            "Qwen3-8B",
            LlamaConfig("qwen3", Sizes({4096, 36, 32, 8, 12288, 151936}) + R"(, "head_dim": 128)"),
            8190735360},
        // Qwen3-30B-A3B: 48 (2 2048 4096 + 2 2048 512 + 2 128 + 128 3 2048 768 + 2048 128 +
        // 2 2048) + 2 151936 2048 + 2048.
        Published{
            "Qwen3-30B-A3B",
            LlamaConfig("qwen3_moe",
                        Sizes({2048, 48, 32, 4, 6144, 151936}) +
                            R"(, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
                                  "moe_intermediate_size": 768, "decoder_sparse_step": 1, "mlp_only_layers": [])"),
            30532122624},
        // Qwen3-235B-A22B: 94 (2 4096 8192 + 2 4096 512 + 2 128 + 128 3 4096 1536 + 4096
        // 128 + 2 4096) + 2 151936 4096 + 4096.
        Published{
            "Qwen3-235B-A22B",
            LlamaConfig("qwen3_moe",
                        Sizes({4096, 94, 64, 4, 12288, 151936}) +
                            R"(, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
                                  "moe_intermediate_size": 1536)"),
            235093634560},
        // Qwen1.5-MoE-A2.7B: 24 (4 2048 2048 + 3 2048 + 60 3 2048 1408 + 2048 60 + 3 2048
        // 5632 + 2048 + 2 2048) + 2 151936 2048 + 2048.
        Published{
            "Qwen1.5-MoE-A2.7B",
            LlamaConfig(
                "qwen2_moe",
                Sizes({2048, 24, 16, 16, 5632, 151936}) +
                    R"(, "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
                                  "shared_expert_intermediate_size": 5632)"),
            14315784192},
        // DeepSeek-V2-Lite: 27 (2048 16 192 + 2048 576 + 512 + 512 16 256 + 16 128 2048 + 2
        // 2048) + 3 2048 10944 + 26 (66 3 2048 1408 + 2048 64) + 2 102400 2048 + 2048.
        Published{"DeepSeek-V2-Lite",
                  R"({"model_type": "deepseek_v2", "hidden_size": 2048, "num_hidden_layers": 27,
                  "num_attention_heads": 16, "intermediate_size": 10944, "vocab_size": 102400, "q_lora_rank": null,
                  "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
                  "n_routed_experts": 64, "num_experts_per_tok": 6, "moe_intermediate_size": 1408,
                  "n_shared_experts": 2, "first_k_dense_replace": 1, "moe_layer_freq": 1})",
                  15706484224},
        // DeepSeek-V2: 60 (5120 1536 + 1536 + 1536 128 192 + 5120 576 + 512 + 512 128 256 +
        // 128 128 5120 + 2 5120) + 3 5120 12288 + 59 (162 3 5120 1536 + 5120 160) + 2
        // 102400 5120 + 5120.
        Published{"DeepSeek-V2",
                  R"({"model_type": "deepseek_v2", "hidden_size": 5120, "num_hidden_layers": 60,
                  "num_attention_heads": 128, "intermediate_size": 12288, "vocab_size": 102400, "q_lora_rank": 1536,
                  "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
                  "n_routed_experts": 160, "num_experts_per_tok": 6, "moe_intermediate_size": 1536,
                  "n_shared_experts": 2, "first_k_dense_replace": 1, "moe_layer_freq": 1})",
                  235741434880},
        // DeepSeek-V3 (main model): 61 (7168 1536 + 1536 + 1536 128 192 + 7168 576 + 512 +
        // 512 128 256 + 128 128 7168 + 2 7168) + 3 3 7168 18432 + 58 (257 3 7168 2048 +
        // 7168 256 + 256) + 2 129280 7168 + 7168.
        Published{"DeepSeek-V3 (main model)", kDeepSeekV3, 671026419200},
        // GPT-2: 12 (12 768 768 + 13 768) + 50257 768 + 1024 768 + 2 768.
        Published{
            "GPT-2",
            R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257,
                  "n_positions": 1024})",
            124439808},
        // GPT-2 XL: 48 (12 1600 1600 + 13 1600) + 50257 1600 + 1024 1600 + 2 1600.
        Published{
            "GPT-2 XL",
            R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "vocab_size": 50257,
                  "n_positions": 1024})",
            1557611200},
        // BLOOM-560M: 24 (12 1024 1024 + 13 1024) + 250880 1024 + 4 1024.
        Published{
            "BLOOM-560M",
            R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16,
                  "vocab_size": 250880})",
            559214592},
        // BLOOM-176B: 70 (12 14336 14336 + 13 14336) + 250880 14336 + 4 14336.
        Published{
            "BLOOM-176B",
            R"({"model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112,
                  "vocab_size": 250880})",
            176247271424},
        // Pythia-160M: 12 (12 768 768 + 13 768) + 2 50304 768 + 2 768.
        Published{"Pythia-160M", NeoX({768, 12, 12, 12, 3072, 50304}), 162322944},
        // Pythia-1.4B: 24 (12 2048 2048 + 13 2048) + 2 50304 2048 + 2 2048.
        Published{"Pythia-1.4B", NeoX({2048, 24, 16, 16, 8192, 50304}), 1414647808},
        // Pythia-6.9B: 32 (12 4096 4096 + 13 4096) + 2 50432 4096 + 2 4096.
        Published{"Pythia-6.9B", NeoX({4096, 32, 32, 32, 16384, 50432}), 6857302016},
        // Pythia-12B: 36 (12 5120 5120 + 13 5120) + 2 50688 5120 + 2 5120.
        Published{"Pythia-12B", NeoX({5120, 36, 40, 40, 20480, 50688}), 11846072320}));

// 12 L h^2 + 13 L h + V h + s h + 2 h, arXiv 2104.04473: 24 layers of 2304 are 1.65 billion.
INSTANTIATE_TEST_SUITE_P(
    Megatron, PublishedCounts,
    testing::Values(
        Published{
            "MPT-70B",
            "--num-layers 80 --hidden-size 8192 --num-attention-heads 64 --padded-vocab-size 50368 "
            "--seq-length 2048 --max-position-embeddings 2048",
            64862437376},
        Published{
            "GPT 1.7B",
            "pretrain_gpt.py --num-layers 24 --hidden-size 2304 \\\n --num-attention-heads=24 "
            "--padded-vocab-size 51200 --max-position-embeddings 2048 --seq-length 2048",
            12LL * 24 * 2304 * 2304 + 13LL * 24 * 2304 + 51200LL * 2304 + 2048LL * 2304 + 2 * 2304},
        Published{
            "Llama-2-7B",
            "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 "
            "--vocab-size 32000 --swiglu --disable-bias-linear --normalization RMSNorm "
            "--untie-embeddings-and-output-weights --position-embedding-type rope",
            6738415616}));

// w = int(8 * 8192 / 3) = 21845; int(1.31 * 21845) = 28616; up to a multiple of 256: 28672.
INSTANTIATE_TEST_SUITE_P(Mindformers, PublishedCounts,
                         testing::Values(Published{"Llama-2-70B", R"(
run_mode: train
parallel_config: &parallel
  data_parallel: 2
model:
  model_config:
    type: LlamaConfig
    hidden_size: 8192
    num_layers: 80
    num_heads: 64
    n_kv_heads: 8
    multiple_of: 256
    ffn_dim_multiplier: 1.3
    vocab_size: 32000
    seq_length: 4096
)",
                                                   68976648192},
                                         Published{"Mixtral-8x7B", R"(
moe_config:
  expert_num: 8
  num_experts_chosen: 2
model:
  model_config:
    type: LlamaConfig
    hidden_size: 4096
    intermediate_size: 14336
    num_layers: 32
    num_heads: 32
    n_kv_heads: 8
    vocab_size: 32000
    seq_length: 4096
)",
                                                   46702792704},
                                         Published{"Qwen3-32B", R"(
model:
  model_config:
    vocab_size: 151936
    hidden_size: 5120
    intermediate_size: 25600
    num_hidden_layers: 64
    num_attention_heads: 64
    num_key_value_heads: 8
    head_dim: 128
    tie_word_embeddings: False
    rms_norm_eps: 1.e-6
    qk_layernorm: True
    seq_length: 4096
    model_type: "qwen3"
)",
                                                   32762123264}));

TEST(ReadModel, PredictionLayersAreCountedApart) {
  // DeepSeek-V3: "671B of main model weights and 14B of the multi-token prediction module", of
  // which 2.57e9 are a second copy of both tables.
  const auto shape = ReadModel(kDeepSeekV3, "config.json");
  ASSERT_TRUE(shape);
  EXPECT_NEAR(static_cast<double>(CountParameters(*shape).prediction), 11.6e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(ActiveParameters(*shape)), 37.5e9, 0.3e9);
}

struct Bad {
  std::string name = {};
  std::string text = {};
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message = {};
  std::string hint = {};
  std::int32_t line = 0;
  friend std::ostream& operator<<(std::ostream& out, const Bad& one) { return out << one.name; }
};

TEST(UnknownModel, AnotherGenerationIsNoSlipOfThePen) {
  const auto shape = ReadModel("{\"model_type\": \"gemma2\"}", "config.json");
  ASSERT_FALSE(shape);
  EXPECT_TRUE(shape.error().hint.starts_with("known are bloom, ")) << shape.error().hint;
}

class BadModel : public testing::TestWithParam<Bad> {};

TEST_P(BadModel, IsRefusedWithPlaceAndRemedy) {
  const auto shape = ReadModel(GetParam().text, "model.txt");
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, GetParam().code);
  EXPECT_EQ(shape.error().message, GetParam().message);
  EXPECT_EQ(shape.error().hint, GetParam().hint);
  ASSERT_TRUE(shape.error().place);
  EXPECT_EQ(shape.error().place->file, "model.txt");
  EXPECT_EQ(shape.error().place->line, GetParam().line);
}

constexpr std::string_view kKinds =
    "give a mindformers YAML file, the config.json of a Hugging Face model, or a file with "
    "Megatron arguments";

INSTANTIATE_TEST_SUITE_P(
    All, BadModel,
    testing::Values(
        Bad{.name = "UnknownType",
            .text = "{\n \"model_type\": \"lama\"}",
            .code = ErrorCode::kUnsupported,
            .message = "model type 'lama' is not known",
            .hint = "did you mean 'llama'?",
            .line = 2},
        Bad{.name = "HeadsDoNotDivide",
            .text = "{\"model_type\": \"llama\", \"hidden_size\": 100,\n\"num_hidden_layers\": 2,\n"
                    "\"num_attention_heads\": 3, \"vocab_size\": 8, \"intermediate_size\": 8}",
            .message = "hidden size 100 is not divisible by 3 attention heads",
            .hint = "use a number of heads that divides the hidden size, or give 'head_dim'",
            .line = 3},
        Bad{.name = "KeyValueHeads",
            .text =
                "--num-layers 2 --hidden-size 64 --num-attention-heads 8 --group-query-attention "
                "--num-query-groups 3 --vocab-size 8 --position-embedding-type rope",
            .message = "8 attention heads cannot share 3 key-value heads equally",
            .hint = "use a number of key-value heads that divides 8"},
        Bad{.name = "TextForNumber",
            .text = "model:\n  model_config:\n    hidden_size: wide\n",
            .message = "'hidden_size' is not a whole number",
            .hint = "give a whole number",
            .line = 3},
        Bad{.name = "Missing",
            .text = "{\"model_type\": \"gpt2\"}",
            .message = "'n_embd' is missing",
            .hint = "add 'n_embd', a whole number"},
        Bad{.name = "Broken",
            .text = "model: [1, 2\nx",
            .message = "the model description is not YAML: end of sequence flow not found",
            .hint = std::string(kKinds),
            .line = 2},
        Bad{.name = "TooLarge",
            .text = "--num-layers 60000 --hidden-size 4194304 --num-attention-heads 1024 "
                    "--vocab-size 8 "
                    "--position-embedding-type rope",
            .message = "the sizes multiply to more than 10^15 weights",
            .hint = "correct the model description"}));

}  // namespace
}  // namespace drydock::sim
