#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "strategies/document/json_fields.h"
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

/// Writes a text to a file (sim/tracer/document_file.h). A session without one writes no files.
using FileWriter = Status (*)(const std::string& path, std::string_view text);

// clang-format off
/// Builds the graph of one training step from requests of the Python stand-in.
///
/// Requests and answers are JSON objects; a failed request answers {"error": {"code", "message",
/// "hint", "reason", "notes", "place"}} and changes nothing. Fields that graph documents have, too,
/// are read as there (strategies/document, docs/graph-format.md). Types are "shape" and "dtype"; a
/// value is an id, its answer {"id", "shape", "dtype"}.
///
/// | method        | fields of the request                                      | answer |
/// |---------------|------------------------------------------------------------|--------|
/// | operators     |                                                            | sim/tracer/operator_table.h |
/// | reshard       | layouts (from, to), from_shape, to_shape, position (in the stage), stage_begin, optimize | {"ranks": [[rank, [[operator, numbers]]]]} |
/// | begin         | name, job (section of a document), check (refuse what cannot be compiled) | {} |
/// | add_input     | name, type of what one rank reads                          | value, its global shape |
/// | add_parameter | name, type, state_of (id), what a document says of it      | value |
/// | add_constant  | type, data (list or null)                                  | value |
/// | add_stack     | frames, innermost first; layer (a frame)                   | {"stack": index for "place"} |
/// | add_node      | op, inputs (ids, -1 = absent), what a document says of it; output_types count where the operator has no entry | {"node", "outputs": [values]} |
/// | update_node   | node, attrs (added or replaced), what shard() says (replaced) | {} |
/// | value         | value (id), most_elements                                  | {"data": flat list of what follows from constants alone, or null} |
/// | finish        | the ending, file (path of the document)                    | {"nodes": count} |
/// | compile       | the ending, rank                                           | sim/tracer/compile_answer.h |
/// | node_names    | the ending                                                 | {"names": {full name: node}} of the nodes that are compiled |
/// | listing       | rank, open ({input: open dimensions}); of the last compile | sim/tracer/graph_listing.h |
/// | dumps         | rank; of the last compile                                  | {"files": [{"name", "text"}]} |
///
/// The ending is what is known only behind the last operator: outputs (ids), training, data_sink,
/// dataset_repeat_on_right, steps, jit_level, exec_order.
///
/// Shapes are inferred by the operator's entry, the only place that knows them.
// clang-format on
class TraceSession {
 public:
  explicit TraceSession(GraphDumper dumper = nullptr, FileWriter writer = nullptr)
      : dumper_(dumper), writer_(writer) {}

  /// Answers one request; never fails, never throws.
  [[nodiscard]] std::string Call(std::string_view method, std::string_view request);

 private:
  using Request = strategies::ObjectReader;
  using Answer = Result<std::string>;

  [[nodiscard]] Answer Dispatch(std::string_view method, Request& request);
  [[nodiscard]] Answer DispatchCompiled(std::string_view method, Request& request);
  [[nodiscard]] Answer Begin(Request& request);
  [[nodiscard]] Answer AddInput(Request& request);
  [[nodiscard]] Answer AddParameter(Request& request);
  [[nodiscard]] Answer AddConstant(Request& request);
  [[nodiscard]] Answer AddStack(Request& request);
  [[nodiscard]] Answer AddNode(Request& request);
  [[nodiscard]] Answer UpdateNode(Request& request);
  [[nodiscard]] Answer Numbers(Request& request) const;
  [[nodiscard]] Answer Finish(Request& request);
  [[nodiscard]] Answer Compile(Request& request);
  [[nodiscard]] Answer NodeNames(Request& request);
  [[nodiscard]] Answer Dumps(Request& request) const;
  [[nodiscard]] Answer Listing(Request& request) const;

  /// What the program returns and what is known of the job only at its end. `request` is finished:
  /// fields that the method has of its own were asked for.
  Status TakeEnding(Request& request);
  [[nodiscard]] Result<RankId> ReadRank(Request& request) const;
  [[nodiscard]] Result<std::vector<ValueId>> ReadIds(Request& request, std::string_view name,
                                                     bool allow_absent) const;
  /// {"id", "shape", "dtype"}
  void AppendValue(std::string& out, ValueId id) const;
  [[nodiscard]] std::string ValueAnswer(ValueId id) const;

  GraphDumper dumper_;
  FileWriter writer_;
  std::optional<strategies::GraphBuilder> builder_ = {};
  strategies::JobConfig job_ = {};
  std::optional<strategies::LocalProgram> compiled_ = {};  ///< Of the last compile.
};

}  // namespace drydock::sim
