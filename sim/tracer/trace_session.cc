#include "sim/tracer/trace_session.h"

#include <exception>
#include <limits>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "sim/tracer/compile_answer.h"
#include "sim/tracer/json_values.h"
#include "strategies/document/json_codec.h"
#include "strategies/graph/data_extents.h"
#include "strategies/graph/parameter_role.h"
#include "strategies/operators/checkpoint_transform.h"
#include "strategies/operators/op_entry.h"
#include "strategies/operators/op_signature.h"
#include "strategies/passes/compile_job.h"
#include "strategies/passes/prepare/clean_traced.h"

namespace drydock::sim {
namespace {

using nlohmann::json;
using strategies::Phase;

tl::unexpected<Error> BadRequest(std::string message) {
  return FailInput("trace:request", std::move(message));
}

std::string_view KindName(strategies::OpKind kind) {
  switch (kind) {
    case strategies::OpKind::kUpdate:
      return "update";
    case strategies::OpKind::kCollective:
      return "collective";
    case strategies::OpKind::kGradient:
      return "gradient";
    default:
      return "compute";
  }
}

std::string_view ArgumentKindName(strategies::ArgumentKind kind) {
  switch (kind) {
    case strategies::ArgumentKind::kTensor:
      return "tensor";
    case strategies::ArgumentKind::kOptionalTensor:
      return "optional";
    case strategies::ArgumentKind::kTensorList:
      return "tuple";
    case strategies::ArgumentKind::kAttribute:
      return "attr";
  }
  return "tensor";
}

json ArgumentsJson(const std::vector<strategies::SignatureArgument>& arguments) {
  json list = json::array();
  for (const strategies::SignatureArgument& argument : arguments) {
    json item = {{"name", argument.name}, {"kind", ArgumentKindName(argument.kind)}};
    if (argument.default_value) {
      item["default"] = AttrJson(*argument.default_value);
    }
    list.push_back(std::move(item));
  }
  return list;
}

json OperatorTable() {
  json operators = json::array();
  for (const strategies::OpEntry* entry : strategies::AllOps()) {
    if (entry->infer == nullptr) {
      continue;  // pseudo rules are nothing a script can call
    }
    const strategies::OpSignature signature = strategies::ParseSignature(entry->signature);
    operators.push_back({{"name", entry->name},
                         {"constructor", ArgumentsJson(signature.constructor)},
                         {"call", ArgumentsJson(signature.call)},
                         {"tuple_result", signature.tuple_result},
                         {"aliases", entry->aliases},
                         {"kind", KindName(entry->kind)}});
  }
  return {{"operators", std::move(operators)}};
}

Result<Phase> PhaseFrom(const json& request) {
  const std::string name = TextFieldOr(request, "phase", "forward");
  if (name == "forward") {
    return Phase::kForward;
  }
  if (name == "backward") {
    return Phase::kBackward;
  }
  if (name == "optimizer") {
    return Phase::kOptimizer;
  }
  return BadRequest("phase '" + name + "' is not one of forward, backward, optimizer");
}

Result<strategies::ParameterRole> RoleFrom(const json& request) {
  const std::string name = TextFieldOr(request, "role", "weight");
  if (const auto role = strategies::ParseParameterRole(name)) {
    return *role;
  }
  return BadRequest("role '" + name +
                    "' is not one of weight, optimizer_state, hyper, accumulated_gradient");
}

/// An index of a stack that is there, -1 if the field is absent.
Result<std::int32_t> StackField(const json& request, std::string_view name,
                                const strategies::Graph& graph) {
  DRYDOCK_TRY(const std::int64_t stack, IntFieldOr(request, name, -1));
  if (stack < -1 || stack >= std::ssize(graph.stacks)) {
    return BadRequest("field '" + std::string(name) + "' of a trace request is out of range");
  }
  return static_cast<std::int32_t>(stack);
}

/// What shard() may say about a node, before or after the node was recorded.
struct Sharding {
  std::optional<strategies::Strategy> in_strategy = {};
  std::optional<strategies::Strategy> out_strategy = {};
  std::optional<std::vector<strategies::TensorLayout>> in_layout = {};
  std::optional<std::vector<strategies::TensorLayout>> out_layout = {};
  std::int32_t place = -1;  ///< Stack of the line that says so.
};

Result<Sharding> ShardingFrom(const json& request, const strategies::Graph& graph) {
  Sharding sharding;
  DRYDOCK_TRY(sharding.place, StackField(request, "shard_stack", graph));
  DRYDOCK_TRY(sharding.in_strategy, StrategyField(request, "strategy"));
  DRYDOCK_TRY(sharding.out_strategy, StrategyField(request, "out_strategy"));
  DRYDOCK_TRY(sharding.in_layout, LayoutsField(request, "in_layout"));
  DRYDOCK_TRY(sharding.out_layout, LayoutsField(request, "out_layout"));
  return sharding;
}

void Apply(Sharding sharding, strategies::Node& node) {
  node.in_strategy = std::move(sharding.in_strategy);
  node.out_strategy = std::move(sharding.out_strategy);
  node.in_layout = std::move(sharding.in_layout);
  node.out_layout = std::move(sharding.out_layout);
  node.shard_place = sharding.place;
}

Result<std::optional<std::vector<double>>> DataFrom(const json& request) {
  const auto it = request.find("data");
  if (it == request.end() || it->is_null()) {
    return std::optional<std::vector<double>>();
  }
  if (!it->is_array()) {
    return BadRequest(
        "field 'data' of a trace request must be a flat list of numbers, \"inf\", \"-inf\" or "
        "\"nan\"");
  }
  std::vector<double> data;
  data.reserve(it->size());
  for (const json& item : *it) {
    if (item.is_boolean()) {
      data.push_back(item.get<bool>() ? 1.0 : 0.0);
    } else if (item == "inf" || item == "-inf") {
      data.push_back((item == "inf" ? 1.0 : -1.0) * std::numeric_limits<double>::infinity());
    } else if (item == "nan") {
      data.push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (item.is_number()) {
      data.push_back(item.get<double>());
    } else {
      return BadRequest(
          "field 'data' of a trace request must be a flat list of numbers, \"inf\", \"-inf\" or "
          "\"nan\"");
    }
  }
  return std::optional<std::vector<double>>(std::move(data));
}

/// Fields of a node except its operands, sharding and stage.
struct NodeFields {
  std::string op = {};
  strategies::NodeSpec spec = {};
};

Result<NodeFields> NodeFieldsFrom(const json& request) {
  NodeFields fields;
  DRYDOCK_TRY(fields.op, TextField(request, "op"));
  DRYDOCK_TRY(fields.spec.attrs, AttrsField(request));
  DRYDOCK_TRY(fields.spec.phase, PhaseFrom(request));
  fields.spec.scope = TextFieldOr(request, "scope", "Default");
  fields.spec.instance_name = TextFieldOr(request, "instance", "");
  return fields;
}

/// Types of the results, for an operator that is not in the table; empty if they are not stated.
Result<std::vector<strategies::TensorType>> StatedTypes(const json& request) {
  std::vector<strategies::TensorType> types;
  const auto it = request.find("types");
  if (it != request.end() && it->is_array()) {
    for (const json& item : *it) {
      DRYDOCK_TRY(strategies::TensorType type, TypeFields(item));
      types.push_back(std::move(type));
    }
  }
  return types;
}

Error WithDataExtent(Error error, const strategies::Graph& graph, std::span<const ValueId> operands,
                     const strategies::JobConfig& job) {
  auto note = strategies::DataExtentNote(error.message, graph, operands, job);
  return note ? WithNote(std::move(error), *std::move(note)) : error;
}

/// Operators that turn slices of one layout into slices of another, for every rank that is needed.
Result<json> Reshard(const json& request) {
  DRYDOCK_TRY(const auto layouts, LayoutsField(request, "layouts"));
  if (!layouts || layouts->size() != 2) {
    return BadRequest("'reshard' takes two layouts");
  }
  strategies::TensorLayout from = layouts->front();
  strategies::TensorLayout to = layouts->back();
  DRYDOCK_TRY(from.shape, IntListField(request, "from_shape"));
  DRYDOCK_TRY(to.shape, IntListField(request, "to_shape"));
  DRYDOCK_TRY(const std::int64_t position, IntFieldOr(request, "position", 0));
  DRYDOCK_TRY(const std::int64_t begin, IntFieldOr(request, "stage_begin", 0));
  const bool optimize = BoolFieldOr(request, "optimize", true);
  DRYDOCK_TRY(const auto by_rank, optimize
                                      ? strategies::ReshardOps(from, to, position, begin)
                                      : strategies::TransformOpsOfAll(from, to, position, begin));
  json ranks = json::array();
  for (const auto& [rank, operators] : by_rank) {
    json listed = json::array();
    for (const strategies::TransformOp& op : operators) {
      listed.push_back({op.name, op.args});
    }
    ranks.push_back({rank, std::move(listed)});
  }
  return json{{"ranks", std::move(ranks)}};
}

}  // namespace

std::string TraceSession::Call(std::string_view method, std::string_view request) {
  try {
    if (request.size() > kMaxRequestBytes) {
      return ErrorJson(BadRequest("a trace request is longer than 256 MiB").value()).dump();
    }
    const json parsed = request.empty() ? json::object() : json::parse(request, nullptr, false);
    if (!parsed.is_object()) {
      return ErrorJson(BadRequest("a trace request must be a JSON object").value()).dump();
    }
    const Result<json> answer = Dispatch(method, parsed);
    return (answer ? *answer : ErrorJson(answer.error()))
        .dump(-1, ' ', false, json::error_handler_t::replace);
  } catch (const std::exception& exception) {
    return R"({"error":{"code":"internal","message":"the graph recorder failed","hint":"","reason":"trace:internal","notes":[]}})";
  }
}

Result<json> TraceSession::Dispatch(std::string_view method, const json& request) {
  if (method == "operators") {
    return OperatorTable();
  }
  if (method == "reshard") {
    return Reshard(request);
  }
  if (method == "begin") {
    return Begin(request);
  }
  if (!builder_) {
    return BadRequest("'" + std::string(method) + "' before 'begin'");
  }
  if (method == "add_input") {
    return AddInput(request);
  }
  if (method == "add_parameter") {
    return AddParameter(request);
  }
  if (method == "add_constant") {
    return AddConstant(request);
  }
  if (method == "add_stack") {
    return AddStack(request);
  }
  if (method == "add_node") {
    return AddNode(request);
  }
  if (method == "update_node") {
    return UpdateNode(request);
  }
  if (method == "finish") {
    return Finish(request);
  }
  if (method == "compile") {
    return Compile(request);
  }
  if (method == "node_names") {
    return NodeNames(request);
  }
  if (method == "listing") {
    return Listing(request);
  }
  if (method == "dumps") {
    return Dumps(request);
  }
  return BadRequest("unknown trace request '" + std::string(method) + "'");
}

Result<json> TraceSession::Begin(const json& request) {
  const auto job = request.find("job");
  if (job == request.end() || !job->is_object()) {
    return BadRequest("field 'job' of a trace request must be an object");
  }
  // The job section has one reader, that of graph documents.
  const json document = {{"schema", "drydock.graph/1"}, {"job", *job},
                         {"inputs", json::array()},     {"parameters", json::array()},
                         {"nodes", json::array()},      {"outputs", json::array()}};
  DRYDOCK_TRY(
      strategies::GraphDocument read,
      strategies::ReadGraphDocument(document.dump(), "job settings", strategies::JobConfig{}));
  job_ = std::move(read.job);
  if (BoolFieldOr(request, "check", false)) {
    DRYDOCK_RETURN_IF_ERROR(strategies::ValidateJob(job_));
  }
  builder_.emplace(TextFieldOr(request, "name", "step"));
  return json::object();
}

Result<json> TraceSession::AddInput(const json& request) {
  DRYDOCK_TRY(strategies::TensorType local, TypeFields(request));
  DRYDOCK_TRY(std::string name, TextField(request, "name"));
  DRYDOCK_TRY(strategies::TensorType global,
              strategies::GlobalInputType(local, builder_->graph().inputs.size(), job_));
  DRYDOCK_TRY(const ValueId id, builder_->AddInput(std::move(name), std::move(global)));
  return ValueJson(id);
}

Result<json> TraceSession::AddParameter(const json& request) {
  DRYDOCK_TRY(strategies::TensorType type, TypeFields(request));
  DRYDOCK_TRY(std::string name, TextField(request, "name"));
  strategies::Parameter info;
  DRYDOCK_TRY(info.role, RoleFrom(request));
  DRYDOCK_TRY(const std::int64_t state_of, IntFieldOr(request, "state_of", -1));
  if (state_of < -1 || state_of >= std::ssize(builder_->graph().values)) {
    return BadRequest("field 'state_of' names no value");
  }
  info.state_of = ValueId{static_cast<std::int32_t>(state_of)};
  info.requires_grad = BoolFieldOr(request, "requires_grad", true);
  info.layerwise_parallel = BoolFieldOr(request, "layerwise_parallel", false);
  info.parallel_optimizer = BoolFieldOr(request, "parallel_optimizer", true);
  DRYDOCK_TRY(info.comm_fusion, IntFieldOr(request, "comm_fusion", 1));
  DRYDOCK_TRY(info.place, StackField(request, "stack", builder_->graph()));
  DRYDOCK_TRY(const ValueId id, builder_->AddParameter(std::move(name), std::move(type), info));
  return ValueJson(id);
}

Result<json> TraceSession::AddConstant(const json& request) {
  DRYDOCK_TRY(strategies::TensorType type, TypeFields(request));
  DRYDOCK_TRY(std::optional<std::vector<double>> data, DataFrom(request));
  DRYDOCK_TRY(const ValueId id, builder_->AddConstant(std::move(type), std::move(data)));
  return ValueJson(id);
}

Result<json> TraceSession::AddStack(const json& request) {
  const auto frames = request.find("frames");
  if (frames == request.end() || !frames->is_array()) {
    return BadRequest("field 'frames' of a trace request must be a list");
  }
  strategies::SourceStack stack;
  for (const json& frame : *frames) {
    DRYDOCK_TRY(SourcePlace place, PlaceFrom(frame));
    stack.frames.push_back(std::move(place));
  }
  if (const auto layer = request.find("layer"); layer != request.end() && !layer->is_null()) {
    DRYDOCK_TRY(stack.layer, PlaceFrom(*layer));
  }
  return json{{"stack", builder_->AddStack(std::move(stack))}};
}

Result<json> TraceSession::AddNode(const json& request) {
  DRYDOCK_TRY(NodeFields fields, NodeFieldsFrom(request));
  DRYDOCK_TRY(Sharding sharding, ShardingFrom(request, builder_->graph()));
  DRYDOCK_TRY(const std::int64_t stack, IntFieldOr(request, "stack", -1));
  DRYDOCK_TRY(const std::int64_t stage, IntFieldOr(request, "stage", -1));
  DRYDOCK_TRY(const std::int64_t segment, IntFieldOr(request, "segment", -1));
  constexpr std::int64_t kMostStages = 1'000'000;
  if (stack < -1 || stack >= std::ssize(builder_->graph().stacks) || stage < -1 ||
      stage > kMostStages || segment < -1 || segment > kMostStages) {
    return BadRequest("field 'stack', 'stage' or 'segment' of a trace request is out of range");
  }
  DRYDOCK_TRY(fields.spec.inputs, ValueIds(request, "inputs", true));
  fields.spec.op = fields.op;
  fields.spec.place = static_cast<std::int32_t>(stack);
  DRYDOCK_TRY(const std::vector<strategies::TensorType> types, StatedTypes(request));
  NodeId id = strategies::kNoNode;
  const strategies::OpEntry* entry = strategies::FindOp(fields.op);
  if (!types.empty() && (entry == nullptr || entry->infer == nullptr)) {
    id = builder_->AddNodeWithTypes(std::move(fields.spec), types);
  } else {
    const std::vector<ValueId> operands = fields.spec.inputs;
    Result<NodeId> added = builder_->AddNode(std::move(fields.spec));
    if (!added) {
      return tl::unexpected(
          WithDataExtent(std::move(added).error(), builder_->graph(), operands, job_));
    }
    id = *added;
  }
  strategies::Node& node = builder_->mutable_graph().nodes[ToIndex(id)];
  node.stage = static_cast<std::int32_t>(stage);
  node.segment = static_cast<std::int32_t>(segment);
  Apply(std::move(sharding), node);
  json outputs = json::array();
  for (const ValueId output : node.outputs) {
    outputs.push_back(ValueJson(output));
  }
  return json{{"node", static_cast<std::int64_t>(ToIndex(id))}, {"outputs", std::move(outputs)}};
}

Result<json> TraceSession::UpdateNode(const json& request) {
  DRYDOCK_TRY(const std::int64_t id, IntFieldOr(request, "node", -1));
  if (id < 0 || id >= std::ssize(builder_->graph().nodes)) {
    return BadRequest("field 'node' of a trace request names no node");
  }
  DRYDOCK_TRY(Sharding sharding, ShardingFrom(request, builder_->graph()));
  DRYDOCK_TRY(strategies::AttrMap attrs, AttrsField(request));
  strategies::Node& node = builder_->mutable_graph().nodes[static_cast<std::size_t>(id)];
  Apply(std::move(sharding), node);
  for (auto& [name, attr] : attrs) {
    node.attrs.insert_or_assign(name, std::move(attr));
  }
  return json::object();
}

Status TraceSession::ReadEnding(const json& request) {
  DRYDOCK_TRY(std::vector<ValueId> outputs, ValueIds(request, "outputs", false));
  builder_->SetOutputs(std::move(outputs));
  job_.dataset_repeat_on_right = BoolFieldOr(request, "dataset_repeat_on_right", false);
  job_.training = BoolFieldOr(request, "training", true);
  job_.data_sink = BoolFieldOr(request, "data_sink", false);
  job_.jit_level = TextFieldOr(request, "jit_level", job_.jit_level);
  job_.exec_order = TextFieldOr(request, "exec_order", job_.exec_order);
  DRYDOCK_TRY(job_.steps, IntFieldOr(request, "steps", 1));
  if (job_.steps < 1) {
    return BadRequest("field 'steps' of a trace request must be positive");
  }
  return {};
}

Result<json> TraceSession::Finish(const json& request) {
  DRYDOCK_RETURN_IF_ERROR(ReadEnding(request));
  return json{{"document", strategies::WriteGraphDocument(builder_->graph(), job_)},
              {"nodes", builder_->graph().nodes.size()}};
}

Result<json> TraceSession::Compile(const json& request) {
  DRYDOCK_RETURN_IF_ERROR(ReadEnding(request));
  compiled_.reset();
  DRYDOCK_TRY(const std::int64_t rank, IntFieldOr(request, "rank", 0));
  if (rank < 0 || rank >= job_.world_size) {
    return BadRequest("'compile' of a rank that does not exist");
  }
  DRYDOCK_TRY(compiled_, strategies::Compile(builder_->graph(), job_,
                                             RankId{static_cast<std::int32_t>(rank)}));
  return CompileAnswer(*compiled_, RankId{static_cast<std::int32_t>(rank)});
}

Result<json> TraceSession::NodeNames(const json& request) {
  DRYDOCK_RETURN_IF_ERROR(ReadEnding(request));
  strategies::Graph graph = builder_->graph();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    graph.nodes[n].origin = NodeId{static_cast<std::int32_t>(n)};
  }
  graph = strategies::CleanTraced(std::move(graph));
  const std::vector<std::string> full_names = strategies::FullNames(graph);
  json names = json::object();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    names[full_names[n]] = ToIndex(graph.nodes[n].origin);
  }
  return json{{"names", std::move(names)}};
}

