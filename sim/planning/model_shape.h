#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace drydock::sim {

/// How a token learns where it stands.
enum class Positions : std::uint8_t {
  kNone,     ///< Nothing is stored: ALiBi, or relative biases that are computed.
  kRotary,   ///< Queries and keys are rotated; no weights.
  kLearned,  ///< A table with one row for each position.
};

/// Latent attention (DeepSeek V2, V3): queries and keys pass through narrow vectors.
struct LatentAttention {
  std::int64_t query_rank = 0;    ///< Width of the compressed query, 0: queries are not compressed.
  std::int64_t key_rank = 0;      ///< Width of the compressed key and value, 0: ordinary attention.
  std::int64_t plain_width = 0;   ///< Of a head's query and key, the part without position.
  std::int64_t rotary_width = 0;  ///< The part with position; of keys, shared by all heads.
  std::int64_t value_width = 0;   ///< Of a head's value.
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// Layers in which every token is worked on by a few of many feed-forward blocks.
struct Experts {
  std::int64_t count = 0;  ///< 0: no such layers.
  std::int64_t per_token = 0;
  std::int64_t width = 0;         ///< Inner width of one expert.
  std::int64_t shared_width = 0;  ///< Inner width of what every token passes, 0 without.
  std::int64_t layers = 0;        ///< Layers with experts; the others are dense.
  bool router_bias = false;       ///< The router adds one number for each expert.
  bool shared_gate = false;       ///< The shared expert has a gate of one column.
  friend bool operator==(const Experts&, const Experts&) = default;
};

/// What of a transformer decides its weights, its work and its memory: sizes and switches, no
/// names of operators. One value, wherever it was read from.
///
/// Example: GPT-2 is {.layers = 12, .hidden = 768, .heads = 12, .kv_heads = 12, .head_width = 64,
/// .ffn = 3072, .vocabulary = 50257, .position_rows = 1024, .positions = kLearned, .tied = true,
/// .norm_bias = true, .query_bias = true, .output_bias = true, .mlp_bias = true}.
struct ModelShape {
  std::string name = {};
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_width = 0;
  std::int64_t ffn = 0;         ///< Inner width of a dense feed-forward block.
  std::int64_t vocabulary = 0;  ///< Rows of the token table, padding included.
  std::int64_t sequence = 0;    ///< Tokens of a sample in training; 0 where it is not said.
  std::int64_t position_rows = 0;
  std::int64_t prediction_layers = 0;  ///< Extra layers that predict further tokens (MTP).
  Positions positions = Positions::kRotary;
  bool tied = false;         ///< The head uses the token table.
  bool gated = false;        ///< Feed-forward: three matrices with a gate, else two.
  bool norm_bias = false;    ///< LayerNorm (scale and bias); else RMSNorm (scale).
  bool query_bias = false;   ///< Biases of the projections to queries, keys and values.
  bool output_bias = false;  ///< Bias of the attention's output projection.
  bool mlp_bias = false;
  bool head_norm = false;       ///< Queries and keys of a head are normalised (Qwen3).
  bool embedding_norm = false;  ///< The token table's output is normalised (BLOOM).
  bool final_norm = true;
  bool dropout = false;  ///< Masks of one byte are kept.
  LatentAttention latent = {};
  Experts experts = {};
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

/// Weights of one layer, by the axis that divides them.
struct LayerParameters {
  std::int64_t matrices = 0;  ///< Cut by tensor parallelism, with their cut biases.
  std::int64_t whole = 0;     ///< Norms, routers, biases behind sums: on every rank of the group.
  std::int64_t experts = 0;   ///< Cut by expert parallelism.
  [[nodiscard]] std::int64_t Sum() const { return matrices + whole + experts; }
  friend bool operator==(const LayerParameters&, const LayerParameters&) = default;
};

/// Weights of a model.
struct ModelParameters {
  std::int64_t embedding = 0;      ///< Token table.
  std::int64_t positions = 0;      ///< Table of learned positions.
  std::int64_t head = 0;           ///< 0 if tied.
  std::int64_t final_norm = 0;     ///< And that behind the embedding.
  LayerParameters dense = {};      ///< A dense layer.
  LayerParameters sparse = {};     ///< A layer with experts.
  std::int64_t dense_layers = 0;   ///< How many.
  std::int64_t sparse_layers = 0;  ///< How many.
  std::int64_t prediction = 0;     ///< All layers that predict further tokens.
  /// Without the prediction layers, as publications count.
  [[nodiscard]] std::int64_t Sum() const;
  friend bool operator==(const ModelParameters&, const ModelParameters&) = default;
};

/// Weights of `shape`, exactly.
/// Sources: arXiv 2104.04473 (GPT), arXiv 2405.04434 and 2412.19437 (latent attention),
/// NVIDIA/Megatron-LM: megatron/training/theoretical_memory_usage.py.
[[nodiscard]] ModelParameters CountParameters(const ModelShape& shape);

/// Weights that one token meets: `Sum()` less the experts that it does not pass.
[[nodiscard]] std::int64_t ActiveParameters(const ModelShape& shape);

/// Refuses what no model can be: sizes out of bounds, heads that do not divide.
/// @error kInvalidArgument  which size, what it has to be
[[nodiscard]] Status CheckShape(const ModelShape& shape);

}  // namespace drydock::sim
