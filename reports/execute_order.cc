#include "reports/execute_order.h"

#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "strategies/graph/attr.h"
#include "strategies/graph/dtype.h"

namespace drydock::reports {
namespace {

using strategies::Graph;
using strategies::Node;

/// One line of quoted values; quotes inside are doubled.
std::string Row(std::initializer_list<std::string_view> values) {
  std::string line;
  for (const std::string_view value : values) {
    line += line.empty() ? "\"" : ",\"";
    for (const char c : value) {
      line += c == '"' ? "\"\"" : std::string(1, c);
    }
    line += '"';
  }
  return line + "\n";
}

std::string TextOf(const Node& node, std::string_view name) {
  return strategies::TextAttr(node.attrs, name, {}).value_or(std::string());
}

std::string ShapeText(const strategies::TensorType& type) {
  return "(" + JoinText(type.shape, ", ") + ")";
}

/// Indices of the nodes that launch a kernel, in order.
std::vector<std::size_t> KernelNodes(const strategies::CompiledProgram& program) {
  std::vector<std::size_t> nodes;
  for (const strategies::Launch& launch : program.kernels.launches) {
    if (launch.kind == strategies::Launch::Kind::kKernel) {
      nodes.push_back(ToIndex(program.kernels.at(launch.kernel).origin));
    }
  }
  return nodes;
}

std::string CommunicationRow(const Graph& graph, const Node& node, const std::string& index) {
  const strategies::TensorType& input = graph.at(node.inputs.front()).type;
  const strategies::TensorType& output = graph.at(node.outputs.front()).type;
  const std::vector<std::int64_t> ranks = strategies::IntListAttr(node.attrs, "rank_list")
                                              .value_or(std::nullopt)
                                              .value_or(std::vector<std::int64_t>{});
  return Row({index, TextOf(node, "group"), JoinText(ranks, " "), node.op, "", "", "",
              ShapeText(input), strategies::DTypeIrName(input.dtype), ShapeText(output),
              strategies::DTypeIrName(output.dtype), std::to_string(strategies::ByteSize(input)),
              std::to_string(strategies::ByteSize(output))});
}

}  // namespace

std::string ExecuteOrderCsv(const strategies::CompiledProgram& program, RankId rank) {
  const Graph graph = strategies::SpecialiseForRank(program, rank);
  const std::vector<std::string> names = strategies::FullNames(graph);
  std::string text = "index,node_name,logic_id,stream_id,node_info,event_id,group\n";
  std::size_t row = 0;
  for (const std::size_t i : KernelNodes(program)) {
    const Node& node = graph.nodes[i];
    const std::string index = std::to_string(row++);
    text += Row({index, names[i], index, node.group ? "1" : "0", "", "", TextOf(node, "group")});
  }
  return text;
}

std::string CommExecuteOrderCsv(const strategies::CompiledProgram& program, RankId rank) {
  const Graph graph = strategies::SpecialiseForRank(program, rank);
  std::string text =
      "index,group,comm_rank,primitive,src_rank,dest_rank,root_rank,input_shape,input_type,"
      "output_shape,output_type,input_size,output_size\n";
  std::size_t row = 0;
  for (const std::size_t i : KernelNodes(program)) {
    const Node& node = graph.nodes[i];
    if (node.group) {
      text += CommunicationRow(graph, node, std::to_string(row));
    }
    ++row;
  }
  return text;
}

}  // namespace drydock::reports
