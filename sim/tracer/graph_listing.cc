#include "sim/tracer/graph_listing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "strategies/document/json_fields.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/listed_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/operators/op_signature.h"
#include "strategies/rules/common/local_emit.h"

namespace drydock::sim {
namespace {

using strategies::AppendJsonItem;
using strategies::AppendJsonText;
using strategies::ArgumentKind;
using strategies::Graph;
using strategies::Node;
using strategies::Value;
using strategies::ValueKind;

/// Constants with more elements are listed without them.
constexpr std::size_t kMaxListedElements = 8;

/// Operators of these families keep the arguments of their constructor as attributes in the
/// reference.
constexpr std::array<std::string_view, 2> kAttributesStay = {"conv_pool", "scatter"};

/// Numbers that a rank knows for itself: constants there.
constexpr std::string_view kRankNumbers = "rank";

/// Arithmetic of the host: operators of ours whose names begin with '_', and there without it.
constexpr std::string_view kOfHost = "host";

/// Attribute of operators that take tuples of tensors: how many each tuple has, -1 for a tensor.
constexpr std::string_view kTupleSizes = "dyn_input_sizes";

constexpr const char* kMakeTuple = "MakeTuple";
constexpr const char* kTupleGetItem = "TupleGetItem";
constexpr const char* kReturn = "Return";

/// A JSON text.
struct Literal {
  std::string text = {};
};

Literal TextLiteral(std::string_view text) {
  Literal literal;
  AppendJsonText(literal.text, text);
  return literal;
}

Literal NumberLiteral(std::int64_t number) {
  return {.text = std::to_string(number)};
}

/// A line of the listing, or what stands there itself.
using Operand = std::variant<std::size_t, Literal>;

struct Line {
  std::string primitive = {};
  std::vector<Operand> operands = {};
  std::map<std::string, Literal> attrs = {};
};

/// Numbers, truth values and texts stay what they are; everything else becomes text. JSON has no
/// numbers for what is not finite.
Literal LiteralOf(const strategies::Attr& attr) {
  Literal literal;
  if (const auto* number = std::get_if<double>(&attr.value);
      number != nullptr && !std::isfinite(*number)) {
    literal.text = "null";
  } else if (std::holds_alternative<bool>(attr.value) ||
             std::holds_alternative<std::int64_t>(attr.value) ||
             std::holds_alternative<double>(attr.value) ||
             std::holds_alternative<std::string>(attr.value)) {
    strategies::AppendJsonAttr(literal.text, attr);
  } else {
    AppendJsonText(literal.text, strategies::AttrText(attr));
  }
  return literal;
}

/// "Tensor(shape=[2], dtype=Float32, value=[0.5 1])", large ones without their values.
Literal ConstantLiteral(const Graph& graph, const Value& value) {
  std::string text = "Tensor(shape=";
  strategies::AppendJsonInts(text, value.type.shape);
  text += ", dtype=" + std::string(strategies::DTypeIrName(value.type.dtype));
  const auto& data = graph.constants[static_cast<std::size_t>(value.detail)].data;
  if (data && data->size() <= kMaxListedElements) {
    std::string numbers;
    for (const double number : *data) {
      std::string digits = strategies::AttrText(strategies::Attr(number));
      if (digits.ends_with(".0")) {
        digits.resize(digits.size() - 2);
      }
      numbers += (numbers.empty() ? "" : " ") + digits;
    }
    text += ", value=" + (value.type.shape.empty() ? numbers : "[" + numbers + "]");
  }
  return TextLiteral(text + ")");
}

/// A list of numbers as the reference prints vectors: "[0, 1, 0, 1]".
std::string VectorText(const strategies::Attr::List& list) {
  std::string text;
  for (const strategies::Attr& item : list) {
    text += (text.empty() ? "" : ", ") + strategies::AttrText(item);
  }
  return "[" + text + "]";
}

/// Lists of a collective are shown as vectors, its ranks and everything else as tuples.
Literal AttributeText(const Node& node, const std::string& name, const strategies::Attr& attr) {
  const auto* list = std::get_if<strategies::Attr::List>(&attr.value);
  const bool collective =
      node.entry != nullptr && node.entry->kind == strategies::OpKind::kCollective;
  return list != nullptr && collective && name != "rank_list" ? TextLiteral(VectorText(*list))
                                                              : LiteralOf(attr);
}

/// Element types are operands as their number. Source:
/// mindspore/core/include/mindapi/base/type_id.h.
std::optional<std::int64_t> TypeNumber(const std::string& name, const strategies::Attr& attr) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 13> kNumbers = {
      {{"bool", 30},
       {"int8", 32},
       {"int16", 33},
       {"int32", 34},
       {"int64", 35},
       {"uint8", 37},
       {"uint16", 38},
       {"uint32", 39},
       {"uint64", 40},
       {"float16", 42},
       {"float32", 43},
       {"float64", 44},
       {"bfloat16", 45}}};
  const auto* text = std::get_if<std::string>(&attr.value);
  const auto* const found =
      name == "dtype" && text != nullptr
          ? std::ranges::find(kNumbers, std::string_view(*text),
                              &std::pair<std::string_view, std::int64_t>::first)
          : kNumbers.end();
  return found == kNumbers.end() ? std::nullopt : std::optional(found->second);
}

class Lister {
 public:
  Lister(const Graph& graph, bool dataset, const OpenInputs& open)
      : graph_(graph),
        cuts_(dataset),
        open_(OpenDimensions(graph, open)),
        values_(graph.values.size()),
        loads_(graph.values.size()),
        folded_(graph.values.size(), false) {
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      const Value& value = graph.values[v];
      values_[v] = value.kind == ValueKind::kConstant ? ConstantLiteral(graph, value)
                                                      : TextLiteral(value.name);
    }
    if (dataset && !graph.inputs.empty()) {
      AddDataset();
    }
    for (const Node& node : graph.nodes) {
      AddNode(node);
    }
  }

