#include "strategies/rules/attention/attention_form.h"

#include <array>
#include <string>
#include <utility>

#include "base/text.h"
#include "strategies/operators/strategy_check.h"
#include "strategies/rules/common/common_rules.h"

namespace drydock::strategies {
namespace {

constexpr std::pair<std::string_view, AttentionLayout> kNames[] = {
    {"BSH", AttentionLayout::kBsh},   {"SBH", AttentionLayout::kSbh},
    {"BNSD", AttentionLayout::kBnsd}, {"BSND", AttentionLayout::kBsnd},
    {"TND", AttentionLayout::kTnd},   {"TH", AttentionLayout::kTh}};

std::size_t RankOf(AttentionLayout layout) {
  switch (layout) {
    case AttentionLayout::kBnsd:
    case AttentionLayout::kBsnd:
      return 4;
    case AttentionLayout::kTh:
      return 2;
    default:
      return 3;
  }
}

/// Batch, sequence, heads, head dimension of an operand; heads and dimension of an H layout are
/// given as 0 and their product.
std::array<std::int64_t, 4> ExtentsOf(AttentionLayout layout, const Shape& shape) {
  switch (layout) {
    case AttentionLayout::kBsh:
      return {shape[0], shape[1], 0, shape[2]};
    case AttentionLayout::kSbh:
      return {shape[1], shape[0], 0, shape[2]};
    case AttentionLayout::kBnsd:
      return {shape[0], shape[2], shape[1], shape[3]};
    case AttentionLayout::kBsnd:
      return {shape[0], shape[1], shape[2], shape[3]};
    case AttentionLayout::kTnd:
      return {1, shape[0], shape[1], shape[2]};
    case AttentionLayout::kTh:
      return {1, shape[0], 0, shape[1]};
  }
  return {};
}

tl::unexpected<Error> FailShapes(const OpView& op, const std::string& why) {
  return FailOp(op, "shape-mismatch",
                "'" + std::string(op.op) + "' of query " + TupleText(op.inputs[0].shape) +
                    ", key " + TupleText(op.inputs[1].shape) + " and value " +
                    TupleText(op.inputs[2].shape) + ": " + why);
}

/// Heads and head dimension, where `dim` is the head dimension if it is known (else 0).
Status SplitHidden(const OpView& op, std::array<std::int64_t, 4>& extents, std::int64_t heads,
                   std::int64_t dim) {
  if (extents[2] != 0) {
    return {};
  }
  const std::int64_t hidden = extents[3];
  const std::int64_t divisor = heads > 0 ? heads : dim;
  if (divisor < 1 || hidden % divisor != 0 || hidden == 0) {
    return FailShapes(
        op, "a hidden extent of " + std::to_string(hidden) + " does not consist of whole heads");
  }
  extents[2] = heads > 0 ? heads : hidden / dim;
  extents[3] = heads > 0 ? hidden / heads : dim;
  return {};
}

}  // namespace

Result<AttentionLayout> AttentionLayoutOf(const OpView& op, std::string_view fallback) {
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "input_layout", std::string(fallback)));
  for (const auto& [known, layout] : kNames) {
    if (known == name) {
      return layout;
    }
  }
  return FailOp(op, "attribute", "'" + std::string(op.op) + "' has no input layout '" + name + "'",
                "use BSH, SBH, BNSD, BSND, TND or TH");
}

Result<AttentionForm> AttentionFormOf(const OpView& op, AttentionLayout layout,
                                      std::int64_t heads) {
  for (std::size_t i = 0; i < 3; ++i) {
    DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, i, RankOf(layout), RankOf(layout)));
  }
  if (heads < 1) {
    return FailOp(
        op, "attribute",
        "'" + std::string(op.op) + "' needs the number of heads, not " + std::to_string(heads));
  }
  auto query = ExtentsOf(layout, op.inputs[0].shape);
  auto key = ExtentsOf(layout, op.inputs[1].shape);
  auto value = ExtentsOf(layout, op.inputs[2].shape);
  DRYDOCK_RETURN_IF_ERROR(SplitHidden(op, query, heads, 0));
  DRYDOCK_RETURN_IF_ERROR(SplitHidden(op, key, 0, query[3]));
  DRYDOCK_RETURN_IF_ERROR(SplitHidden(op, value, key[2], 0));
  if (query[2] != heads) {
    return FailShapes(
        op, "the query has " + std::to_string(query[2]) + " heads, not " + std::to_string(heads));
  }
  if (key[0] != query[0] || value[0] != query[0] || key[1] != value[1] || key[2] != value[2] ||
      key[3] != query[3]) {
    return FailShapes(op, "batch, sequence, heads or head size do not agree");
  }
  if (key[2] < 1 || heads % key[2] != 0) {
    return FailShapes(op, std::to_string(heads) + " query heads cannot share " +
                              std::to_string(key[2]) + " key heads");
  }
  return AttentionForm{.layout = layout,
                       .batch = query[0],
                       .heads = heads,
                       .kv_heads = key[2],
                       .q_length = query[1],
                       .kv_length = key[1],
                       .dim = query[3],
                       .value_dim = value[3]};
}

