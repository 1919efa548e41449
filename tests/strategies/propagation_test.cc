#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"

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
  /// Inputs of one data set.
  std::vector<ValueId> Inputs(const std::vector<Shape>& shapes) {
    std::vector<ValueId> inputs;
    for (const Shape& shape : shapes) {
      inputs.push_back(*builder_.AddInput("x" + std::to_string(inputs_++), {.shape = shape}));
    }
    const NodeId node = *builder_.AddNode({.op = "_VirtualDataset", .inputs = inputs});
    return builder_.graph().at(node).outputs;
  }
  ValueId Weight(Shape shape) {
    return *builder_.AddParameter("w" + std::to_string(weights_++), {.shape = std::move(shape)},
                                  {});
  }
  ValueId Apply(std::string_view op, std::vector<ValueId> inputs, AttrMap attrs = {},
                std::optional<Strategy> strategy = {}, std::optional<Strategy> out_strategy = {}) {
    const NodeId node =
        *builder_.AddNode({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)});
    builder_.mutable_graph().nodes[ToIndex(node)].in_strategy = std::move(strategy);
    builder_.mutable_graph().nodes[ToIndex(node)].out_strategy = std::move(out_strategy);
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
  /// Strategies by operator name. @param dataset  without it, all ranks get the whole batch
  std::map<std::string, Strategy> Propagate(ValueId result, std::int64_t ranks,
                                            DatasetStrategy dataset = {
                                                .kind = DatasetStrategy::Kind::kFullBatch}) {
    const auto program = CompileFor(result, ranks, std::move(dataset));
    EXPECT_TRUE(program) << program.error().message;
    std::map<std::string, Strategy> strategies;
    for (std::size_t n = 0; program && n < program->from->plans.size(); ++n) {
      if (program->from->plans[n].sharding) {
        strategies[program->from->traced.nodes[n].op] = program->from->plans[n].sharding->strategy;
      }
    }
    return strategies;
  }
  Result<LocalProgram> CompileFor(ValueId result, std::int64_t ranks,
                                  DatasetStrategy dataset = {
                                      .kind = DatasetStrategy::Kind::kFullBatch}) {
    builder_.SetOutputs({result});
    const JobConfig config{.world_size = ranks,
                           .mode = ParallelMode::kAutoParallel,
                           .search_mode = SearchMode::kShardingPropagation,
                           .dataset = std::move(dataset)};
    return Compile(std::move(builder_).Take(), config);
  }

 private:
  GraphBuilder builder_{"net"};
  int inputs_ = 0;
  int weights_ = 0;
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

class ProductCutInItsSum : public Network {
 public:
  /// MatMul ((2, 2), (2, 2)) of 64 x 64: device matrix (2, 2, 2), result on its first and last
  /// axis, which no strategy of another operator gives.
  ValueId Product() {
    return Apply("MatMul", {Input({64, 64}), Weight({64, 64})}, {}, Strategy{{2, 2}, {2, 2}});
  }
};

// (4, 2) would need no communication either, but cuts once more.
TEST(Propagation, ProductHandsItsLayoutOn) {
  ProductCutInItsSum net;
  const auto found = net.Propagate(net.Apply("GeLU", {net.Apply("ReLU", {net.Product()})}), 8);
  EXPECT_EQ(found.at("ReLU"), (Strategy{{2, 2}}));
  EXPECT_EQ(found.at("GeLU"), (Strategy{{2, 2}}));
}

TEST(Propagation, SearchedProductHandsItsLayoutOn) {
  Network net;
  const ValueId relu = net.Apply("ReLU", {net.Input({64, 64})}, {}, Strategy{{2, 2}});
  const ValueId product = net.Apply("MatMul", {relu, net.Weight({64, 64})});
  const auto found = net.Propagate(net.Apply("GeLU", {product}), 8);
  EXPECT_EQ(found.at("MatMul"), (Strategy{{2, 2}, {2, 2}}));
  EXPECT_EQ(found.at("GeLU"), (Strategy{{2, 2}}));
}

TEST(Propagation, OperandsOnOneDeviceMatrixHandTheirLayoutsOn) {
  ProductCutInItsSum net;
  const ValueId product = net.Product();
  const ValueId gelu = net.Apply("GeLU", {product});
  const auto found = net.Propagate(net.Apply("Add", {gelu, product}), 8);
  EXPECT_EQ(found.at("Add"), (Strategy{{2, 2}, {2, 2}}));
}

