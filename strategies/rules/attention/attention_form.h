#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/operators/nd_array.h"
#include "strategies/operators/op_entry.h"

/// Where batch, heads, sequence and head dimension lie in the operands of attention operators.
/// Source: mindspore ops_info/flash_attention_score_info.cc.
namespace drydock::strategies {

enum class AttentionLayout : std::uint8_t { kBsh, kSbh, kBnsd, kBsnd, kTnd, kTh };

/// @error kInvalidArgument  "<op>:attribute"  not the name of a layout
[[nodiscard]] Result<AttentionLayout> AttentionLayoutOf(const OpView& op,
                                                        std::string_view fallback);

/// Extents of one attention: queries (batch, heads, q_length, dim), keys (batch, kv_heads,
/// kv_length, dim), values with value_dim. In the T layouts all sequences lie behind each other:
/// batch is 1 and the lengths are those of all tokens.
struct AttentionForm {
  AttentionLayout layout = AttentionLayout::kBsh;
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t q_length = 1;
  std::int64_t kv_length = 1;
  std::int64_t dim = 1;
  std::int64_t value_dim = 1;
  /// Tokens of several sequences behind each other.
  [[nodiscard]] bool IsPacked() const {
    return layout == AttentionLayout::kTnd || layout == AttentionLayout::kTh;
  }
};

/// Form of query, key and value in `layout` with `heads` query heads.
///
/// @error kInvalidArgument  "<op>:shape-mismatch|rank"  the three do not fit each other
[[nodiscard]] Result<AttentionForm> AttentionFormOf(const OpView& op, AttentionLayout layout,
                                                    std::int64_t heads);

/// Shape of the result: the query's with the value's head dimension.
[[nodiscard]] Shape AttentionResultShape(const AttentionForm& form);

/// Dimensions of an operand by role.
struct AttentionAxes {
  AxisIndex batch = 0;
  AxisIndex sequence = 1;
  AxisIndex head = 2;
};
/// Axes in the device-matrix order of a layout.
[[nodiscard]] AttentionAxes AxesOf(AttentionLayout layout);

/// Tokens on the given axes; an absent axis leaves the dimension uncut.
[[nodiscard]] TensorAxes OperandAxes(AttentionLayout layout, std::optional<AxisIndex> batch,
                                     std::optional<AxisIndex> sequence,
                                     std::optional<AxisIndex> head);

/// @error kInvalidArgument  "<op>:strategy-heads"  `cut` does not divide the query heads, or the
/// key
///                          heads if there are several
[[nodiscard]] Status CheckHeadCut(const OpView& op, const AttentionForm& form, std::int64_t cut);

/// Dimension that holds the heads, alone or with their numbers.
[[nodiscard]] std::size_t HeadDim(AttentionLayout layout);

/// Dimension that holds the sequence.
[[nodiscard]] std::size_t SequenceDim(AttentionLayout layout);

/// Offset of element (b, n, s, d) of an operand with the given extents.
struct AttentionIndex {
  AttentionLayout layout = AttentionLayout::kBsh;
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t length = 1;
  std::int64_t dim = 1;
  [[nodiscard]] std::size_t At(std::int64_t b, std::int64_t n, std::int64_t s,
                               std::int64_t d = 0) const;
};

}  // namespace drydock::strategies
