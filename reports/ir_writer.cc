#include "reports/ir_writer.h"

#include <algorithm>

#include "strategies/graph/wrapper_lines.h"
#include "strategies/operators/op_entry.h"

namespace drydock::reports {
namespace {

using strategies::Graph;
using strategies::Node;
using strategies::Value;
using strategies::ValueKind;

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

/// Loads belong to the cell around the one whose operator reads the parameter.
std::string ParentScope(const std::string& scope) {
  const std::size_t slash = scope.rfind('/');
  return slash == std::string::npos ? scope : scope.substr(0, slash);
}

std::vector<strategies::TensorType> TypesOf(const Graph& graph,
                                            const std::vector<ValueId>& values) {
  std::vector<strategies::TensorType> types;
  types.reserve(values.size());
  for (const ValueId value : values) {
    types.push_back(graph.at(value).type);
  }
  return types;
}

std::string ResultType(const Graph& graph, const std::vector<ValueId>& values) {
  return values.size() == 1 ? IrTensorType(graph.at(values.front()).type)
                            : IrTupleType(TypesOf(graph, values));
}

/// A data set gives a tuple, also if it has one input.
bool GivesTuple(const Node& node, IrStyle style) {
  return style == IrStyle::k2025 && node.entry != nullptr &&
         node.entry->kind == strategies::OpKind::kDataset;
}

std::string AttrBlocks(const IrNodeFacts& facts) {
  std::string text;
  if (!facts.instance_name.empty()) {
    text += " {instance name: " + facts.instance_name + "}";
  }
  if (!facts.primitive_attrs.empty()) {
    text += " primitive_attrs: {" + Joined(facts.primitive_attrs) + "}";
  }
  if (!facts.cnode_attrs.empty()) {
    text += " cnode_attrs: {" + Joined(facts.cnode_attrs) + "}";
  }
  if (facts.in_strategy) {
    text += " {in_strategy: " + IrStrategyText(*facts.in_strategy) + "}";
  }
  return text;
}

/// The lines by which an operator is reached inside of its graph, innermost first.
///
/// A stack is that of the script: lines of the network, then those that call it. Behind them stand
/// the lines of MindSpore's wrapper cells, each with the number of the script's lines inside of it
/// (its column, counted from 1). Where there are any, what lies outside of the last one is no part
/// of the graph:
///     net.py(45), net.py(99), cell_wrapper.py(114) with 1 inside, cell_wrapper.py(376) with 1
///     -> net.py(45), cell_wrapper.py(114), cell_wrapper.py(376)
std::vector<SourcePlace> CallChain(const std::vector<SourcePlace>& stack) {
  const auto first = std::ranges::find_if(stack, strategies::IsWrapperLine);
  if (first == stack.end()) {
    return stack;
  }
  std::vector<SourcePlace> chain;
  auto own = stack.begin();
  for (auto wrapper = first; wrapper != stack.end(); ++wrapper) {
    const std::ptrdiff_t inside = std::max(wrapper->column - 1, 0);
    for (; own != first && own - stack.begin() < inside; ++own) {
      chain.push_back(*own);
    }
    chain.push_back(*wrapper);
    chain.back().column = 0;
  }
  return chain;
}

}  // namespace

std::string IrParameterName(const Graph& graph, ValueId id) {
  const Value& value = graph.at(id);
  std::size_t number = 0;
  if (value.kind == ValueKind::kInput) {
    const auto at = std::ranges::find(graph.inputs, id);
    number = static_cast<std::size_t>(at - graph.inputs.begin()) + 1;
  } else {
    number = graph.inputs.size() + static_cast<std::size_t>(value.detail) + 1;
  }
  return "%para" + std::to_string(number) + "_" + (value.name.empty() ? "x" : value.name);
}

IrSubgraphWriter::IrSubgraphWriter(const IrContext& context, std::string monad, bool nested)
    : context_(context), monad_(std::move(monad)), nested_(nested) {}

void IrSubgraphWriter::BeginLine(const std::string& label) {
  lines_ += "  %" + std::to_string(next_) + "(" + label + ") = ";
  ++next_;
}

std::string IrSubgraphWriter::ScopeLine(const std::string& scope,
                                        const std::string& full_name) const {
  if (context_.style == IrStyle::kR20) {
    return "      # scope: (" + scope + ")\n";
  }
  return context_.full_names ? "      # Fullname with scope: (" + full_name + ")\n"
                             : "      # Scope: (" + scope + ")\n";
}

std::string IrSubgraphWriter::ParameterOperand(ValueId id) const {
  const std::string name = IrParameterName(*context_.graph, id);
  return nested_ ? "$(@" + context_.top_name + ":" + name.substr(1) + ")" : name;
}

std::int64_t IrSubgraphWriter::Load(ValueId id, const std::string& scope) {
  if (const auto known = loads_.find(id); known != loads_.end()) {
    return known->second;
  }
  const Value& value = context_.graph->at(id);
  const std::int64_t number = next_;
  BeginLine(context_.label_prefix + IrNodeLabel(value.detail + 1, context_.style));
  lines_ += "Load(" + ParameterOperand(id) + ", " + monad_ + ")\n";
  lines_ += "      : (" + IrRefType(value.type, value.name, context_.style) + ", " +
            std::string(IrMonadType(context_.style)) + ") -> (" + IrTensorType(value.type) + ")\n";
  const std::string parent = ParentScope(scope);
  lines_ += ScopeLine(parent, parent + "/Load-op" + std::to_string(loads_.size()));
  loads_.emplace(id, number);
  return number;
}

std::int64_t IrSubgraphWriter::TakeItem(ValueId id) {
  const Value& value = context_.graph->at(id);
  const Node& producer = context_.graph->at(value.producer);
  const std::int64_t number = next_;
  const IrOperand index = strategies::Attr(static_cast<std::int64_t>(value.output_index));
  BeginLine(context_.label_prefix + IrNodeLabel(context_.first_number + ToInt(id), context_.style));
  lines_ += "TupleGetItem(%" + std::to_string(tuples_.at(value.producer)) + ", " +
            IrAttrText(std::get<strategies::Attr>(index), context_.style) + ")\n";
  lines_ += "      : (" + IrTupleType(TypesOf(*context_.graph, producer.outputs)) + ", " +
            IrOperandType(std::get<strategies::Attr>(index), context_.style) + ") -> (" +
            IrTensorType(value.type) + ")\n";
  lines_ += ScopeLine(producer.scope, producer.scope + "/TupleGetItem-op" + std::to_string(number));
  numbers_.emplace(id, number);
  return number;
}

IrSubgraphWriter::Text IrSubgraphWriter::ResultText(ValueId id) {
  const auto known = numbers_.find(id);
  const std::int64_t number = known != numbers_.end() ? known->second : TakeItem(id);
  return {.operand = "%" + std::to_string(number),
          .type = IrTensorType(context_.graph->at(id).type)};
}

IrSubgraphWriter::Text IrSubgraphWriter::ValueText(ValueId id, bool by_reference,
                                                   const std::string& scope) {
  if (id == strategies::kNoValue) {
    return {.operand = "None", .type = IrOperandType(strategies::Attr(), context_.style)};
  }
  const Value& value = context_.graph->at(id);
  switch (value.kind) {
    case ValueKind::kInput:
      return {.operand = ParameterOperand(id), .type = IrTensorType(value.type)};
    case ValueKind::kConstant:
      return {.operand = IrConstantText(*context_.graph, value), .type = IrTensorType(value.type)};
    case ValueKind::kParameter:
      if (by_reference) {
        return {.operand = ParameterOperand(id),
                .type = IrRefType(value.type, value.name, context_.style)};
      }
      return {.operand = "%" + std::to_string(Load(id, scope)), .type = IrTensorType(value.type)};
    case ValueKind::kOutput:
      return ResultText(id);
  }
  return {};
}

IrSubgraphWriter::Text IrSubgraphWriter::OperandText(const IrOperand& operand, bool by_reference,
                                                     const Node& user) {
  if (const auto* attr = std::get_if<strategies::Attr>(&operand)) {
    return {.operand = IrAttrText(*attr, context_.style),
            .type = IrOperandType(*attr, context_.style)};
  }
  return ValueText(std::get<ValueId>(operand), by_reference, user.scope);
}

void IrSubgraphWriter::AddComments(const Node& node, const IrNodeFacts& facts) {
  lines_ += ScopeLine(node.scope, facts.full_name);
  if (!context_.places || facts.inserted || node.place < 0) {
    return;
  }
  for (const SourcePlace& place :
       CallChain(context_.graph->stacks[static_cast<std::size_t>(node.place)].frames)) {
    lines_ += "      " + IrPlaceText(place, context_.style) + "\n";
  }
}

void IrSubgraphWriter::MakeTuple(std::size_t index, std::vector<std::string>& operands,
                                 std::vector<std::string>& types) {
  const Node& node = context_.graph->nodes[index];
  const IrNodeFacts& facts = context_.facts[index];
  const auto begin = static_cast<std::ptrdiff_t>(facts.list_begin);
  const auto end = begin + static_cast<std::ptrdiff_t>(facts.list_count);
  const std::vector<std::string> items(operands.begin() + begin, operands.begin() + end);
  const std::vector<std::string> item_types(types.begin() + begin, types.begin() + end);
  std::vector<ValueId> values;
  for (auto i = facts.list_begin; i < facts.list_begin + facts.list_count; ++i) {
    values.push_back(std::get<ValueId>(facts.operands[i]));
  }
  const std::string tuple = "%" + std::to_string(next_);
  const std::string type = IrTupleType(TypesOf(*context_.graph, values));
  const std::int64_t label =
      context_.first_number + static_cast<std::int64_t>(context_.graph->values.size() + 1 + index);
  BeginLine(context_.label_prefix + IrNodeLabel(label, context_.style));
  lines_ +=
      "MakeTuple(" + Joined(items) + ")\n      : (" + Joined(item_types) + ") -> (" + type + ")\n";
  lines_ += ScopeLine(node.scope, node.scope + "/MakeTuple-op" + std::to_string(index));
  operands.erase(operands.begin() + begin, operands.begin() + end);
  types.erase(types.begin() + begin, types.begin() + end);
  operands.insert(operands.begin() + begin, tuple);
  types.insert(types.begin() + begin, type);
}

void IrSubgraphWriter::AddNode(std::size_t index) {
  const Node& node = context_.graph->nodes[index];
  const IrNodeFacts& facts = context_.facts[index];
  std::vector<std::string> operands;
  std::vector<std::string> types;
  for (std::size_t i = 0; i < facts.operands.size(); ++i) {
    Text text = OperandText(facts.operands[i], facts.by_reference[i], node);
    operands.push_back(std::move(text.operand));
    types.push_back(std::move(text.type));
  }
  if (facts.list_count > 0) {
    MakeTuple(index, operands, types);
  }
  if (facts.writes) {
    operands.push_back(monad_);
    types.emplace_back(IrMonadType(context_.style));
  }
  const std::int64_t number = next_;
  BeginLine(facts.label);
  lines_ += facts.op + "(" + Joined(operands) + ")" + AttrBlocks(facts) + "\n";
  lines_ += "      : (" + Joined(types) + ") -> (" +
            (GivesTuple(node, context_.style) ? IrTupleType(TypesOf(*context_.graph, node.outputs))
                                              : ResultType(*context_.graph, node.outputs)) +
            ")\n";
  AddComments(node, facts);
  if (node.outputs.size() == 1 && !GivesTuple(node, context_.style)) {
    numbers_.emplace(node.outputs.front(), number);
  } else {
    tuples_.emplace(NodeId{static_cast<std::int32_t>(index)}, number);
  }
}

void IrSubgraphWriter::AddCall(const std::string& subgraph, const std::vector<ValueId>& values) {
  const std::int64_t call = next_;
  BeginLine(context_.label_prefix + IrNodeLabel(0, context_.style));
  lines_ += "call @" + subgraph + "(" + monad_ + ")\n      : (" +
            std::string(IrMonadType(context_.style)) + ") -> (" +
            ResultType(*context_.graph, values) + ")\n";
  if (values.size() == 1) {
    numbers_.emplace(values.front(), call);
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const strategies::Attr index(static_cast<std::int64_t>(i));
    numbers_.emplace(values[i], next_);
    BeginLine(context_.label_prefix +
              IrNodeLabel(context_.first_number + ToInt(values[i]), context_.style));
    lines_ += "TupleGetItem(%" + std::to_string(call) + ", " + IrAttrText(index, context_.style) +
              ")\n      : (" + ResultType(*context_.graph, values) + ", " +
              IrOperandType(index, context_.style) + ") -> (" +
              IrTensorType(context_.graph->at(values[i]).type) + ")\n";
  }
}

std::string IrSubgraphWriter::Finish(const std::vector<ValueId>& values) {
  std::vector<std::string> operands;
  std::vector<std::string> types;
  for (const ValueId value : values) {
    Text text = ValueText(value, false, "Default");
    operands.push_back(std::move(text.operand));
    types.push_back(std::move(text.type));
  }
  std::string result = operands.empty() ? "None" : operands.front();
  if (values.size() > 1) {
    result = "%" + std::to_string(next_);
    BeginLine(context_.label_prefix +
              IrNodeLabel(
                  context_.first_number + static_cast<std::int64_t>(context_.graph->values.size()),
                  context_.style));
    lines_ += "MakeTuple(" + Joined(operands) + ")\n      : (" + Joined(types) + ") -> (" +
              ResultType(*context_.graph, values) + ")\n";
  }
  const std::string type = values.empty() ? IrOperandType(strategies::Attr(), context_.style)
                                          : ResultType(*context_.graph, values);
  lines_ += "  Return(" + result + ")\n      : (" + type + ")\n";
  return std::move(lines_);
}

}  // namespace drydock::reports
