#pragma once

#include <cstddef>
#include <vector>

#include "strategies/operators/kernel_builder.h"

namespace drydock::strategies {

/// Order of effects on parameters: which Load a reader of a parameter gets, which state an update
/// waits for.
class EffectChain {
 public:
  /// @param parameters  kernel-graph leaf of each parameter of the program
  EffectChain(KernelBuilder& builder, std::vector<KernelId> parameters);

  /// The Load that reads parameter number `index` now.
  [[nodiscard]] KernelId Load(std::size_t index);
  /// The Load that reads a gathered weight in place of a parameter; `counts` if the next update
  /// waits for it; `once`: not gathered in each micro batch again.
  [[nodiscard]] KernelId LoadGathered(KernelId gathered, bool counts, bool once);
  /// Notes that `received`, a weight of another stage, is read in place of a parameter.
  void NoteReceived(KernelId received);
  /// The Load that reads now what stands behind `reference` (a parameter, not before something).
  [[nodiscard]] KernelId LoadBehind(KernelId reference);
  /// State that a node takes which overwrites a value that is no parameter.
  [[nodiscard]] KernelId StateOfTemporary();
  /// The first state behind that of the beginning comes behind `read`, not behind the Loads.
  void BeginWith(KernelId read);
  /// State at the beginning of the step, when weights that are gathered are there.
  [[nodiscard]] KernelId StateOfGathered();
  /// Notes that `update` was that node. Up to three in a row take the same state.
  void NoteTemporary(KernelId update);
  /// The state at the beginning of the step.
  [[nodiscard]] KernelId FirstState() const { return first_state_; }
  /// Notes that a node reads what Load gave.
  void NoteUse(KernelId load, KernelId user);
  /// State that a node which writes these parameters takes as its last operand.
  [[nodiscard]] KernelId StateBefore(const std::vector<std::size_t>& written);
  /// Notes that `update` was the node that asked last.
  void NoteEffect(KernelId update, const std::vector<std::size_t>& written);
  [[nodiscard]] bool HasEffects() const { return !effects_.empty(); }
  /// State behind everything.
  [[nodiscard]] KernelId FinalState();

 private:
  /// State behind the last effect, as reads of parameters see it.
  [[nodiscard]] KernelId Current();
  void JoinTemporaries();
  void JoinReceived();
  /// Before `state_` is left behind: which of its Loads read the first state.
  void LoadFromTheBeginning();

  struct Read {
    KernelId load = kNoKernel;         ///< Valid Load, kNoKernel = none since the last update.
    std::vector<KernelId> users = {};  ///< Who read it.
  };

  KernelBuilder& builder_;
  std::vector<KernelId> parameters_;
  std::vector<Read> reads_;                 ///< Per parameter.
  std::vector<bool> written_;               ///< Per parameter: there was an update of it.
  std::vector<std::size_t> parameter_of_;   ///< Per kernel-graph node: what a Load reads.
  KernelId first_state_ = kNoKernel;        ///< The state at the beginning.
  KernelId state_ = kNoKernel;              ///< Last UpdateState (or the state at the beginning).
  std::vector<KernelId> temporaries_ = {};  ///< Took `state_` and are not part of it yet.
  std::vector<KernelId> effects_ = {};      ///< All updates so far.
  bool effect_pending_ = false;             ///< The last effect is not part of `state_` yet.
  bool received_ = false;                   ///< What is read of `state_` is not Loads alone.
  std::vector<KernelId> loads_of_state_ = {};  ///< Loads that read `state_`.
  std::vector<KernelId> gathered_ = {};        ///< Loads of gathered weights, forward.
};

}  // namespace drydock::strategies
