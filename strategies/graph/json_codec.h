#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "strategies/graph/graph.h"
#include "strategies/graph/job_config.h"

namespace drydock::strategies {

/// Largest graph document read, bytes.
inline constexpr std::size_t kMaxGraphBytes = std::size_t{512} << 20U;
/// Deepest nesting of lists and objects in a graph document.
inline constexpr std::size_t kMaxGraphNesting = 64;

/// A graph document: the network of one step and what it says about the job.
struct GraphDocument {
  Graph graph = {};
  JobConfig job = {};
  bool job_given = false;  ///< The document has a "job" section.
};

/// Reads a document of schema `drydock.graph/1` (docs/schema/graph.schema.json). `job` supplies
/// what the document does not say (world size from the command line); input shapes are per rank and
/// are scaled to global ones by the dataset strategy; shapes of nodes are inferred.
/// @error kInvalidArgument  not JSON, unknown field, unknown or duplicate name, cycle, overflow;
/// the place is
///                          `file` with line and column where the parser knows them, else the JSON
///                          pointer is in the message
[[nodiscard]] Result<GraphDocument> ReadGraphDocument(std::string_view text, std::string_view file,
                                                      const JobConfig& job);

/// Writes the same form; ReadGraphDocument(WriteGraphDocument(g, j)) gives g and j back.
[[nodiscard]] std::string WriteGraphDocument(const Graph& graph, const JobConfig& job);

}  // namespace drydock::strategies
