#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "strategies/document/json_reader.h"
#include "strategies/graph/attr.h"
#include "strategies/graph/graph.h"

/// Typed reading of the parts of a graph document. Every failure is kInvalidArgument with the place
/// of the value in the text; `what` names the field in messages.
namespace drydock::strategies {

/// Failure at a value of the document.
[[nodiscard]] tl::unexpected<Error> FailAtJson(JsonView where, std::string reason,
                                               std::string message, std::string hint = {});

/// Fields of one object. Each known field is asked for; `Finish` then refuses every other field.
class ObjectReader {
 public:
  /// @error  not an object, or a field occurs twice
  [[nodiscard]] static Result<ObjectReader> Make(JsonView object, std::string what);
  /// The field, if it is there and not null.
  [[nodiscard]] std::optional<JsonView> Find(std::string_view name);
  /// The field. @error  missing or null
  [[nodiscard]] Result<JsonView> Require(std::string_view name);
  /// @error  a field that nobody asked for; suggests the nearest known one
  [[nodiscard]] Status Finish() const;
  [[nodiscard]] JsonView object() const { return object_; }

 private:
  ObjectReader(JsonView object, std::string what) : object_(object), what_(std::move(what)) {}
  JsonView object_;
  std::string what_ = {};
  std::vector<std::pair<JsonView, JsonView>> members_ = {};
  std::vector<std::string> known_ = {};
};

[[nodiscard]] Result<std::string> ReadJsonText(JsonView value, std::string_view what);
[[nodiscard]] Result<std::int64_t> ReadJsonInt(JsonView value, std::string_view what);
[[nodiscard]] Result<bool> ReadJsonBool(JsonView value, std::string_view what);
/// A number, true, false, "nan", "inf" or "-inf".
[[nodiscard]] Result<double> ReadJsonFloat(JsonView value, std::string_view what);
[[nodiscard]] Result<std::vector<JsonView>> ReadJsonList(JsonView value, std::string_view what);
[[nodiscard]] Result<std::vector<std::int64_t>> ReadJsonInts(JsonView value, std::string_view what);
/// [[2,4],[4,1]]
[[nodiscard]] Result<Strategy> ReadJsonStrategy(JsonView value, std::string_view what);

/// Optional fields: the value in the object, else `fallback`.
[[nodiscard]] Result<std::string> TextField(ObjectReader& object, std::string_view name,
                                            std::string fallback);
[[nodiscard]] Result<std::int64_t> IntField(ObjectReader& object, std::string_view name,
                                            std::int64_t fallback);
[[nodiscard]] Result<bool> BoolField(ObjectReader& object, std::string_view name, bool fallback);

/// Type of an object: its field `shape_field`, and "dtype".
[[nodiscard]] Result<TensorType> ReadJsonType(ObjectReader& object, std::string_view shape_field);
/// A list of operator attributes by name.
[[nodiscard]] Result<AttrMap> ReadJsonAttrs(JsonView value);
/// Fields "file", "line", "column" and "text" of an object that may have others.
[[nodiscard]] Result<SourcePlace> ReadJsonFrame(ObjectReader& object);
/// "net.py:41:34", {"file","line","column","text"}, a list of these, innermost first, or
/// {"layer": one of these, "frames": the list}.
[[nodiscard]] Result<SourceStack> ReadJsonStack(JsonView value);
/// {"device_matrix":[2,2],"alias_name":["dp","mp"],"tensor_map":["dp",["mp"],"None",-1]} for each
/// tensor.
[[nodiscard]] Result<std::vector<TensorLayout>> ReadJsonLayouts(JsonView value);

/// The same in the other direction.
void AppendJsonAttr(std::string& out, const Attr& attr);
void AppendJsonAttrs(std::string& out, const AttrMap& attrs);
void AppendJsonStack(std::string& out, const SourceStack& stack);
void AppendJsonLayouts(std::string& out, const std::vector<TensorLayout>& layouts);
void AppendJsonIntLists(std::string& out, const std::vector<std::vector<std::int64_t>>& lists);

}  // namespace drydock::strategies
