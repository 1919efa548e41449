#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "strategies/graph/graph.h"

namespace drydock::sim {

/// Deepest nesting of lists in an attribute that the tracer may send.
inline constexpr int kMaxAttrNesting = 16;

/// Fields of a request; every function answers kInvalidArgument naming the field if it is missing
/// (without a fallback) or has another type.
[[nodiscard]] Result<std::string> TextField(const nlohmann::json& request, std::string_view name);
[[nodiscard]] std::string TextFieldOr(const nlohmann::json& request, std::string_view name,
                                      std::string_view fallback);
[[nodiscard]] Result<std::int64_t> IntFieldOr(const nlohmann::json& request, std::string_view name,
                                              std::int64_t fallback);
[[nodiscard]] bool BoolFieldOr(const nlohmann::json& request, std::string_view name, bool fallback);
[[nodiscard]] Result<std::vector<std::int64_t>> IntListField(const nlohmann::json& request,
                                                             std::string_view name);

/// Shape and element type of fields "shape" and "dtype".
[[nodiscard]] Result<strategies::TensorType> TypeFields(const nlohmann::json& request);

/// Attributes by name from field "attrs"; empty if absent.
[[nodiscard]] Result<strategies::AttrMap> AttrsField(const nlohmann::json& request);

/// Strategy of field `name`; nullopt if absent or null.
[[nodiscard]] Result<std::optional<strategies::Strategy>> StrategyField(
    const nlohmann::json& request, std::string_view name);

/// Layouts of field `name`, shapes left empty; nullopt if absent or null.
[[nodiscard]] Result<std::optional<std::vector<strategies::TensorLayout>>> LayoutsField(
    const nlohmann::json& request, std::string_view name);

/// {"file","line","column","text"} -> place.
[[nodiscard]] Result<SourcePlace> PlaceFrom(const nlohmann::json& value);

/// An attribute as JSON; numbers that depend on the rank do not occur before sharding and give
/// null.
[[nodiscard]] nlohmann::json AttrJson(const strategies::Attr& attr);

/// {"error": {...}}: an error as the Python side reads it.
[[nodiscard]] nlohmann::json ErrorJson(const Error& error);

}  // namespace drydock::sim
