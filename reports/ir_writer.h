#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/ir_nodes.h"

namespace drydock::reports {

/// Constants of one dump that all its sub-graphs share.
struct IrContext {
  const strategies::Graph* graph = nullptr;
  std::vector<IrNodeFacts> facts = {};  ///< One per node of the graph.
  IrStyle style = IrStyle::kR20;
  std::string top_name = {};      ///< "1_construct_wrapper.337".
  std::string label_prefix = {};  ///< "equiv" in dumps of the executed program.
  std::int64_t first_number = 1;  ///< Of labels for results of nodes with several results.
  bool full_names = false;        ///< Dumps after an action show them in the style of 2025.
  bool places = false;            ///< Source lines of operators from the script.
};

/// One sub-graph being written: gives numbers to nodes in order and adds the Load of a parameter
/// and the TupleGetItem of a result just before their first use.
class IrSubgraphWriter {
 public:
  /// @param monad  operand that orders side effects: "U", or "%para12_u" inside a sub-graph
  /// @param nested parameters belong to the sub-graph around this one
  IrSubgraphWriter(const IrContext& context, std::string monad, bool nested);

  /// Writes node `index` of the graph.
  void AddNode(std::size_t index);

  /// Writes the call of a sub-graph that computes `values`; they can be used as operands
  /// afterwards.
  void AddCall(const std::string& subgraph, const std::vector<ValueId>& values);

  /// Writes the end, returning `values`, and gives the lines.
  [[nodiscard]] std::string Finish(const std::vector<ValueId>& values);

 private:
  struct Text {
    std::string operand = {};
    std::string type = {};
  };
  [[nodiscard]] Text OperandText(const IrOperand& operand, bool by_reference,
                                 const strategies::Node& user);
  [[nodiscard]] Text ValueText(ValueId id, bool by_reference, const std::string& scope);
  [[nodiscard]] Text ResultText(ValueId id);
  [[nodiscard]] std::string ParameterOperand(ValueId id) const;
  [[nodiscard]] std::int64_t Load(ValueId id, const std::string& scope);
  [[nodiscard]] std::int64_t TakeItem(ValueId id);
  [[nodiscard]] std::string ScopeLine(const std::string& scope, const std::string& full_name) const;
  void AddComments(const strategies::Node& node, const IrNodeFacts& facts);
  /// Writes the tuple of a node's list of tensors; it takes the place of the list in both vectors.
  void MakeTuple(std::size_t index, std::vector<std::string>& operands,
                 std::vector<std::string>& types);
  void BeginLine(const std::string& label);

  const IrContext& context_;
  std::string monad_;
  bool nested_;
  std::string lines_;
  std::int64_t next_ = 0;
  std::map<ValueId, std::int64_t> numbers_;  ///< Results that can be named directly.
  std::map<ValueId, std::int64_t> loads_;
  std::map<NodeId, std::int64_t> tuples_;  ///< Nodes with several results.
};

/// `%para3_w`: inputs count from 1, parameters follow.
[[nodiscard]] std::string IrParameterName(const strategies::Graph& graph, ValueId id);

}  // namespace drydock::reports
