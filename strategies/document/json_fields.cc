#include "strategies/document/json_fields.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/text.h"

namespace drydock::strategies {
namespace {

tl::unexpected<Error> WrongKind(JsonView value, std::string_view what, std::string_view wanted) {
  return FailAtJson(value, "graph:wrong-type",
                    "'" + std::string(what) + "' must be " + std::string(wanted) + ", but it is " +
                        std::string(JsonKindText(value.kind())));
}

/// "+inf" and friends, which JSON has no numbers for.
std::optional<double> SpecialFloat(std::string_view text) {
  using Limits = std::numeric_limits<double>;
  if (text == "nan") {
    return Limits::quiet_NaN();
  }
  if (text == "inf" || text == "-inf") {
    return text == "inf" ? Limits::infinity() : -Limits::infinity();
  }
  return std::nullopt;
}

}  // namespace

namespace {

/// Each kind of document has a remedy of its own, which its reader may put in place of ours.
tl::unexpected<Error> FailField(JsonView where, std::string reason, std::string message,
                                std::string hint) {
  return tl::unexpected(
      WithCause(FailAtJson(where, std::move(reason), std::move(message), std::move(hint)).value(),
                DocumentCause::kFields));
}

}  // namespace

tl::unexpected<Error> FailAtJson(JsonView where, std::string reason, std::string message,
                                 std::string hint) {
  Error error = FailInput(std::move(reason), std::move(message), std::move(hint)).value();
  error.place = where.Place();
  return tl::unexpected(std::move(error));
}

Result<ObjectReader> ObjectReader::Make(JsonView object, std::string what) {
  if (object.kind() != JsonKind::kObject) {
    return WrongKind(object, what, "an object");
  }
  ObjectReader reader(object, std::move(what));
  reader.members_ = object.Members();
  std::set<std::string_view> seen;
  for (const auto& [name, value] : reader.members_) {
    if (!seen.insert(name.AsText()).second) {
      return FailAtJson(
          name, "graph:duplicate-field",
          "field '" + std::string(name.AsText()) + "' occurs twice in " + reader.what_,
          "keep one of them");
    }
  }
  return reader;
}

std::optional<JsonView> ObjectReader::Find(std::string_view name) {
  known_.emplace_back(name);
  for (const auto& [key, value] : members_) {
    if (key.AsText() == name) {
      return value.kind() == JsonKind::kNull ? std::nullopt : std::optional<JsonView>(value);
    }
  }
  return std::nullopt;
}

Result<JsonView> ObjectReader::Require(std::string_view name) {
  const std::optional<JsonView> found = Find(name);
  if (!found) {
    return FailField(object_, "graph:missing-field",
                     what_ + " has no field '" + std::string(name) + "'",
                     "add it; docs/graph-format.md shows a complete document");
  }
  return *found;
}

Status ObjectReader::Finish() const {
  const std::vector<std::string_view> known(known_.begin(), known_.end());
  for (const auto& [name, value] : members_) {
    if (std::ranges::find(known, name.AsText()) == known.end()) {
      const std::string nearest = NearestWord(name.AsText(), known);
      const std::string message = what_ + " has no field '" + std::string(name.AsText()) + "'";
      return nearest.empty() ? FailField(name, "graph:unknown-field", message,
                                         "see docs/graph-format.md for the fields there are")
                             : FailAtJson(name, "graph:unknown-field", message,
                                          "did you mean '" + nearest + "'?");
    }
  }
  return {};
}

Result<std::string> ReadJsonText(JsonView value, std::string_view what) {
  if (value.kind() != JsonKind::kString) {
    return WrongKind(value, what, "a string");
  }
  return std::string(value.AsText());
}

Result<std::int64_t> ReadJsonInt(JsonView value, std::string_view what) {
  if (value.kind() != JsonKind::kInt) {
    return WrongKind(value, what, "an integer");
  }
  return value.AsInt();
}

Result<bool> ReadJsonBool(JsonView value, std::string_view what) {
  if (value.kind() != JsonKind::kBool) {
    return WrongKind(value, what, "true or false");
  }
  return value.AsBool();
}

Result<double> ReadJsonFloat(JsonView value, std::string_view what) {
  if (value.kind() == JsonKind::kInt || value.kind() == JsonKind::kFloat) {
    return value.AsFloat();
  }
  if (value.kind() == JsonKind::kBool) {
    return value.AsBool() ? 1.0 : 0.0;
  }
  const std::optional<double> special =
      value.kind() == JsonKind::kString ? SpecialFloat(value.AsText()) : std::nullopt;
  if (!special) {
    return WrongKind(value, what, "a number, true, false, \"nan\", \"inf\" or \"-inf\"");
  }
  return *special;
}

Result<std::vector<JsonView>> ReadJsonList(JsonView value, std::string_view what) {
  if (value.kind() != JsonKind::kArray) {
    return WrongKind(value, what, "a list");
  }
  return value.Elements();
}

Result<std::vector<std::int64_t>> ReadJsonInts(JsonView value, std::string_view what) {
  DRYDOCK_TRY(const std::vector<JsonView> elements, ReadJsonList(value, what));
  std::vector<std::int64_t> numbers;
  numbers.reserve(elements.size());
  for (const JsonView element : elements) {
    DRYDOCK_TRY(const std::int64_t number, ReadJsonInt(element, what));
    numbers.push_back(number);
  }
  return numbers;
}

namespace {

Result<Strategy> ReadCuts(JsonView value, std::string_view what) {
  DRYDOCK_TRY(const std::vector<JsonView> elements, ReadJsonList(value, what));
  Strategy strategy;
  for (const JsonView element : elements) {
    DRYDOCK_TRY(std::vector<std::int64_t> cuts, ReadJsonInts(element, what));
    strategy.push_back(std::move(cuts));
  }
  return strategy;
}

}  // namespace

Result<Strategy> ReadJsonStrategy(JsonView value, std::string_view what) {
  Result<Strategy> strategy = ReadCuts(value, what);
  if (!strategy) {
    strategy.error().hint =
        "write one list of whole numbers per input, for instance [[2, 4], [4, 1]]";
  }
  return strategy;
}

Result<std::string> TextField(ObjectReader& object, std::string_view name, std::string fallback) {
  const std::optional<JsonView> value = object.Find(name);
  return value ? ReadJsonText(*value, name) : fallback;
}

Result<std::int64_t> IntField(ObjectReader& object, std::string_view name, std::int64_t fallback) {
  const std::optional<JsonView> value = object.Find(name);
  return value ? ReadJsonInt(*value, name) : fallback;
}

Result<bool> BoolField(ObjectReader& object, std::string_view name, bool fallback) {
  const std::optional<JsonView> value = object.Find(name);
  return value ? ReadJsonBool(*value, name) : fallback;
}

Result<TensorType> ReadJsonType(ObjectReader& object, std::string_view shape_field) {
  DRYDOCK_TRY(const JsonView shape, object.Require(shape_field));
  DRYDOCK_TRY(const JsonView dtype, object.Require("dtype"));
  TensorType type;
  DRYDOCK_TRY(type.shape, ReadJsonInts(shape, shape_field));
  DRYDOCK_TRY(const std::string name, ReadJsonText(dtype, "dtype"));
  const Result<DType> parsed = ParseDType(name);
  if (!parsed) {
    return tl::unexpected(WithPlace(parsed.error(), dtype.Place()));
  }
  type.dtype = *parsed;
  return type;
}

}  // namespace drydock::strategies
