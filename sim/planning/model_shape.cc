// Weights of transformers, counted the way their authors build them.
//
// A layer is an attention, a feed-forward block (dense, or a router with experts) and their norms.
// Every count here is a sum over the matrices of the published code; the tests hold it against the
// numbers that the publishers print, which agree to the last weight. Example, Llama-3-8B: a layer
// has 2 * 4096^2 (queries, output) + 2 * 4096 * 1024 (keys and values of 8 heads) + 3 * 4096 *
// 14336 + 2 * 4096 = 218,112,000 weights; 32 of them, two tables of 128256 x 4096 and one norm are
// 8,030,261,248.
#include "sim/planning/model_shape.h"

#include <array>
#include <string_view>

namespace drydock::sim {
namespace {

std::int64_t NormParameters(const ModelShape& shape) {
  return shape.hidden * (shape.norm_bias ? 2 : 1);
}

/// Adds the latent attention of one layer to `layer`.
void AddLatent(const ModelShape& shape, LayerParameters& layer) {
  const LatentAttention& latent = shape.latent;
  const std::int64_t query = shape.heads * (latent.plain_width + latent.rotary_width);
  if (latent.query_rank > 0) {
    layer.whole += shape.hidden * latent.query_rank + latent.query_rank;
    layer.matrices += latent.query_rank * query;
  } else {
    layer.matrices += shape.hidden * query;
  }
  layer.whole += shape.hidden * (latent.key_rank + latent.rotary_width) + latent.key_rank;
  layer.matrices += latent.key_rank * shape.heads * (latent.plain_width + latent.value_width);
  layer.matrices += shape.heads * latent.value_width * shape.hidden;
}

void AddAttention(const ModelShape& shape, LayerParameters& layer) {
  if (shape.latent.key_rank > 0) {
    AddLatent(shape, layer);
    return;
  }
  const std::int64_t query = shape.heads * shape.head_width;
  const std::int64_t key = shape.kv_heads * shape.head_width;
  layer.matrices += shape.hidden * (query + 2 * key) + query * shape.hidden;
  layer.matrices += shape.query_bias ? query + 2 * key : 0;
  layer.whole += shape.output_bias ? shape.hidden : 0;
  layer.whole += shape.head_norm ? 2 * shape.head_width : 0;
}

std::int64_t FeedForward(const ModelShape& shape, std::int64_t width) {
  return (shape.gated ? 3 : 2) * shape.hidden * width;
}

void AddDense(const ModelShape& shape, LayerParameters& layer) {
  layer.matrices += FeedForward(shape, shape.ffn);
  if (shape.mlp_bias) {
    layer.matrices += shape.gated ? 2 * shape.ffn : shape.ffn;
    layer.whole += shape.hidden;
  }
}

void AddExperts(const ModelShape& shape, LayerParameters& layer) {
  const Experts& experts = shape.experts;
  layer.whole += shape.hidden * experts.count + (experts.router_bias ? experts.count : 0);
  layer.whole += experts.shared_gate ? shape.hidden : 0;
  layer.matrices += FeedForward(shape, experts.shared_width);
  layer.experts += experts.count * FeedForward(shape, experts.width);
}

LayerParameters Layer(const ModelShape& shape, bool sparse) {
  LayerParameters layer{.whole = 2 * NormParameters(shape)};
  AddAttention(shape, layer);
  if (sparse) {
    AddExperts(shape, layer);
  } else {
    AddDense(shape, layer);
  }
  return layer;
}

struct Bound {
  std::string_view name;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;
};

tl::unexpected<Error> Contradiction(std::string message, std::string hint) {
  return FailInput("Model:contradiction", std::move(message), std::move(hint));
}

Status CheckBounds(const ModelShape& shape) {
  constexpr std::int64_t kWidest = std::int64_t{1} << 24;
  const std::array bounds = {
      Bound{"layers", shape.layers, 1, 1 << 16},
      Bound{"hidden size", shape.hidden, 1, kWidest},
      Bound{"attention heads", shape.heads, 1, 1 << 16},
      Bound{"key-value heads", shape.kv_heads, 1, 1 << 16},
      Bound{"head width", shape.head_width, 1, 1 << 16},
      Bound{"feed-forward width", shape.ffn, shape.experts.layers < shape.layers ? 1 : 0, kWidest},
      Bound{"vocabulary", shape.vocabulary, 1, std::int64_t{1} << 28},
      Bound{"sequence length", shape.sequence, 0, std::int64_t{1} << 28},
      Bound{"positions", shape.position_rows, 0, std::int64_t{1} << 28},
      Bound{"prediction layers", shape.prediction_layers, 0, 64},
      Bound{"experts", shape.experts.count, 0, 1 << 16},
      Bound{"experts of a token", shape.experts.per_token, 0, 1 << 16},
      Bound{"expert width", shape.experts.width, shape.experts.count > 0 ? 1 : 0, kWidest},
      Bound{"shared expert width", shape.experts.shared_width, 0, kWidest},
      Bound{"layers with experts", shape.experts.layers, 0, 1 << 16},
      Bound{"compressed query width", shape.latent.query_rank, 0, kWidest},
      Bound{"compressed key width", shape.latent.key_rank, 0, kWidest},
      Bound{"width of a head without position", shape.latent.plain_width, 0, 1 << 16},
      Bound{"rotary width of a head", shape.latent.rotary_width, 0, 1 << 16},
      Bound{"width of a head's value", shape.latent.value_width, shape.latent.key_rank > 0 ? 1 : 0,
            1 << 16}};
  for (const Bound& bound : bounds) {
    if (bound.value < bound.least || bound.value > bound.most) {
      return FailInput("Model:out-of-bounds",
                       std::string(bound.name) + " is " + std::to_string(bound.value) +
                           ", which is not between " + std::to_string(bound.least) + " and " +
                           std::to_string(bound.most),
                       "correct the model description");
    }
  }
  return {};
}

/// Never less than half of what CountParameters gives, and cannot overflow.
double RoughParameters(const ModelShape& shape) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const LatentAttention& latent = shape.latent;
  const double widths =
      4.0 * real(shape.heads) *
          real(shape.head_width + latent.plain_width + latent.rotary_width + latent.value_width) +
      2.0 * real(latent.query_rank + latent.key_rank) + 3.0 * real(shape.ffn) +
      3.0 * real(shape.experts.count) * (real(shape.experts.width) + 1.0) +
      3.0 * real(shape.experts.shared_width) + 2.0 * real(shape.hidden);
  const double ranks = real(latent.query_rank + latent.key_rank) * real(shape.heads) *
                       real(latent.plain_width + latent.rotary_width + latent.value_width);
  return real(shape.layers + shape.prediction_layers) * (real(shape.hidden) * widths + ranks) +
         real(2 * shape.vocabulary + shape.position_rows) * real(shape.hidden);
}

}  // namespace