// The weight of the Add has no neighbour that offers a layout, so it takes a strategy: (4, 2).
TEST(Propagation, AWeightBesideAnOperandEndsItsLayout) {
  ProductCutInItsSum net;
  const ValueId bias = net.Weight({64});
  const auto found = net.Propagate(net.Apply("Add", {net.Product(), bias}), 8);
  EXPECT_EQ(found.at("Add"), (Strategy{{4, 2}, {2}}));
}

TEST(Propagation, LayoutsAreHandedBackwards) {
  Network net;
  const ValueId gelu = net.Apply("GeLU", {net.Input({64, 64})});
  const ValueId relu = net.Apply("ReLU", {gelu});
  const ValueId product =
      net.Apply("MatMul", {net.Weight({64, 64}), relu}, {}, Strategy{{2, 2}, {2, 2}});
  const auto found = net.Propagate(product, 8);
  EXPECT_EQ(found.at("ReLU"), (Strategy{{2, 2}}));
  EXPECT_EQ(found.at("GeLU"), (Strategy{{2, 2}}));
}

// L2Normalize takes no layouts: (2, 1).
TEST(Propagation, OperatorsThatTakeNoLayoutsEndThem) {
  ProductCutInItsSum net;
  const ValueId normal = net.Apply("L2Normalize", {net.Product()},
                                   {{"axis", std::vector<std::int64_t>{1}}, {"epsilon", 1e-4}});
  const auto found = net.Propagate(net.Apply("ReLU", {normal}), 8);
  EXPECT_EQ(found.at("L2Normalize"), (Strategy{{2, 1}}));
  EXPECT_EQ(found.at("ReLU"), (Strategy{{2, 1}}));
}

// The Transpose of the other operand wants (2, 4).
TEST(Propagation, AWeightWithTwoUsersDecidesTheSecond) {
  Network net;
  const ValueId weight = net.Weight({64, 64});
  const ValueId product =
      net.Apply("Mul", {net.Input({64, 64}), weight}, {}, Strategy{{4, 2}, {4, 2}});
  const ValueId turned = net.Apply("Transpose", {net.Apply("ReLU", {product})},
                                   {{"input_perm", std::vector<std::int64_t>{1, 0}}});
  const auto found = net.Propagate(net.Apply("Sub", {turned, weight}), 8);
  EXPECT_EQ(found.at("Sub"), (Strategy{{4, 2}, {4, 2}}));
}

// mindspore: tests/ut/python/parallel/test_auto_parallel_reshape.py (test_reshape_auto_6)
TEST(Propagation, AWeightPassesAReshapeToItsOtherUsers) {
  Network net;
  const ValueId x = net.Input({4, 1024, 1});
  const ValueId y = net.Input({4, 1024});
  const ValueId weight = net.Weight({4, 1024, 1});
  const ValueId flat =
      net.Apply("Reshape", {weight}, {{"shape", std::vector<std::int64_t>{4, 1024}}});
  const ValueId mean = net.Apply("ReduceMean", {net.Apply("Add", {x, weight})},
                                 {{"axis", std::vector<std::int64_t>{1}}, {"keep_dims", false}});
  const ValueId difference = net.Apply("Sub", {mean, flat});
  const auto found =
      net.Propagate(net.Apply("Maximum", {difference, net.Apply("Mul", {y, flat})}), 8);
  EXPECT_EQ(found.at("Sub"), (Strategy{{1, 1}, {1, 1}}));
  EXPECT_EQ(found.at("Mul"), (Strategy{{1, 1}, {1, 1}}));
}

// The other operand, cut (1, 8), has no say.
TEST(Propagation, AnOutputStrategyDecidesTheNextOperator) {
  Network net;
  const ValueId x = net.Input({64, 64});
  const ValueId product = net.Apply("MatMul", {x, net.Weight({64, 64})}, {},
                                    Strategy{{4, 2}, {2, 1}}, Strategy{{8, 1}});
  const ValueId other = net.Apply("Sigmoid", {x}, {}, Strategy{{1, 8}});
  const auto found = net.Propagate(net.Apply("Add", {product, other}), 8);
  EXPECT_EQ(found.at("Add"), (Strategy{{8, 1}, {8, 1}}));
}

