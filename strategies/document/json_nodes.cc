// Nodes of a graph document. All are read first, then added one by one, so that a name that is used
// before it is defined can be told from one that does not exist.

#include "strategies/document/json_nodes.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "strategies/document/json_codec.h"
#include "strategies/document/json_fields.h"
#include "strategies/graph/parameter_role.h"

namespace drydock::strategies {
namespace {

constexpr std::array<std::string_view, 3> kPhaseNames = {"forward", "backward", "optimizer"};

/// A node as the document writes it.
struct NodeText {
  JsonView where;
  JsonNode read = {};
  std::vector<JsonView> inputs = {};
  std::vector<std::optional<std::string>> labels = {};  ///< "outputs"; empty if not given.
  std::vector<std::optional<std::string>> names = {};   ///< "names"; empty if not given.
  std::string default_label = {};
};

Result<std::vector<std::optional<std::string>>> ReadLabels(ObjectReader& object,
                                                           std::string_view name) {
  std::vector<std::optional<std::string>> labels;
  const std::optional<JsonView> value = object.Find(name);
  if (!value) {
    return labels;
  }
  DRYDOCK_TRY(const std::vector<JsonView> elements, ReadJsonList(*value, name));
  for (const JsonView element : elements) {
    if (element.kind() == JsonKind::kNull) {
      labels.emplace_back(std::nullopt);
      continue;
    }
    DRYDOCK_TRY(std::string label, ReadJsonText(element, name));
    labels.emplace_back(std::move(label));
  }
  return labels;
}

Result<Phase> ReadPhase(ObjectReader& object) {
  const std::optional<JsonView> value = object.Find("phase");
  if (!value) {
    return Phase::kForward;
  }
  DRYDOCK_TRY(const std::string text, ReadJsonText(*value, "phase"));
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
    if (text == kPhaseNames[i]) {
      return static_cast<Phase>(i);
    }
  }
  return FailAtJson(*value, "graph:phase", "phase '" + text + "' is not known",
                    "use \"forward\", \"backward\" or \"optimizer\"");
}

Status ReadProperties(ObjectReader& object, Node& node, GraphBuilder& builder) {
  if (const auto attrs = object.Find("attrs")) {
    DRYDOCK_TRY(node.attrs, ReadJsonAttrs(*attrs));
  }
  DRYDOCK_TRY(node.scope, TextField(object, "scope", ""));
  DRYDOCK_TRY(node.instance_name, TextField(object, "instance", ""));
  DRYDOCK_TRY(node.phase, ReadPhase(object));
  DRYDOCK_TRY(const std::int64_t stage, IntField(object, "stage", -1));
  if (stage < -1 || !std::in_range<std::int32_t>(stage)) {
    return FailAtJson(object.object(), "graph:stage", "'stage' must be from 0 to 2147483647");
  }
  node.stage = static_cast<std::int32_t>(stage);
  DRYDOCK_TRY(const std::int64_t segment, IntField(object, "segment", -1));
  if (segment < -1 || !std::in_range<std::int32_t>(segment)) {
    return FailAtJson(object.object(), "graph:segment", "'segment' must be from 0 to 2147483647");
  }
  node.segment = static_cast<std::int32_t>(segment);
  if (const auto place = object.Find("place")) {
    DRYDOCK_TRY(node.place, ReadJsonPlace(*place, builder));
  }
  return {};
}

Result<std::optional<std::vector<TensorType>>> ReadOutputTypes(ObjectReader& object) {
  const std::optional<JsonView> value = object.Find("output_types");
  if (!value) {
    return std::optional<std::vector<TensorType>>();
  }
  DRYDOCK_TRY(const std::vector<JsonView> elements, ReadJsonList(*value, "output_types"));
  std::vector<TensorType> types;
  for (const JsonView element : elements) {
    DRYDOCK_TRY(ObjectReader type_object, ObjectReader::Make(element, "a type"));
    DRYDOCK_TRY(TensorType type, ReadJsonType(type_object, "shape"));
    DRYDOCK_RETURN_IF_ERROR(type_object.Finish());
    // The builder knows which types are possible.
    if (const auto added = GraphBuilder().AddInput("result", type); !added) {
      return tl::unexpected(WithPlace(added.error(), element.Place()));
    }
    types.push_back(std::move(type));
  }
  return std::optional(std::move(types));
}

Result<NodeText> ReadNode(JsonView value, std::map<std::string, std::int64_t>& op_counts,
                          GraphBuilder& builder) {
  DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "a node"));
  NodeText node{.where = value};
  if (const auto inputs = object.Find("inputs")) {
    DRYDOCK_TRY(node.inputs, ReadJsonList(*inputs, "inputs"));
  }
  DRYDOCK_TRY(node.labels, ReadLabels(object, "outputs"));
  DRYDOCK_TRY(node.names, ReadLabels(object, "names"));
  DRYDOCK_TRY(node.read, ReadJsonNode(object, builder));
  DRYDOCK_RETURN_IF_ERROR(object.Finish());
  node.default_label = DefaultLabel(node.read.op, op_counts[node.read.op]++, 0);
  return node;
}

