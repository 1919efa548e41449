#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/ids.h"
#include "base/result.h"
#include "strategies/graph/job_config.h"
#include "strategies/operators/builder.h"
#include "strategies/program/local_program.h"

namespace drydock::sim {

/// Longest request the tracer may send, bytes.
inline constexpr std::size_t kMaxRequestBytes = std::size_t{256} << 20U;

/// A text that describes a compiled program, named as MindSpore's save_graphs names its files,
/// without their number.
struct GraphDump {
  std::string name = {};  ///< "step_parallel_begin".
  std::string text = {};
};

/// What save_graphs asks for in the program of a rank. Reports know its form, so whoever links the
/// recorder brings it.
using GraphDumper = std::vector<GraphDump> (*)(const strategies::LocalProgram& program,
                                               RankId rank);

/// Builds the graph of one training step from requests of the Python stand-in.
///
/// Requests and answers are JSON objects; a failed request answers {"error": {"code", "message",
/// "hint", "reason", "notes", "place"}} and changes nothing. Methods (fields; answer):
///
///     operators     -                          {"operators": [{"name", "constructor", "call",
///     "aliases", "kind"}]}
///                   (arguments: {"name", "kind": "tensor" | "optional" | "tuple" | "attr",
///                   "default"})
///     begin         name, job (the "job" section of a graph document)          {}
///     add_input     name, shape (per rank), dtype                              {"id", "shape"
///     (global), "dtype"} add_parameter name, shape, dtype, role, state_of, requires_grad,
///     layerwise_parallel,
///                   parallel_optimizer, comm_fusion                            {"id", "shape",
///                   "dtype"}
///     add_constant  shape, dtype, data (flat list or null)                     {"id", "shape",
///     "dtype"} add_stack     frames: [{"file", "line", "column", "text"}], innermost first
///     {"stack"} add_node      op, inputs (ids, -1 = absent), attrs, scope, instance, stack, phase,
///     stage, strategy,
///                   out_strategy, in_layout, out_layout     {"node", "outputs": [{"id", "shape",
///                   "dtype"}]}
///     update_node   node, attrs (added or replaced), strategy, out_strategy, in_layout, out_layout
///     {} finish        outputs (ids)                                              {"document",
///     "nodes"}
///     reshard       layouts (from, to), from_shape, to_shape, position (in the stage), stage_begin
///     {"ranks": [[rank, [[operator, numbers]]]]}
///
/// Shapes are inferred by the operator's entry, the only place that knows them.
class TraceSession {
 public:
  explicit TraceSession(GraphDumper dumper = nullptr) : dumper_(dumper) {}

  /// Answers one request; never fails, never throws.
  [[nodiscard]] std::string Call(std::string_view method, std::string_view request);

 private:
  /// What the program returns and what is known of the job only at its end.
  Status ReadEnding(const nlohmann::json& request);
  [[nodiscard]] Result<nlohmann::json> Dispatch(std::string_view method,
                                                const nlohmann::json& request);
  [[nodiscard]] Result<nlohmann::json> Begin(const nlohmann::json& request);
  [[nodiscard]] Result<nlohmann::json> AddInput(const nlohmann::json& request);
  [[nodiscard]] Result<nlohmann::json> AddParameter(const nlohmann::json& request);
  [[nodiscard]] Result<nlohmann::json> AddConstant(const nlohmann::json& request);
  [[nodiscard]] Result<nlohmann::json> AddStack(const nlohmann::json& request);
  [[nodiscard]] Result<nlohmann::json> AddNode(const nlohmann::json& request);
  [[nodiscard]] Result<nlohmann::json> UpdateNode(const nlohmann::json& request);
  [[nodiscard]] Result<nlohmann::json> Finish(const nlohmann::json& request);
  [[nodiscard]] Result<nlohmann::json> Compile(const nlohmann::json& request);
  /// {"names": {full name: node}} of the nodes that are compiled.
  [[nodiscard]] Result<nlohmann::json> NodeNames(const nlohmann::json& request);
  /// {"files": [{"name", "text"}]} of the program that was compiled last.
  [[nodiscard]] Result<nlohmann::json> Dumps(const nlohmann::json& request) const;
  [[nodiscard]] Result<nlohmann::json> Listing(const nlohmann::json& request) const;
  [[nodiscard]] Result<std::vector<ValueId>> ValueIds(const nlohmann::json& request,
                                                      std::string_view name,
                                                      bool allow_absent) const;
  [[nodiscard]] nlohmann::json ValueJson(ValueId id) const;

  GraphDumper dumper_;
  std::optional<strategies::GraphBuilder> builder_ = {};
  strategies::JobConfig job_ = {};
  std::optional<strategies::LocalProgram> compiled_ = {};  ///< Of the last compile.
};

}  // namespace drydock::sim