  std::string List() && {
    Line result{.primitive = kReturn};
    result.operands.push_back(Tuple(graph_.outputs, graph_.outputs.size() != 1));
    lines_.push_back(std::move(result));
    Number(lines_.size() - 1);
    std::map<std::string_view, const Line*> named;
    for (std::size_t n = 0; n < lines_.size(); ++n) {
      if (!names_[n].empty()) {
        named.emplace(names_[n], &lines_[n]);
      }
    }
    std::string listing = R"({"@graph_0":{)";
    for (const auto& [name, line] : named) {
      strategies::AppendJsonField(listing, name);
      AppendLine(listing, *line);
    }
    return listing + "}}";
  }

 private:
  std::size_t AddLine(Line line) {
    lines_.push_back(std::move(line));
    return lines_.size() - 1;
  }

  void AddDataset() {
    Line tuple{.primitive = kMakeTuple};
    for (const ValueId input : graph_.inputs) {
      tuple.operands.push_back(values_[ToIndex(input)]);
    }
    const std::size_t all = AddLine(std::move(tuple));
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      values_[ToIndex(graph_.inputs[i])] =
          AddLine({.primitive = kTupleGetItem,
                   .operands = {all, NumberLiteral(static_cast<std::int64_t>(i))}});
    }
  }

  /// One operand made of several tensors.
  Operand Tuple(const std::vector<ValueId>& ids, bool always) {
    if (!always) {
      return values_[ToIndex(ids.front())];
    }
    Line tuple{.primitive = kMakeTuple};
    for (const ValueId id : ids) {
      tuple.operands.push_back(id == strategies::kNoValue ? TextLiteral("None") : ReadOf(id));
    }
    return AddLine(std::move(tuple));
  }

  /// What an operator reads: parameters through a Load, constants of cut operators as the part of
  /// the rank.
  Operand ReadOf(ValueId id) {
    const Value& value = graph_.at(id);
    if (value.kind == ValueKind::kParameter) {
      std::optional<std::size_t>& load = loads_[ToIndex(id)];
      load = load ? load
                  : AddLine({.primitive = std::string(strategies::ops::kListedRead),
                             .operands = {values_[ToIndex(id)]}});
      return *load;
    }
    const strategies::Shape& shape = value.type.shape;
    const bool number = shape.empty() || (shape.size() == 1 && shape.front() == 1);
    if (cuts_ && !number && IsConstant(id)) {
      return AddLine({.primitive = std::string(strategies::ops::kListedConstant),
                      .operands = {values_[ToIndex(id)]}});
    }
    return values_[ToIndex(id)];
  }

  [[nodiscard]] bool IsConstant(ValueId id) const {
    return graph_.at(id).kind == ValueKind::kConstant || folded_[ToIndex(id)];
  }

  /// Slices and casts of a constant are worked out beforehand.
  [[nodiscard]] bool IsFolded(const Node& node) const {
    const bool slice = node.attrs.contains("begin") && node.attrs.contains("end");
    const bool kind = slice || (node.entry != nullptr && node.entry->is_cast);
    return cuts_ && kind && node.inputs.size() == 1 && node.outputs.size() == 1 &&
           node.inputs.front() != strategies::kNoValue && IsConstant(node.inputs.front());
  }

  [[nodiscard]] bool IsOpen(ValueId id) const {
    return id != strategies::kNoValue &&
           std::ranges::find(open_[ToIndex(id)], true) != open_[ToIndex(id)].end();
  }

  /// The only dimension along which a redistribution takes a part of a tensor with open extents.
  [[nodiscard]] std::optional<std::size_t> PartOfOpen(const Node& node) const {
    if (node.reason != strategies::CommReason::kRedistribution || !node.attrs.contains("begin") ||
        !node.attrs.contains("end") || node.inputs.size() != 1 || !IsOpen(node.inputs.front())) {
      return std::nullopt;
    }
    const strategies::Shape& whole = graph_.at(node.inputs.front()).type.shape;
    const strategies::Shape& part = graph_.at(node.outputs.front()).type.shape;
    std::optional<std::size_t> found;
    for (std::size_t d = 0; d < whole.size(); ++d) {
      if (whole[d] != part[d]) {
        if (found || part[d] == 0) {
          return std::nullopt;
        }
        found = d;
      }
    }
    return found;
  }

  /// A part of a tensor with open extents is one of equal parts: Split and TupleGetItem.
  void AddSplit(const Node& node, std::size_t dim) {
    const std::int64_t part = graph_.at(node.outputs.front()).type.shape[dim];
    const std::int64_t count = graph_.at(node.inputs.front()).type.shape[dim] / part;
    const auto begin = strategies::IntListAttr(node.attrs, "begin");
    const std::int64_t first = begin && *begin && dim < (*begin)->size() ? (**begin)[dim] : 0;
    const std::size_t split =
        AddLine({.primitive = std::string(strategies::ops::kSplit),
                 .operands = {InputOf(node, 0), NumberLiteral(static_cast<std::int64_t>(dim)),
                              NumberLiteral(count)}});
    values_[ToIndex(node.outputs.front())] =
        AddLine({.primitive = kTupleGetItem, .operands = {split, NumberLiteral(first / part)}});
  }

  void AddNode(const Node& node) {
    if (IsFolded(node)) {
      folded_[ToIndex(node.outputs.front())] = true;
      values_[ToIndex(node.outputs.front())] = values_[ToIndex(node.inputs.front())];
      return;
    }
    if (const auto dim = PartOfOpen(node)) {
      AddSplit(node, *dim);
      return;
    }
    if (IsOfFamily(node, kRankNumbers)) {
      AddRankNumber(node);
      return;
    }
    Line line{.primitive = IsOfFamily(node, kOfHost) ? node.op.substr(1) : node.op};
    AddOperands(node, line);
    for (const auto& [name, attr] : node.attrs) {
      line.attrs[name] = AttributeText(node, name, attr);
    }
    const std::size_t at = AddLine(std::move(line));
    if (node.attrs.contains(strategies::kRunsUnread)) {
      unread_.push_back(at);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      values_[ToIndex(node.outputs[i])] =
          node.outputs.size() == 1
              ? at
              : AddLine({.primitive = kTupleGetItem,
                         .operands = {at, NumberLiteral(static_cast<std::int64_t>(i))}});
    }
  }

  static bool IsOfFamily(const Node& node, std::string_view family) {
    return node.entry != nullptr && node.entry->family == family;
  }

  /// "Tensor(shape=[], dtype=Int32, value=5)"
  void AddRankNumber(const Node& node) {
    const auto value = strategies::RankScalarValue(node.attrs);
    const ValueId output = node.outputs.front();
    const std::string type(strategies::DTypeIrName(graph_.at(output).type.dtype));
    values_[ToIndex(output)] =
        TextLiteral("Tensor(shape=[], dtype=" + type +
                    (value ? ", value=" + std::to_string(*value) : "") + ")");
    folded_[ToIndex(output)] = true;
  }

  void AddOperands(const Node& node, Line& line) {
    const strategies::OpSignature signature = strategies::ParseSignature(
        node.entry == nullptr ? std::string_view() : node.entry->signature);
    std::size_t next = AddTuples(node, line);
    for (const strategies::SignatureArgument& argument : signature.call) {
      if (argument.kind == ArgumentKind::kAttribute) {
        AddAttribute(node, argument, line);
      } else if (next == node.inputs.size()) {
        continue;
      } else if (argument.kind == ArgumentKind::kTensorList) {
        line.operands.push_back(Tuple(
            {node.inputs.begin() + static_cast<std::ptrdiff_t>(next), node.inputs.end()}, true));
        next = node.inputs.size();
      } else {
        line.operands.push_back(InputOf(node, next++));
      }
    }
    for (; next < node.inputs.size(); ++next) {
      line.operands.push_back(InputOf(node, next));
    }
    const bool stay =
        node.entry != nullptr &&
        std::ranges::find(kAttributesStay, node.entry->family) != kAttributesStay.end();
    if (!stay) {
      for (const strategies::SignatureArgument& argument : signature.constructor) {
        AddAttribute(node, {.name = argument.name}, line);
      }
    }
  }

  /// Operands of a node that says itself which of them are tuples; how many inputs they take.
  std::size_t AddTuples(const Node& node, Line& line) {
    const auto sizes = strategies::IntListAttr(node.attrs, kTupleSizes);
    std::size_t next = 0;
    if (!sizes || !*sizes) {
      return next;
    }
    for (const std::int64_t size : **sizes) {
      const std::size_t count = size < 0 ? 1 : static_cast<std::size_t>(size);
      if (count > node.inputs.size() - next) {
        break;
      }
      const auto first = node.inputs.begin() + static_cast<std::ptrdiff_t>(next);
      line.operands.push_back(
          Tuple({first, first + static_cast<std::ptrdiff_t>(count)}, size >= 0));
      next += count;
    }
    return next;
  }

  Operand InputOf(const Node& node, std::size_t index) {
    const ValueId id = node.inputs[index];
    if (id == strategies::kNoValue) {
      return TextLiteral("None");
    }
    const std::vector<std::size_t> written = node.entry == nullptr
                                                 ? std::vector<std::size_t>()
                                                 : strategies::WrittenOperands(*node.entry);
    return std::ranges::find(written, index) != written.end() ? values_[ToIndex(id)] : ReadOf(id);
  }

  /// A target shape with -1 for extents that are open; nullopt if none is.
  [[nodiscard]] std::optional<Literal> OpenTarget(const Node& node, const std::string& name,
                                                  const strategies::Attr& attr) const {
    const auto* list = std::get_if<strategies::Attr::List>(&attr.value);
    if (name != "shape" || list == nullptr || node.outputs.size() != 1 ||
        !IsOpen(node.outputs.front()) ||
        list->size() != open_[ToIndex(node.outputs.front())].size()) {
      return std::nullopt;
    }
    strategies::Attr::List target = *list;
    for (std::size_t d = 0; d < target.size(); ++d) {
      if (open_[ToIndex(node.outputs.front())][d]) {
        target[d] = strategies::Attr(std::int64_t{-1});
      }
    }
    return LiteralOf(strategies::Attr(std::move(target)));
  }

  /// An argument of the call that is left out and has nothing as its default is an operand, too.
  void AddAttribute(const Node& node, const strategies::SignatureArgument& argument,
                    Line& line) const {
    const auto it = node.attrs.find(argument.name);
    if (node.entry != nullptr && node.entry->kind == strategies::OpKind::kCollective) {
      return;
    }
    if (it != node.attrs.end()) {
      const std::optional<Literal> open = OpenTarget(node, argument.name, it->second);
      const std::optional<std::int64_t> type = TypeNumber(argument.name, it->second);
      line.operands.emplace_back(open   ? *open
                                 : type ? NumberLiteral(*type)
                                        : LiteralOf(it->second));
    } else if (argument.default_value && strategies::IsNone(*argument.default_value)) {
      line.operands.emplace_back(TextLiteral("None"));
    }
  }

  /// Names in depth-first post-order.
  void Number(std::size_t root) {
    names_.assign(lines_.size(), "");
    std::map<std::string, std::int64_t> counts;
    std::vector<std::pair<std::size_t, std::size_t>> stack = {{root, 0}};
    std::vector<bool> seen(lines_.size(), false);
    for (const std::size_t unread : unread_) {
      stack.emplace(stack.begin(), unread, 0);
      seen[unread] = true;
    }
    seen[root] = true;
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      if (next < lines_[at].operands.size()) {
        const auto* below = std::get_if<std::size_t>(&lines_[at].operands[next++]);
        if (below != nullptr && !seen[*below]) {
          seen[*below] = true;
          stack.emplace_back(*below, 0);
        }
        continue;
      }
      const std::string& primitive = lines_[at].primitive;
      names_[at] = primitive + "-" + std::to_string(counts[primitive]++);
      stack.pop_back();
    }
  }

  void AppendLine(std::string& out, const Line& line) const {
    out += R"({"attrs":{)";
    for (const auto& [name, value] : line.attrs) {
      strategies::AppendJsonField(out, name);
      out += value.text;
    }
    out += R"(},"inputs":[)";
    for (const Operand& operand : line.operands) {
      AppendJsonItem(out);
      if (const auto* at = std::get_if<std::size_t>(&operand)) {
        AppendJsonText(out, names_[*at]);
      } else {
        out += std::get<Literal>(operand).text;
      }
    }
    out += "]}";
  }

  const Graph& graph_;
  bool cuts_ = false;
  std::vector<std::vector<bool>> open_;  ///< Per value and dimension.
  std::vector<Operand> values_;
  std::vector<std::optional<std::size_t>> loads_;  ///< Lines of parameters that were read.
  std::vector<bool> folded_;                       ///< Values that are made of a constant.
  std::vector<Line> lines_ = {};
  std::vector<std::string> names_ = {};
  std::vector<std::size_t> unread_ = {};  ///< Lines that no result needs.
};

}  // namespace

std::string GraphListing(const Graph& rank_graph, bool dataset, const OpenInputs& open) {
  return Lister(rank_graph, dataset, open).List();
}

}  // namespace drydock::sim
