#include "reports/execute_order.h"

#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "reports/kernel_names.h"
#include "strategies/graph/attr.h"
#include "strategies/graph/dtype.h"
#include "strategies/program/collectives.h"

namespace drydock::reports {
namespace {

using strategies::Graph;
using strategies::Node;

/// One line of quoted values; quotes inside are doubled.
std::string QuotedRow(std::initializer_list<std::string_view> values) {
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

/// MindSpore's number of a stream: 1 is reserved, collectives begin at 2.
std::string StreamText(std::int32_t stream) {
  return std::to_string(stream == 0 ? 0 : stream + 1);
}

/// "logic_id" of kernels that no task-sink stream runs: the largest 32-bit number.
constexpr std::string_view kNoLogicId = "4294967295";

std::string CommunicationRow(const Graph& graph, const Node& node, const std::string& index) {
  const strategies::TensorType& input = graph.at(node.inputs.front()).type;
  const strategies::TensorType& output = graph.at(node.outputs.front()).type;
  const std::vector<std::int64_t> ranks = strategies::IntListAttr(node.attrs, "rank_list")
                                              .value_or(std::nullopt)
                                              .value_or(std::vector<std::int64_t>{});
  return QuotedRow(
      {index, TextOf(node, "group"), JoinText(ranks, " "), std::string(strategies::ShownName(node)),
       "", "", "", ShapeText(input), strategies::DTypeIrName(input.dtype), ShapeText(output),
       strategies::DTypeIrName(output.dtype), std::to_string(strategies::ByteSize(input)),
       std::to_string(strategies::ByteSize(output))});
}

}  // namespace

std::string ExecuteOrderCsv(const strategies::LocalProgram& program, RankId rank) {
  const Graph graph = strategies::SpecialiseForRank(program, rank);
  const std::vector<std::string> names = LaunchNames(program);
  std::string text = "index,node_name,logic_id,stream_id,node_info,event_id,group\n";
  int row = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const strategies::Launch& launch = program.kernels.launches[i];
    if (!IsOfStep(program, launch)) {
      continue;
    }
    const bool kernel = launch.kind == strategies::Launch::Kind::kKernel;
    const std::string info = "@kernel_graph0:CNode_" + std::to_string(row) +
                             "{[0]: ValueNode<Primitive> " + PrimitiveOf(program, launch) + "}";
    const NodeId origin = kernel ? program.kernels.at(launch.kernel).origin : strategies::kNoNode;
    text += QuotedRow({std::to_string(++row), names[i], kNoLogicId, StreamText(launch.stream), info,
                       kernel ? "" : std::to_string(launch.event),
                       origin == strategies::kNoNode ? "" : TextOf(graph.at(origin), "group")});
  }
  return text;
}

std::string CommExecuteOrderCsv(const strategies::LocalProgram& program, RankId rank) {
  const Graph graph = strategies::SpecialiseForRank(program, rank);
  std::string text =
      "index,group,comm_rank,primitive,src_rank,dest_rank,root_rank,input_shape,input_type,"
      "output_shape,output_type,input_size,output_size\n";
  int row = 0;
  for (const strategies::Launch& launch : program.kernels.launches) {
    if (!IsOfStep(program, launch)) {
      continue;
    }
    ++row;
    if (launch.kernel != strategies::kNoKernel && program.kernels.at(launch.kernel).communication) {
      text += CommunicationRow(graph, graph.at(program.kernels.at(launch.kernel).origin),
                               std::to_string(row));
    }
  }
  return text;
}

}  // namespace drydock::reports
