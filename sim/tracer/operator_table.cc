#include "sim/tracer/operator_table.h"

#include <string_view>
#include <vector>

#include "strategies/document/json_fields.h"
#include "strategies/operators/op_entry.h"
#include "strategies/operators/op_signature.h"

/// The operator table as the stand-in reads it: it makes its primitives from these signatures, so
/// that no name or default stands in Python, too.
namespace drydock::sim {
namespace {

using strategies::AppendJsonField;
using strategies::AppendJsonItem;
using strategies::AppendJsonText;

std::string_view KindName(strategies::OpKind kind) {
  switch (kind) {
    case strategies::OpKind::kUpdate:
      return "update";
    case strategies::OpKind::kCollective:
      return "collective";
    case strategies::OpKind::kGradient:
      return "gradient";
    default:
      return "compute";
  }
}

std::string_view ArgumentKindName(strategies::ArgumentKind kind) {
  switch (kind) {
    case strategies::ArgumentKind::kTensor:
      return "tensor";
    case strategies::ArgumentKind::kOptionalTensor:
      return "optional";
    case strategies::ArgumentKind::kTensorList:
      return "tuple";
    case strategies::ArgumentKind::kAttribute:
      return "attr";
  }
  return "tensor";
}

void AppendArguments(std::string& out, const std::vector<strategies::SignatureArgument>& list) {
  out += '[';
  for (const strategies::SignatureArgument& argument : list) {
    AppendJsonItem(out);
    out += '{';
    if (argument.default_value) {
      AppendJsonField(out, "default");
      strategies::AppendJsonAttr(out, *argument.default_value);
    }
    AppendJsonField(out, "kind");
    AppendJsonText(out, ArgumentKindName(argument.kind));
    AppendJsonField(out, "name");
    AppendJsonText(out, argument.name);
    out += '}';
  }
  out += ']';
}

}  // namespace

std::string OperatorTable() {
  std::string table = R"({"operators":[)";
  for (const strategies::OpEntry* entry : strategies::AllOps()) {
    if (entry->infer == nullptr) {
      continue;  // pseudo rules are nothing a script can call
    }
    const strategies::OpSignature signature = strategies::ParseSignature(entry->signature);
    AppendJsonItem(table);
    table += '{';
    AppendJsonField(table, "aliases");
    AppendJsonText(table, entry->aliases);
    AppendJsonField(table, "call");
    AppendArguments(table, signature.call);
    AppendJsonField(table, "constructor");
    AppendArguments(table, signature.constructor);
    AppendJsonField(table, "kind");
    AppendJsonText(table, KindName(entry->kind));
    AppendJsonField(table, "name");
    AppendJsonText(table, entry->name);
    AppendJsonField(table, "tuple_result");
    table += signature.tuple_result ? "true}" : "false}";
  }
  return table + "]}";
}

}  // namespace drydock::sim
