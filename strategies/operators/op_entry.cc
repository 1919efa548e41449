#include "strategies/operators/op_entry.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/text.h"

namespace drydock::strategies {
namespace {

/// Head of the list that entries link themselves into before main(); constant afterwards.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
constinit OpEntry* registered = nullptr;

struct Table {
  std::vector<const OpEntry*> by_name = {};
  std::map<std::string_view, const OpEntry*> lookup = {};
};

void AddName(Table& table, std::string_view name, const OpEntry* entry) {
  const bool inserted = table.lookup.emplace(name, entry).second;
  DRYDOCK_CHECK(inserted);
}

Table MakeTable() {
  Table table;
  for (const OpEntry* entry = registered; entry != nullptr; entry = entry->next) {
    table.by_name.push_back(entry);
    AddName(table, entry->name, entry);
    std::string_view aliases = entry->aliases;
    while (!aliases.empty()) {
      const std::size_t comma = aliases.find(',');
      AddName(table, aliases.substr(0, comma), entry);
      aliases = comma == std::string_view::npos ? std::string_view() : aliases.substr(comma + 1);
    }
  }
  std::ranges::sort(table.by_name, {}, &OpEntry::name);
  return table;
}

const Table& TheTable() {
  static const Table kTable = MakeTable();
  return kTable;
}

}  // namespace

OpRegistrar::OpRegistrar(OpEntry& entry) {
  entry.next = registered;
  registered = &entry;
}

Result<std::vector<ValueId>> GradientNotNeeded(const GradientContext& context) {
  return std::vector<ValueId>(context.node.inputs.size(), kNoValue);
}

Result<std::vector<ValueId>> NoBackward(const GradientContext& context) {
  return GradientNotNeeded(context);
}

double NoFlops(const OpView& /*op*/) {
  return 0.0;
}

const OpEntry* FindOp(std::string_view name) {
  const auto it = TheTable().lookup.find(name);
  return it == TheTable().lookup.end() ? nullptr : it->second;
}

std::span<const OpEntry* const> AllOps() {
  return TheTable().by_name;
}

std::vector<std::size_t> WrittenOperands(const OpEntry& entry) {
  std::vector<std::size_t> positions;
  std::string_view list = entry.writes;
  while (!list.empty()) {
    std::size_t position = 0;
    const auto parsed = std::from_chars(list.data(), list.data() + list.size(), position);
    DRYDOCK_CHECK(parsed.ec == std::errc());
    positions.push_back(position);
    const auto used = static_cast<std::size_t>(parsed.ptr - list.data());
    list.remove_prefix(std::min(list.size(), used + 1));
  }
  return positions;
}

std::uint64_t AbsentBits(std::span<const ValueId> operands) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(operands.size(), 64); ++i) {
    bits |= operands[i] == kNoValue ? std::uint64_t{1} << i : 0;
  }
  return bits;
}

std::ptrdiff_t PresentIndex(const OpView& op, std::size_t operand) {
  std::ptrdiff_t index = 0;
  for (std::size_t i = 0; i < operand; ++i) {
    index += (op.absent >> i & 1) == 0 ? 1 : 0;
  }
  return (op.absent >> operand & 1) == 0 && index < std::ssize(op.inputs) ? index : -1;
}

OpView EvaluateContext::View() const {
  return {.inputs = input_types, .outputs = output_types, .attrs = &attrs, .absent = absent};
}

OpView ViewOf(const Graph& graph, const Node& node, OpViewStorage& storage) {
  storage.inputs.clear();
  storage.outputs.clear();
  for (const ValueId input : node.inputs) {
    if (input != kNoValue) {
      storage.inputs.push_back(graph.at(input).type);
    }
  }
  for (const ValueId output : node.outputs) {
    storage.outputs.push_back(graph.at(output).type);
  }
  return {.op = node.op,
          .inputs = storage.inputs,
          .outputs = storage.outputs,
          .attrs = &node.attrs,
          .absent = AbsentBits(node.inputs)};
}

Result<ValueId> GradientContext::Emit(std::string_view op, std::vector<ValueId> inputs,
                                      AttrMap attrs) const {
  NodeSpec node_spec = spec;
  node_spec.op = op;
  node_spec.inputs = std::move(inputs);
  node_spec.attrs = std::move(attrs);
  DRYDOCK_TRY(const NodeId id, builder.AddNode(std::move(node_spec)));
  builder.mutable_graph().nodes[ToIndex(id)].origin = node.origin;
  return builder.graph().at(id).outputs.front();
}

Result<ValueId> GradientContext::EmitCollective(std::string_view op, ValueId input,
                                                const GroupPattern& group, AttrMap attrs) const {
  attrs["rank_size"] = GroupSize(group);
  DRYDOCK_TRY(const ValueId output, Emit(op, {input}, std::move(attrs)));
  Node& emitted = builder.mutable_graph().nodes[ToIndex(builder.graph().at(output).producer)];
  emitted.group = group;
  const bool of_parameter =
      node.reason == CommReason::kParameterGradient || node.reason == CommReason::kOptimizerShard;
  emitted.reason = of_parameter ? CommReason::kParameterGradient : CommReason::kBackwardOfForward;
  emitted.reason_text = node.reason == CommReason::kParameterGradient
                            ? node.reason_text
                            : "gradient of: " + node.reason_text;
  return output;
}

}  // namespace drydock::strategies
