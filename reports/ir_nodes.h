#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reports/ir_style.h"
#include "strategies/program/local_program.h"

namespace drydock::reports {

/// One operand as a dump shows it: a value of the graph, or an attribute that MindSpore hands over
/// as an operand (the begin of a StridedSlice).
using IrOperand = std::variant<ValueId, strategies::Attr>;

/// What one line of a dump says about a node, apart from the numbers of its operands.
struct IrNodeFacts {
  std::string label = {};  ///< "out", "[CNode]472", "equivout".
  std::string op = {};     ///< "MatMul", "PrimFunc_MatMul".
  std::vector<IrOperand> operands = {};
  std::vector<bool> by_reference = {};  ///< Per operand: a parameter is not loaded first.
  std::size_t list_begin = 0;           ///< Operands that are one tuple, made by a line before.
  std::size_t list_count = 0;
  bool writes = false;  ///< Takes the monad as last operand.
  std::string instance_name = {};
  std::vector<std::string> primitive_attrs = {};  ///< "key: value".
  std::vector<std::string> cnode_attrs = {};
  std::optional<strategies::Strategy> in_strategy = {};  ///< The one really used.
  std::string full_name = {};
  bool inserted = false;  ///< By the compiler: the dump shows no source lines.
};

/// Facts per node of the traced graph.
[[nodiscard]] std::vector<IrNodeFacts> TracedNodeFacts(const strategies::LocalProgram& program,
                                                       IrStyle style);

/// Facts per node of the program of one rank (from SpecialiseForRank).
[[nodiscard]] std::vector<IrNodeFacts> LocalNodeFacts(const strategies::LocalProgram& program,
                                                      const strategies::Graph& rank_graph,
                                                      IrStyle style);

}  // namespace drydock::reports
