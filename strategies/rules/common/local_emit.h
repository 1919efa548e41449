#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"

/// Building blocks of LocalizeFn: operators that an operator is replaced by, or gets in front of
/// it, in the program of one rank.
namespace drydock::strategies {

/// Appends a helper node of one output.
[[nodiscard]] Result<ValueId> EmitHelper(const LocalizeContext& context, std::string_view op,
                                         std::vector<ValueId> inputs, AttrMap attrs = {});

/// Ranks that differ in the given rule axes only.
[[nodiscard]] GroupPattern HelperGroup(const LocalizeContext& context,
                                       std::span<const AxisIndex> axes);

/// Appends an AllReduce over the ranks that differ in the given rule axes only; `why` is shown to
/// users.
[[nodiscard]] Result<ValueId> EmitHelperAllReduce(const LocalizeContext& context, ValueId input,
                                                  std::span<const AxisIndex> axes, std::string why,
                                                  std::string reduce_op = "sum");

/// Appends a collective over `group`; `why` is shown to users.
[[nodiscard]] Result<ValueId> EmitGroupCollective(const LocalizeContext& context,
                                                  std::string_view op, ValueId input, AttrMap attrs,
                                                  GroupPattern group, CommReason reason,
                                                  std::string why);

/// An AllReduce over a given group.
[[nodiscard]] Result<ValueId> EmitGroupAllReduce(const LocalizeContext& context, ValueId input,
                                                 GroupPattern group, std::string why,
                                                 std::string reduce_op = "sum");

/// Appends the rank's own slice of dimension `dim` of a tensor that every rank holds whole; the
/// value itself if the rule axis is not cut.
[[nodiscard]] Result<ValueId> EmitOwnSlice(const LocalizeContext& context, ValueId value,
                                           std::size_t dim, AxisIndex axis);

/// Appends `value`, a number that depends on the rank, as a scalar tensor.
[[nodiscard]] Result<ValueId> EmitRankScalar(const LocalizeContext& context, const RankExpr& value,
                                             DType dtype);

/// Appends the number at place `place` of `table` as a scalar tensor.
[[nodiscard]] Result<ValueId> EmitRankNumber(const LocalizeContext& context, const RankExpr& place,
                                             std::vector<std::int64_t> table, DType dtype);

/// The number of such a scalar, from the attributes that it has in the program of one rank.
[[nodiscard]] Result<std::int64_t> RankScalarValue(const AttrMap& attrs);

/// `value` on the ranks whose digit on rule axis `axis` is 0, zeros on the others: an addend that a
/// sum over the axis must count once.
[[nodiscard]] Result<ValueId> EmitOnlyOnFirst(const LocalizeContext& context, ValueId value,
                                              AxisIndex axis);

/// `value` cast to `dtype` unless it has it already.
[[nodiscard]] Result<ValueId> EmitHelperCast(const LocalizeContext& context, ValueId value,
                                             DType dtype);

/// Indices of a table whose rows are spread over ranks, as this rank uses them.
struct OwnRows {
  ValueId indices = kNoValue;  ///< Into the rank's own rows; rows of other ranks are clamped.
  ValueId is_own = kNoValue;   ///< bool, shape of `indices`: the row is this rank's.
};

/// Rewrites global row numbers for a rank that owns `rows` rows starting at rows * (its digit on
/// `axis`): own = min(relu(index - begin), rows - 1), is_own = (index - begin == own). Source:
/// mindspore ops_info/gather_info.cc.
[[nodiscard]] Result<OwnRows> EmitOwnRows(const LocalizeContext& context, ValueId indices,
                                          std::int64_t rows, AxisIndex axis);

}  // namespace drydock::strategies
