// Round trips of graph documents: random graphs of operators with given result types.

#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "strategies/document/json_codec.h"
#include "strategies/operators/builder.h"

namespace drydock::strategies {
namespace {

/// Makes graphs whose values are numbered in document order.
class GraphMaker {
 public:
  explicit GraphMaker(std::uint64_t seed) : random_(seed) {}

  Graph Make() {
    GraphBuilder builder("net\"" + Word());
    for (std::int64_t i = Number(0, 3); i > 0; --i) {
      (void)builder.AddInput("x" + std::to_string(i), Type());
    }
    for (std::int64_t i = Number(0, 3); i > 0; --i) {
      AddParameter(builder, "w" + std::to_string(i));
    }
    for (std::int64_t i = Number(0, 2); i > 0; --i) {
      AddConstant(builder);
    }
    for (std::int64_t i = Number(0, 8); i > 0; --i) {
      AddNode(builder);
    }
    const auto count = static_cast<std::int64_t>(builder.graph().values.size());
    std::vector<ValueId> outputs;
    for (std::int64_t i = count == 0 ? 0 : Number(0, 2); i > 0; --i) {
      outputs.push_back(ValueId{static_cast<std::int32_t>(Number(0, count - 1))});
    }
    builder.SetOutputs(outputs);
    return std::move(builder).Take();
  }

  JobConfig Job() {
    JobConfig job;
    job.world_size = Number(1, 4096);
    job.mode = static_cast<ParallelMode>(Number(0, 4));
    job.search_mode = static_cast<SearchMode>(Number(0, 2));
    job.dataset.kind = static_cast<DatasetStrategy::Kind>(Number(0, 2));
    if (job.dataset.kind == DatasetStrategy::Kind::kCuts) {
      job.dataset.cuts = {{2, 2}, {4}, {1, 8}};
    }
    job.gradients_mean = Flag();
    job.loss_repeated_mean = Flag();
    job.enable_alltoall = Flag();
    if (Flag()) {
      job.fusion = {.all_reduce = Flag(),
                    .reduce_scatter = Flag(),
                    .all_reduce_mb = Number(0, 64),
                    .data_parallel_mb = Number(-1, 64),
                    .split_indices = {1, Number(2, 9)}};
    }
    job.enable_parallel_optimizer = Flag();
    if (Flag()) {
      job.optimizer_sharding = {
          .shard_size = Number(2, 8), .threshold_kb = Number(0, 512), .level = Number(1, 3)};
    }
    if (Flag()) {
      job.fully_use_devices = Flag();
    }
    job.compat.minor = static_cast<std::int32_t>(Number(0, 10));
    job.steps = Number(1, 1'000'000);
    job.data_sink = Flag();
    job.jit_level = Flag() ? "O1" : "O0";
    job.exec_order = Flag() ? "dfs" : "bfs";
    job.alloc_conf = Word();
    job.max_device_memory = Flag() ? "58GB" : "";
    job.save_graphs = static_cast<std::int32_t>(Number(0, 3));
    job.save_graphs_path = Word();
    return job;
  }

