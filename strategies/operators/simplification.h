#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "strategies/graph/graph.h"

namespace drydock::strategies {

/// What an operator's entry sees when it is asked for a simpler form of one of its applications.
struct SimplifyContext {
  const Graph& graph;
  const Node& node;
  std::span<const std::int32_t> uses;  ///< Per value: operands and graph outputs that read it.

  [[nodiscard]] const TensorType& TypeOf(ValueId id) const { return graph.at(id).type; }
  /// Node whose result a value is; null for inputs, parameters and constants.
  [[nodiscard]] const Node* ProducerOf(ValueId id) const;
  /// The number that all elements of a constant are; empty for everything else.
  [[nodiscard]] std::optional<double> NumberOf(ValueId id) const;
};

/// The number that all elements of a constant are; empty for everything else.
[[nodiscard]] std::optional<double> UniformNumber(const Graph& graph, ValueId id);

/// What becomes of an application: a number, another value in place of its result, or an operator
/// with other operands and attributes.
struct Simplification {
  std::optional<double> number = {};  ///< Result 0 is a constant, all of whose elements are this.
  ValueId result = kNoValue;          ///< Stands for result 0, the node goes.
  std::string_view op = {};           ///< Empty: the same operator.
  std::vector<ValueId> inputs = {};
  /// A further operand behind `inputs`: this number, of the element type of operand 0.
  std::optional<double> last_operand = {};
  AttrMap attrs = {};
};

/// Empty: nothing simpler. Source: mindspore ccsrc/frontend/optimizer/irpass (behaviour only).
using SimplifyFn = std::optional<Simplification> (*)(const SimplifyContext&);

/// A kernel that does the work of an operator and of the one that makes its operand 0.
///
/// Operands: those of the first operator, then the others of this one. Results: those of this one,
/// then the first operator's. Example: Add + RmsNorm -> AddRmsNorm(x, y, gamma) -> normal, scale,
/// sum. All operands have one element type, those of the first operator one shape. Source:
/// mindspore ccsrc/plugin/device/ascend/optimizer/ir_fusion (behaviour only).
struct KernelFusion {
  std::string_view first = {};  ///< Operator that makes operand 0; empty: no fusion is known.
  std::string_view fused = {};
};

}  // namespace drydock::strategies
