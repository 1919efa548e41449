#include "strategies/document/json_codec.h"

#include <array>

#include "strategies/document/json_fields.h"
#include "strategies/document/json_job.h"
#include "strategies/document/json_nodes.h"
#include "strategies/operators/builder.h"

namespace drydock::strategies {
namespace {

constexpr std::string_view kSchema = "drydock.graph/1";

/// The document's sections.
struct Sections {
  std::optional<JsonView> job = {};
  std::optional<JsonView> inputs = {};
  std::optional<JsonView> parameters = {};
  std::optional<JsonView> constants = {};
  std::optional<JsonView> stacks = {};
  std::optional<JsonView> nodes = {};
  std::optional<JsonView> outputs = {};
};

Status CheckSchema(ObjectReader& object) {
  DRYDOCK_TRY(const JsonView value, object.Require("schema"));
  DRYDOCK_TRY(const std::string schema, ReadJsonText(value, "schema"));
  if (schema != kSchema) {
    return FailAtJson(value, "graph:schema", "schema '" + schema + "' is not known",
                      "this version reads \"" + std::string(kSchema) + "\"");
  }
  return {};
}

/// Reads the sections one after the other into a graph.
class DocumentReader {
 public:
  explicit DocumentReader(JobConfig job) : job_(std::move(job)) {}

  Result<GraphDocument> Read(const JsonReader& json, std::optional<std::int64_t> world_size) {
    DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(json.root(), "the document"));
    DRYDOCK_RETURN_IF_ERROR(CheckSchema(object));
    DRYDOCK_TRY(std::string name, TextField(object, "name", ""));
    builder_ = GraphBuilder(std::move(name));
    const Sections sections = {.job = object.Find("job"),
                               .inputs = object.Find("inputs"),
                               .parameters = object.Find("parameters"),
                               .constants = object.Find("constants"),
                               .stacks = object.Find("stacks"),
                               .nodes = object.Find("nodes"),
                               .outputs = object.Find("outputs")};
    DRYDOCK_RETURN_IF_ERROR(object.Finish());
    if (sections.job) {
      DRYDOCK_TRY(job_, ReadJsonJob(*sections.job, job_));
    }
    job_.world_size = world_size.value_or(job_.world_size);
    if (job_.world_size < 1) {
      return FailAtJson(sections.job.value_or(json.root()), "job:world-size",
                        "world_size is " + std::to_string(job_.world_size) +
                            ", but there must be at least one rank",
                        "give the number of ranks of the job, for instance --worker_num=8");
    }
    DRYDOCK_RETURN_IF_ERROR(ReadSections(sections));
    GraphDocument document{.graph = std::move(builder_).Take(),
                           .job = std::move(job_),
                           .job_given = sections.job.has_value()};
    document.node_places = NodePlaces(json, sections);
    return document;
  }

 private:
  Status ReadSections(const Sections& sections) {
    DRYDOCK_RETURN_IF_ERROR(ForEach(sections.stacks, "stacks", &DocumentReader::ReadStack));
    DRYDOCK_RETURN_IF_ERROR(ForEach(sections.inputs, "inputs", &DocumentReader::ReadInput));
    DRYDOCK_RETURN_IF_ERROR(
        ForEach(sections.parameters, "parameters", &DocumentReader::ReadParameter));
    DRYDOCK_RETURN_IF_ERROR(ResolveStates());
    DRYDOCK_RETURN_IF_ERROR(
        ForEach(sections.constants, "constants", &DocumentReader::ReadConstant));
    if (sections.nodes) {
      DRYDOCK_RETURN_IF_ERROR(ReadJsonNodes(*sections.nodes, labels_, builder_));
    }
    DRYDOCK_RETURN_IF_ERROR(ForEach(sections.outputs, "outputs", &DocumentReader::ReadOutput));
    builder_.SetOutputs(std::move(outputs_));
    return {};
  }

  Status ForEach(std::optional<JsonView> list, std::string_view name,
                 Status (DocumentReader::*read)(JsonView)) {
    if (!list) {
      return {};
    }
    DRYDOCK_TRY(const std::vector<JsonView> elements, ReadJsonList(*list, name));
    for (const JsonView element : elements) {
      DRYDOCK_RETURN_IF_ERROR((this->*read)(element));
    }
    return {};
  }

  /// Gives the value `added` its name and label; a failure of adding gets the place.
  Status Declare(const Result<ValueId>& added, ObjectReader& object, const std::string& name,
                 const std::string& label) {
    if (!added) {
      return tl::unexpected(WithPlace(added.error(), object.object().Place()));
    }
    builder_.mutable_graph().values[ToIndex(*added)].name = name;
    return labels_.Declare(label, *added, object.object());
  }

