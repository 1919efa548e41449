#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"

namespace drydock::strategies {

/// How often a node of a program is done in a step.
enum class MicroPart : std::uint8_t {
  kBefore,  ///< Once; needs nothing of a micro batch.
  kEach,    ///< Once for each micro batch.
  kAfter,   ///< Once, when all micro batches are done.
};

/// That of every node of a program, which is told for one micro batch.
/// Source: strategies/rules/train/accumulation.cc
[[nodiscard]] std::vector<MicroPart> MicroParts(const Graph& local);

/// Whether the network is one graph that is called for each micro batch (lazy_inline).
[[nodiscard]] bool CallsSharedGraph(const Graph& graph);

/// Attribute of messages between stages whose micro batches call one graph: stages but the first
/// need not cut a batch.
inline constexpr std::string_view kOfSharedGraph = "of_shared_graph";
/// The same of the program of a stage.
[[nodiscard]] bool StageCallsSharedGraph(const Graph& local);

/// Whether the calls of a graph with one part per stage copy weights that a forward call and its
/// backward call read though no other call lies between them, as recorded under gpipe.
[[nodiscard]] bool CallsCopyWeights(const Graph& local, const JobConfig& config);

/// Whether calls of the graph of an interleaved pipeline are kept apart: between a forward call and
/// its backward call lie others, or weights are copied from the one to the other. Elsewhere they
/// are as where nothing is interleaved.
[[nodiscard]] bool CallsStayApart(const Graph& local, const JobConfig& config);

}  // namespace drydock::strategies
