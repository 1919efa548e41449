#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strategies/operators/sharding.h"
#include "tests/proof/proof_step.h"

namespace drydock::strategies::proof {

/// Builds the training step around one operator; used by MakeProofProgram only.
class StepBuilder {
 public:
  StepBuilder(ProofProgram& program, std::int64_t world_size, Draw& draw);

  /// Fills `step`, `how`, `cut`, `leaves` and the output positions of the program.
  [[nodiscard]] Status Build() &&;

 private:
  [[nodiscard]] Status BuildForward(const OpEntry& entry);
  [[nodiscard]] Status BuildUpdate();
  [[nodiscard]] Status Finish();

  [[nodiscard]] Result<ValueId> Source(const Operand& operand);
  [[nodiscard]] Result<ValueId> UpdateSource(const Operand& operand, ValueId weight,
                                             ValueId gradient);
  [[nodiscard]] Result<ValueId> Parameter_(const TensorType& type, NdArray data, Parameter info);
  [[nodiscard]] Result<ValueId> Input(const TensorType& type, NdArray data);
  /// A parameter that is no leaf: factors of the loss, ones.
  [[nodiscard]] Result<ValueId> Factor(const TensorType& type, double low, double high);
  [[nodiscard]] Result<ValueId> Loss(const std::vector<ValueId>& outputs);
  [[nodiscard]] Result<ValueId> Term(ValueId output, bool alone);

  void ChooseStrategy(Node& node, bool is_subject);
  void ChooseDataset();
  [[nodiscard]] DeviceContext Devices() const;

  ProofProgram& program_;
  Draw& draw_;
  GraphBuilder builder_;
  NodeId subject_ = kNoNode;
  std::vector<ValueId> leaf_values_ = {};
  std::vector<ValueId> outputs_ = {};
};

}  // namespace drydock::strategies::proof
