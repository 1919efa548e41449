// Attributes, source places and layouts of a graph document, both directions.

#include <algorithm>
#include <charconv>

#include "base/overloaded.h"
#include "strategies/document/json_fields.h"
#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {
namespace {

Result<Attr> ReadAttr(JsonView value);

/// {"float": "inf"} or {"constant": 0, "terms": [[stride, extent, scale], ...]}: what plain JSON
/// cannot say.
Result<Attr> ReadSpecialAttr(JsonView value) {
  DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "an attribute"));
  if (const auto number = object.Find("float")) {
    DRYDOCK_TRY(const double read, ReadJsonFloat(*number, "float"));
    DRYDOCK_RETURN_IF_ERROR(object.Finish());
    return Attr(read);
  }
  RankExpr expr;
  DRYDOCK_TRY(const JsonView constant, object.Require("constant"));
  DRYDOCK_TRY(expr.constant, ReadJsonInt(constant, "constant"));
  DRYDOCK_TRY(const JsonView terms, object.Require("terms"));
  DRYDOCK_TRY(const Strategy numbers, ReadJsonStrategy(terms, "terms"));
  for (const std::vector<std::int64_t>& term : numbers) {
    if (term.size() != 3 || term[0] < 1 || term[1] < 1) {
      return FailAtJson(
          terms, "graph:wrong-type",
          "each of 'terms' must be [stride, extent, scale], stride and extent above 0");
    }
    expr.terms.push_back({.digit = {.stride = term[0], .extent = term[1]}, .scale = term[2]});
  }
  DRYDOCK_RETURN_IF_ERROR(object.Finish());
  return Attr(std::move(expr));
}

/// Recursion is as deep as the text is nested, which the reader bounds.
Result<Attr> ReadAttr(JsonView value) {
  switch (value.kind()) {
    case JsonKind::kNull:
      return Attr();
    case JsonKind::kBool:
      return Attr(value.AsBool());
    case JsonKind::kInt:
      return Attr(value.AsInt());
    case JsonKind::kFloat:
      return Attr(value.AsFloat());
    case JsonKind::kString:
      return Attr(std::string(value.AsText()));
    case JsonKind::kObject:
      return ReadSpecialAttr(value);
    case JsonKind::kArray:
      break;
  }
  Attr::List list;
  for (const JsonView element : value.Elements()) {
    DRYDOCK_TRY(Attr read, ReadAttr(element));
    list.push_back(std::move(read));
  }
  return Attr(std::move(list));
}

/// Takes ":<number>" off the end of `text`; nullopt if there is none.
std::optional<std::int32_t> TakeNumber(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    return std::nullopt;
  }
  std::int32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data() + colon + 1, end, number);
  if (failure != std::errc() || stop != end || number < 0) {
    return std::nullopt;
  }
  text = text.substr(0, colon);
  return number;
}

/// "file", "file:line" or "file:line:column".
SourcePlace PlaceFromText(std::string_view text) {
  const std::optional<std::int32_t> last = TakeNumber(text);
  const std::optional<std::int32_t> first = last ? TakeNumber(text) : std::nullopt;
  return {.file = std::string(text),
          .line = first ? *first : last.value_or(0),
          .column = first ? *last : 0};
}

std::string PlaceToText(const SourcePlace& place) {
  return place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

Result<std::int32_t> SmallNumber(ObjectReader& object, std::string_view name) {
  DRYDOCK_TRY(const std::int64_t number, IntField(object, name, 0));
  if (number < 0 || !std::in_range<std::int32_t>(number)) {
    return FailAtJson(object.object(), "graph:overflow",
                      "'" + std::string(name) + "' of a place must be from 0 to 2147483647");
  }
  return static_cast<std::int32_t>(number);
}

Result<SourcePlace> ReadFrame(JsonView value) {
  if (value.kind() == JsonKind::kString) {
    return PlaceFromText(value.AsText());
  }
  DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "a place"));
  DRYDOCK_TRY(SourcePlace place, ReadJsonFrame(object));
  DRYDOCK_RETURN_IF_ERROR(object.Finish());
  return place;
}

/// Device axis of one word or number of a tensor map, counted from the right; nullopt for "None"
/// and -1.
Result<std::optional<std::int64_t>> ReadAxis(JsonView value,
                                             const std::vector<std::string>& aliases) {
  if (value.kind() == JsonKind::kInt) {
    const std::int64_t axis = value.AsInt();
    return axis < 0 ? std::optional<std::int64_t>() : axis;
  }
  DRYDOCK_TRY(const std::string alias, ReadJsonText(value, "tensor_map"));
  if (alias == "None") {
    return std::optional<std::int64_t>();
  }
  const auto it = std::ranges::find(aliases, alias);
  if (it == aliases.end()) {
    return FailAtJson(value, "graph:unknown-alias", "'" + alias + "' is not one of 'alias_name'");
  }
  return std::optional<std::int64_t>(aliases.end() - it - 1);
}

