#include "sim/tracer/graph_listing.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/ids.h"
#include "sim/tracer/json_values.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"
#include "strategies/operators/op_signature.h"

namespace drydock::sim {
namespace {

using nlohmann::json;
using strategies::ArgumentKind;
using strategies::Graph;
using strategies::Node;
using strategies::Value;
using strategies::ValueKind;

/// Constants with more elements are listed without them.
constexpr std::size_t kMaxListedElements = 8;

/// Operators of this family keep the arguments of their constructor as attributes in the reference.
constexpr std::string_view kAttributesStay = "conv_pool";

/// Attribute of operators that take tuples of tensors: how many each tuple has, -1 for a tensor.
constexpr std::string_view kTupleSizes = "dyn_input_sizes";

constexpr const char* kMakeTuple = "MakeTuple";
constexpr const char* kTupleGetItem = "TupleGetItem";
constexpr const char* kReturn = "Return";

/// A line of the listing, a literal, or where to find either.
using Operand = std::variant<std::size_t, json>;

struct Line {
  std::string primitive = {};
  std::vector<Operand> operands = {};
  json attrs = json::object();
};

/// Numbers, truth values and texts stay what they are; everything else becomes text.
json Literal(const strategies::Attr& attr) {
  json value = AttrJson(attr);
  return value.is_number() || value.is_boolean() || value.is_string()
             ? value
             : json(strategies::AttrText(attr));
}

/// "Tensor(shape=[2], dtype=Float32, value=[0.5 1])", large ones without their values.
json ConstantLiteral(const Graph& graph, const Value& value) {
  std::string text = "Tensor(shape=" + json(value.type.shape).dump() +
                     ", dtype=" + std::string(strategies::DTypeIrName(value.type.dtype));
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
  return text + ")";
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
json AttributeText(const Node& node, const std::string& name, const strategies::Attr& attr) {
  const auto* list = std::get_if<strategies::Attr::List>(&attr.value);
  const bool collective =
      node.entry != nullptr && node.entry->kind == strategies::OpKind::kCollective;
  return list != nullptr && collective && name != "rank_list" ? json(VectorText(*list))
                                                              : Literal(attr);
}

class Lister {
 public:
  Lister(const Graph& graph, bool dataset) : graph_(graph), values_(graph.values.size()) {
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      const Value& value = graph.values[v];
      values_[v] =
          value.kind == ValueKind::kConstant ? ConstantLiteral(graph, value) : json(value.name);
    }
    if (dataset && !graph.inputs.empty()) {
      AddDataset();
    }
    for (const Node& node : graph.nodes) {
      AddNode(node);
    }
  }

  json List() && {
    Line result{.primitive = kReturn};
    result.operands.push_back(Tuple(graph_.outputs, graph_.outputs.size() != 1));
    lines_.push_back(std::move(result));
    Number(lines_.size() - 1);
    json nodes = json::object();
    for (std::size_t n = 0; n < lines_.size(); ++n) {
      if (!names_[n].empty()) {
        json inputs = json::array();
        for (const Operand& operand : lines_[n].operands) {
          inputs.push_back(TextOf(operand));
        }
        nodes[names_[n]] = {{"inputs", std::move(inputs)}, {"attrs", std::move(lines_[n].attrs)}};
      }
    }
    return {{"@graph_0", std::move(nodes)}};
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
          AddLine({.primitive = kTupleGetItem, .operands = {all, json(i)}});
    }
  }

  /// One operand made of several tensors.
  Operand Tuple(const std::vector<ValueId>& ids, bool always) {
    if (!always) {
      return values_[ToIndex(ids.front())];
    }
    Line tuple{.primitive = kMakeTuple};
    for (const ValueId id : ids) {
      tuple.operands.push_back(id == strategies::kNoValue ? json("None") : values_[ToIndex(id)]);
    }
    return AddLine(std::move(tuple));
  }

  void AddNode(const Node& node) {
    Line line{.primitive = node.op};
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
              : AddLine({.primitive = kTupleGetItem, .operands = {at, json(i)}});
    }
  }

  void AddOperands(const Node& node, Line& line) {
    const strategies::OpSignature signature = strategies::ParseSignature(
        node.entry == nullptr ? std::string_view() : node.entry->signature);
    std::size_t next = AddTuples(node, line);
    for (const strategies::SignatureArgument& argument : signature.call) {
      if (argument.kind == ArgumentKind::kAttribute) {
        AddAttribute(node, argument.name, line);
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
    if (node.entry == nullptr || node.entry->family != kAttributesStay) {
      for (const strategies::SignatureArgument& argument : signature.constructor) {
        AddAttribute(node, argument.name, line);
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

  [[nodiscard]] Operand InputOf(const Node& node, std::size_t index) const {
    const ValueId id = node.inputs[index];
    return id == strategies::kNoValue ? Operand(json("None")) : values_[ToIndex(id)];
  }

  static void AddAttribute(const Node& node, const std::string& name, Line& line) {
    const auto it = node.attrs.find(name);
    const bool collective =
        node.entry != nullptr && node.entry->kind == strategies::OpKind::kCollective;
    if (it != node.attrs.end() && !collective) {
      line.operands.emplace_back(Literal(it->second));
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

  [[nodiscard]] json TextOf(const Operand& operand) const {
    const auto* line = std::get_if<std::size_t>(&operand);
    return line != nullptr ? json(names_[*line]) : std::get<json>(operand);
  }

  const Graph& graph_;
  std::vector<Operand> values_;
  std::vector<Line> lines_ = {};
  std::vector<std::string> names_ = {};
  std::vector<std::size_t> unread_ = {};  ///< Lines that no result needs.
};

}  // namespace

json GraphListing(const Graph& rank_graph, bool dataset) {
  return Lister(rank_graph, dataset).List();
}

}  // namespace drydock::sim
