#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "strategies/operators/builder.h"
#include "strategies/operators/op_example.h"
#include "strategies/operators/sharding.h"

namespace drydock::strategies::cases {

using nlohmann::json;
using Numbers = std::vector<std::int64_t>;

/// One application of an operator; owns what an OpView points to.
using OpCase = OpExample;
using strategies::LocalExample;

/// The example of the operator's entry; nullopt for operators of compiled programs only that have
/// none.
[[nodiscard]] std::optional<OpCase> SampleOf(const OpEntry& entry);

/// Document `name` of DRYDOCK_VECTORS, or of the tree; null if unreadable.
[[nodiscard]] json VectorDocument(const std::string& name);

/// Entry of an operator as the vectors name it (without the leading underscore of internal
/// operators; the reference's unit tests of batched products call them MatMul). Null if there is
/// none.
[[nodiscard]] const OpEntry* EntryOf(std::string_view name, std::size_t input_rank);

/// Application with the shapes and attributes of a vector; element types as in the sample.
[[nodiscard]] OpCase CaseFrom(const OpEntry& entry, const json& input_shapes,
                              const json& output_shapes, const json& attrs);

/// ((2, 4), ()) from [[2, 4], []].
[[nodiscard]] Strategy StrategyFrom(const json& entries);

/// One axis a dimension, -1 = not cut; an axis list of several entries stays a list.
[[nodiscard]] json MapOf(const TensorLayout& layout);

/// Ranks that hold the same slice of an input and must sum its gradient if it is a parameter; every
/// rank alone where the operator gives no mirror to that input.
[[nodiscard]] GroupPattern MirrorGroup(const OpEntry& entry, const OpSharding& sharding,
                                       std::size_t input);

/// Values of attribute `name` over all nodes `op` of a program for the rank at `position`.
[[nodiscard]] std::vector<std::string> AttrTexts(const Graph& graph, std::string_view op,
                                                 std::string_view name, std::int64_t position);

/// "id.of.case" -> a name GoogleTest accepts.
[[nodiscard]] std::string TestName(std::string text);

}  // namespace drydock::strategies::cases