Result<std::vector<std::int64_t>> ReadAxes(JsonView value,
                                           const std::vector<std::string>& aliases) {
  const std::vector<JsonView> words =
      value.kind() == JsonKind::kArray ? value.Elements() : std::vector<JsonView>{value};
  std::vector<std::int64_t> axes;
  for (const JsonView word : words) {
    DRYDOCK_TRY(const std::optional<std::int64_t> axis, ReadAxis(word, aliases));
    axes.push_back(axis.value_or(-1));
  }
  return axes;
}

Result<TensorLayout> ReadLayout(JsonView value) {
  DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "a layout"));
  TensorLayout layout;
  DRYDOCK_TRY(const JsonView matrix, object.Require("device_matrix"));
  DRYDOCK_TRY(layout.device_matrix, ReadJsonInts(matrix, "device_matrix"));
  std::vector<std::string> aliases;
  if (const auto names = object.Find("alias_name")) {
    DRYDOCK_TRY(const std::vector<JsonView> words, ReadJsonList(*names, "alias_name"));
    for (const JsonView word : words) {
      DRYDOCK_TRY(std::string alias, ReadJsonText(word, "alias_name"));
      aliases.push_back(std::move(alias));
    }
    if (aliases.size() != layout.device_matrix.size()) {
      return FailAtJson(*names, "graph:alias-count",
                        "'alias_name' and 'device_matrix' must have equal lengths, but have " +
                            std::to_string(aliases.size()) + " and " +
                            std::to_string(layout.device_matrix.size()));
    }
  }
  DRYDOCK_TRY(const bool flag, BoolField(object, "interleaved_parallel", false));
  const bool named = !aliases.empty() && aliases.back() == "interleaved_parallel";
  if ((flag || named) && !layout.device_matrix.empty()) {
    layout.interleave = layout.device_matrix.back();
  }
  DRYDOCK_TRY(const JsonView map, object.Require("tensor_map"));
  DRYDOCK_TRY(const std::vector<JsonView> dimensions, ReadJsonList(map, "tensor_map"));
  std::vector<std::vector<std::int64_t>> axes_of_dimensions;
  for (const JsonView dimension : dimensions) {
    DRYDOCK_TRY(std::vector<std::int64_t> axes, ReadAxes(dimension, aliases));
    axes_of_dimensions.push_back(std::move(axes));
  }
  if (Status status = SetTensorMap(layout, std::move(axes_of_dimensions)); !status) {
    return tl::unexpected(WithPlace(std::move(status).error(), map.Place()));
  }
  if (const auto shape = object.Find("shape")) {
    DRYDOCK_TRY(layout.shape, ReadJsonInts(*shape, "shape"));
  }
  DRYDOCK_RETURN_IF_ERROR(object.Finish());
  return layout;
}

void AppendExpr(std::string& out, const RankExpr& expr) {
  out += "{\"constant\":" + std::to_string(expr.constant) + ",\"terms\":[";
  for (std::size_t i = 0; i < expr.terms.size(); ++i) {
    const RankExpr::Term& term = expr.terms[i];
    out += i > 0 ? "," : "";
    AppendJsonInts(out, std::vector{term.digit.stride, term.digit.extent, term.scale});
  }
  out += "]}";
}

void AppendList(std::string& out, const Attr::List& list) {
  out += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    out += i > 0 ? "," : "";
    AppendJsonAttr(out, list[i]);
  }
  out += ']';
}

void AppendFloatAttr(std::string& out, double number) {
  const std::size_t begin = out.size();
  AppendJsonFloat(out, number);
  if (out[begin] == '"') {  // not finite: keep it apart from text
    out.insert(begin, "{\"float\":");
    out += '}';
  }
}

void AppendFrame(std::string& out, const SourcePlace& place) {
  if (place.text.empty()) {
    AppendJsonText(out, PlaceToText(place));
    return;
  }
  out += "{\"file\":";
  AppendJsonText(out, place.file);
  out += ",\"line\":" + std::to_string(place.line) + ",\"column\":" + std::to_string(place.column) +
         ",\"text\":";
  AppendJsonText(out, place.text);
  out += '}';
}

std::vector<std::vector<std::int64_t>> WithTrailingNone(const TensorLayout& layout) {
  std::vector<std::vector<std::int64_t>> map = layout.tensor_map;
  for (const std::size_t dimension : layout.trailing_none) {
    map[dimension].push_back(-1);
  }
  return map;
}

