#pragma once

#include "base/result.h"
#include "strategies/passes/localize/local_draft.h"

namespace drydock::strategies {

/// Step: the weight behind its mirror, if its gradient has to be summed over ranks that hold the
/// same slice; gathered, if a sharded optimizer spread its rows; else the weight itself. See
/// mirror.cc.
[[nodiscard]] Result<ValueId> MirroredWeight(LocalDraft& draft, NodeId user, std::size_t operand);

/// What a rank holds of a weight, behind a mirror over these ranks if a gradient is asked for and
/// there are several.
///
/// @param scope  of the operator that reads it
[[nodiscard]] Result<ValueId> EmitMirror(LocalDraft& draft, ValueId weight,
                                         const GroupPattern& replicas, const std::string& scope);

/// What a rank holds of the accumulator of a weight's gradients, if they are accumulated and asked
/// for; else kNoValue.
[[nodiscard]] ValueId AccumulatorOf(const LocalDraft& draft, ValueId weight);

/// A value of a weight that has an accumulator behind its mirror over these ranks, which may be
/// one.
[[nodiscard]] Result<ValueId> EmitMicroMirror(LocalDraft& draft, ValueId weight, ValueId value,
                                              const GroupPattern& replicas);

/// The weight as one user reads it, behind its mirror.
[[nodiscard]] Result<ValueId> BehindMirror(LocalDraft& draft, ValueId weight, NodeId user);

/// A weight that another stage passed on: its gradient goes back there, once a step.
[[nodiscard]] Result<ValueId> ReceivedWeight(LocalDraft& draft, ValueId weight, ValueId received);

}  // namespace drydock::strategies
