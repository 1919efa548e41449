#include "reports/ir_style.h"

#include <cstddef>

#include "base/overloaded.h"
#include "base/text.h"

namespace drydock::reports {
namespace {

using strategies::Attr;
using strategies::DType;

/// Constants with more elements are printed without them.
constexpr std::size_t kMaxPrintedElements = 8;

std::string Wrapped(std::string_view type, const std::string& value, IrStyle style) {
  return style == IrStyle::kR20 ? value : std::string(type) + "(" + value + ")";
}

/// Tuples of the dump have no comma after a single entry.
std::string ShapeText(std::span<const std::int64_t> values) {
  return "(" + JoinText(values, ", ") + ")";
}

/// Element type inside a reference: F32, I64, Bool.
std::string ShortTypeName(DType dtype) {
  const std::string_view name = strategies::DTypeIrName(dtype);
  const std::size_t digits = name.find_first_of("0123456789");
  if (digits == std::string_view::npos) {
    return std::string(name);
  }
  std::string text = name.starts_with("BFloat") ? "BF" : std::string(name.substr(0, 1));
  return text + std::string(name.substr(digits));
}

/// A number without the ".0" Python adds: 1, 0.125.
std::string PlainNumber(double value) {
  std::string text = strategies::AttrText(Attr(value));
  if (text.size() > 2 && text.ends_with(".0")) {
    text.resize(text.size() - 2);
  }
  return text;
}

std::string ScalarTypeName(const Attr& attr) {
  return std::visit(
      Overloaded{[](std::monostate) { return "None"; }, [](bool) { return "Bool"; },
                 [](std::int64_t) { return "Int64"; }, [](double) { return "Float32"; },
                 [](const std::string&) { return "String"; },
                 [](const Attr::List&) { return "Tuple"; },
                 [](const strategies::RankExpr&) { return "Int64"; }},
      attr.value);
}

std::string Repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += (i > 0 ? ", " : "") + std::string(text);
  }
  return out;
}

/// "Int64*2" for equal elements, "Int64, Bool" otherwise.
std::string ElementTypes(const Attr::List& list) {
  std::string text;
  bool equal = true;
  for (const Attr& item : list) {
    equal = equal && item.value.index() == list.front().value.index();
    text += (text.empty() ? "" : ", ") + ScalarTypeName(item);
  }
  return equal && !list.empty() ? ScalarTypeName(list.front()) + "*" + std::to_string(list.size())
                                : text;
}

std::string TupleOperandType(const Attr::List& list, IrStyle style) {
  std::string text = "<Tuple[" + ElementTypes(list) + "]";
  if (style == IrStyle::kR20) {
    // MindSpore names every node that the tuple was made for, many of them gone; here it is one.
    text += ", sequence_nodes={node={ValueNode<ValueTuple> " + IrAttrText(Attr(list), style) +
            ", elements_use_flags: {ptr: 0x0, value: [const vector][" + Repeated("1", list.size()) +
            "]}}}";
  }
  if (style == IrStyle::k2025) {
    text += ", TupleShape(" + Repeated("NoShape", list.size()) +
            "), elements_use_flags={[const vector]{" + Repeated("1", list.size()) + "}}";
  }
  return text + ">";
}

}  // namespace

Result<IrStyle> ParseIrStyle(std::string_view text) {
  if (text == "r2.0" || text == "2.0") {
    return IrStyle::kR20;
  }
  if (text == "2025") {
    return IrStyle::k2025;
  }
  return FailInput("ir_style:unknown", "there is no IR style '" + std::string(text) + "'",
                   "use r2.0 or 2025");
}

std::string IrAttrText(const Attr& attr, IrStyle style) {
  const bool typed = style == IrStyle::k2025;
  const auto list_text = [&](const Attr::List& list) {
    std::string text;
    for (const Attr& item : list) {
      text += (text.empty() ? "" : ", ") + IrAttrText(item, style);
    }
    return "(" + text + ")";
  };
  return std::visit(
      Overloaded{[](std::monostate) { return std::string("None"); },
                 [&](bool flag) {
                   return typed ? std::string(flag ? "Bool(1)" : "Bool(0)")
                                : std::string(flag ? "true" : "false");
                 },
                 [&](std::int64_t number) { return Wrapped("I64", std::to_string(number), style); },
                 [&](double number) { return Wrapped("F32", PlainNumber(number), style); },
                 [&](const std::string& text) { return typed ? "\"" + text + "\"" : text; },
                 list_text,
                 [&](const strategies::RankExpr&) { return strategies::AttrText(attr); }},
      attr.value);
}