/// True for a stack that also names the line of its layer.
bool HasFrames(JsonView value) {
  if (value.kind() != JsonKind::kObject) {
    return false;
  }
  const auto members = value.Members();
  return std::ranges::any_of(members,
                             [](const auto& member) { return member.first.AsText() == "frames"; });
}

}  // namespace

Result<AttrMap> ReadJsonAttrs(JsonView value) {
  DRYDOCK_TRY(const ObjectReader object, ObjectReader::Make(value, "'attrs'"));
  AttrMap attrs;
  for (const auto& [name, attr] : value.Members()) {
    DRYDOCK_TRY(Attr read, ReadAttr(attr));
    attrs.emplace(std::string(name.AsText()), std::move(read));
  }
  return attrs;
}

Result<SourcePlace> ReadJsonFrame(ObjectReader& object) {
  SourcePlace place;
  DRYDOCK_TRY(place.file, TextField(object, "file", ""));
  DRYDOCK_TRY(place.line, SmallNumber(object, "line"));
  DRYDOCK_TRY(place.column, SmallNumber(object, "column"));
  DRYDOCK_TRY(place.text, TextField(object, "text", ""));
  return place;
}

Result<SourceStack> ReadJsonStack(JsonView value) {
  SourceStack stack;
  std::vector<JsonView> frames =
      value.kind() == JsonKind::kArray ? value.Elements() : std::vector<JsonView>{value};
  if (HasFrames(value)) {
    DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "a source stack"));
    DRYDOCK_TRY(const JsonView layer, object.Require("layer"));
    DRYDOCK_TRY(stack.layer, ReadFrame(layer));
    DRYDOCK_TRY(const JsonView list, object.Require("frames"));
    DRYDOCK_TRY(frames, ReadJsonList(list, "frames"));
    DRYDOCK_RETURN_IF_ERROR(object.Finish());
  }
  for (const JsonView frame : frames) {
    DRYDOCK_TRY(SourcePlace place, ReadFrame(frame));
    stack.frames.push_back(std::move(place));
  }
  return stack;
}

Result<std::vector<TensorLayout>> ReadJsonLayouts(JsonView value) {
  DRYDOCK_TRY(const std::vector<JsonView> elements, ReadJsonList(value, "layout"));
  std::vector<TensorLayout> layouts;
  for (const JsonView element : elements) {
    DRYDOCK_TRY(TensorLayout layout, ReadLayout(element));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

void AppendJsonAttr(std::string& out, const Attr& attr) {
  std::visit(Overloaded{
                 [&out](std::monostate) { out += "null"; },
                 [&out](bool flag) { out += flag ? "true" : "false"; },
                 [&out](std::int64_t number) { out += std::to_string(number); },
                 [&out](double number) { AppendFloatAttr(out, number); },
                 [&out](const std::string& text) { AppendJsonText(out, text); },
                 [&out](const Attr::List& list) { AppendList(out, list); },
                 [&out](const RankExpr& expr) { AppendExpr(out, expr); },
             },
             attr.value);
}

void AppendJsonAttrs(std::string& out, const AttrMap& attrs) {
  out += '{';
  bool first = true;
  for (const auto& [name, attr] : attrs) {
    out += first ? "" : ",";
    first = false;
    AppendJsonText(out, name);
    out += ':';
    AppendJsonAttr(out, attr);
  }
  out += '}';
}

void AppendJsonStack(std::string& out, const SourceStack& stack) {
  if (stack.layer) {
    out += "{\"layer\":";
    AppendFrame(out, *stack.layer);
    out += ",\"frames\":";
  }
  out += '[';
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    out += i > 0 ? "," : "";
    AppendFrame(out, stack.frames[i]);
  }
  out += stack.layer ? "]}" : "]";
}

void AppendJsonIntLists(std::string& out, const std::vector<std::vector<std::int64_t>>& lists) {
  out += '[';
  for (std::size_t i = 0; i < lists.size(); ++i) {
    out += i > 0 ? "," : "";
    AppendJsonInts(out, lists[i]);
  }
  out += ']';
}

void AppendJsonLayouts(std::string& out, const std::vector<TensorLayout>& layouts) {
  out += '[';
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    out += i > 0 ? ",{\"device_matrix\":" : "{\"device_matrix\":";
    AppendJsonInts(out, layouts[i].device_matrix);
    out += ",\"tensor_map\":";
    AppendJsonIntLists(out, WithTrailingNone(layouts[i]));
    if (layouts[i].interleave > 1) {
      out += ",\"interleaved_parallel\":true";
    }
    if (!layouts[i].shape.empty()) {
      out += ",\"shape\":";
      AppendJsonInts(out, layouts[i].shape);
    }
    out += '}';
  }
  out += ']';
}

}  // namespace drydock::strategies
