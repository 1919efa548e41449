// Writes graph documents: one value or node a line, fields in a fixed order, defaults left out.

#include <map>
#include <set>

#include "strategies/document/json_codec.h"
#include "strategies/document/json_fields.h"
#include "strategies/document/json_job.h"
#include "strategies/document/json_nodes.h"
#include "strategies/graph/parameter_role.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies {
namespace {

/// How the document refers to each value, by value index.
struct Labels {
  std::vector<std::string> label = {};
  std::vector<bool> is_default = {};  ///< The reader makes up the same label.
};

/// Labels for values without a usable name.
std::vector<std::string> FallbackLabels(const Graph& graph) {
  std::vector<std::string> labels(graph.values.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    labels[ToIndex(graph.inputs[i])] = "input" + std::to_string(i);
  }
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    labels[ToIndex(graph.parameters[i].value)] = "parameter" + std::to_string(i);
  }
  for (std::size_t i = 0; i < graph.constants.size(); ++i) {
    labels[ToIndex(graph.constants[i].value)] = "constant" + std::to_string(i);
  }
  std::map<std::string_view, std::int64_t> op_counts;
  for (const Node& node : graph.nodes) {
    const std::int64_t count = op_counts[node.op]++;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      labels[ToIndex(node.outputs[i])] = DefaultLabel(node.op, count, i);
    }
  }
  return labels;
}

/// Values in the order in which a document declares them.
std::vector<std::size_t> DocumentOrder(const Graph& graph) {
  std::vector<std::size_t> order;
  for (const ValueId input : graph.inputs) {
    order.push_back(ToIndex(input));
  }
  for (const Parameter& parameter : graph.parameters) {
    order.push_back(ToIndex(parameter.value));
  }
  for (const Constant& constant : graph.constants) {
    order.push_back(ToIndex(constant.value));
  }
  for (const Node& node : graph.nodes) {
    for (const ValueId output : node.outputs) {
      order.push_back(ToIndex(output));
    }
  }
  return order;
}

/// Values keep their names as labels where those are unique (first come, first served).
Labels MakeLabels(const Graph& graph) {
  Labels labels;
  labels.label.resize(graph.values.size());
  labels.is_default.resize(graph.values.size(), false);
  std::set<std::string, std::less<>> used;
  const std::vector<std::size_t> order = DocumentOrder(graph);
  for (const std::size_t i : order) {
    if (!graph.values[i].name.empty() && used.insert(graph.values[i].name).second) {
      labels.label[i] = graph.values[i].name;
    }
  }
  std::vector<std::string> fallback = FallbackLabels(graph);
  for (const std::size_t i : order) {
    if (!labels.label[i].empty()) {
      continue;
    }
    const bool unnamed_result =
        graph.values[i].kind == ValueKind::kOutput && graph.values[i].name.empty();
    labels.is_default[i] = unnamed_result && !used.contains(fallback[i]);
    while (!used.insert(fallback[i]).second) {
      fallback[i] += "_";
    }
    labels.label[i] = fallback[i];
  }
  return labels;
}

/// Writes the sections into one string.
class DocumentWriter {
 public:
  DocumentWriter(const Graph& graph, const JobConfig& job)
      : graph_(graph), job_(job), labels_(MakeLabels(graph)) {}

