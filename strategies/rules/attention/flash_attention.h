#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"
#include "strategies/rules/attention/attention_form.h"
#include "strategies/rules/attention/attention_math.h"

/// What the forms of flash attention share. Source: mindspore flash_attention_score_info.cc.
namespace drydock::strategies {

/// Operands of the forward operator by position of the call.
enum FlashOperand : std::size_t {
  kQuery,
  kKey,
  kValue,
  kRealShift,
  kDropMask,
  kPaddingMask,
  kAttnMask,
  kPrefixLengths,
  kQueryEnds,
  kKeyEnds,
  kFlashOperands
};

/// Rule axis, behind those of AxesOf, along which query heads are cut further than key heads.
inline constexpr AxisIndex kSharedHeads = 3;

/// Type of a tensor of the call, null if it was not given.
[[nodiscard]] const TensorType* OperandType(const OpView& op, std::size_t operand);

/// Attribute sparse_mode.
/// @error kInvalidArgument  "<op>:attribute"  outside 0 .. 8
[[nodiscard]] Result<SparseMode> SparseModeOf(const OpView& op);

/// Tokens of a full band: nothing is hidden on that side.
inline constexpr std::int64_t kAllTokens = 2147483647;

/// Form of a flash attention from its attributes head_num and input_layout.
[[nodiscard]] Result<AttentionForm> FlashFormOf(const OpView& op);

/// The part of a dimension that a rank has.
struct OwnPart {
  RankExpr number = {};    ///< Counted from 0.
  std::int64_t count = 1;  ///< Equal parts in all.
};

/// Rewrites sparse_mode, pre_tokens and next_tokens for a rank that has part `queries` of the
/// queries and all keys.
[[nodiscard]] Status ShiftTokens(const AttentionForm& form, SparseMode mode, const OwnPart& queries,
                                 AttrMap& attrs);

/// What a rank runs in place of a flash attention.
[[nodiscard]] Result<std::vector<ValueId>> LocalizeFlash(const LocalizeContext& context);

/// The numbers of a flash attention, or of its gradient kernel: `places[i]` is where operand i of
/// the forward call stands in the call.
[[nodiscard]] Result<AttentionProblem> FlashProblemOf(const EvaluateContext& context,
                                                      const std::vector<std::size_t>& places);

}  // namespace drydock::strategies
