#include "reports/ir_nodes.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "strategies/operators/op_entry.h"
#include "strategies/operators/op_signature.h"

namespace drydock::reports {
namespace {

using strategies::Attr;
using strategies::AttrMap;
using strategies::Graph;
using strategies::LocalProgram;
using strategies::Node;
using strategies::OpKind;

/// Attribute of the compiler's own bookkeeping that MindSpore's AllReduce does not show.
constexpr std::string_view kRankSize = "rank_size";

/// Attributes that say the layouts of a script in its own words.
constexpr std::string_view kInLayout = "in_layout_text";
constexpr std::string_view kOutLayout = "out_layout_text";

bool IsPrimitiveFunction(const Node& node, IrStyle style) {
  if (style == IrStyle::kR20 || node.entry == nullptr || node.op.starts_with('_')) {
    return false;
  }
  const OpKind kind = node.entry->kind;
  const bool sharded_view = kind == OpKind::kView && node.entry->shard != nullptr;
  return kind == OpKind::kCompute || kind == OpKind::kTransparent || kind == OpKind::kReshape ||
         sharded_view;
}

/// "out" of a line `out = self.matmul(x, w)`; empty where the line assigns to no plain name.
std::string AssignedName(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  const std::size_t equals = line.find('=');
  if (first == line.npos || equals == line.npos || line.substr(equals).starts_with("==")) {
    return {};
  }
  std::string_view name = line.substr(first, equals - first);
  name = name.substr(0, name.find_last_not_of(' ') + 1);
  const bool plain = !name.empty() && std::ranges::all_of(name, [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
  return plain ? std::string(name) : std::string();
}

/// Per node the variable that its line assigns to; of several nodes of one line the last one is it.
std::vector<std::string> VariableNames(const Graph& graph) {
  std::vector<std::string> names(graph.nodes.size());
  std::set<std::pair<std::int32_t, std::string>> later;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const std::optional<SourcePlace> place = strategies::AppliedPlaceOf(graph, node);
    if (place && later.emplace(node.place, node.scope).second) {
      names[n] = AssignedName(place->text);
    }
  }
  return names;
}

Attr Find(const AttrMap& attrs, std::string_view name, const Attr& fallback) {
  const auto it = attrs.find(name);
  return it == attrs.end() ? fallback : it->second;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Positions listed in an entry's `writes`, such as "0,1".
std::set<std::size_t> Positions(std::string_view text) {
  std::set<std::size_t> positions;
  for (const std::string_view part : Split(text, ',')) {
    std::size_t position = 0;
    if (std::from_chars(part.data(), part.data() + part.size(), position).ec == std::errc()) {
      positions.insert(position);
    }
  }
  return positions;
}

class NodeDescriber {
 public:
  /// @param shard  node whose shard() the primitive shows, null for none
  NodeDescriber(const Node& node, const Node* shard, IrStyle style)
      : node_(node),
        shard_(shard),
        style_(style),
        signature_(strategies::ParseSignature(node.entry == nullptr ? std::string_view{}
                                                                    : node.entry->signature)) {}

  [[nodiscard]] IrNodeFacts Describe() {
    IrNodeFacts facts = {.op = std::string(strategies::ShownName(node_)),
                         .instance_name = node_.instance_name};
    AddOperands(facts);
    const bool function = IsPrimitiveFunction(node_, style_);
    if (function) {
      facts.op = "PrimFunc_" + node_.op;
      AddConstructorOperands(facts);
    } else if (node_.entry != nullptr && !node_.group) {
      AddNames(facts);
      AddConstructorAttrs(facts);
    }
    AddPlainAttrs(facts);
    AddUserStrategy(facts);
    if (node_.group && node_.entry != nullptr && node_.entry->kind == OpKind::kCollective) {
      AddCollectiveAttrs(facts);
    }
    if (const auto ranks = node_.attrs.find("rank_list");
        ranks != node_.attrs.end() && PointToPointOf(node_) != strategies::PointToPoint::kNone) {
      AddRanks(facts, ranks->second);
    }
    if (node_.reason == strategies::CommReason::kRedistribution && node_.entry != nullptr &&
        !node_.entry->ir_inserted_attr.empty()) {
      facts.primitive_attrs.push_back(std::string(node_.entry->ir_inserted_attr) + ": " +
                                      IrAttrText(Attr(true), style_));
    }
    return facts;
  }

 private:
  void AddOperands(IrNodeFacts& facts) {
    const bool gradient = node_.entry != nullptr && node_.entry->kind == OpKind::kGradient;
    const std::set<std::size_t> written =
        Positions(node_.entry == nullptr ? std::string_view{} : node_.entry->writes);
    facts.writes = !written.empty();
    std::size_t next = 0;
    const auto add_tensors = [&](std::size_t count) {
      for (; count > 0 && next < node_.inputs.size(); --count, ++next) {
        facts.operands.emplace_back(node_.inputs[next]);
        facts.by_reference.push_back(gradient || written.contains(next));
      }
    };
    for (const strategies::SignatureArgument& argument : signature_.call) {
      if (argument.kind == strategies::ArgumentKind::kAttribute) {
        facts.operands.emplace_back(
            Find(node_.attrs, argument.name, argument.default_value.value_or(Attr())));
        facts.by_reference.push_back(false);
        shown_.insert(argument.name);
      } else if (argument.kind == strategies::ArgumentKind::kTensorList) {
        facts.list_begin = facts.operands.size();
        add_tensors(node_.inputs.size());
        // Operators of our own have no tuple to take.
        facts.list_count = node_.op.starts_with('_') ? 0 : facts.operands.size() - facts.list_begin;
      } else {
        add_tensors(1);
      }
    }
    add_tensors(node_.inputs.size());
  }

  void AddConstructorOperands(IrNodeFacts& facts) {
    for (const strategies::SignatureArgument& argument : signature_.constructor) {
      facts.operands.emplace_back(AttrOf(argument.name));
      facts.by_reference.push_back(false);
      shown_.insert(argument.name);
    }
  }

  /// Names of inputs and outputs and the repeated attributes of OpEntry::ir_attrs.
  void AddNames(IrNodeFacts& facts) const {
    std::string names;
    for (const strategies::SignatureArgument& argument : signature_.call) {
      names += (names.empty() ? "" : ", ") + argument.name;
    }
    for (const std::string_view item : Split(node_.entry->ir_attrs, ';')) {
      const std::size_t equals = item.find('=');
      const std::string_view key = item.substr(0, equals);
      const std::string_view value = equals == item.npos ? "" : item.substr(equals + 1);
      if (key == "input_names") {
        names.clear();
        for (const std::string_view name : Split(value, ',')) {
          names += (names.empty() ? "" : ", ") + std::string(name);
        }
      } else {
        facts.primitive_attrs.push_back(std::string(key) + ": " +
                                        IrAttrText(AttrOf(std::string(value)), style_));
      }
    }
    facts.primitive_attrs.push_back("input_names: [" + names + "]");
    facts.primitive_attrs.emplace_back("output_names: [output]");
  }

  /// Value of an attribute, or the constructor's default.
  [[nodiscard]] Attr AttrOf(const std::string& name) const {
    const auto argument =
        std::ranges::find(signature_.constructor, name, &strategies::SignatureArgument::name);
    return Find(node_.attrs, name,
                argument == signature_.constructor.end()
                    ? Attr()
                    : argument->default_value.value_or(Attr()));
  }

  void AddConstructorAttrs(IrNodeFacts& facts) {
    for (const strategies::SignatureArgument& argument : signature_.constructor) {
      if (argument.default_value && !node_.attrs.contains(argument.name)) {
        AddAttr(facts, argument.name, *argument.default_value);
      }
    }
  }

  void AddPlainAttrs(IrNodeFacts& facts) {
    for (const auto& [name, attr] : node_.attrs) {
      const bool hidden = name == kRankSize && node_.entry != nullptr &&
                          node_.entry->collective != nullptr &&
                          !node_.entry->collective->ir_shows_rank_size;
      if (!shown_.contains(name) && !hidden && name != kInLayout && name != kOutLayout) {
        AddAttr(facts, name, attr);
      }
    }
  }

  void AddAttr(IrNodeFacts& facts, const std::string& name, const Attr& attr) {
    facts.primitive_attrs.push_back(name + ": " + IrAttrText(attr, style_));
    shown_.insert(name);
  }

  void AddUserStrategy(IrNodeFacts& facts) const {
    const bool layouts = node_.attrs.contains(kInLayout) || node_.attrs.contains(kOutLayout);
    if (shard_ == nullptr || (!shard_->in_strategy && !shard_->out_strategy && !layouts)) {
      return;
    }
    const auto text = [](const strategies::Boxed<strategies::Strategy>& strategy) {
      return strategy ? IrStrategyText(*strategy) : std::string("None");
    };
    facts.primitive_attrs.push_back("in_strategy: " + text(shard_->in_strategy));
    facts.primitive_attrs.push_back("out_strategy: " + text(shard_->out_strategy));
    if (style_ == IrStyle::k2025) {
      facts.primitive_attrs.push_back("in_layout: " + LayoutText(kInLayout));
      facts.primitive_attrs.push_back("out_layout: " + LayoutText(kOutLayout));
    }
  }

  /// Ranks of a message are numbers, as those of a collective.
  void AddRanks(IrNodeFacts& facts, const Attr& ranks) const {
    std::string text;
    if (const auto* list = std::get_if<Attr::List>(&ranks.value)) {
      for (const Attr& rank : *list) {
        text += (text.empty() ? "" : ", ") + strategies::AttrText(rank);
      }
    }
    facts.primitive_attrs.push_back("group_rank_ids: (" + text + ")");
  }

  [[nodiscard]] std::string LayoutText(std::string_view name) const {
    const auto text = node_.attrs.find(name);
    const auto* layout =
        text == node_.attrs.end() ? nullptr : std::get_if<std::string>(&text->second.value);
    return layout == nullptr ? "None" : *layout;
  }

  void AddCollectiveAttrs(IrNodeFacts& facts) {
    const auto add_missing = [&](const char* name, const Attr& attr) {
      if (!node_.attrs.contains(name)) {
        AddAttr(facts, name, attr);
      }
    };
    add_missing("fusion", Attr(0));
    add_missing("index", Attr(0));
    add_missing("no_eliminate", Attr(true));
    if (const auto ranks = node_.attrs.find("rank_list"); ranks != node_.attrs.end()) {
      add_missing("group_rank_ids", ranks->second);
    }
    if (node_.phase == strategies::Phase::kForward) {
      facts.cnode_attrs.push_back("comm_reuse: " + IrAttrText(Attr(true), style_));
    }
  }

  const Node& node_;
  const Node* shard_;
  IrStyle style_;
  strategies::OpSignature signature_;
  std::set<std::string, std::less<>> shown_;
};

/// Variable name of a node's result, or its number among the parameters and nodes of both graphs.
std::string LabelOf(const Graph& graph, const Node& node, const std::string& variable,
                    std::int64_t number, IrStyle style) {
  if (!node.outputs.empty() && !graph.at(node.outputs.front()).name.empty()) {
    return graph.at(node.outputs.front()).name;
  }
  return variable.empty() ? IrNodeLabel(number, style) : variable;
}

std::int64_t FirstNodeNumber(const LocalProgram& program) {
  return 1 + static_cast<std::int64_t>(program.from->traced.parameters.size());
}

/// A node of the local program that is the traced operator itself and nothing inserted around it.
bool IsCopyOfTraced(const LocalProgram& program, const Node& node) {
  return node.origin != strategies::kNoNode && node.phase != strategies::Phase::kBackward &&
         node.reason == strategies::CommReason::kNone &&
         SameOperator(program.from->traced.at(node.origin), node);
}

std::optional<strategies::Strategy> UsedStrategy(const LocalProgram& program, NodeId traced) {
  const std::size_t index = ToIndex(traced);
  if (index >= program.from->plans.size() || !program.from->plans[index].sharding) {
    return std::nullopt;
  }
  return program.from->plans[index].sharding->strategy;
}

}  // namespace

std::vector<IrNodeFacts> TracedNodeFacts(const LocalProgram& program, IrStyle style) {
  const std::vector<std::string> full_names = strategies::FullNames(program.from->traced);
  const std::vector<std::string> variables = VariableNames(program.from->traced);
  std::vector<IrNodeFacts> all;
  for (std::size_t i = 0; i < program.from->traced.nodes.size(); ++i) {
    const Node& node = program.from->traced.nodes[i];
    IrNodeFacts facts = NodeDescriber(node, &node, style).Describe();
    const auto number = FirstNodeNumber(program) + static_cast<std::int64_t>(i);
    facts.label = LabelOf(program.from->traced, node, variables[i], number, style);
    facts.in_strategy = UsedStrategy(program, NodeId{static_cast<std::int32_t>(i)});
    facts.full_name = full_names[i];
    all.push_back(std::move(facts));
  }
  return all;
}

std::vector<IrNodeFacts> LocalNodeFacts(const LocalProgram& program, const Graph& rank_graph,
                                        IrStyle style) {
  const std::vector<std::string> full_names = strategies::FullNames(rank_graph);
  const std::vector<std::string> traced_names = strategies::FullNames(program.from->traced);
  const std::vector<std::string> variables = VariableNames(program.from->traced);
  const std::int64_t first_inserted =
      FirstNodeNumber(program) + static_cast<std::int64_t>(program.from->traced.nodes.size());
  std::vector<IrNodeFacts> all;
  for (std::size_t i = 0; i < rank_graph.nodes.size(); ++i) {
    const Node& node = rank_graph.nodes[i];
    const bool copy = IsCopyOfTraced(program, node);
    const Node* traced = copy ? &program.from->traced.at(node.origin) : nullptr;
    IrNodeFacts facts = NodeDescriber(node, traced, style).Describe();
    facts.inserted = !copy;
    if (copy) {
      const auto number = FirstNodeNumber(program) + ToInt(node.origin);
      facts.label =
          LabelOf(program.from->traced, *traced, variables[ToIndex(node.origin)], number, style);
      facts.in_strategy = UsedStrategy(program, node.origin);
      facts.full_name = traced_names[ToIndex(node.origin)];
    } else {
      facts.label = IrNodeLabel(first_inserted + static_cast<std::int64_t>(i), style);
      facts.full_name = full_names[i];
    }
    facts.label.insert(0, "equiv");
    all.push_back(std::move(facts));
  }
  return all;
}

}  // namespace drydock::reports