std::string IrStrategyText(const strategies::Strategy& strategy) {
  std::string text;
  for (const std::vector<std::int64_t>& cuts : strategy) {
    text += (text.empty() ? "" : ", ") + ShapeText(cuts);
  }
  return "(" + text + ")";
}

std::string IrTensorType(const strategies::TensorType& type) {
  return "<Tensor[" + std::string(strategies::DTypeIrName(type.dtype)) + "], " +
         ShapeText(type.shape) + ">";
}

std::string IrRefType(const strategies::TensorType& type, std::string_view name, IrStyle style) {
  const std::string element =
      style == IrStyle::kR20 ? "Tensor(" + ShortTypeName(type.dtype) + ")"
                             : "Tensor[" + std::string(strategies::DTypeIrName(type.dtype)) + "]";
  return "<Ref[" + element + "], " + ShapeText(type.shape) +
         ", ref_key=" + (style == IrStyle::kR20 ? ":" : "") + std::string(name) + ">";
}

std::string IrTupleType(const std::vector<strategies::TensorType>& types) {
  std::string elements;
  std::string shapes;
  bool equal = true;
  for (const strategies::TensorType& type : types) {
    const std::string element = "Tensor[" + std::string(strategies::DTypeIrName(type.dtype)) + "]";
    equal = equal && type.dtype == types.front().dtype;
    elements += (elements.empty() ? "" : ", ") + element;
    shapes += (shapes.empty() ? "" : ", ") + ShapeText(type.shape);
  }
  if (equal && !types.empty()) {
    elements = "Tensor[" + std::string(strategies::DTypeIrName(types.front().dtype)) + "]*" +
               std::to_string(types.size());
  }
  return "<Tuple[" + elements + "], TupleShape(" + shapes + ")>";
}

std::string IrOperandType(const Attr& attr, IrStyle style) {
  if (const auto* list = std::get_if<Attr::List>(&attr.value)) {
    return TupleOperandType(*list, style);
  }
  return "<" + ScalarTypeName(attr) + (style == IrStyle::kR20 ? ">" : ", NoShape>");
}

std::string_view IrMonadText(IrStyle style) {
  return style == IrStyle::kR20 ? "U" : "UMonad[U]";
}

std::string_view IrMonadType(IrStyle style) {
  return style == IrStyle::kR20 ? "<UMonad>" : "<UMonad, NoShape>";
}

std::string IrConstantText(const strategies::Graph& graph, const strategies::Value& value) {
  std::string text = "Tensor(shape=[" + JoinText(value.type.shape, ", ") +
                     "], dtype=" + std::string(strategies::DTypeIrName(value.type.dtype));
  const auto& data = graph.constants[static_cast<std::size_t>(value.detail)].data;
  if (data && data->size() <= kMaxPrintedElements) {
    std::string numbers;
    for (const double number : *data) {
      numbers += (numbers.empty() ? "" : ", ") + PlainNumber(number);
    }
    text += ", value=" + (value.type.shape.empty() ? numbers : "[" + numbers + "]");
  }
  return text + ")";
}

std::string IrNodeLabel(std::int64_t number, IrStyle style) {
  return (style == IrStyle::kR20 ? "[CNode]" : "CNode_") + std::to_string(number);
}

std::string IrPlaceText(const SourcePlace& place, IrStyle style) {
  std::string where = place.file;
  if (style == IrStyle::kR20) {
    where += "(" + std::to_string(place.line) + ")";
  } else {
    const std::string column = std::to_string(place.column > 0 ? place.column - 1 : 0);
    where += ":" + std::to_string(place.line) + ", " + column + "~" + column;
  }
  return "# In file " + where + "/" + place.text + "/";
}

}  // namespace drydock::reports
