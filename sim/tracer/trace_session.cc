#include "sim/tracer/trace_session.h"

#include <algorithm>
#include <exception>
#include <map>
#include <span>
#include <utility>

#include "sim/tracer/compile_answer.h"
#include "sim/tracer/operator_table.h"
#include "sim/tracer/trace_error.h"
#include "strategies/document/json_codec.h"
#include "strategies/document/json_job.h"
#include "strategies/document/json_nodes.h"
#include "strategies/graph/data_extents.h"
#include "strategies/operators/checkpoint_transform.h"
#include "strategies/operators/op_entry.h"
#include "strategies/passes/compile_job.h"
#include "strategies/passes/prepare/clean_traced.h"
#include "strategies/reference/constant_value.h"

namespace drydock::sim {
namespace {

/// Most elements of a value whose numbers are worked out.
constexpr std::size_t kMostNumbers = std::size_t{1} << 16U;

using strategies::AppendJsonField;
using strategies::AppendJsonInts;
using strategies::AppendJsonItem;
using strategies::AppendJsonText;
using strategies::JsonView;
using strategies::ObjectReader;
using strategies::TensorType;

/// Names and values of a request: as many as its bytes can hold.
constexpr strategies::JsonLimits kRequestLimits = {.bytes = kMaxRequestBytes,
                                                   .values = kMaxRequestBytes / 2};

constexpr std::string_view kNothing = "{}";

Error WithDataExtent(Error error, const strategies::Graph& graph, std::span<const ValueId> operands,
                     const strategies::JobConfig& job) {
  auto note = strategies::DataExtentNote(error.message, graph, operands, job);
  return note ? WithNote(std::move(error), *std::move(note)) : error;
}

/// What the methods that add a value or a node read; each refuses fields it does not know.
struct NamedType {
  std::string name = {};
  TensorType type = {};
};

Result<NamedType> ReadNamedType(ObjectReader& request) {
  NamedType named;
  DRYDOCK_TRY(const JsonView name, request.Require("name"));
  DRYDOCK_TRY(named.name, strategies::ReadJsonText(name, "name"));
  DRYDOCK_TRY(named.type, strategies::ReadJsonType(request, "shape"));
  return named;
}

Result<NamedType> ReadInput(ObjectReader& request) {
  DRYDOCK_TRY(NamedType input, ReadNamedType(request));
  DRYDOCK_RETURN_IF_ERROR(request.Finish());
  return input;
}

struct ParameterRequest {
  NamedType named = {};
  strategies::Parameter info = {};
};

Result<ParameterRequest> ReadParameter(ObjectReader& request, strategies::GraphBuilder& builder) {
  ParameterRequest read;
  DRYDOCK_TRY(read.named, ReadNamedType(request));
  DRYDOCK_TRY(read.info,
              strategies::ReadJsonParameter(request, strategies::ParameterRole::kWeight, builder));
  DRYDOCK_TRY(const std::int64_t state_of, strategies::IntField(request, "state_of", -1));
  if (state_of < -1 || state_of >= std::ssize(builder.graph().values)) {
    return BadRequest("field 'state_of' names no value");
  }
  read.info.state_of = ValueId{static_cast<std::int32_t>(state_of)};
  DRYDOCK_RETURN_IF_ERROR(request.Finish());
  return read;
}

struct ConstantRequest {
  TensorType type = {};
  std::optional<std::vector<double>> data = {};
};

Result<ConstantRequest> ReadConstant(ObjectReader& request) {
  ConstantRequest read;
  DRYDOCK_TRY(read.type, strategies::ReadJsonType(request, "shape"));
  if (const auto data = request.Find("data")) {
    DRYDOCK_TRY(read.data, strategies::ReadJsonData(*data));
  }
  DRYDOCK_RETURN_IF_ERROR(request.Finish());
  return read;
}

Result<strategies::SourceStack> ReadStack(ObjectReader& request) {
  const bool with_layer = request.Find("layer").has_value();
  DRYDOCK_TRY(const JsonView frames, request.Require("frames"));
  DRYDOCK_RETURN_IF_ERROR(request.Finish());
  return strategies::ReadJsonStack(with_layer ? request.object() : frames);
}

struct UpdateRequest {
  std::size_t node = 0;
  strategies::Node said = {};
};

Result<UpdateRequest> ReadUpdate(ObjectReader& request, strategies::GraphBuilder& builder) {
  UpdateRequest update;
  DRYDOCK_TRY(const std::int64_t node, strategies::IntField(request, "node", -1));
  if (node < 0 || node >= std::ssize(builder.graph().nodes)) {
    return BadRequest("field 'node' of a trace request names no node");
  }
  update.node = static_cast<std::size_t>(node);
  DRYDOCK_RETURN_IF_ERROR(strategies::ReadJsonSharding(request, update.said, builder));
  if (const auto attrs = request.Find("attrs")) {
    DRYDOCK_TRY(update.said.attrs, strategies::ReadJsonAttrs(*attrs));
  }
  DRYDOCK_RETURN_IF_ERROR(request.Finish());
  return update;
}

struct ReshardRequest {
  strategies::TensorLayout from = {};
  strategies::TensorLayout to = {};
  std::int64_t position = 0;
  std::int64_t stage_begin = 0;
  bool optimize = true;
};

Result<strategies::Shape> ReadShape(ObjectReader& request, std::string_view name) {
  DRYDOCK_TRY(const JsonView shape, request.Require(name));
  return strategies::ReadJsonInts(shape, name);
}

Result<ReshardRequest> ReadReshard(ObjectReader& request) {
  ReshardRequest read;
  DRYDOCK_TRY(const JsonView list, request.Require("layouts"));
  DRYDOCK_TRY(std::vector<strategies::TensorLayout> layouts, strategies::ReadJsonLayouts(list));
  if (layouts.size() != 2) {
    return BadRequest("'reshard' takes two layouts");
  }
  read.from = std::move(layouts.front());
  read.to = std::move(layouts.back());
  DRYDOCK_TRY(read.from.shape, ReadShape(request, "from_shape"));
  DRYDOCK_TRY(read.to.shape, ReadShape(request, "to_shape"));
  DRYDOCK_TRY(read.position, strategies::IntField(request, "position", 0));
  DRYDOCK_TRY(read.stage_begin, strategies::IntField(request, "stage_begin", 0));
  DRYDOCK_TRY(read.optimize, strategies::BoolField(request, "optimize", true));
  DRYDOCK_RETURN_IF_ERROR(request.Finish());
  return read;
}

/// Operators that turn slices of one layout into slices of another, for every rank that is needed.
Result<std::string> Reshard(ObjectReader& request) {
  DRYDOCK_TRY(const ReshardRequest read, OfRequest(ReadReshard(request)));
  DRYDOCK_TRY(
      const auto by_rank,
      read.optimize
          ? strategies::ReshardOps(read.from, read.to, read.position, read.stage_begin)
          : strategies::TransformOpsOfAll(read.from, read.to, read.position, read.stage_begin));
  std::string answer = R"({"ranks":[)";
  for (const auto& [rank, operators] : by_rank) {
    AppendJsonItem(answer);
    answer += '[' + std::to_string(rank) + ",[";
    for (const strategies::TransformOp& op : operators) {
      AppendJsonItem(answer);
      answer += '[';
      AppendJsonText(answer, op.name);
      answer += ',';
      AppendJsonInts(answer, op.args);
      answer += ']';
    }
    answer += "]]";
  }
  return answer + "]}";
}

}  // namespace

std::string TraceSession::Call(std::string_view method, std::string_view request) {
  try {
    if (request.size() > kMaxRequestBytes) {
      return ErrorAnswer(BadRequest("a trace request is longer than 256 MiB").value());
    }
    const auto parsed = strategies::JsonReader::Parse(request.empty() ? kNothing : request,
                                                      "a trace request", kRequestLimits);
    if (!parsed || parsed->root().kind() != strategies::JsonKind::kObject) {
      return ErrorAnswer(BadRequest("a trace request must be a JSON object" +
                                    (parsed ? "" : ": " + parsed.error().message))
                             .value());
    }
    Result<ObjectReader> fields = OfRequest(ObjectReader::Make(parsed->root(), "a trace request"));
    const Answer answer =
        fields ? Dispatch(method, *fields) : Answer(tl::unexpected(fields.error()));
    return answer ? *answer : ErrorAnswer(answer.error());
  } catch (const std::exception&) {
    return R"({"error":{"code":"internal","message":"the graph recorder failed","hint":"","reason":"trace:internal","notes":[]}})";
  }
}

TraceSession::Answer TraceSession::Dispatch(std::string_view method, Request& request) {
  if (method == "operators") {
    DRYDOCK_RETURN_IF_ERROR(OfRequest(request.Finish()));
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
  if (method == "value") {
    return Numbers(request);
  }
  return DispatchCompiled(method, request);
}

/// The methods behind the last operator.
TraceSession::Answer TraceSession::DispatchCompiled(std::string_view method, Request& request) {
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

TraceSession::Answer TraceSession::Begin(Request& request) {
  const std::optional<JsonView> job = request.Find("job");
  if (!job || job->kind() != strategies::JsonKind::kObject) {
    return BadRequest("field 'job' of a trace request must be an object");
  }
  DRYDOCK_TRY(const bool check, OfRequest(strategies::BoolField(request, "check", false)));
  DRYDOCK_TRY(std::string name, OfRequest(strategies::TextField(request, "name", "step")));
  DRYDOCK_RETURN_IF_ERROR(OfRequest(request.Finish()));
  Result<strategies::JobConfig> read = strategies::ReadJsonJob(*job, strategies::JobConfig{});
  if (!read) {
    read.error().place.reset();  // the script's line is known on the other side
    return tl::unexpected(std::move(read).error());
  }
  if (check) {
    DRYDOCK_RETURN_IF_ERROR(strategies::ValidateJob(*read));
  }
  job_ = *std::move(read);
  builder_.emplace(std::move(name));
  return std::string(kNothing);
}

TraceSession::Answer TraceSession::AddInput(Request& request) {
  DRYDOCK_TRY(NamedType input, OfRequest(ReadInput(request)));
  DRYDOCK_TRY(TensorType global,
              strategies::GlobalInputType(input.type, builder_->graph().inputs.size(), job_));
  DRYDOCK_TRY(const ValueId id, builder_->AddInput(std::move(input.name), std::move(global)));
  return ValueAnswer(id);
}

TraceSession::Answer TraceSession::AddParameter(Request& request) {
  DRYDOCK_TRY(ParameterRequest read, OfRequest(ReadParameter(request, *builder_)));
  DRYDOCK_TRY(const ValueId id, builder_->AddParameter(std::move(read.named.name),
                                                       std::move(read.named.type), read.info));
  return ValueAnswer(id);
}

TraceSession::Answer TraceSession::AddConstant(Request& request) {
  DRYDOCK_TRY(ConstantRequest read, OfRequest(ReadConstant(request)));
  DRYDOCK_TRY(const ValueId id, builder_->AddConstant(std::move(read.type), std::move(read.data)));
  return ValueAnswer(id);
}

TraceSession::Answer TraceSession::AddStack(Request& request) {
  DRYDOCK_TRY(strategies::SourceStack stack, OfRequest(ReadStack(request)));
  return R"({"stack":)" + std::to_string(builder_->AddStack(std::move(stack))) + "}";
}

TraceSession::Answer TraceSession::AddNode(Request& request) {
  DRYDOCK_TRY(std::vector<ValueId> inputs, ReadIds(request, "inputs", true));
  DRYDOCK_TRY(strategies::JsonNode node, OfRequest(strategies::ReadJsonNode(request, *builder_)));
  DRYDOCK_RETURN_IF_ERROR(OfRequest(request.Finish()));
  const strategies::OpEntry* entry = strategies::FindOp(node.op);
  const bool given_types = node.output_types && !node.output_types->empty() &&
                           (entry == nullptr || entry->infer == nullptr);
  const std::vector<ValueId> operands = inputs;
  const Result<NodeId> id =
      strategies::AddJsonNode(std::move(node), std::move(inputs), given_types, *builder_);
  if (!id) {
    return tl::unexpected(WithDataExtent(id.error(), builder_->graph(), operands, job_));
  }
  std::string answer = R"({"node":)" + std::to_string(ToIndex(*id)) + R"(,"outputs":[)";
  for (const ValueId output : builder_->graph().at(*id).outputs) {
    AppendJsonItem(answer);
    AppendValue(answer, output);
  }
  return answer + "]}";
}

TraceSession::Answer TraceSession::UpdateNode(Request& request) {
  DRYDOCK_TRY(UpdateRequest update, OfRequest(ReadUpdate(request, *builder_)));
  strategies::Node& node = builder_->mutable_graph().nodes[update.node];
  node.in_strategy = std::move(update.said.in_strategy);
  node.out_strategy = std::move(update.said.out_strategy);
  node.in_layout = std::move(update.said.in_layout);
  node.out_layout = std::move(update.said.out_layout);
  node.shard_place = update.said.shard_place;
  for (auto& [name, attr] : update.said.attrs) {
    node.attrs.insert_or_assign(name, std::move(attr));
  }
  return std::string(kNothing);
}

Status TraceSession::TakeEnding(Request& request) {
  DRYDOCK_TRY(std::vector<ValueId> outputs, ReadIds(request, "outputs", false));
  strategies::JobConfig job = job_;
  const auto read = [&]() -> Status {
    DRYDOCK_TRY(job.dataset_repeat_on_right,
                strategies::BoolField(request, "dataset_repeat_on_right", false));
    DRYDOCK_TRY(job.training, strategies::BoolField(request, "training", true));
    DRYDOCK_TRY(job.data_sink, strategies::BoolField(request, "data_sink", false));
    DRYDOCK_TRY(job.jit_level, strategies::TextField(request, "jit_level", job.jit_level));
    DRYDOCK_TRY(job.exec_order, strategies::TextField(request, "exec_order", job.exec_order));
    DRYDOCK_TRY(job.steps, strategies::IntField(request, "steps", 1));
    return request.Finish();
  };
  DRYDOCK_RETURN_IF_ERROR(OfRequest(read()));
  if (job.steps < 1) {
    return BadRequest("field 'steps' of a trace request must be positive");
  }
  builder_->SetOutputs(std::move(outputs));
  job_ = std::move(job);
  return {};
}

TraceSession::Answer TraceSession::Numbers(Request& request) const {
  DRYDOCK_TRY(const std::int64_t id, OfRequest(strategies::IntField(request, "value", -1)));
  DRYDOCK_TRY(const std::int64_t most,
              OfRequest(strategies::IntField(request, "most_elements", 0)));
  DRYDOCK_RETURN_IF_ERROR(OfRequest(request.Finish()));
  if (id < 0 || id >= std::ssize(builder_->graph().values) || most < 0) {
    return BadRequest("value " + std::to_string(id) + " does not exist");
  }
  const std::optional<strategies::NdArray> found =
      strategies::ConstantValue(builder_->graph(), ValueId{static_cast<std::int32_t>(id)},
                                std::min(static_cast<std::size_t>(most), kMostNumbers));
  if (!found) {
    return R"({"data":null})";
  }
  std::string answer = R"({"data":[)";
  for (const double number : found->data) {
    AppendJsonItem(answer);
    strategies::AppendJsonFloat(answer, number);
  }
  return answer + "]}";
}

TraceSession::Answer TraceSession::Finish(Request& request) {
  DRYDOCK_TRY(const std::string file, OfRequest(strategies::TextField(request, "file", "")));
  DRYDOCK_RETURN_IF_ERROR(TakeEnding(request));
  if (writer_ == nullptr || file.empty()) {
    return BadRequest("'finish' without a file, or in a session that writes none");
  }
  DRYDOCK_RETURN_IF_ERROR(writer_(file, strategies::WriteGraphDocument(builder_->graph(), job_)));
  return R"({"nodes":)" + std::to_string(builder_->graph().nodes.size()) + "}";
}

TraceSession::Answer TraceSession::Compile(Request& request) {
  DRYDOCK_TRY(const RankId rank, ReadRank(request));
  DRYDOCK_RETURN_IF_ERROR(TakeEnding(request));
  compiled_.reset();
  DRYDOCK_TRY(compiled_, strategies::Compile(builder_->graph(), job_, rank));
  return CompileAnswer(*compiled_, rank);
}

TraceSession::Answer TraceSession::NodeNames(Request& request) {
  DRYDOCK_RETURN_IF_ERROR(TakeEnding(request));
  strategies::Graph graph = builder_->graph();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    graph.nodes[n].origin = NodeId{static_cast<std::int32_t>(n)};
  }
  graph = strategies::CleanTraced(std::move(graph));
  const std::vector<std::string> full_names = strategies::FullNames(graph);
  std::map<std::string_view, std::size_t> names;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    names[full_names[n]] = ToIndex(graph.nodes[n].origin);
  }
  std::string answer = R"({"names":{)";
  for (const auto& [name, node] : names) {
    AppendJsonField(answer, name);
    answer += std::to_string(node);
  }
  return answer + "}}";
}

TraceSession::Answer TraceSession::Dumps(Request& request) const {
  DRYDOCK_TRY(const RankId rank, ReadRank(request));
  DRYDOCK_RETURN_IF_ERROR(OfRequest(request.Finish()));
  if (!compiled_ || dumper_ == nullptr) {
    return BadRequest("'dumps' without a compiled program");
  }
  std::string answer = R"({"files":[)";
  for (const GraphDump& dump : dumper_(*compiled_, rank)) {
    AppendJsonItem(answer);
    answer += '{';
    AppendJsonField(answer, "name");
    AppendJsonText(answer, dump.name);
    AppendJsonField(answer, "text");
    AppendJsonText(answer, dump.text);
    answer += '}';
  }
  return answer + "]}";
}

TraceSession::Answer TraceSession::Listing(Request& request) const {
  DRYDOCK_TRY(const RankId rank, ReadRank(request));
  const std::optional<JsonView> inputs = request.Find("open");
  DRYDOCK_RETURN_IF_ERROR(OfRequest(request.Finish()));
  OpenInputs open;
  if (inputs) {
    DRYDOCK_TRY(const ObjectReader names, OfRequest(ObjectReader::Make(*inputs, "'open'")));
    for (const auto& [name, dims] : names.object().Members()) {
      DRYDOCK_TRY(open[std::string(name.AsText())],
                  OfRequest(strategies::ReadJsonInts(dims, "open")));
    }
  }
  if (!compiled_) {
    return BadRequest("'listing' without a compiled program");
  }
  return ForwardListing(*compiled_, rank, open);
}

Result<RankId> TraceSession::ReadRank(Request& request) const {
  DRYDOCK_TRY(const std::int64_t rank, OfRequest(strategies::IntField(request, "rank", 0)));
  if (rank < 0 || rank >= job_.world_size) {
    return BadRequest("rank " + std::to_string(rank) + " does not exist");
  }
  return RankId{static_cast<std::int32_t>(rank)};
}

Result<std::vector<ValueId>> TraceSession::ReadIds(Request& request, std::string_view name,
                                                   bool allow_absent) const {
  DRYDOCK_TRY(const JsonView list, OfRequest(request.Require(name)));
  DRYDOCK_TRY(const std::vector<std::int64_t> numbers,
              OfRequest(strategies::ReadJsonInts(list, name)));
  std::vector<ValueId> ids;
  ids.reserve(numbers.size());
  for (const std::int64_t number : numbers) {
    if (number < (allow_absent ? -1 : 0) || number >= std::ssize(builder_->graph().values)) {
      return BadRequest("value " + std::to_string(number) + " does not exist");
    }
    ids.push_back(ValueId{static_cast<std::int32_t>(number)});
  }
  return ids;
}

void TraceSession::AppendValue(std::string& out, ValueId id) const {
  const TensorType& type = builder_->TypeOf(id);
  out += R"({"dtype":)";
  AppendJsonText(out, strategies::DTypeName(type.dtype));
  out += R"(,"id":)" + std::to_string(ToIndex(id)) + R"(,"shape":)";
  AppendJsonInts(out, type.shape);
  out += '}';
}

std::string TraceSession::ValueAnswer(ValueId id) const {
  std::string answer;
  AppendValue(answer, id);
  return answer;
}

}  // namespace drydock::sim
