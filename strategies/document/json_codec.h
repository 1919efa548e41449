#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"

namespace drydock::strategies {

/// Most nodes in a graph document.
inline constexpr std::size_t kMaxGraphNodes = std::size_t{1} << 20U;

/// A graph document: the network of one step and what it says about the job.
struct GraphDocument {
  Graph graph = {};
  JobConfig job = {};
  bool job_given = false;  ///< The document has a "job" section.
  /// Where each node stands in the document, same order as `graph.nodes`.
  std::vector<SourcePlace> node_places = {};
};

/// Reads a document of schema `drydock.graph/1` (docs/schema/graph.schema.json,
/// docs/graph-format.md).
///
/// `job` supplies what the document does not say; `world_size` overrides what it says about the
/// number of ranks. Input shapes are per rank and are scaled to global ones by the dataset strategy
/// in the modes that cut operators; shapes of nodes are inferred. Length, nesting and counts are
/// bounded (JsonLimits, kMaxGraphNodes).
/// @error kInvalidArgument  not JSON, unknown field, unknown or duplicate name, cycle, overflow,
/// illegal
///                          operand; the place is `file` with line and column, or the node's own
///                          place
/// @error kUnsupported      operator without an entry and without "output_types"
[[nodiscard]] Result<GraphDocument> ReadGraphDocument(std::string_view text, std::string_view file,
                                                      const JobConfig& job,
                                                      std::optional<std::int64_t> world_size = {});

/// Gives every node without a place of its own its place in the document, so that messages about a
/// hand-written graph point into it.
void UseDocumentPlaces(GraphDocument& document);

/// Reads a "job" section alone: {"world_size":8,"mode":"semi_auto_parallel",...}.
/// @error kInvalidArgument  as ReadGraphDocument
[[nodiscard]] Result<JobConfig> ReadJobText(std::string_view text, std::string_view file,
                                            const JobConfig& base);

/// Writes the same form, one value or node a line; equal arguments give equal bytes.
///
/// ReadGraphDocument gives the graph and the job back, except that values are numbered in document
/// order: inputs, parameters, constants, then results node by node. What only sharded programs have
/// (origin) is not written.
[[nodiscard]] std::string WriteGraphDocument(const Graph& graph, const JobConfig& job);

}  // namespace drydock::strategies