 private:
  std::int64_t Number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool Flag() { return Number(0, 1) == 1; }
  std::string Word() {
    static const std::vector<std::string> kWords = {
        "a", "Half0", "x1", "tab\tnewline\n", "quote\"\\", "\xE8\xB7\xAF\xE5\xBE\x84", "a:1", ""};
    return kWords[static_cast<std::size_t>(Number(0, 7))];
  }
  TensorType Type() {
    TensorType type{.dtype = static_cast<DType>(Number(0, 14))};
    for (std::int64_t i = Number(0, 3); i > 0; --i) {
      type.shape.push_back(Number(0, 64));
    }
    return type;
  }
  double Real() {
    switch (Number(0, 4)) {
      case 0:
        return std::numeric_limits<double>::infinity();
      case 1:
        return static_cast<double>(Number(-5, 5));
      default:
        return std::uniform_real_distribution<double>(-1e9, 1e9)(random_);
    }
  }
  Attr AnyAttr(int depth) {
    switch (Number(0, depth > 0 ? 6 : 5)) {
      case 0:
        return Attr();
      case 1:
        return Attr(Flag());
      case 2:
        return Attr(Number(std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::int64_t>::max()));
      case 3:
        return Attr(Real());
      case 4:
        return Attr(Word());
      case 5:
        return Attr(
            RankExpr{.constant = Number(-9, 9),
                     .terms = {{.digit = {.stride = 2, .extent = 4}, .scale = Number(1, 9)}}});
      default:
        break;
    }
    Attr::List list;
    for (std::int64_t i = Number(0, 3); i > 0; --i) {
      list.push_back(AnyAttr(depth - 1));
    }
    return Attr(std::move(list));
  }
  std::vector<std::vector<std::int64_t>> Cuts() {
    std::vector<std::vector<std::int64_t>> cuts(static_cast<std::size_t>(Number(0, 3)));
    for (auto& entry : cuts) {
      entry.resize(static_cast<std::size_t>(Number(0, 3)), Number(1, 8));
    }
    return cuts;
  }
  void AddParameter(GraphBuilder& builder, const std::string& name) {
    Parameter info{.role = static_cast<ParameterRole>(Number(0, 2)),
                   .requires_grad = Flag(),
                   .layerwise_parallel = Flag(),
                   .parallel_optimizer = Flag(),
                   .comm_fusion = Number(0, 2)};
    if (!builder.graph().parameters.empty() && Flag()) {
      info.state_of = builder.graph().parameters.front().value;
    }
    if (Flag()) {
      info.place = builder.AddStack({{.file = "net.py", .line = 7, .column = 2, .text = Word()}});
    }
    (void)builder.AddParameter(name, Type(), info);
  }
  void AddConstant(GraphBuilder& builder) {
    if (Flag()) {
      (void)builder.AddScalar(Real(), DType::kFloat32);
    } else {
      (void)builder.AddConstant({.shape = {2, 0}}, std::nullopt);
    }
  }
  void AddNode(GraphBuilder& builder) {
    static const std::vector<std::string> kOps = {"TestHalf", "TestJoin", "Half"};
    NodeSpec spec{.op = kOps[static_cast<std::size_t>(Number(0, 2))]};
    const auto count = static_cast<std::int64_t>(builder.graph().values.size());
    for (std::int64_t i = count == 0 ? 0 : Number(0, 3); i > 0; --i) {
      spec.inputs.push_back(ValueId{static_cast<std::int32_t>(Number(-1, count - 1))});
    }
    for (std::int64_t i = Number(0, 3); i > 0; --i) {
      spec.attrs["attr" + std::to_string(i)] = AnyAttr(2);
    }
    spec.scope = Word();
    spec.instance_name = Word();
    spec.phase = static_cast<Phase>(Number(0, 2));
    if (Flag()) {
      SourceStack stack = {{.file = "a:b.py", .line = 3, .column = 4, .text = Word()},
                           {.file = Word(), .line = static_cast<std::int32_t>(Number(0, 9))}};
      if (Flag()) {
        stack.layer = SourcePlace{.file = "net.py", .line = 5, .column = 1, .text = Word()};
      }
      spec.place = builder.AddStack(std::move(stack));
    }
    std::vector<TensorType> types(static_cast<std::size_t>(Number(0, 3)));
    for (TensorType& type : types) {
      type = Type();
    }
    const NodeId id = builder.AddNodeWithTypes(std::move(spec), std::move(types));
    Node& node = builder.mutable_graph().nodes[ToIndex(id)];
    for (const ValueId output : node.outputs) {
      builder.mutable_graph().values[ToIndex(output)].name = Word();
    }
    node.stage = static_cast<std::int32_t>(Number(-1, 3));
    if (Flag()) {
      node.in_strategy = Cuts();
      node.out_strategy = Cuts();
    }
    if (Flag()) {
      const std::vector<std::int64_t> uncut;
      node.in_layout = std::vector{
          TensorLayout{.device_matrix = {2, 4}, .tensor_map = {{1, 0}, uncut}, .shape = {8, 3}}};
      node.out_layout = std::vector{TensorLayout{.device_matrix = {8}, .tensor_map = {uncut, {0}}}};
    }
  }

