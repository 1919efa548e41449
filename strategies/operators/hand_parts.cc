#include "strategies/operators/hand_parts.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/checked.h"

namespace drydock::strategies {
namespace {

constexpr const char* kRows = "manual_split";
constexpr const char* kRowsAndOffsets = "manual_split_with_offset";

std::optional<std::int64_t> WholeNumber(const Attr& attr) {
  const auto* number = std::get_if<std::int64_t>(&attr.value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<HandPart> PartFrom(const Attr& item, std::int64_t offset) {
  if (const auto rows = WholeNumber(item)) {
    return HandPart{.rows = *rows, .offset = offset};
  }
  const auto* pair = std::get_if<Attr::List>(&item.value);
  if (pair == nullptr || pair->size() != 2) {
    return std::nullopt;
  }
  const auto rows = WholeNumber((*pair)[0]);
  const auto given = WholeNumber((*pair)[1]);
  return rows && given ? std::optional(HandPart{.rows = *rows, .offset = *given}) : std::nullopt;
}

/// The parts as the attribute lists them.
Result<std::vector<HandPart>> ListedParts(const OpView& op) {
  const char* name = op.attrs->contains(kRowsAndOffsets) ? kRowsAndOffsets : kRows;
  const auto* list = std::get_if<Attr::List>(&op.attrs->find(name)->second.value);
  std::vector<HandPart> parts = {};
  std::int64_t rows = 0;
  for (const Attr& item : list == nullptr ? Attr::List() : *list) {
    const std::optional<HandPart> part = PartFrom(item, rows);
    if (!part || part->rows < 1) {
      return FailManual(op, "attribute '" + std::string(name) +
                                "' must list rows of parts, or pairs of rows and offset, but it "
                                "holds " +
                                AttrText(item));
    }
    parts.push_back(*part);
    DRYDOCK_TRY(rows, AddChecked(rows, part->rows));
  }
  return parts;
}

Status CheckPartSizes(const OpView& op, const std::vector<HandPart>& parts) {
  const Shape& indices = op.inputs[1].shape;
  const std::int64_t slice =
      indices.empty() || parts.empty() ? 0 : indices.back() / std::ssize(parts);
  for (const HandPart& part : parts) {
    if (part.rows < slice) {
      return FailManual(op, "a part of " + std::to_string(part.rows) +
                                " rows is smaller than its slice of " + std::to_string(slice) +
                                " indices");
    }
  }
  return {};
}

}  // namespace

tl::unexpected<Error> FailManual(const OpView& op, std::string why) {
  return FailInput(std::string(op.op) + ":strategy-manual",
                   "'" + std::string(op.op) + "' with a table cut by hand: " + std::move(why));
}

bool IsManualSplit(const OpView& op) {
  return op.attrs->contains(kRows) || op.attrs->contains(kRowsAndOffsets);
}

Result<std::vector<HandPart>> PartsByHand(const OpView& op) {
  if (op.inputs.size() < 2 || op.inputs[0].shape.empty()) {
    return FailManual(op, "it must be a table with rows, and indices");
  }
  DRYDOCK_TRY(std::vector<HandPart> parts, ListedParts(op));
  std::int64_t rows = 0;
  for (const HandPart& part : parts) {
    DRYDOCK_TRY(rows, AddChecked(rows, part.rows));
  }
  if (rows != op.inputs[0].shape[0]) {
    return FailManual(op, "its parts have " + std::to_string(rows) + " rows together, the table " +
                              std::to_string(op.inputs[0].shape[0]));
  }
  DRYDOCK_RETURN_IF_ERROR(CheckPartSizes(op, parts));
  return parts;
}

Result<AttrMap> WithEqualParts(const OpView& op) {
  DRYDOCK_TRY(const std::vector<HandPart> parts, ListedParts(op));
  const std::int64_t rows = op.inputs[0].shape[0] / std::max<std::int64_t>(std::ssize(parts), 1);
  Attr::List list = {};
  for (const HandPart& part : parts) {
    list.emplace_back(Attr::List{rows, part.offset});
  }
  AttrMap attrs = *op.attrs;
  attrs.erase(kRows);
  attrs[kRowsAndOffsets] = std::move(list);
  return attrs;
}

}  // namespace drydock::strategies