/// Adds the nodes that were read to the graph.
class NodeAdder {
 public:
  NodeAdder(std::vector<NodeText> nodes, LabelTable& labels, GraphBuilder& builder)
      : nodes_(std::move(nodes)), labels_(labels), builder_(builder) {}

  Status AddAll() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      DRYDOCK_RETURN_IF_ERROR(Add(i));
    }
    return {};
  }

 private:
  Status Add(std::size_t index) {
    NodeText& text = nodes_[index];
    std::vector<ValueId> inputs;
    for (const JsonView input : text.inputs) {
      DRYDOCK_TRY(const ValueId value, Resolve(index, input));
      inputs.push_back(value);
    }
    const bool given_types = text.read.output_types.has_value();
    const Result<NodeId> id =
        AddJsonNode(std::move(text.read), std::move(inputs), given_types, builder_);
    if (!id) {
      return tl::unexpected(WithPlace(id.error(), text.where.Place()));
    }
    return DeclareResults(text, *id);
  }

  Status DeclareResults(const NodeText& text, NodeId id) {
    const std::vector<ValueId> outputs = builder_.graph().at(id).outputs;
    for (const auto* list : {&text.labels, &text.names}) {
      if (!list->empty() && list->size() != outputs.size()) {
        return FailAtJson(text.where, "graph:result-count",
                          "'" + builder_.graph().at(id).op + "' has " +
                              std::to_string(outputs.size()) + " results, but " +
                              std::to_string(list->size()) + " are named");
      }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::optional<std::string> label = text.labels.empty() ? std::nullopt : text.labels[i];
      const std::optional<std::string> name = text.names.empty() ? std::nullopt : text.names[i];
      builder_.mutable_graph().values[ToIndex(outputs[i])].name = name ? *name : label.value_or("");
      const std::string tail = i == 0 ? "" : ":" + std::to_string(i);
      DRYDOCK_RETURN_IF_ERROR(
          labels_.Declare(label.value_or(text.default_label + tail), outputs[i], text.where));
    }
    return {};
  }

  Result<ValueId> Resolve(std::size_t user, JsonView input) {
    if (input.kind() == JsonKind::kNull) {
      return kNoValue;
    }
    DRYDOCK_TRY(const std::string label, ReadJsonText(input, "inputs"));
    if (const std::optional<ValueId> found = labels_.Find(label)) {
      return *found;
    }
    IndexLabels();
    const auto later = node_of_label_.find(label);
    return later == node_of_label_.end() ? Undefined(label, input)
                                         : UsedTooEarly(user, later->second, label, input);
  }

  Result<ValueId> Undefined(const std::string& label, JsonView input) const {
    const std::string nearest = labels_.Nearest(label);
    return FailAtJson(input, "graph:undefined-name", "nothing is named '" + label + "'",
                      nearest.empty()
                          ? "declare it under inputs, parameters, constants or as a result"
                          : "did you mean '" + nearest + "'?");
  }

  Result<ValueId> UsedTooEarly(std::size_t user, std::size_t definer, const std::string& label,
                               JsonView input) const {
    const SourcePlace place = nodes_[definer].where.Place();
    const std::string line = std::to_string(place.line);
    if (DependsOn(definer, user)) {
      return FailAtJson(
          input, "graph:cycle",
          "'" + label + "' of '" + nodes_[definer].read.op + "' in line " + line +
              " depends on the node that uses it here: the nodes form a cycle",
          "a step is computed node by node; pass the old value in as an input or parameter");
    }
    return FailAtJson(input, "graph:use-before-definition",
                      "'" + label + "' is used before line " + line + " defines it",
                      "write the nodes in the order in which they are computed");
  }

  /// True if the operands of node `from` need node `on`, directly or not.
  [[nodiscard]] bool DependsOn(std::size_t from, std::size_t on) const {
    std::vector<bool> seen(nodes_.size(), false);
    std::vector<std::size_t> open = {from};
    while (!open.empty()) {
      const std::size_t node = open.back();
      open.pop_back();
      if (node == on) {
        return true;
      }
      for (const JsonView input : nodes_[node].inputs) {
        const auto it = input.kind() == JsonKind::kString
                            ? node_of_label_.find(std::string(input.AsText()))
                            : node_of_label_.end();
        if (it != node_of_label_.end() && !seen[it->second]) {
          seen[it->second] = true;
          open.push_back(it->second);
        }
      }
    }
    return false;
  }

  /// Which node defines each label; built only to explain a failure.
  void IndexLabels() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const NodeText& node = nodes_[i];
      node_of_label_.emplace(node.default_label, i);
      for (const std::optional<std::string>& label : node.labels) {
        node_of_label_.emplace(label.value_or(node.default_label), i);
      }
    }
  }

  std::vector<NodeText> nodes_;
  LabelTable& labels_;
  GraphBuilder& builder_;
  std::unordered_map<std::string, std::size_t> node_of_label_ = {};
};

}  // namespace

