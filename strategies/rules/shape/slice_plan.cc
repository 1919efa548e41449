#include "strategies/rules/shape/slice_plan.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/text.h"
#include "strategies/rules/common/common_rules.h"

namespace drydock::strategies {
namespace {

/// Attributes of a StridedSlice. Bit i of a mask belongs to position i of the lists.
struct SliceAttrs {
  std::vector<std::int64_t> begin = {};
  std::vector<std::int64_t> end = {};
  std::vector<std::int64_t> strides = {};
  std::int64_t begin_mask = 0;
  std::int64_t end_mask = 0;
  std::int64_t ellipsis_mask = 0;
  std::int64_t new_axis_mask = 0;
  std::int64_t shrink_axis_mask = 0;
};

Result<SliceAttrs> ReadAttrs(const OpView& op) {
  SliceAttrs attrs = {};
  DRYDOCK_TRY(attrs.begin, RequiredListAttr(op, "begin"));
  DRYDOCK_TRY(attrs.end, RequiredListAttr(op, "end"));
  DRYDOCK_TRY(attrs.strides, RequiredListAttr(op, "strides"));
  if (attrs.begin.size() != attrs.end.size() || attrs.begin.size() != attrs.strides.size()) {
    return FailOp(op, "lists",
                  "'" + std::string(op.op) + "' has lists of unequal length: begin " +
                      TupleText(attrs.begin) + ", end " + TupleText(attrs.end) + ", strides " +
                      TupleText(attrs.strides));
  }
  DRYDOCK_TRY(attrs.begin_mask, IntAttr(*op.attrs, "begin_mask", 0));
  DRYDOCK_TRY(attrs.end_mask, IntAttr(*op.attrs, "end_mask", 0));
  DRYDOCK_TRY(attrs.ellipsis_mask, IntAttr(*op.attrs, "ellipsis_mask", 0));
  DRYDOCK_TRY(attrs.new_axis_mask, IntAttr(*op.attrs, "new_axis_mask", 0));
  DRYDOCK_TRY(attrs.shrink_axis_mask, IntAttr(*op.attrs, "shrink_axis_mask", 0));
  if (std::popcount(static_cast<std::uint64_t>(attrs.ellipsis_mask)) > 1) {
    return FailOp(op, "ellipsis", "'" + std::string(op.op) + "' has more than one ellipsis");
  }
  return attrs;
}

/// begin and length of a forward walk over an extent of n.
SliceStep TakeForward(std::int64_t begin, std::int64_t end, std::int64_t stride, std::int64_t n) {
  const bool nothing = begin >= n || end < -n;
  if (begin < -n) {
    begin = 0;
  } else if (begin < 0) {
    begin += n;
  }
  end = end < 0 ? end + n : std::min(end, n);
  const bool empty = nothing || begin >= end;
  return {.begin = empty ? 0 : begin,
          .stride = stride,
          .length = empty ? 0 : 1 + (end - 1 - begin) / stride};
}

/// The same backwards; positions are counted from the end, -1 = last.
SliceStep TakeBackward(std::int64_t begin, std::int64_t end, std::int64_t stride, std::int64_t n) {
  const bool nothing = begin < -n || end >= n;
  if (begin >= n) {
    begin = -1;
  } else if (begin >= 0) {
    begin -= n;
  }
  end = end >= 0 ? end - n : std::max(end, -n - 1);
  const bool empty = nothing || begin <= end;
  return {.begin = empty ? 0 : begin + n,
          .stride = stride,
          .length = empty ? 0 : 1 + (end + 1 - begin) / stride};
}

SliceStep WholeDim(std::int64_t extent) {
  return {.begin = 0, .stride = 1, .length = extent};
}

SliceStep Take(const SliceAttrs& attrs, std::size_t j, std::int64_t n) {
  const std::int64_t stride = attrs.strides[j];
  std::int64_t begin = attrs.begin[j];
  std::int64_t end = attrs.end[j];
  if (MaskBit(attrs.begin_mask, j)) {
    begin = stride > 0 ? 0 : -1;
  }
  if (MaskBit(attrs.end_mask, j)) {
    end = stride > 0 ? n : -n - 1;
  }
  return stride > 0 ? TakeForward(begin, end, stride, n) : TakeBackward(begin, end, stride, n);
}

Result<SliceStep> Shrink(const OpView& op, const SliceAttrs& attrs, std::size_t j, std::int64_t n) {
  const std::int64_t begin = MaskBit(attrs.begin_mask, j) ? 0 : attrs.begin[j];
  if (attrs.strides[j] < 0 || begin < -n || begin >= n) {
    return FailOp(op, "index-out-of-range",
                  "'" + std::string(op.op) + "' takes element " + std::to_string(begin) +
                      " of a dimension of extent " + std::to_string(n));
  }
  return SliceStep{.kind = SliceStep::Kind::kShrink,
                   .begin = begin < 0 ? begin + n : begin,
                   .stride = 1,
                   .length = 1};
}

/// Input dimensions an ellipsis at position j stands for.
std::size_t EllipsisDims(const SliceAttrs& attrs, std::size_t rank, std::size_t i, std::size_t j) {
  std::size_t later = 0;
  for (std::size_t p = j + 1; p < attrs.begin.size(); ++p) {
    later += MaskBit(attrs.new_axis_mask, p) ? 0 : 1;
  }
  return rank - i > later ? rank - i - later : 0;
}

}  // namespace

bool MaskBit(std::int64_t mask, std::size_t i) {
  return i < 63 && ((static_cast<std::uint64_t>(mask) >> i) & 1U) != 0;
}

Result<std::vector<SliceStep>> PlanStridedSlice(const OpView& op, const Shape& shape) {
  DRYDOCK_TRY(const SliceAttrs attrs, ReadAttrs(op));
  std::vector<SliceStep> plan = {};
  std::size_t i = 0;
  for (std::size_t j = 0; j < attrs.begin.size(); ++j) {
    if (attrs.strides[j] == 0) {
      return FailOp(op, "stride",
                    "'" + std::string(op.op) + "' has stride 0 in dimension " + std::to_string(j));
    }
    if (MaskBit(attrs.ellipsis_mask, j)) {
      for (std::size_t count = EllipsisDims(attrs, shape.size(), i, j); count > 0; --count) {
        plan.push_back(WholeDim(shape[i++]));
      }
      continue;
    }
    if (MaskBit(attrs.new_axis_mask, j)) {
      plan.push_back({.kind = SliceStep::Kind::kNewAxis, .length = 1});
      continue;
    }
    if (i >= shape.size()) {
      return FailOp(op, "lists",
                    "'" + std::string(op.op) + "' has more positions in begin " +
                        TupleText(attrs.begin) + " than its input " + TupleText(shape) +
                        " has dimensions");
    }
    if (MaskBit(attrs.shrink_axis_mask, j)) {
      DRYDOCK_TRY(const SliceStep step, Shrink(op, attrs, j, shape[i]));
      plan.push_back(step);
    } else {
      plan.push_back(Take(attrs, j, shape[i]));
    }
    ++i;
  }
  for (; i < shape.size(); ++i) {
    plan.push_back(WholeDim(shape[i]));
  }
  return plan;
}

Shape SlicedShape(const std::vector<SliceStep>& plan) {
  Shape shape = {};
  for (const SliceStep& step : plan) {
    if (step.kind != SliceStep::Kind::kShrink) {
      shape.push_back(step.length);
    }
  }
  return shape;
}

}  // namespace drydock::strategies