  std::string Write() {
    out_ = "{\"schema\":\"drydock.graph/1\",\n\"name\":";
    AppendJsonText(out_, graph_.name);
    out_ += ",\n\"job\":";
    AppendJsonJob(out_, job_);
    Section("inputs", graph_.inputs.size(), &DocumentWriter::WriteInput);
    Section("parameters", graph_.parameters.size(), &DocumentWriter::WriteParameter);
    Section("constants", graph_.constants.size(), &DocumentWriter::WriteConstant);
    Section("stacks", graph_.stacks.size(), &DocumentWriter::WriteStack);
    Section("nodes", graph_.nodes.size(), &DocumentWriter::WriteNode);
    Section("outputs", graph_.outputs.size(), &DocumentWriter::WriteOutput);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  void Section(std::string_view name, std::size_t count,
               void (DocumentWriter::*write)(std::size_t)) {
    out_ += ",\n\"" + std::string(name) + "\":[";
    for (std::size_t i = 0; i < count; ++i) {
      out_ += i > 0 ? ",\n" : "\n";
      (this->*write)(i);
    }
    out_ += ']';
  }

  void Field(std::string_view name) { AppendJsonField(out_, name); }

  void TextFieldOf(std::string_view name, std::string_view text) {
    Field(name);
    AppendJsonText(out_, text);
  }

  void FlagField(std::string_view name, bool flag) {
    Field(name);
    out_ += flag ? "true" : "false";
  }

  /// "name" always, "label" where the name cannot be referred to.
  void NameFields(ValueId id) {
    const Value& value = graph_.at(id);
    const std::string& label = labels_.label[ToIndex(id)];
    TextFieldOf("name", value.name);
    if (label != value.name) {
      TextFieldOf("label", label);
    }
  }

  void TypeFields(const TensorType& type, std::string_view shape_field, const Shape& shape) {
    Field(shape_field);
    AppendJsonInts(out_, shape);
    TextFieldOf("dtype", DTypeName(type.dtype));
  }

  void WriteInput(std::size_t index) {
    const TensorType& type = graph_.at(graph_.inputs[index]).type;
    out_ += '{';
    NameFields(graph_.inputs[index]);
    const std::optional<Shape> local = LocalShape(type.shape, index);
    TypeFields(type, local ? "shape" : "global_shape", local.value_or(type.shape));
    out_ += '}';
  }

  /// The part of an input one rank reads; nullopt if the batch is not divisible.
  [[nodiscard]] std::optional<Shape> LocalShape(Shape shape, std::size_t index) const {
    const Result<std::vector<std::int64_t>> cuts = DatasetCuts(shape.size(), index, job_);
    if (!cuts) {
      return std::nullopt;
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if ((*cuts)[d] < 1 || shape[d] % (*cuts)[d] != 0) {
        return std::nullopt;
      }
      shape[d] /= (*cuts)[d];
    }
    return shape;
  }

  void WriteParameter(std::size_t index) {
    const Parameter& parameter = graph_.parameters[index];
    const TensorType& type = graph_.at(parameter.value).type;
    const bool weight = parameter.role == ParameterRole::kWeight;
    out_ += '{';
    NameFields(parameter.value);
    TypeFields(type, "shape", type.shape);
    if (parameter.state_of != kNoValue) {
      TextFieldOf("state_of", labels_.label[ToIndex(parameter.state_of)]);
    }
    if (parameter.state_of != kNoValue || !weight) {
      TextFieldOf("role", ParameterRoleName(parameter.role));
    }
    if (parameter.requires_grad != weight) {
      FlagField("requires_grad", parameter.requires_grad);
    }
    if (parameter.layerwise_parallel) {
      FlagField("layerwise_parallel", true);
    }
    if (!parameter.parallel_optimizer) {
      FlagField("parallel_optimizer", false);
    }
    if (parameter.comm_fusion != 1) {
      Field("comm_fusion");
      out_ += std::to_string(parameter.comm_fusion);
    }
    if (parameter.place >= 0) {
      Field("place");
      out_ += std::to_string(parameter.place);
    }
    out_ += '}';
  }

  void WriteConstant(std::size_t index) {
    const Constant& constant = graph_.constants[index];
    const TensorType& type = graph_.at(constant.value).type;
    out_ += '{';
    NameFields(constant.value);
    TypeFields(type, "shape", type.shape);
    if (constant.data) {
      Field("data");
      out_ += '[';
      for (std::size_t i = 0; i < constant.data->size(); ++i) {
        out_ += i > 0 ? "," : "";
        AppendJsonFloat(out_, (*constant.data)[i]);
      }
      out_ += ']';
    }
    out_ += '}';
  }

  void WriteStack(std::size_t index) { AppendJsonStack(out_, graph_.stacks[index]); }

  void WriteOutput(std::size_t index) {
    AppendJsonText(out_, labels_.label[ToIndex(graph_.outputs[index])]);
  }

  void WriteNode(std::size_t index) {
    const Node& node = graph_.nodes[index];
    out_ += '{';
    TextFieldOf("op", node.op);
    Field("inputs");
    out_ += '[';
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      out_ += i > 0 ? "," : "";
      if (node.inputs[i] == kNoValue) {
        out_ += "null";
      } else {
        AppendJsonText(out_, labels_.label[ToIndex(node.inputs[i])]);
      }
    }
    out_ += ']';
    WriteResultNames(node);
    WriteProperties(node);
    WriteSharding(node);
    if (node.entry == nullptr || node.entry->infer == nullptr) {
      WriteOutputTypes(node);
    }
    out_ += '}';
  }

