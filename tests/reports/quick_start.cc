#include "tests/reports/quick_start.h"

#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "strategies/operators/builder.h"

namespace drydock::reports {
namespace {

using strategies::DType;
using strategies::GraphBuilder;
using strategies::NodeSpec;
using strategies::Strategy;
using strategies::TensorType;

constexpr char kScope[] = "Default/network-WithLossCell/_backbone-Net";

std::int32_t AddPlace(GraphBuilder& builder, std::int32_t line, const char* text) {
  return builder.AddStack(
      {{.file = "/home/user/job/net.py", .line = line, .column = 15, .text = text},
       {.file = "/home/user/job/wrap.py", .line = 9, .text = "    self.net(x)"}});
}

ValueId Add(GraphBuilder& builder, NodeSpec spec, const std::optional<Strategy>& strategy,
            const char* name) {
  const Result<NodeId> id = builder.AddNode(std::move(spec));
  DRYDOCK_CHECK(id.has_value());
  strategies::Graph& graph = builder.mutable_graph();
  graph.nodes[ToIndex(*id)].in_strategy = strategy;
  const ValueId output = graph.nodes[ToIndex(*id)].outputs.front();
  graph.values[ToIndex(output)].name = name;
  return output;
}

void AddUpdates(GraphBuilder& builder, ValueId loss, ValueId w, ValueId w2) {
  const Result<NodeId> gradient =
      builder.AddNode({.op = "_Gradient", .inputs = {loss, w, w2}, .scope = "Default"});
  DRYDOCK_CHECK(gradient.has_value());
  const std::vector<ValueId> gradients = builder.graph().at(*gradient).outputs;
  Add(builder,
      {.op = "AssignSub",
       .inputs = {w, gradients[0]},
       .scope = "Default/optimizer-Plain",
       .phase = strategies::Phase::kOptimizer},
      {}, "");
  Add(builder,
      {.op = "AssignSub",
       .inputs = {w2, gradients[1]},
       .scope = "Default/optimizer-Plain",
       .phase = strategies::Phase::kOptimizer},
      {}, "");
}

}  // namespace

strategies::Graph QuickStartGraph() {
  GraphBuilder builder("Net");
  const ValueId x = builder.AddInput("input", {.shape = {16, 32}}).value();
  DRYDOCK_CHECK(builder.AddInput("label", {.shape = {16, 16}}).has_value());
  const ValueId w = builder.AddParameter("w", {.shape = {32, 16}}, {}).value();
  const ValueId w2 = builder.AddParameter("w2", {.shape = {16, 16}}, {}).value();
  const Strategy cuts = {{2, 4}, {4, 1}};
  const ValueId product =
      Add(builder,
          {.op = "MatMul",
           .inputs = {x, w},
           .scope = kScope,
           .instance_name = "matmul",
           .place = AddPlace(builder, 45, "        out = self.matmul(x, self.weight)")},
          cuts, "out");
  const ValueId hidden = Add(builder,
                             {.op = "ReLU",
                              .inputs = {product},
                              .scope = kScope,
                              .instance_name = "relu",
                              .place = AddPlace(builder, 46, "        out = self.relu(out)")},
                             {}, "out");
  const ValueId loss =
      Add(builder,
          {.op = "MatMul",
           .inputs = {hidden, w2},
           .scope = kScope,
           .instance_name = "matmul2",
           .place = AddPlace(builder, 47, "        out = self.matmul2(out, self.weight2)")},
          {}, "out");
  AddUpdates(builder, loss, w, w2);
  builder.SetOutputs({loss});
  return std::move(builder).Take();
}

strategies::JobConfig QuickStartJob() {
  return {.world_size = 8,
          .mode = strategies::ParallelMode::kAutoParallel,
          .search_mode = strategies::SearchMode::kShardingPropagation,
          .compat = {.major = 2, .minor = 2},
          .device_target = "GPU"};
}

strategies::LocalProgram QuickStartProgram() {
  Result<strategies::LocalProgram> program =
      strategies::Compile(QuickStartGraph(), QuickStartJob());
  if (!program) {
    std::fprintf(stderr, "%s\n", FormatError(program.error()).c_str());
  }
  DRYDOCK_CHECK(program.has_value());
  return *std::move(program);
}

}  // namespace drydock::reports
