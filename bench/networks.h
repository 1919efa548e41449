#pragma once

#include <cstdint>

#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"

namespace drydock::bench {

/// Which operators of a network carry a strategy.
enum class Sharding : std::uint8_t {
  kEverywhere,   ///< All: what semi-automatic mode compiles.
  kMatMulsOnly,  ///< The matrix products of the first layer: the rest is left to propagation.
};

/// Traced nodes of one layer of GptStep, its share of the parameter updates included.
inline constexpr std::int64_t kGptNodesPerLayer = 45;

/// A training step of a transformer decoder: embedding, `layers` layers (attention with 16 heads,
/// hidden 2,048), loss, gradient, one update per weight. One sequence of 128 tokens per data
/// parallel replica; tensor parallel 8, data parallel `world_size` / 8.
///
/// `world_size` is a multiple of 8; global shapes.
[[nodiscard]] strategies::Graph GptStep(std::int64_t layers, std::int64_t world_size,
                                        Sharding sharding);

/// Job for GptStep: semi-automatic, or propagation where only matrix products are given.
[[nodiscard]] strategies::JobConfig GptJob(std::int64_t world_size, Sharding sharding);

/// The two matrix products of the quick-start script with loss and gradient; 8 ranks.
[[nodiscard]] strategies::Graph QuickStartStep();
[[nodiscard]] strategies::JobConfig QuickStartJob();

}  // namespace drydock::bench