  void WriteResultNames(const Node& node) {
    bool any_label = false;
    bool any_name = false;
    for (const ValueId output : node.outputs) {
      const bool is_default = labels_.is_default[ToIndex(output)];
      any_label = any_label || !is_default;
      any_name =
          any_name || (!is_default && labels_.label[ToIndex(output)] != graph_.at(output).name);
    }
    if (any_label) {
      Field("outputs");
      out_ += '[';
      for (const ValueId output : node.outputs) {
        out_ += output == node.outputs.front() ? "" : ",";
        if (labels_.is_default[ToIndex(output)]) {
          out_ += "null";
        } else {
          AppendJsonText(out_, labels_.label[ToIndex(output)]);
        }
      }
      out_ += ']';
    }
    if (any_name) {
      Field("names");
      out_ += '[';
      for (const ValueId output : node.outputs) {
        out_ += output == node.outputs.front() ? "" : ",";
        AppendJsonText(out_, graph_.at(output).name);
      }
      out_ += ']';
    }
  }

  void WriteProperties(const Node& node) {
    if (!node.attrs.empty()) {
      Field("attrs");
      AppendJsonAttrs(out_, node.attrs);
    }
    if (!node.scope.empty()) {
      TextFieldOf("scope", node.scope);
    }
    if (!node.instance_name.empty()) {
      TextFieldOf("instance", node.instance_name);
    }
    if (node.phase != Phase::kForward) {
      TextFieldOf("phase", node.phase == Phase::kBackward ? "backward" : "optimizer");
    }
    if (node.stage >= 0) {
      Field("stage");
      out_ += std::to_string(node.stage);
    }
    if (node.segment >= 0) {
      Field("segment");
      out_ += std::to_string(node.segment);
    }
    if (node.place >= 0) {
      Field("place");
      out_ += std::to_string(node.place);
    }
    if (node.shard_place >= 0) {
      Field("shard_place");
      out_ += std::to_string(node.shard_place);
    }
  }

  void WriteSharding(const Node& node) {
    if (node.in_strategy) {
      Field("strategy");
      AppendJsonIntLists(out_, *node.in_strategy);
    }
    if (node.out_strategy) {
      Field("out_strategy");
      AppendJsonIntLists(out_, *node.out_strategy);
    }
    if (node.in_layout) {
      Field("layout");
      AppendJsonLayouts(out_, *node.in_layout);
    }
    if (node.out_layout) {
      Field("out_layout");
      AppendJsonLayouts(out_, *node.out_layout);
    }
  }

  void WriteOutputTypes(const Node& node) {
    Field("output_types");
    out_ += '[';
    for (const ValueId output : node.outputs) {
      const TensorType& type = graph_.at(output).type;
      out_ += output == node.outputs.front() ? "{" : ",{";
      TypeFields(type, "shape", type.shape);
      out_ += '}';
    }
    out_ += ']';
  }

  const Graph& graph_;
  const JobConfig& job_;
  Labels labels_;
  std::string out_ = {};
};

}  // namespace

std::string WriteGraphDocument(const Graph& graph, const JobConfig& job) {
  return DocumentWriter(graph, job).Write();
}

}  // namespace drydock::strategies