  std::mt19937_64 random_;
};

void ExpectSameValues(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    EXPECT_EQ(a.values[i].kind, b.values[i].kind);
    EXPECT_EQ(a.values[i].type, b.values[i].type);
    EXPECT_EQ(a.values[i].name, b.values[i].name);
    EXPECT_EQ(a.values[i].producer, b.values[i].producer);
    EXPECT_EQ(a.values[i].output_index, b.values[i].output_index);
    EXPECT_EQ(a.values[i].detail, b.values[i].detail);
  }
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    EXPECT_EQ(a.parameters[i].value, b.parameters[i].value);
    EXPECT_EQ(a.parameters[i].role, b.parameters[i].role);
    EXPECT_EQ(a.parameters[i].state_of, b.parameters[i].state_of);
    EXPECT_EQ(a.parameters[i].requires_grad, b.parameters[i].requires_grad);
    EXPECT_EQ(a.parameters[i].layerwise_parallel, b.parameters[i].layerwise_parallel);
    EXPECT_EQ(a.parameters[i].parallel_optimizer, b.parameters[i].parallel_optimizer);
    EXPECT_EQ(a.parameters[i].comm_fusion, b.parameters[i].comm_fusion);
    EXPECT_EQ(a.parameters[i].place, b.parameters[i].place);
  }
  ASSERT_EQ(a.constants.size(), b.constants.size());
  for (std::size_t i = 0; i < a.constants.size(); ++i) {
    EXPECT_EQ(a.constants[i].value, b.constants[i].value);
    EXPECT_EQ(a.constants[i].data, b.constants[i].data);
  }
}

void ExpectSameNodes(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].op, b.nodes[i].op);
    EXPECT_EQ(a.nodes[i].inputs, b.nodes[i].inputs);
    EXPECT_EQ(a.nodes[i].outputs, b.nodes[i].outputs);
    EXPECT_EQ(a.nodes[i].attrs, b.nodes[i].attrs);
    EXPECT_EQ(a.nodes[i].scope, b.nodes[i].scope);
    EXPECT_EQ(a.nodes[i].instance_name, b.nodes[i].instance_name);
    EXPECT_EQ(a.nodes[i].place, b.nodes[i].place);
    EXPECT_EQ(a.nodes[i].phase, b.nodes[i].phase);
    EXPECT_EQ(a.nodes[i].stage, b.nodes[i].stage);
    EXPECT_EQ(a.nodes[i].in_strategy, b.nodes[i].in_strategy);
    EXPECT_EQ(a.nodes[i].out_strategy, b.nodes[i].out_strategy);
    EXPECT_EQ(a.nodes[i].in_layout, b.nodes[i].in_layout);
    EXPECT_EQ(a.nodes[i].out_layout, b.nodes[i].out_layout);
  }
}

TEST(GraphDocumentProperty, WritingAndReadingGivesTheGraphBack) {
  const char* given = std::getenv("DRYDOCK_SEED");  // NOLINT(concurrency-mt-unsafe): one thread
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed < first + 500; ++seed) {
    SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
    GraphMaker maker(seed);
    const Graph graph = maker.Make();
    const JobConfig job = maker.Job();
    const std::string text = WriteGraphDocument(graph, job);
    const auto read =
        ReadGraphDocument(text, "g.json", {.gradient_fp32_sync = false, .fully_use_devices = true});
    ASSERT_TRUE(read) << FormatError(read.error()) << "\n" << text;
    EXPECT_EQ(read->graph.name, graph.name);
    EXPECT_EQ(read->graph.inputs, graph.inputs);
    EXPECT_EQ(read->graph.outputs, graph.outputs);
    EXPECT_EQ(read->graph.stacks, graph.stacks);
    ExpectSameValues(graph, read->graph);
    ExpectSameNodes(graph, read->graph);
    EXPECT_EQ(read->job.fully_use_devices, job.fully_use_devices);
    // The job has no comparison of its own; its text stands for it.
    EXPECT_EQ(WriteGraphDocument(read->graph, read->job), text);
    if (HasFailure()) {
      return;
    }
  }
}

TEST(GraphDocumentProperty, ValuesInAnyOrderAreWrittenTheSameAfterReading) {
  GraphBuilder builder("mixed");
  const ValueId c = builder.AddScalar(1, DType::kFloat32);
  const NodeId node =
      builder.AddNodeWithTypes({.op = "TestOp", .inputs = {c}}, {TensorType{.shape = {2}}});
  (void)builder.AddParameter("w", {.shape = {2}}, {});
  (void)builder.AddInput("w", {.shape = {3}});
  builder.SetOutputs({builder.graph().at(node).outputs[0]});
  const std::string text = WriteGraphDocument(builder.graph(), {});
  const auto read = ReadGraphDocument(text, "g.json", {});
  ASSERT_TRUE(read) << FormatError(read.error());
  EXPECT_EQ(WriteGraphDocument(read->graph, read->job), text);
  // Order in the document: input w, parameter w, the constant, the result.
  EXPECT_EQ(read->graph.outputs, std::vector<ValueId>{ValueId{3}});
}

}  // namespace
}  // namespace drydock::strategies
