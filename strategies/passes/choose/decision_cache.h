#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "strategies/graph/graph.h"
#include "strategies/graph/shared_value.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/choose/recent.h"

namespace drydock::strategies {

/// One end of a connection as the operator being decided sees it.
struct Connection {
  bool incoming = true;       ///< The other operator is the producer.
  std::int32_t position = 0;  ///< Tensor operand (incoming) or output of this operator.
  DType dtype = DType::kFloat32;
  bool identity = false;    ///< No redistribution is wanted on the connection.
  bool offered = false;     ///< The other operator offers its layout as a candidate.
  TensorLayout other = {};  ///< Layout at the other, decided end.
  friend bool operator==(const Connection&, const Connection&) = default;
};

/// Everything the choice of an operator's strategy depends on, within one job. Layers that repeat
/// ask the same question again and again.
struct DecisionQuestion {
  const OpEntry* entry = nullptr;
  std::vector<TensorType> inputs = {};  ///< Present operands only.
  std::vector<TensorType> outputs = {};
  std::uint64_t absent = 0;  ///< As OpView::absent.
  AttrMap attrs = {};
  Boxed<Strategy> out_strategy = {};
  bool by_one_edge = false;  ///< The rule for a single connection is used.
  bool exact = false;        ///< Only a candidate with the layout at the one connection will do.
  std::vector<Connection> connections = {};
  friend bool operator==(const DecisionQuestion&, const DecisionQuestion&) = default;
};

/// What is asked about an operator, without its connections.
[[nodiscard]] DecisionQuestion QuestionAbout(const Graph& graph, const Node& node);

/// Answers found so far; the most recent ones of each operator are kept, so that networks without
/// repetition cost neither memory nor time.
class DecisionCache {
 public:
  /// The answer to an equal question, null if there is none; an empty answer: nothing will do.
  /// Valid until the next Add.
  [[nodiscard]] const SharedValue<OpSharding>* Find(const DecisionQuestion& question) const;
  void Add(DecisionQuestion question, SharedValue<OpSharding> answer);

 private:
  struct Answer {
    DecisionQuestion question = {};
    SharedValue<OpSharding> sharding = {};
  };
  std::map<const OpEntry*, Recent<Answer>> answers_;  ///< Look-up only: any order of addresses.
};

}  // namespace drydock::strategies
