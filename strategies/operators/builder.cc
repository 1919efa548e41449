#include "strategies/operators/builder.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/graph/place_notes.h"
#include "strategies/operators/op_entry.h"
#include "strategies/operators/op_signature.h"

namespace drydock::strategies {
namespace {

/// A tensor may have at most this many dimensions (the reference's limit).
constexpr std::size_t kMaxRank = 8;

Status CheckType(const TensorType& type, std::string_view what) {
  if (type.shape.size() > kMaxRank) {
    return FailInput("tensor:rank",
                     std::string(what) + " has " + std::to_string(type.shape.size()) +
                         " dimensions, at most " + std::to_string(kMaxRank) + " are possible");
  }
  for (const std::int64_t extent : type.shape) {
    if (extent < 0) {
      return FailInput("tensor:extent",
                       std::string(what) + " has shape " + TupleText(type.shape) +
                           " with a negative extent; dynamic extents are not supported",
                       "give every dimension a fixed extent");
    }
  }
  // Extents of 0 count as 1, so that the product of any of the dimensions fits.
  Shape filled = type.shape;
  std::ranges::replace(filled, 0, 1);
  Result<std::int64_t> elements = ElementCount(filled);
  if (elements) {
    elements = MulChecked(*elements, DTypeBytes(type.dtype));
  }
  if (!elements) {
    return FailInput("tensor:overflow",
                     std::string(what) + " has shape " + TupleText(type.shape) +
                         ", whose size in bytes does not fit 64 bits (extents of 0 count as 1)");
  }
  return {};
}

tl::unexpected<Error> UnknownOp(std::string_view op) {
  std::vector<std::string_view> names;
  for (const OpEntry* entry : AllOps()) {
    names.push_back(entry->name);
  }
  const std::string nearest = NearestWord(op, names);
  Error error{
      .code = ErrorCode::kUnsupported,
      .message = "operator '" + std::string(op) + "' is not in the operator table",
      .hint = nearest.empty() ? "see 'drydock list_operators'" : "did you mean '" + nearest + "'?",
      .reason = std::string(op) + ":unknown-operator"};
  return tl::unexpected(std::move(error));
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name) {
  graph_.name = std::move(name);
}

Result<ValueId> GraphBuilder::AddValue(Value value) {
  DRYDOCK_RETURN_IF_ERROR(
      CheckType(value.type, value.name.empty() ? "a tensor" : "tensor '" + value.name + "'"));
  graph_.values.push_back(std::move(value));
  return ValueId{static_cast<std::int32_t>(graph_.values.size() - 1)};
}

Result<ValueId> GraphBuilder::AddInput(std::string name, TensorType type) {
  DRYDOCK_TRY(
      const ValueId id,
      AddValue({.kind = ValueKind::kInput, .type = std::move(type), .name = std::move(name)}));
  graph_.inputs.push_back(id);
  return id;
}

Result<ValueId> GraphBuilder::AddParameter(std::string name, TensorType type, Parameter info) {
  DRYDOCK_TRY(const ValueId id,
              AddValue({.kind = ValueKind::kParameter,
                        .type = std::move(type),
                        .name = std::move(name),
                        .detail = static_cast<std::int32_t>(graph_.parameters.size())}));
  info.value = id;
  graph_.parameters.push_back(info);
  return id;
}

Result<ValueId> GraphBuilder::AddConstant(TensorType type,
                                          std::optional<std::vector<double>> data) {
  if (data && std::ssize(*data) != ElementCount(type.shape).value_or(-1)) {
    return FailInput("constant:size", "a constant of shape " + TupleText(type.shape) + " has " +
                                          std::to_string(data->size()) + " values");
  }
  DRYDOCK_TRY(const ValueId id,
              AddValue({.kind = ValueKind::kConstant,
                        .type = std::move(type),
                        .detail = static_cast<std::int32_t>(graph_.constants.size())}));
  graph_.constants.push_back({.value = id, .data = std::move(data)});
  return id;
}

ValueId GraphBuilder::AddScalar(double value, DType dtype) {
  return *AddConstant({.shape = {}, .dtype = dtype}, std::vector<double>{value});
}

Result<NodeId> GraphBuilder::AddNode(NodeSpec spec) {
  const auto fail = [this, &spec](Error error) {
    return tl::unexpected(AtNodeLine(WithMadeNotes(std::move(error), graph_, spec.inputs), graph_,
                                     Node{.place = spec.place}));
  };
  const OpEntry* entry = FindOp(spec.op);
  if (entry == nullptr) {
    return fail(UnknownOp(spec.op).value());
  }
  if (entry->infer == nullptr) {
    return fail(
        Fail(ErrorCode::kUnsupported, "operator '" + std::string(spec.op) + "' has no shape rule")
            .value());
  }
  if (Status status = CheckOperands(*entry, spec.inputs); !status) {
    return fail(std::move(status).error());
  }
  std::vector<TensorType> types;
  for (const ValueId input : spec.inputs) {
    if (input != kNoValue) {
      types.push_back(graph_.at(input).type);
    }
  }
  const OpView view{
      .op = entry->name, .inputs = types, .attrs = &spec.attrs, .absent = AbsentBits(spec.inputs)};
  Result<std::vector<TensorType>> outputs = entry->infer(view);
  if (!outputs) {
    return fail(std::move(outputs).error());
  }
  for (const TensorType& type : *outputs) {
    if (Status status = CheckType(type, "the result of '" + std::string(spec.op) + "'"); !status) {
      return fail(std::move(status).error());
    }
  }
  return AddNodeWithTypes(std::move(spec), *std::move(outputs));
}

NodeId GraphBuilder::AddNodeWithTypes(NodeSpec spec, std::vector<TensorType> output_types) {
  const NodeId id{static_cast<std::int32_t>(graph_.nodes.size())};
  const OpEntry* entry = FindOp(spec.op);
  Node node{.op = std::string(entry == nullptr ? spec.op : entry->name),
            .entry = entry == nullptr ? &UnknownOp() : entry,
            .inputs = std::move(spec.inputs),
            .attrs = std::move(spec.attrs),
            .scope = std::move(spec.scope),
            .instance_name = std::move(spec.instance_name),
            .place = spec.place,
            .phase = spec.phase};
  for (std::size_t i = 0; i < output_types.size(); ++i) {
    node.outputs.push_back(ValueId{static_cast<std::int32_t>(graph_.values.size())});
    graph_.values.push_back({.kind = ValueKind::kOutput,
                             .type = std::move(output_types[i]),
                             .producer = id,
                             .output_index = static_cast<std::int32_t>(i)});
  }
  graph_.nodes.push_back(std::move(node));
  return id;
}

Result<ValueId> GraphBuilder::Emit(NodeSpec spec) {
  DRYDOCK_TRY(const NodeId id, AddNode(std::move(spec)));
  return graph_.at(id).outputs.front();
}

std::int32_t GraphBuilder::AddStack(SourceStack stack) {
  // Equal stacks usually follow each other: only the recent ones are compared.
  constexpr std::size_t kWindow = 16;
  const std::size_t count = graph_.stacks.size();
  for (std::size_t i = count; i > count - std::min(count, kWindow); --i) {
    if (graph_.stacks[i - 1] == stack) {
      return static_cast<std::int32_t>(i - 1);
    }
  }
  graph_.stacks.push_back(std::move(stack));
  return static_cast<std::int32_t>(count);
}

}  // namespace drydock::strategies
