#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Stages that have a value or run a node; empty: all of them, as far as they want it.
using Stages = std::set<std::int32_t>;

/// What takes any number of operands takes those that are in a stage.
[[nodiscard]] bool TakesAnyNumber(const Node& node);

/// A stage that an attribute of a transfer names: "from_stage", "to_stage".
[[nodiscard]] std::int32_t StageAttr(const Node& node, std::string_view name);

/// Says of every node and value of the draft where it is.
class StageMap {
 public:
  explicit StageMap(LocalDraft& draft);

  Status Build();

  /// A weight of all stages that one of them computes with.
  struct Stray {
    ValueId weight = kNoValue;  ///< As traced.
    std::int32_t home = 0;
  };
  /// By the gradient.
  [[nodiscard]] const std::map<ValueId, Stray>& Strays() const { return strays_; }

  [[nodiscard]] bool IsTransfer(const Node& node) const { return node.entry == transfer_; }
  [[nodiscard]] const Stages& OfNode(std::size_t n) const { return of_node_[n]; }
  [[nodiscard]] const Stages& OfValue(ValueId id) const { return of_value_[ToIndex(id)]; }
  /// What is asked for as the gradient of a weight; kNoValue if nothing is.
  [[nodiscard]] ValueId GradientOf(ValueId weight) const;
  /// A node behind the gradients.
  [[nodiscard]] bool IsBehind(const Node& node) const;
  /// The gradient that a transfer of the backward pass belongs to, if it is that of a weight.
  [[nodiscard]] ValueId GradientPassed(const Node& transfer) const;

 private:
  /// Weights are where forward nodes use them, states where their weight is.
  void PlaceWeights();
  void FindGradients();
  void NoteStray(const Node& node, ValueId input);
  Status PlaceNode(std::size_t n);
  /// What a cell of a stage writes to a parameter of its own.
  [[nodiscard]] bool IsEffect(const Node& node) const;
  [[nodiscard]] bool IsForward(const Node& node) const;
  [[nodiscard]] Result<Stages> StagesOfOperands(const Node& node) const;
  /// A weight that a stage received is updated there, too, with a gradient of the same name.
  void NoteReturned(const Node& node);
  void NoteGradient(const Node& node);

  LocalDraft& draft_;
  const Graph& graph_;
  std::vector<Stages> of_value_;
  std::vector<Stages> of_node_;
  const OpEntry* transfer_;
  const OpEntry* depend_;
  std::map<ValueId, Stages> returned_ = {};      ///< By the gradient: who sends a part of it back.
  std::map<ValueId, ValueId> gradients_ = {};    ///< By the weight.
  std::map<ValueId, Stray> strays_ = {};         ///< By the gradient.
  std::map<std::string, ValueId> by_name_ = {};  ///< Parameters.
};

}  // namespace drydock::strategies
