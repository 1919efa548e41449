#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "strategies/graph/builder.h"
#include "strategies/passes/program.h"

// What sharding propagation decides, beside the strategies that MindSpore 2.10.0 itself chose for
// the same networks (its compiler run without devices; strategies as its get_strategy() tells
// them).
namespace drydock::strategies {
namespace {

class Network {
 public:
  ValueId Input(Shape shape) {
    const std::string name = "x" + std::to_string(inputs_++);
    const ValueId input = *builder_.AddInput(name, {.shape = std::move(shape)});
    return *builder_.Emit({.op = "_VirtualDataset", .inputs = {input}});
  }
  ValueId Weight(Shape shape) {
    return *builder_.AddParameter("w", {.shape = std::move(shape)}, {});
  }
  ValueId Apply(std::string_view op, std::vector<ValueId> inputs, AttrMap attrs = {},
                std::optional<Strategy> strategy = {}) {
    const NodeId node =
        *builder_.AddNode({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)});
    builder_.mutable_graph().nodes[ToIndex(node)].in_strategy = std::move(strategy);
    return builder_.graph().at(node).outputs.front();
  }
  /// An operator whose layouts hold as given.
  ValueId ApplySelfDefined(std::string_view op, ValueId x, const TensorLayout& layout) {
    const ValueId result = Apply(op, {x}, {{"self_define_shard", true}});
    Node& node = builder_.mutable_graph().nodes.back();
    node.in_layout = {layout};
    node.out_layout = {layout};
    return result;
  }
  /// Strategies by operator name. @param ranks  all of them get the whole batch
  std::map<std::string, Strategy> Propagate(ValueId result, std::int64_t ranks) {
    builder_.SetOutputs({result});
    JobConfig config{.world_size = ranks,
                     .mode = ParallelMode::kAutoParallel,
                     .search_mode = SearchMode::kShardingPropagation};
    config.dataset.kind = DatasetStrategy::Kind::kFullBatch;
    const auto program = Compile(std::move(builder_).Take(), config);
    EXPECT_TRUE(program) << program.error().message;
    std::map<std::string, Strategy> strategies;
    for (std::size_t n = 0; program && n < program->plans.size(); ++n) {
      if (program->plans[n].sharding) {
        strategies[program->traced.nodes[n].op] = program->plans[n].sharding->strategy;
      }
    }
    return strategies;
  }

 private:
  GraphBuilder builder_{"net"};
  int inputs_ = 0;
};

// Sigmoid says (4, 4); the data set, which is whole, speaks last.
TEST(Propagation, WhatTheUserGaveDecidesBeforeTheDataSet) {
  Network net;
  const ValueId product = net.Apply("Mul", {net.Input({64, 32}), net.Weight({64, 32})});
  const ValueId sigmoid = net.Apply("Sigmoid", {product}, {}, Strategy{{4, 4}});
  const auto found = net.Propagate(net.Apply("ReLU", {sigmoid}), 16);
  EXPECT_EQ(found.at("Mul"), (Strategy{{4, 4}, {4, 4}}));
  EXPECT_EQ(found.at("ReLU"), (Strategy{{4, 4}}));
}

TEST(Propagation, WholeDataBehindAReshapeStaysWhole) {
  Network net;
  const ValueId rows = net.Apply("Reshape", {net.Input({64, 28, 1, 1})},
                                 {{"shape", std::vector<std::int64_t>{64, 28}}});
  const auto found = net.Propagate(net.Apply("MatMul", {rows, net.Weight({28, 64})}), 8);
  EXPECT_EQ(found.at("MatMul"), (Strategy{{1, 1}, {1, 1}}));
}

// Rows cut in 8 stay cut where a Reshape drops the dimensions of extent 1.
TEST(Propagation, CutsPassAReshapeThatKeepsTheirDimension) {
  Network net;
  const ValueId cut = net.Apply("ReLU", {net.Input({64, 28, 1, 1})}, {}, Strategy{{8, 1, 1, 1}});
  const ValueId rows = net.Apply("Reshape", {cut}, {{"shape", std::vector<std::int64_t>{64, 28}}});
  const auto found = net.Propagate(net.Apply("Sigmoid", {rows}), 8);
  EXPECT_EQ(found.at("Sigmoid"), (Strategy{{8, 1}}));
}

// ReLU cuts the rows in 2 by a layout of its own; Mul and the data set are whole all the same.
TEST(Propagation, OperatorsThatDefineTheirShardsDoNotLead) {
  Network net;
  const ValueId cut = net.ApplySelfDefined("ReLU", net.Input({2, 2}),
                                           {.device_matrix = {2, 1}, .tensor_map = {{1}, {0}}});
  const auto found = net.Propagate(net.Apply("Sigmoid", {cut}), 2);
  EXPECT_EQ(found.at("Sigmoid"), (Strategy{{1, 1}}));
}

// Cutting the output channels in 8 would compute least, but only users cut them.
TEST(Propagation, OutputChannelsOfConvolutionsAreNotSearched) {
  Network net;
  const AttrMap attrs = {{"out_channel", 8}, {"kernel_size", 2}, {"pad_mode", "same"}};
  const ValueId image =
      net.Apply("Conv2D", {net.Input({32, 16, 8, 8}), net.Weight({8, 16, 2, 2})}, attrs);
  const auto found = net.Propagate(net.Apply("ReLU", {image}), 8);
  EXPECT_EQ(found.at("Conv2D"), (Strategy{{1, 1, 1, 1}, {1, 1, 1, 1}}));
}

}  // namespace
}  // namespace drydock::strategies