// From (1, 8) to (8, 1), y (256 floats a rank) costs 4,096 + 1,024 forward and 3,072 backward; x
// (512 floats) 8,192 + 1,024 and 3,072, as it does to become whole. x meets these layouts first, so
// that exchanging y seems to cost as much as making x whole, which computes less. mindspore:
// tests/ut/python/parallel/test_virtual_dataset_with_strategy.py
// (test_without_virtual_dataset_model_parallel_auto_parallel)
TEST(Propagation, TheFirstTensorBetweenTwoLayoutsDecidesTheCost) {
  Network net;
  const ValueId product = net.Apply("MatMul", net.Inputs({{128, 32}, {32, 64}}));
  const auto found = net.Propagate(
      net.Apply("GeLU", {product}), 8,
      DatasetStrategy{.kind = DatasetStrategy::Kind::kCuts, .cuts = {{1, 8}, {1, 8}}});
  EXPECT_EQ(found.at("MatMul"), (Strategy{{1, 1}, {1, 8}}));
  EXPECT_EQ(found.at("GeLU"), (Strategy{{1, 8}}));
}

// Both operators have the cuts of the data set in spite of the Concat behind them.
TEST(Propagation, ATupleOfResultsOfOneOperatorDoesNotLeadToIt) {
  Network net;
  const ValueId half = net.Apply("Split", {net.Input({32, 64})},
                                 {{"axis", std::int64_t{0}}, {"output_num", std::int64_t{2}}});
  const ValueId joined =
      net.Apply("Concat", {half, half}, {{"axis", std::int64_t{0}}}, Strategy{{1, 2}, {1, 2}});
  EXPECT_EQ(net.Propagate(joined, 8).at("Split"), (Strategy{{1, 1}}));
}

// (4, 1) would go without redistribution; users may give it.
TEST(Propagation, TheSearchCutsCopiesOfATileOnly) {
  Network net;
  const ValueId copies =
      net.Apply("Tile", {net.Input({32, 64})}, {{"dims", std::vector<std::int64_t>{1, 2}}});
  const ValueId sum = net.Apply("Add", {copies, net.Weight({128})}, {}, Strategy{{4, 1}, {1}});
  EXPECT_EQ(net.Propagate(sum, 8).at("Tile"), (Strategy{{1, 1}}));
}

// The product wants (8, 1) behind the Reshape, and 8 rows of 512 are that without communication.
TEST(Propagation, AReshapedWeightLiesAsItsReshapeWantsIt) {
  Network net;
  const ValueId relu = net.Apply("ReLU", {net.Input({64, 64})}, {}, Strategy{{8, 1}});
  const ValueId rows =
      net.Apply("Reshape", {net.Weight({8, 512})}, {{"shape", std::vector<std::int64_t>{64, 64}}});
  const auto program = net.CompileFor(net.Apply("Mul", {relu, rows}), 8);
  ASSERT_TRUE(program) << program.error().message;
  const Graph& local = program->local;
  EXPECT_EQ(local.at(local.parameters.front().value).type.shape, (Shape{1, 512}));
}

// Cost of numbers that are drawn: their slice. mindspore:
// tests/ut/python/parallel/test_gamma.py (test_uniform_real_auto_parallel)
TEST(Propagation, DrawnNumbersAreCutAsFarAsPossible) {
  Network net;
  const std::vector<ValueId> parts = {net.Input({1}), net.Input({1})};
  const auto found = net.Propagate(net.Apply("Gamma", parts,
                                             {{"seed", std::int64_t{1}},
                                              {"seed2", std::int64_t{1}},
                                              {"shape", std::vector<std::int64_t>{4, 4, 4}}}),
                                   8);
  EXPECT_EQ(found.at("Gamma"), (Strategy{{1, 2, 4}, {1}, {1}}));
}

// mindspore: tests/ut/python/parallel/test_lin_space.py (test_lin_space_loss_auto_parallel)
TEST(Propagation, EqualDistancesAreDataParallel) {
  Network net;
  const std::vector<ValueId> ends = {net.Input({}), net.Input({})};
  const auto found = net.Propagate(net.Apply("LinSpace", ends, {{"num", std::int64_t{8}}}), 8);
  EXPECT_EQ(found.at("LinSpace"), (Strategy{{8}}));
}

}  // namespace
}  // namespace drydock::strategies
