#pragma once

#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"
#include "strategies/rules/attention/attention_form.h"
#include "strategies/rules/attention/attention_math.h"

/// Attention over a sequence that is cut on all operands: keys and values pass from rank to rank.
/// Source: mindspore ops_info/flash_attention_score_info.cc, ring attention.
namespace drydock::strategies {

/// True if the operator's keys are cut like its queries (attributes enable_ring_attention and
/// enable_flash_sp).
/// @error kUnsupported  packed sequences, sparse modes and masks that the ring does not handle
[[nodiscard]] Result<bool> IsRingAttention(const OpView& op, const AttentionForm& form,
                                           SparseMode mode);

/// Local program of an attention whose operands are cut along rule axis `sequence`.
[[nodiscard]] Result<std::vector<ValueId>> LocalizeRingAttention(const LocalizeContext& context,
                                                                 AxisIndex sequence);

}  // namespace drydock::strategies
