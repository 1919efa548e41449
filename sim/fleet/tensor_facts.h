#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/memory/lifetimes.h"
#include "sim/memory/plan.h"
#include "strategies/program/local_program.h"

/// The buffers of a memory plan in terms of the user's network.
namespace drydock::sim {

/// A tensor in memory.
struct PeakTensor {
  std::string name = {};  ///< Parameter name, or "<op> result of <instance>", or "workspace".
  std::string op = {};    ///< Producing operator; empty for parameters and inputs.
  BufferKind kind = BufferKind::kActivation;
  std::int64_t bytes = 0;      ///< As placed (rounded).
  std::string type_text = {};  ///< "float32 (8, 16)", local.
  std::optional<SourcePlace> place = {};
  /// Full name of the operator of the rank's program that makes it, or first reads it (of
  /// an optimizer state: its weight) where none does; empty where nothing is known.
  std::string operator_name = {};
  std::string scope = {};  ///< Scope of that operator, a Cell of the script; see ScopeOfNetwork.
};

/// What the tensors of one layer take at the peak.
struct LayerMemory {
  std::string scope = {};
  std::array<std::int64_t, kBufferKindCount> bytes = {};  ///< By BufferKind.
};

/// A scope without what the compiler puts in front of it: "Gradients/Default/net/a" ->
/// "Default/net/a", so that what backward computes counts with the Cell that it belongs to.
[[nodiscard]] std::string_view ScopeOfNetwork(std::string_view scope);

/// The layer of a scope of the network: up to its first numbered Cell, else all of it.
/// "Default/net/blocks-CellList/3-Block/attention-Attention" ->
/// "Default/net/blocks-CellList/3-Block".
[[nodiscard]] std::string_view LayerOf(std::string_view scope);

/// Names of what a plan that PlanMemory made of a program holds. Both must outlive it.
class TensorFacts {
 public:
  TensorFacts(const strategies::LocalProgram& program, const MemoryPlan& plan);

  /// A buffer of the plan (`buffer.buffer` >= 0).
  [[nodiscard]] PeakTensor Describe(const PeakBuffer& buffer) const;
  [[nodiscard]] PeakTensor Workspace(const PlannedKernel& kernel, std::int64_t bytes) const;

  /// The operator that a kernel belongs to.
  [[nodiscard]] NodeId OriginOf(const PlannedKernel& kernel) const;
  /// Full name of an operator of the rank's program; empty for none.
  [[nodiscard]] const std::string& OperatorName(NodeId node) const;
  /// The operator that makes a buffer, or first reads it; kNoNode where nothing is known.
  [[nodiscard]] NodeId OwnerOf(std::size_t buffer) const;
  /// Its scope of the network; empty for none.
  [[nodiscard]] std::string_view ScopeOf(std::size_t buffer) const;

 private:
  /// Moments and accumulated gradients belong where their weight does.
  void LetStatesFollow();

  const strategies::LocalProgram& program_;
  const MemoryPlan& plan_;
  std::vector<std::string> names_ = {};     ///< Per operator.
  std::vector<NodeId> first_readers_ = {};  ///< Per buffer; of leaves only.
};

/// What is alive at the peak by layer, in the order in which layers run. `profile.largest` must
/// list all buffers of the peak.
[[nodiscard]] std::vector<LayerMemory> LayersAtPeak(const TensorFacts& facts,
                                                    const MemoryProfile& profile);

/// The largest sum at one time of what forward kernels made, had at the end of forward, and a
/// backward kernel still reads: the activations that training keeps. 0 where nothing is trained.
[[nodiscard]] std::int64_t KeptForBackward(const strategies::LocalProgram& program,
                                           const MemoryPlan& plan, const MemoryProfile& profile);

}  // namespace drydock::sim