  Status ReadInput(JsonView value) {
    DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "an input"));
    DRYDOCK_TRY(const JsonView name_value, object.Require("name"));
    DRYDOCK_TRY(const std::string name, ReadJsonText(name_value, "name"));
    DRYDOCK_TRY(const std::string label, TextField(object, "label", name));
    const bool global = object.Find("global_shape").has_value();
    if (global && object.Find("shape")) {
      return FailAtJson(value, "graph:two-shapes", "an input has 'shape' and 'global_shape'",
                        "give one: 'shape' is what one rank reads, 'global_shape' the whole batch");
    }
    DRYDOCK_TRY(TensorType type, ReadJsonType(object, global ? "global_shape" : "shape"));
    DRYDOCK_RETURN_IF_ERROR(object.Finish());
    if (!global) {
      Result<TensorType> scaled = GlobalInputType(type, builder_.graph().inputs.size(), job_);
      if (!scaled) {
        return tl::unexpected(WithPlace(std::move(scaled).error(), value.Place()));
      }
      type = *std::move(scaled);
    }
    return Declare(builder_.AddInput(name, std::move(type)), object, name, label);
  }

  Status ReadParameter(JsonView value) {
    DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "a parameter"));
    DRYDOCK_TRY(const JsonView name_value, object.Require("name"));
    DRYDOCK_TRY(const std::string name, ReadJsonText(name_value, "name"));
    DRYDOCK_TRY(const std::string label, TextField(object, "label", name));
    DRYDOCK_TRY(TensorType type, ReadJsonType(object, "shape"));
    const std::optional<JsonView> weight = object.Find("state_of");
    if (weight) {
      states_.emplace_back(builder_.graph().parameters.size(), *weight);
    }
    DRYDOCK_TRY(
        const Parameter info,
        ReadJsonParameter(object, weight ? ParameterRole::kOptimizerState : ParameterRole::kWeight,
                          builder_));
    DRYDOCK_RETURN_IF_ERROR(object.Finish());
    return Declare(builder_.AddParameter(name, std::move(type), info), object, name, label);
  }

  /// "state_of" may name a weight that is declared later.
  Status ResolveStates() {
    for (const auto& [index, label_value] : states_) {
      DRYDOCK_TRY(const std::string label, ReadJsonText(label_value, "state_of"));
      const std::optional<ValueId> weight = labels_.Find(label);
      if (!weight || builder_.graph().at(*weight).kind != ValueKind::kParameter) {
        const std::string nearest = labels_.Nearest(label);
        return FailAtJson(label_value, "graph:undefined-name",
                          "no parameter is named '" + label + "'",
                          nearest.empty() ? "" : "did you mean '" + nearest + "'?");
      }
      builder_.mutable_graph().parameters[index].state_of = *weight;
    }
    return {};
  }

  Status ReadConstant(JsonView value) {
    DRYDOCK_TRY(ObjectReader object, ObjectReader::Make(value, "a constant"));
    DRYDOCK_TRY(const std::string name, TextField(object, "name", ""));
    DRYDOCK_TRY(const std::string label, TextField(object, "label", name));
    if (label.empty()) {
      DRYDOCK_TRY([[maybe_unused]] const JsonView missing, object.Require("name"));
    }
    DRYDOCK_TRY(TensorType type, ReadJsonType(object, "shape"));
    std::optional<std::vector<double>> data;
    if (const auto numbers = object.Find("data")) {
      DRYDOCK_TRY(data, ReadJsonData(*numbers));
    }
    DRYDOCK_RETURN_IF_ERROR(object.Finish());
    return Declare(builder_.AddConstant(std::move(type), std::move(data)), object, name, label);
  }

  Status ReadStack(JsonView value) {
    DRYDOCK_TRY(SourceStack stack, ReadJsonStack(value));
    builder_.mutable_graph().stacks.push_back(std::move(stack));
    return {};
  }

  Status ReadOutput(JsonView value) {
    DRYDOCK_TRY(const std::string label, ReadJsonText(value, "outputs"));
    const std::optional<ValueId> found = labels_.Find(label);
    if (!found) {
      const std::string nearest = labels_.Nearest(label);
      return FailAtJson(value, "graph:undefined-name", "nothing is named '" + label + "'",
                        nearest.empty() ? "" : "did you mean '" + nearest + "'?");
    }
    outputs_.push_back(*found);
    return {};
  }

  static std::vector<SourcePlace> NodePlaces(const JsonReader& json, const Sections& sections) {
    std::vector<std::size_t> offsets;
    if (sections.nodes) {
      for (const JsonView node : sections.nodes->Elements()) {
        offsets.push_back(node.offset());
      }
    }
    return json.PlacesAt(offsets);
  }

  JobConfig job_;
  GraphBuilder builder_ = GraphBuilder();
  LabelTable labels_ = {};
  std::vector<std::pair<std::size_t, JsonView>> states_ = {};
  std::vector<ValueId> outputs_ = {};
};

}  // namespace

Result<GraphDocument> ReadGraphDocument(std::string_view text, std::string_view file,
                                        const JobConfig& job,
                                        std::optional<std::int64_t> world_size) {
  DRYDOCK_TRY(const JsonReader json, JsonReader::Parse(text, file));
  return DocumentReader(job).Read(json, world_size);
}

void UseDocumentPlaces(GraphDocument& document) {
  for (std::size_t i = 0; i < document.graph.nodes.size(); ++i) {
    Node& node = document.graph.nodes[i];
    if (node.place < 0 && i < document.node_places.size()) {
      node.place = static_cast<std::int32_t>(document.graph.stacks.size());
      document.graph.stacks.push_back({document.node_places[i]});
    }
  }
}

Result<JobConfig> ReadJobText(std::string_view text, std::string_view file, const JobConfig& base) {
  DRYDOCK_TRY(const JsonReader json, JsonReader::Parse(text, file));
  return ReadJsonJob(json.root(), base);
}

}  // namespace drydock::strategies