Shape AttentionResultShape(const AttentionForm& form) {
  const std::int64_t hidden = form.heads * form.value_dim;
  switch (form.layout) {
    case AttentionLayout::kBsh:
      return {form.batch, form.q_length, hidden};
    case AttentionLayout::kSbh:
      return {form.q_length, form.batch, hidden};
    case AttentionLayout::kBnsd:
      return {form.batch, form.heads, form.q_length, form.value_dim};
    case AttentionLayout::kBsnd:
      return {form.batch, form.q_length, form.heads, form.value_dim};
    case AttentionLayout::kTnd:
      return {form.q_length, form.heads, form.value_dim};
    case AttentionLayout::kTh:
      return {form.q_length, hidden};
  }
  return {};
}

AttentionAxes AxesOf(AttentionLayout layout) {
  switch (layout) {
    case AttentionLayout::kSbh:
      return {.batch = 1, .sequence = 0, .head = 2};
    case AttentionLayout::kBnsd:
      return {.batch = 0, .sequence = 2, .head = 1};
    default:
      return {.batch = 0, .sequence = 1, .head = 2};
  }
}

TensorAxes OperandAxes(AttentionLayout layout, std::optional<AxisIndex> batch,
                       std::optional<AxisIndex> sequence, std::optional<AxisIndex> head) {
  const auto on = [](std::optional<AxisIndex> axis) { return axis ? DimAxes{*axis} : DimAxes{}; };
  switch (layout) {
    case AttentionLayout::kBsh:
      return {on(batch), on(sequence), on(head)};
    case AttentionLayout::kSbh:
      return {on(sequence), on(batch), on(head)};
    case AttentionLayout::kBnsd:
      return {on(batch), on(head), on(sequence), {}};
    case AttentionLayout::kBsnd:
      return {on(batch), on(sequence), on(head), {}};
    case AttentionLayout::kTnd:
      return {on(batch), on(head), {}};
    case AttentionLayout::kTh:
      return {on(batch), on(head)};
  }
  return {};
}

std::size_t HeadDim(AttentionLayout layout) {
  const bool second = layout == AttentionLayout::kBnsd || layout == AttentionLayout::kTnd ||
                      layout == AttentionLayout::kTh;
  return second ? 1 : 2;
}

Status CheckHeadCut(const OpView& op, const AttentionForm& form, std::int64_t cut) {
  if (form.heads % cut == 0 && (form.kv_heads == 1 || form.kv_heads % cut == 0)) {
    return {};
  }
  return FailOp(op, "strategy-heads",
                CutText(op, 0, HeadDim(form.layout), cut) + ", but there are " +
                    std::to_string(form.heads) + " query heads and " +
                    std::to_string(form.kv_heads) + " key heads");
}

std::size_t SequenceDim(AttentionLayout layout) {
  switch (layout) {
    case AttentionLayout::kBsh:
    case AttentionLayout::kBsnd:
      return 1;
    case AttentionLayout::kBnsd:
      return 2;
    default:
      return 0;
  }
}

std::size_t AttentionIndex::At(std::int64_t b, std::int64_t n, std::int64_t s,
                               std::int64_t d) const {
  std::int64_t row = (b * length + s) * heads + n;
  if (layout == AttentionLayout::kSbh) {
    row = (s * batch + b) * heads + n;
  } else if (layout == AttentionLayout::kBnsd) {
    row = (b * heads + n) * length + s;
  }
  return static_cast<std::size_t>(row * dim + d);
}

}  // namespace drydock::strategies
