#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"
#include "strategies/rules/attention/attention_form.h"
#include "strategies/rules/attention/attention_math.h"

/// Attention over a sequence that is cut on all operands: keys and values pass from rank to rank.
/// Source: mindspore ops_info/flash_attention_score_info.cc, pass/flash_sp.cc (behaviour only).
namespace drydock::strategies {

/// True if the operator's keys are cut like its queries (attributes enable_ring_attention and
/// enable_flash_sp).
/// @error kInvalidArgument  a setting of the ring that is no bool, or one of them without a ring
/// @error kUnsupported  packed sequences, sparse modes and masks that the ring does not handle
[[nodiscard]] Result<bool> IsRingAttention(const OpView& op, const AttentionForm& form,
                                           SparseMode mode);

/// Local program of an attention whose operands are cut along rule axis `sequence`.
[[nodiscard]] Result<std::vector<ValueId>> LocalizeRingAttention(const LocalizeContext& context,
                                                                 AxisIndex sequence);

/// LowerFn of attention and its gradient: a call with kRingMask reads the mask of 2048 x 2048 bytes
/// that MindSpore's ring makes where the script gives none.
[[nodiscard]] Result<std::vector<KernelId>> LowerFlash(const LowerContext& context);

/// How data go around the ring.
enum class RingTransfer : std::uint8_t {
  kExchange,     ///< All members at once (NeighborExchange).
  kSendReceive,  ///< Each sends to one neighbour and receives from the other one.
};

inline constexpr std::string_view kRingMask = "ring_mask";     ///< Attribute: there is such a mask.
inline constexpr std::string_view kRingDirection = "ring";     ///< Attribute of a shift.
inline constexpr std::string_view kRingForward = "forward";    ///< To the next member.
inline constexpr std::string_view kRingBackward = "backward";  ///< To the previous one.

}  // namespace drydock::strategies