Result<json> TraceSession::Dumps(const json& request) const {
  DRYDOCK_TRY(const std::int64_t rank, IntFieldOr(request, "rank", 0));
  if (!compiled_ || dumper_ == nullptr || rank < 0 || rank >= job_.world_size) {
    return BadRequest("'dumps' without a compiled program, or of a rank that does not exist");
  }
  json files = json::array();
  for (GraphDump& dump : dumper_(*compiled_, RankId{static_cast<std::int32_t>(rank)})) {
    files.push_back({{"name", std::move(dump.name)}, {"text", std::move(dump.text)}});
  }
  return json{{"files", std::move(files)}};
}

Result<json> TraceSession::Listing(const json& request) const {
  DRYDOCK_TRY(const std::int64_t rank, IntFieldOr(request, "rank", 0));
  if (!compiled_ || rank < 0 || rank >= job_.world_size) {
    return BadRequest("'listing' without a compiled program, or of a rank that does not exist");
  }
  OpenInputs open;
  if (const auto found = request.find("open"); found != request.end() && found->is_object()) {
    for (const auto& [name, dims] : found->items()) {
      DRYDOCK_TRY(open[name], IntListField(*found, name));
    }
  }
  return ForwardListing(*compiled_, RankId{static_cast<std::int32_t>(rank)}, open);
}

Result<std::vector<ValueId>> TraceSession::ValueIds(const json& request, std::string_view name,
                                                    bool allow_absent) const {
  DRYDOCK_TRY(const std::vector<std::int64_t> numbers, IntListField(request, name));
  std::vector<ValueId> ids;
  for (const std::int64_t number : numbers) {
    if (number < (allow_absent ? -1 : 0) || number >= std::ssize(builder_->graph().values)) {
      return BadRequest("value " + std::to_string(number) + " does not exist");
    }
    ids.push_back(ValueId{static_cast<std::int32_t>(number)});
  }
  return ids;
}

json TraceSession::ValueJson(ValueId id) const {
  const strategies::TensorType& type = builder_->TypeOf(id);
  return {{"id", static_cast<std::int64_t>(ToIndex(id))},
          {"shape", type.shape},
          {"dtype", strategies::DTypeName(type.dtype)}};
}

}  // namespace drydock::sim
