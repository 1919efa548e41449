#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "strategies/document/json_fields.h"
#include "strategies/document/json_reader.h"
#include "strategies/operators/builder.h"

namespace drydock::strategies {

/// The label a result has unless the document gives one: "MatMul0" for the first MatMul of the
/// document, "Split0:1" for the second result of the first Split.
[[nodiscard]] std::string DefaultLabel(std::string_view op, std::int64_t count, std::size_t output);

/// Names by which the document refers to values.
class LabelTable {
 public:
  /// @error kInvalidArgument  the label is taken; tells where
  [[nodiscard]] Status Declare(const std::string& label, ValueId value, JsonView where);
  [[nodiscard]] std::optional<ValueId> Find(std::string_view label) const;
  /// The known label nearest to `label`, empty if none is near.
  [[nodiscard]] std::string Nearest(std::string_view label) const;

 private:
  struct Declaration {
    ValueId value = kNoValue;
    JsonView where;
  };
  std::unordered_map<std::string, Declaration> declared_ = {};
};

/// A place of a node or parameter: an index into the stacks that `builder` has, or a stack that is
/// added to them.
/// @error kInvalidArgument  no such index, not a stack
[[nodiscard]] Result<std::int32_t> ReadJsonPlace(JsonView value, GraphBuilder& builder);

/// What a parameter says of itself beside its name, type and weight: "role" (`fallback` without
/// it), "requires_grad", "layerwise_parallel", "parallel_optimizer", "comm_fusion", "place".
[[nodiscard]] Result<Parameter> ReadJsonParameter(ObjectReader& object, ParameterRole fallback,
                                                  GraphBuilder& builder);

/// What a node says of itself beside its operands and the names of its results.
struct JsonNode {
  std::string op = {};
  Node node = {};  ///< Attributes, scope, place, phase, stage, strategies.
  std::optional<std::vector<TensorType>> output_types = {};
};
[[nodiscard]] Result<JsonNode> ReadJsonNode(ObjectReader& object, GraphBuilder& builder);

/// "strategy", "out_strategy", "layout", "out_layout" and "shard_place": what shard() says.
[[nodiscard]] Status ReadJsonSharding(ObjectReader& object, Node& node, GraphBuilder& builder);

/// Adds a node with the given operands; its types are inferred, or `output_types` if `given_types`.
[[nodiscard]] Result<NodeId> AddJsonNode(JsonNode node, std::vector<ValueId> inputs,
                                         bool given_types, GraphBuilder& builder);

/// A list of numbers of any nesting, row major.
[[nodiscard]] Result<std::vector<double>> ReadJsonData(JsonView value);

/// Reads "nodes" into `builder`; operands are looked up in `labels`, results are added there.
/// @error kInvalidArgument  undefined name, use before definition, cycle, illegal operand, unknown
/// field
/// @error kUnsupported      operator without an entry and without "output_types"
[[nodiscard]] Status ReadJsonNodes(JsonView nodes, LabelTable& labels, GraphBuilder& builder);

}  // namespace drydock::strategies
