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

/// Whether the script asks for a node to be recomputed, itself or by its cell.
[[nodiscard]] bool IsToBeRecomputed(const Node& node);

/// Whether backward calls of a shared graph read results of operators that have several (norms,
/// flash attention), which keeps a forward call and its backward call apart though no other one
/// lies between them. Recorded; recomputed operators do not count.
[[nodiscard]] bool CallsHandOverTuples(const Graph& local);

/// Whether the calls of a shared graph are kept apart: others lie between a forward call and its
/// backward call, as in an interleaved pipeline, or see CallsHandOverTuples. Then all micro batches
/// begin with one gradient.
[[nodiscard]] bool CallsStayApart(const Graph& local, const JobConfig& config);

}  // namespace drydock::strategies
