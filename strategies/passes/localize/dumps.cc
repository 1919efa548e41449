#include "strategies/passes/localize/dumps.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

/// Dumps of tensors follow the exchanges of a sharded program.
///
/// A script says "write x" between two operators that want x in different layouts. `input_output`
/// "out" means x as it was computed, "in" means x as its readers in that cell get it: two readers
/// are two files, each behind the exchanges for that reader.
///
///     MatMul -> x -> AllGather -> y -> MatMul          dump of y, path "x_in.npy"
///
/// Source: mindspore/ccsrc/frontend/parallel/tensordump/,
/// mindspore/ccsrc/frontend/parallel/step_parallel.cc
namespace drydock::strategies {
namespace {

constexpr std::string_view kMode = "input_output";
constexpr std::string_view kPath = "file";

bool IsDumpOfReaders(const Node& node) {
  const auto mode = node.attrs.find(kMode);
  return mode != node.attrs.end() && node.attrs.contains(kRunsUnread) &&
         mode->second == Attr(std::string("in"));
}

bool Reads(const Node& node) {
  return !node.attrs.contains(kMode) && node.entry != nullptr &&
         node.entry->kind != OpKind::kGradient && node.entry->kind != OpKind::kUpdate;
}

/// True for what stands in the cell or in one of its cells.
bool IsInside(const Node& node, const std::string& cell) {
  return node.scope.starts_with(cell) &&
         (node.scope.size() == cell.size() || node.scope[cell.size()] == '/');
}

/// `value` as each reader in the cell gets it: itself, or what exchanges make of it.
std::vector<ValueId> AsRead(const Graph& graph, ValueId value, const std::string& cell) {
  std::set<std::pair<std::size_t, ValueId>> found;  // by reader
  std::set<ValueId> exchanged = {value};
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const ValueId input : node.inputs) {
      if (!Reads(node) || !exchanged.contains(input)) {
        continue;
      }
      if (node.reason == CommReason::kRedistribution) {
        exchanged.insert(node.outputs.begin(), node.outputs.end());
      } else if (IsInside(node, cell)) {
        found.insert({n, input});
      }
    }
  }
  std::vector<ValueId> places;
  std::ranges::transform(found, std::back_inserter(places),
                         [](const auto& at) { return at.second; });
  return places;
}

/// "a/x.npy" is "a/x_in.npy".
std::string PathOfReader(const std::string& path) {
  constexpr std::string_view kEnding = ".npy";
  return path.ends_with(kEnding) ? path.substr(0, path.size() - kEnding.size()) + "_in.npy"
                                 : path + "_in";
}

void Rename(Node& node) {
  const auto path = node.attrs.find(kPath);
  if (path != node.attrs.end() && std::holds_alternative<std::string>(path->second.value)) {
    path->second = Attr(PathOfReader(std::get<std::string>(path->second.value)));
  }
}

}  // namespace

Status PlaceDumps(GraphBuilder& builder) {
  const std::size_t count = builder.graph().nodes.size();
  for (std::size_t n = 0; n < count; ++n) {
    if (!IsDumpOfReaders(builder.graph().nodes[n])) {
      continue;
    }
    Rename(builder.mutable_graph().nodes[n]);
    const Node dump = builder.graph().nodes[n];
    const std::vector<ValueId> places = AsRead(builder.graph(), dump.inputs.front(), dump.scope);
    if (places.empty()) {
      continue;  // the result of the network
    }
    builder.mutable_graph().nodes[n].attrs.erase(std::string(kRunsUnread));
    for (const ValueId place : places) {
      DRYDOCK_RETURN_IF_ERROR(builder.AddNode({.op = dump.op,
                                               .inputs = {place},
                                               .attrs = dump.attrs,
                                               .scope = dump.scope,
                                               .instance_name = dump.instance_name,
                                               .place = dump.place}));
    }
  }
  return {};
}

}  // namespace drydock::strategies
