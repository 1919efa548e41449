#include "sim/tracer/json_values.h"

#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/overloaded.h"
#include "strategies/layout/tensor_layout.h"

namespace drydock::sim {
namespace {

using nlohmann::json;
using strategies::Attr;

tl::unexpected<Error> BadField(std::string_view name, std::string_view expected) {
  return FailInput("trace:request", "field '" + std::string(name) +
                                        "' of a trace request must be " + std::string(expected));
}

const json* Find(const json& request, std::string_view name) {
  if (!request.is_object()) {
    return nullptr;
  }
  const auto it = request.find(name);
  return it == request.end() || it->is_null() ? nullptr : &*it;
}

/// Whole numbers only: 64-bit signed, no silent wrap of larger ones.
std::optional<std::int64_t> IntOf(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  return std::nullopt;
}

Result<std::vector<std::int64_t>> IntsOf(const json& value, std::string_view name) {
  if (!value.is_array()) {
    return BadField(name, "a list of whole numbers");
  }
  std::vector<std::int64_t> numbers;
  for (const json& item : value) {
    const std::optional<std::int64_t> number = IntOf(item);
    if (!number) {
      return BadField(name, "a list of whole numbers");
    }
    numbers.push_back(*number);
  }
  return numbers;
}

Result<Attr> AttrFrom(const json& value, std::string_view name, int depth) {
  if (value.is_null()) {
    return Attr();
  }
  if (value.is_boolean()) {
    return Attr(value.get<bool>());
  }
  if (value.is_string()) {
    return Attr(value.get<std::string>());
  }
  if (value.is_number_float()) {
    return Attr(value.get<double>());
  }
  if (const std::optional<std::int64_t> number = IntOf(value)) {
    return Attr(*number);
  }
  if (!value.is_array() || depth >= kMaxAttrNesting) {
    return BadField(name, "a number, a string, a bool, None or a list of them");
  }
  Attr::List list;
  for (const json& item : value) {
    DRYDOCK_TRY(Attr element, AttrFrom(item, name, depth + 1));
    list.push_back(std::move(element));
  }
  return Attr(std::move(list));
}

/// One tensor-map entry: -1, an axis, or a list of axes.
Result<std::vector<std::int64_t>> MapEntry(const json& entry, std::string_view name) {
  if (entry.is_array()) {
    return IntsOf(entry, name);
  }
  const std::optional<std::int64_t> axis = IntOf(entry);
  if (!axis) {
    return BadField(name, "a list of layouts with device_matrix and tensor_map");
  }
  return std::vector<std::int64_t>{*axis};
}

Result<strategies::TensorLayout> LayoutFrom(const json& value, std::string_view name) {
  const json* map = Find(value, "tensor_map");
  if (map == nullptr || !map->is_array()) {
    return BadField(name, "a list of layouts with device_matrix and tensor_map");
  }
  strategies::TensorLayout layout;
  DRYDOCK_TRY(layout.device_matrix, IntListField(value, "device_matrix"));
  const json* interleaved = Find(value, "interleaved_parallel");
  if (interleaved != nullptr && *interleaved == true && !layout.device_matrix.empty()) {
    layout.interleave = layout.device_matrix.back();
  }
  std::vector<std::vector<std::int64_t>> axes_of_dimensions;
  for (const json& entry : *map) {
    DRYDOCK_TRY(std::vector<std::int64_t> axes, MapEntry(entry, name));
    axes_of_dimensions.push_back(std::move(axes));
  }
  DRYDOCK_RETURN_IF_ERROR(strategies::SetTensorMap(layout, std::move(axes_of_dimensions)));
  return layout;
}

}  // namespace

Result<std::string> TextField(const json& request, std::string_view name) {
  const json* value = Find(request, name);
  if (value == nullptr || !value->is_string()) {
    return BadField(name, "a string");
  }
  return value->get<std::string>();
}

std::string TextFieldOr(const json& request, std::string_view name, std::string_view fallback) {
  const json* value = Find(request, name);
  return value == nullptr || !value->is_string() ? std::string(fallback)
                                                 : value->get<std::string>();
}

Result<std::int64_t> IntFieldOr(const json& request, std::string_view name, std::int64_t fallback) {
  const json* value = Find(request, name);
  if (value == nullptr) {
    return fallback;
  }
  const std::optional<std::int64_t> number = IntOf(*value);
  if (!number) {
    return BadField(name, "a whole number");
  }
  return *number;
}

bool BoolFieldOr(const json& request, std::string_view name, bool fallback) {
  const json* value = Find(request, name);
  return value == nullptr || !value->is_boolean() ? fallback : value->get<bool>();
}

Result<std::vector<std::int64_t>> IntListField(const json& request, std::string_view name) {
  const json* value = Find(request, name);
  if (value == nullptr) {
    return BadField(name, "a list of whole numbers");
  }
  return IntsOf(*value, name);
}

Result<strategies::TensorType> TypeFields(const json& request) {
  strategies::TensorType type;
  DRYDOCK_TRY(type.shape, IntListField(request, "shape"));
  DRYDOCK_TRY(const std::string dtype, TextField(request, "dtype"));
  DRYDOCK_TRY(type.dtype, strategies::ParseDType(dtype));
  return type;
}

Result<strategies::AttrMap> AttrsField(const json& request) {
  strategies::AttrMap attrs;
  const json* value = Find(request, "attrs");
  if (value == nullptr) {
    return attrs;
  }
  if (!value->is_object()) {
    return BadField("attrs", "an object");
  }
  for (const auto& item : value->items()) {
    DRYDOCK_TRY(Attr attr, AttrFrom(item.value(), item.key(), 0));
    attrs.insert_or_assign(item.key(), std::move(attr));
  }
  return attrs;
}

Result<std::optional<strategies::Strategy>> StrategyField(const json& request,
                                                          std::string_view name) {
  const json* value = Find(request, name);
  if (value == nullptr) {
    return std::optional<strategies::Strategy>();
  }
  if (!value->is_array()) {
    return BadField(name, "a list of lists of cuts");
  }
  strategies::Strategy strategy;
  for (const json& entry : *value) {
    DRYDOCK_TRY(std::vector<std::int64_t> cuts, IntsOf(entry, name));
    strategy.push_back(std::move(cuts));
  }
  return std::optional<strategies::Strategy>(std::move(strategy));
}

Result<std::optional<std::vector<strategies::TensorLayout>>> LayoutsField(const json& request,
                                                                          std::string_view name) {
  using Layouts = std::vector<strategies::TensorLayout>;
  const json* value = Find(request, name);
  if (value == nullptr) {
    return std::optional<Layouts>();
  }
  if (!value->is_array()) {
    return BadField(name, "a list of layouts with device_matrix and tensor_map");
  }
  Layouts layouts;
  for (const json& entry : *value) {
    DRYDOCK_TRY(strategies::TensorLayout layout, LayoutFrom(entry, name));
    layouts.push_back(std::move(layout));
  }
  return std::optional<Layouts>(std::move(layouts));
}

Result<SourcePlace> PlaceFrom(const json& value) {
  constexpr std::int64_t kMaxLine = std::numeric_limits<std::int32_t>::max();
  SourcePlace place;
  DRYDOCK_TRY(place.file, TextField(value, "file"));
  DRYDOCK_TRY(const std::int64_t line, IntFieldOr(value, "line", 0));
  DRYDOCK_TRY(const std::int64_t column, IntFieldOr(value, "column", 0));
  if (line < 0 || line > kMaxLine || column < 0 || column > kMaxLine) {
    return BadField("line", "a line number");
  }
  place.line = static_cast<std::int32_t>(line);
  place.column = static_cast<std::int32_t>(column);
  place.text = TextFieldOr(value, "text", "");
  return place;
}

json AttrJson(const Attr& attr) {
  return std::visit(Overloaded{[](const Attr::List& list) {
                                 json items = json::array();
                                 for (const Attr& item : list) {
                                   items.push_back(AttrJson(item));
                                 }
                                 return items;
                               },
                               [](const std::monostate&) { return json(); },
                               [](const strategies::RankExpr&) { return json(); },
                               [](const auto& value) { return json(value); }},
                    attr.value);
}

json ErrorJson(const Error& error) {
  json value = {{"code", ErrorCodeName(error.code)},
                {"message", error.message},
                {"hint", error.hint},
                {"reason", error.reason},
                {"notes", error.notes}};
  if (error.place) {
    value["place"] = {{"file", error.place->file},
                      {"line", error.place->line},
                      {"column", error.place->column},
                      {"text", error.place->text}};
  }
  return {{"error", std::move(value)}};
}

}  // namespace drydock::sim