std::int64_t ModelParameters::Sum() const {
  return embedding + positions + head + final_norm + dense_layers * dense.Sum() +
         sparse_layers * sparse.Sum();
}

ModelParameters CountParameters(const ModelShape& shape) {
  ModelParameters all{.embedding = shape.vocabulary * shape.hidden,
                      .positions = shape.position_rows * shape.hidden,
                      .head = shape.tied ? 0 : shape.vocabulary * shape.hidden};
  all.final_norm =
      NormParameters(shape) * ((shape.final_norm ? 1 : 0) + (shape.embedding_norm ? 1 : 0));
  all.dense = Layer(shape, false);
  all.sparse_layers = shape.experts.count > 0 ? shape.experts.layers : 0;
  all.dense_layers = shape.layers - all.sparse_layers;
  if (shape.experts.count > 0) {
    all.sparse = Layer(shape, true);
  }
  // Each predicts from the last layer's output joined with an embedding: a projection of twice the
  // width, a norm for each half, one layer, one norm; the tables are the model's.
  const LayerParameters& last = shape.experts.count > 0 ? all.sparse : all.dense;
  all.prediction = shape.prediction_layers *
                   (2 * shape.hidden * shape.hidden + 3 * NormParameters(shape) + last.Sum());
  return all;
}

std::int64_t ActiveParameters(const ModelShape& shape) {
  const ModelParameters all = CountParameters(shape);
  const std::int64_t idle = shape.experts.count - shape.experts.per_token;
  return all.Sum() - all.sparse_layers * idle * FeedForward(shape, shape.experts.width);
}

Status CheckShape(const ModelShape& shape) {
  DRYDOCK_RETURN_IF_ERROR(CheckBounds(shape));
  if (RoughParameters(shape) > 1e15) {
    return Contradiction("the sizes multiply to more than 10^15 weights",
                         "correct the model description");
  }
  if (shape.heads % shape.kv_heads != 0) {
    return Contradiction(
        std::to_string(shape.heads) + " attention heads cannot share " +
            std::to_string(shape.kv_heads) + " key-value heads equally",
        "use a number of key-value heads that divides " + std::to_string(shape.heads));
  }
  if (shape.experts.per_token > shape.experts.count) {
    return Contradiction("a token passes " + std::to_string(shape.experts.per_token) +
                             " experts, but there are only " + std::to_string(shape.experts.count),
                         "lower the experts per token");
  }
  if (shape.experts.layers > shape.layers) {
    return Contradiction(std::to_string(shape.experts.layers) +
                             " layers have experts, but there are only " +
                             std::to_string(shape.layers),
                         "correct the model description");
  }
  return {};
}

}  // namespace drydock::sim
