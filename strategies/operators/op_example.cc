#include "strategies/operators/op_example.h"

#include <utility>

#include "strategies/operators/op_signature.h"

namespace drydock::strategies {
namespace {

/// Float tensors of one shape for all that the signature asks for.
TypedCall PlainCall(const OpEntry& entry) {
  constexpr std::size_t kMembers = 3;
  TypedCall call;
  for (const SignatureArgument& argument : ParseSignature(entry.signature).call) {
    if (argument.kind == ArgumentKind::kTensor || argument.kind == ArgumentKind::kTensorList) {
      call.operands.insert(call.operands.end(),
                           argument.kind == ArgumentKind::kTensor ? 1 : kMembers,
                           TensorType{.shape = {4, 6}});
    } else if (argument.kind == ArgumentKind::kOptionalTensor) {
      call.operands.emplace_back();
    }
  }
  while (!call.operands.empty() && !call.operands.back()) {
    call.operands.pop_back();
  }
  return call;
}

/// Appends kNoValue for the optional operands that are left out and come next.
void AddAbsent(const OpExample& one, std::vector<ValueId>& operands) {
  while (operands.size() < 64 && (one.absent >> operands.size() & 1) != 0) {
    operands.push_back(kNoValue);
  }
}

}  // namespace

OpView OpExample::View() const {
  return {
      .op = entry->name, .inputs = inputs, .outputs = outputs, .attrs = &attrs, .absent = absent};
}

Result<OpExample> ExampleOf(const OpEntry& entry) {
  TypedCall call;
  if (entry.example.empty()) {
    call = PlainCall(entry);
  } else {
    DRYDOCK_TRY(call, ParseTypedCall(entry.example));
  }
  OpExample example{.entry = &entry, .attrs = std::move(call.attrs)};
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    if (call.operands[i]) {
      example.inputs.push_back(*std::move(call.operands[i]));
    } else {
      example.absent |= std::uint64_t{1} << i;
    }
  }
  if (entry.infer == nullptr) {
    example.outputs = example.inputs;
    return example;
  }
  DRYDOCK_TRY(example.outputs, entry.infer(example.View()));
  return example;
}

Result<Graph> LocalExample(const OpExample& one, const OpSharding& sharding) {
  GraphBuilder builder("local");
  NodeSpec spec{.op = one.entry->name, .attrs = one.attrs};
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    const TensorType local{.shape = SliceShape(sharding.inputs[i]), .dtype = one.inputs[i].dtype};
    DRYDOCK_TRY(const ValueId input, builder.AddInput("x" + std::to_string(i), local));
    AddAbsent(one, spec.inputs);
    spec.inputs.push_back(input);
  }
  AddAbsent(one, spec.inputs);
  DRYDOCK_RETURN_IF_ERROR(CheckOperands(*one.entry, spec.inputs));  // as a graph does
  const OpView global = one.View();
  if (one.entry->localize != nullptr) {
    const LocalizeContext context{
        .builder = builder, .global = global, .sharding = sharding, .spec = spec};
    DRYDOCK_TRY(std::vector<ValueId> outputs, one.entry->localize(context));
    builder.SetOutputs(std::move(outputs));
  } else {
    DRYDOCK_TRY(const NodeId node, builder.AddNode(spec));
    builder.SetOutputs(builder.graph().at(node).outputs);
  }
  return std::move(builder).Take();
}

}  // namespace drydock::strategies
