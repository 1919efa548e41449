#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace drydock::reports {

/// One node of an IR dump with everything that differs from run to run taken out: numbers of nodes,
/// parameters and graphs, sequence_nodes noise, order of attributes.
struct ParsedIrNode {
  std::string label = {};  ///< "out", "equiv[CNode]".
  std::string op = {};
  std::vector<std::string> operands = {};  ///< "%" for results of other nodes.
  std::string instance = {};
  std::set<std::string> primitive_attrs = {};
  std::set<std::string> cnode_attrs = {};
  std::string in_strategy = {};
  std::vector<std::string> input_types = {};
  std::string output_type = {};
  std::string scope = {};
  std::vector<std::string> places = {};
};

/// Nodes of a dump or an excerpt of one, in order. Written for these tests from the grammar of
/// mindspore ccsrc/common/debug/anf_ir_dump.cc, not from our writer.
[[nodiscard]] std::vector<ParsedIrNode> ParseIrNodes(std::string_view text);

/// First node of that operator and instance name (empty = any), or an empty one.
[[nodiscard]] ParsedIrNode FindIrNode(const std::vector<ParsedIrNode>& nodes, std::string_view op,
                                      std::string_view instance);

}  // namespace drydock::reports