std::string DefaultLabel(std::string_view op, std::int64_t count, std::size_t output) {
  const std::string first = std::string(op) + std::to_string(count);
  return output == 0 ? first : first + ":" + std::to_string(output);
}

Status LabelTable::Declare(const std::string& label, ValueId value, JsonView where) {
  const auto [it, inserted] = declared_.emplace(label, Declaration{.value = value, .where = where});
  if (inserted) {
    return {};
  }
  const SourcePlace first = it->second.where.Place();
  return FailAtJson(where, "graph:duplicate-name",
                    "name '" + label + "' is already used in line " + std::to_string(first.line) +
                        ", column " + std::to_string(first.column),
                    "give every value its own name");
}

std::optional<ValueId> LabelTable::Find(std::string_view label) const {
  const auto it = declared_.find(std::string(label));
  return it == declared_.end() ? std::nullopt : std::optional(it->second.value);
}

std::string LabelTable::Nearest(std::string_view label) const {
  std::vector<std::string_view> names;
  names.reserve(declared_.size());
  for (const auto& [name, declaration] : declared_) {
    names.push_back(name);
  }
  std::ranges::sort(names);  // the table's order must not show
  return NearestWord(label, names);
}

Status ReadJsonSharding(ObjectReader& object, Node& node, GraphBuilder& builder) {
  if (const auto value = object.Find("strategy")) {
    DRYDOCK_TRY(node.in_strategy, ReadJsonStrategy(*value, "strategy"));
  }
  if (const auto value = object.Find("out_strategy")) {
    DRYDOCK_TRY(node.out_strategy, ReadJsonStrategy(*value, "out_strategy"));
  }
  if (const auto value = object.Find("layout")) {
    DRYDOCK_TRY(node.in_layout, ReadJsonLayouts(*value));
  }
  if (const auto value = object.Find("out_layout")) {
    DRYDOCK_TRY(node.out_layout, ReadJsonLayouts(*value));
  }
  if (const auto place = object.Find("shard_place")) {
    DRYDOCK_TRY(node.shard_place, ReadJsonPlace(*place, builder));
  }
  return {};
}

Result<JsonNode> ReadJsonNode(ObjectReader& object, GraphBuilder& builder) {
  JsonNode read;
  DRYDOCK_TRY(const JsonView op, object.Require("op"));
  DRYDOCK_TRY(read.op, ReadJsonText(op, "op"));
  DRYDOCK_RETURN_IF_ERROR(ReadProperties(object, read.node, builder));
  DRYDOCK_RETURN_IF_ERROR(ReadJsonSharding(object, read.node, builder));
  DRYDOCK_TRY(read.output_types, ReadOutputTypes(object));
  return read;
}

