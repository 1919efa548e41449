#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// Everything about a new node except what shape inference finds out.
struct NodeSpec {
  std::string_view op = {};
  std::vector<ValueId> inputs = {};
  AttrMap attrs = {};
  std::string scope = {};
  std::string instance_name = {};
  std::int32_t place = -1;
  Phase phase = Phase::kForward;
};

/// Builds a graph node by node; shapes and element types are inferred from the operator's entry.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name = {});
  /// Continues an existing graph.
  explicit GraphBuilder(Graph graph) : graph_(std::move(graph)) {}

  /// @error kInvalidArgument  negative or overflowing extents
  [[nodiscard]] Result<ValueId> AddInput(std::string name, TensorType type);
  [[nodiscard]] Result<ValueId> AddParameter(std::string name, TensorType type, Parameter info);
  [[nodiscard]] Result<ValueId> AddConstant(TensorType type,
                                            std::optional<std::vector<double>> data);
  /// Scalar constant of shape ().
  [[nodiscard]] ValueId AddScalar(double value, DType dtype);

  /// Appends a node; its outputs are `graph().at(id).outputs`.
  /// @error kUnsupported      no entry for the operator, or the entry cannot infer this form
  /// @error kInvalidArgument  operand shapes, types or attributes do not fit; has place and reason
  [[nodiscard]] Result<NodeId> AddNode(NodeSpec spec);

  /// Appends a node whose output types are given (operators whose shapes are known to the caller).
  [[nodiscard]] NodeId AddNodeWithTypes(NodeSpec spec, std::vector<TensorType> output_types);

  /// First output of AddNode.
  [[nodiscard]] Result<ValueId> Emit(NodeSpec spec);

  /// Records a source stack (equal stacks share an index) and returns the index for
  /// NodeSpec::place.
  [[nodiscard]] std::int32_t AddStack(SourceStack stack);

  void SetOutputs(std::vector<ValueId> outputs) { graph_.outputs = std::move(outputs); }

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] Graph& mutable_graph() { return graph_; }
  [[nodiscard]] Graph Take() && { return std::move(graph_); }
  [[nodiscard]] const TensorType& TypeOf(ValueId id) const { return graph_.at(id).type; }

 private:
  [[nodiscard]] Result<ValueId> AddValue(Value value);
  Graph graph_;
};

}  // namespace drydock::strategies