Result<NodeId> AddJsonNode(JsonNode read, std::vector<ValueId> inputs, bool given_types,
                           GraphBuilder& builder) {
  NodeSpec spec{.op = read.op,
                .inputs = std::move(inputs),
                .attrs = std::move(read.node.attrs),
                .scope = std::move(read.node.scope),
                .instance_name = std::move(read.node.instance_name),
                .place = read.node.place,
                .phase = read.node.phase};
  Result<NodeId> id =
      given_types
          ? builder.AddNodeWithTypes(
                std::move(spec), std::move(read.output_types).value_or(std::vector<TensorType>()))
          : builder.AddNode(std::move(spec));
  if (!id) {
    return id;
  }
  Node& node = builder.mutable_graph().nodes[ToIndex(*id)];
  node.stage = read.node.stage;
  node.segment = read.node.segment;
  node.shard_place = read.node.shard_place;
  node.in_strategy = std::move(read.node.in_strategy);
  node.out_strategy = std::move(read.node.out_strategy);
  node.in_layout = std::move(read.node.in_layout);
  node.out_layout = std::move(read.node.out_layout);
  return id;
}

Result<Parameter> ReadJsonParameter(ObjectReader& object, ParameterRole fallback,
                                    GraphBuilder& builder) {
  Parameter info{.role = fallback};
  if (const auto role = object.Find("role")) {
    DRYDOCK_TRY(const std::string text, ReadJsonText(*role, "role"));
    const std::optional<ParameterRole> parsed = ParseParameterRole(text);
    if (!parsed) {
      return FailAtJson(
          *role, "graph:role", "role '" + text + "' is not known",
          "use \"weight\", \"optimizer_state\", \"hyper\" or \"accumulated_gradient\"");
    }
    info.role = *parsed;
  }
  const bool weight = info.role == ParameterRole::kWeight;
  DRYDOCK_TRY(info.requires_grad, BoolField(object, "requires_grad", weight));
  DRYDOCK_TRY(info.layerwise_parallel, BoolField(object, "layerwise_parallel", false));
  DRYDOCK_TRY(info.parallel_optimizer, BoolField(object, "parallel_optimizer", true));
  DRYDOCK_TRY(info.comm_fusion, IntField(object, "comm_fusion", 1));
  if (const auto place = object.Find("place")) {
    DRYDOCK_TRY(info.place, ReadJsonPlace(*place, builder));
  }
  return info;
}

namespace {

/// Recursion is bounded by the reader's nesting limit.
Status AppendData(JsonView value, std::vector<double>& data) {
  if (value.kind() != JsonKind::kArray) {
    DRYDOCK_TRY(const double number, ReadJsonFloat(value, "data"));
    data.push_back(number);
    return {};
  }
  for (const JsonView element : value.Elements()) {
    DRYDOCK_RETURN_IF_ERROR(AppendData(element, data));
  }
  return {};
}

}  // namespace

Result<std::vector<double>> ReadJsonData(JsonView value) {
  std::vector<double> data;
  DRYDOCK_RETURN_IF_ERROR(AppendData(value, data));
  return data;
}

Result<std::int32_t> ReadJsonPlace(JsonView value, GraphBuilder& builder) {
  if (value.kind() == JsonKind::kInt) {
    const std::size_t count = builder.graph().stacks.size();
    if (value.AsInt() < 0 || value.AsInt() >= static_cast<std::int64_t>(count)) {
      return FailAtJson(value, "graph:place",
                        "'place' is " + std::to_string(value.AsInt()) + ", but 'stacks' has " +
                            std::to_string(count) + " entries");
    }
    return static_cast<std::int32_t>(value.AsInt());
  }
  DRYDOCK_TRY(SourceStack stack, ReadJsonStack(value));
  return builder.AddStack(std::move(stack));
}

Status ReadJsonNodes(JsonView nodes, LabelTable& labels, GraphBuilder& builder) {
  DRYDOCK_TRY(const std::vector<JsonView> elements, ReadJsonList(nodes, "nodes"));
  if (elements.size() > kMaxGraphNodes) {
    return FailAtJson(nodes, "graph:too-many-nodes",
                      std::to_string(elements.size()) + " nodes, at most " +
                          std::to_string(kMaxGraphNodes) + " are read");
  }
  std::map<std::string, std::int64_t> op_counts;
  std::vector<NodeText> texts;
  for (const JsonView element : elements) {
    DRYDOCK_TRY(NodeText text, ReadNode(element, op_counts, builder));
    texts.push_back(std::move(text));
  }
  return NodeAdder(std::move(texts), labels, builder).AddAll();
}

}  // namespace drydock::strategies
