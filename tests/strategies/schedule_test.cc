#include "strategies/passes/schedule/schedule.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "strategies/operators/builder.h"
#include "strategies/operators/kernel_builder.h"
#include "strategies/passes/schedule/check_waits.h"
#include "strategies/passes/schedule/dataflow_order.h"
#include "strategies/passes/schedule/delay.h"
#include "strategies/passes/schedule/exec_order.h"
#include "strategies/passes/schedule/lower.h"
#include "strategies/passes/schedule/streams.h"

namespace drydock::strategies {
namespace {

constexpr RankDigit kAllRanks = {.stride = 1, .extent = 4};

std::vector<std::string> Names(const KernelGraph& graph, const std::vector<KernelId>& order) {
  std::vector<std::string> names;
  names.reserve(order.size());
  for (const KernelId id : order) {
    names.push_back(graph.at(id).name.str());
  }
  return names;
}

/// "MatMul", "send 0", "wait 0" (a stream waits for the event with the same number).
std::vector<std::string> Names(const KernelGraph& graph, const std::vector<Launch>& launches) {
  std::vector<std::string> names;
  for (const Launch& launch : launches) {
    const std::string on = " on " + std::to_string(launch.stream);
    names.push_back(launch.kind == Launch::Kind::kKernel ? graph.at(launch.kernel).name.str() + on
                    : launch.kind == Launch::Kind::kSend
                        ? "send " + std::to_string(launch.event) + on
                        : "wait " + std::to_string(launch.event) + on);
  }
  return names;
}

/// A small graph of kernels with one result each.
struct Kernels {
  KernelBuilder builder = {};

  KernelId Leaf(const std::string& name) {
    return builder.AddLeaf(KernelKind::kInput, name, {.shape = {4}});
  }
  KernelId Add(std::string_view name, std::vector<KernelId> inputs) {
    return builder.Kernel({.name = name, .inputs = std::move(inputs), .results = {{.shape = {4}}}});
  }
  KernelGraph Returning(std::vector<KernelId> results) {
    builder.graph().outputs = results;
    const KernelId tuple = builder.Virtual(KernelKind::kMakeTuple, std::move(results));
    builder.graph().result = builder.Virtual(KernelKind::kReturn, {tuple});
    return builder.graph();
  }
};

TEST(ExecOrder, UsersFollowBreadthFirst) {
  // a has two users, b and c; d is the only user of b; e waits for d and c. The walk from the
  // return node meets e, then d and c, then - as operand of d - b: c is entered as user of a before
  // b is. So behind a stand c, b; e still waits for d, the only user of b.
  Kernels kernels;
  const KernelId a = kernels.Add("a", {kernels.Leaf("x")});
  const KernelId b = kernels.Add("b", {a});
  const KernelId c = kernels.Add("c", {a});
  const KernelId d = kernels.Add("d", {b});
  const KernelId e = kernels.Add("e", {d, c});
  const KernelGraph graph = kernels.Returning({e});
  EXPECT_EQ(Names(graph, ExecOrder(graph)), (std::vector<std::string>{"a", "c", "b", "d", "e"}));
}

// a reads an input, p a parameter; b and c read a, q and r read p. The data set's message to a and
// the beginning of p are there first. a, which runs first, puts b and c behind p; p puts q and r
// behind them. Where a message is a call, b and c run before a has returned.
TEST(CheckWaits, KernelsThatWaitForEachOtherAreADefect) {
  Kernels kernels;
  const KernelId x = kernels.Leaf("x");
  const KernelId made = kernels.Add("Made", {x});
  const KernelId behind = kernels.builder.Virtual(KernelKind::kDepend, {x, made});
  const KernelId later = kernels.Add("Later", {behind});
  KernelGraph graph = kernels.Returning({later});
  EXPECT_TRUE(CheckWaits(graph));
  graph.at(made).inputs.push_back(later);
  const Status status = CheckWaits(graph);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInternal);
  EXPECT_NE(status.error().message.find("waits for itself"), std::string::npos);
}

TEST(DataflowOrder, ReceiversStandBehindWhoWaitsOrAreCalled) {
  Kernels kernels;
  const KernelId w = kernels.builder.AddLeaf(KernelKind::kParameter, "w", {.shape = {4}});
  const KernelId a = kernels.Add("a", {kernels.Leaf("x")});
  const KernelId p = kernels.Add("p", {w});
  std::vector<KernelId> results;
  for (const auto& [name, input] : {std::pair("b", a), {"c", a}, {"q", p}, {"r", p}}) {
    results.push_back(kernels.Add(name, {input}));
  }
  const KernelGraph graph = kernels.Returning(results);
  const std::vector<KernelId> order = ExecOrder(graph);
  ASSERT_TRUE(RunsAsDataflow(graph, order));
  DataflowOrders orders = DataflowOrder(graph, order, false);
  // Which of b and c was compiled first is not looked at here.
  for (std::vector<KernelId>* one : {&orders.first_step, &orders.later_steps}) {
    ASSERT_EQ(one->size(), 6U);
  }
  EXPECT_EQ(Names(graph, orders.first_step).front(), "a");
  EXPECT_EQ(Names(graph, orders.first_step)[1], "p");
  EXPECT_EQ(Names(graph, orders.later_steps)[3], "p");
  EXPECT_TRUE(DataflowOrder(graph, order, true).later_steps.empty());
}

TEST(ExecOrder, UsersOfACollectiveWaitUntilNothingElseIsReady) {
  // a is read by the collective r and by b. r is visited first; s, which reads it, is put off until
  // b and c are done.
  Kernels kernels;
  const KernelId a = kernels.Add("a", {kernels.Leaf("x")});
  const KernelId b = kernels.Add("b", {a});
  const KernelId r = kernels.Add("r", {a});
  const KernelId s = kernels.Add("s", {r});
  const KernelId c = kernels.Add("c", {b});
  kernels.builder.graph().at(r).communication = true;
  const KernelGraph graph = kernels.Returning({s, c});
  EXPECT_EQ(Names(graph, ExecOrder(graph)), (std::vector<std::string>{"a", "r", "b", "c", "s"}));
}

TEST(ExecOrder, UsersFollowDepthFirst) {
  // a is read by b and c, b by f and g, c by d. In depth both users of b follow it; in breadth c,
  // with its only user d, stands before them.
  Kernels kernels;
  const KernelId a = kernels.Add("a", {kernels.Leaf("x")});
  const KernelId b = kernels.Add("b", {a});
  const KernelId f = kernels.Add("f", {b});
  const KernelId g = kernels.Add("g", {b});
  const KernelId c = kernels.Add("c", {a});
  const KernelId d = kernels.Add("d", {c});
  const KernelGraph graph = kernels.Returning({f, g, d});
  EXPECT_EQ(Names(graph, ExecOrder(graph, VisitOrder::kDepthFirst)),
            (std::vector<std::string>{"a", "b", "f", "g", "c", "d"}));
  EXPECT_EQ(Names(graph, ExecOrder(graph)),
            (std::vector<std::string>{"a", "b", "c", "d", "f", "g"}));
}

TEST(DelayKernels, CastsOfLeavesStandBeforeTheirFirstUser) {
  // p and q need no kernel and run late; q is cast in front of n, p in front of m. An update
  // between a cast and its user keeps the cast where it is.
  Kernels kernels;
  const KernelId p = kernels.Add("p", {kernels.Leaf("w")});
  const KernelId q = kernels.Add("q", {kernels.Leaf("v")});
  const KernelId o = kernels.Add("o", {kernels.Leaf("x")});
  const KernelId m = kernels.Add("m", {o, p});
  const KernelId n = kernels.Add("n", {m, q});
  KernelGraph graph = kernels.Returning({n});
  graph.at(p).runs_late = graph.at(q).runs_late = true;
  EXPECT_EQ(Names(graph, DelayKernels(graph, {p, q, o, m, n})),
            (std::vector<std::string>{"o", "p", "m", "q", "n"}));
  graph.at(m).update = true;
  EXPECT_EQ(Names(graph, DelayKernels(graph, {p, q, o, m, n})),
            (std::vector<std::string>{"p", "q", "o", "m", "n"}));
}

TEST(AssignStreams, ComputationWaitsForACollectiveBeforeItsFirstReader) {
  // The example of streams.cc, with the meetings of all streams at the beginning and the end.
  Kernels kernels;
  const KernelId g = kernels.Add("MatMul", {kernels.Leaf("x")});
  const KernelId r = kernels.Add("AllReduce", {g});
  const KernelId y = kernels.Add("ReLU", {g});
  const KernelId z = kernels.Add("Mul", {r});
  KernelGraph graph = kernels.Returning({y, z});
  graph.at(r).communication = true;
  graph.at(r).group = GroupPattern{.digits = {kAllRanks}};
  EXPECT_EQ(Names(graph, AssignStreams(graph, {g, r, y, z}, {})),
            (std::vector<std::string>{"send 1 on 0", "wait 1 on 1",  // The beginning.
                                      "MatMul on 0", "send 2 on 0", "wait 2 on 1", "AllReduce on 1",
                                      "send 0 on 1", "ReLU on 0", "wait 0 on 0", "Mul on 0",
                                      "send 3 on 1", "wait 3 on 0"}));
}

/// Two products with a weight each, whose weights are then updated.
Graph TwoUpdates() {
  GraphBuilder builder;
  const ValueId x = *builder.AddInput("x", {.shape = {4, 4}});
  const auto parameter = [&](const char* name) {
    return *builder.AddParameter(name, {.shape = {4, 4}}, {});
  };
  const ValueId a = parameter("a");
  const ValueId b = parameter("b");
  const ValueId product = *builder.Emit({.op = "MatMul", .inputs = {x, a}});
  const ValueId result = *builder.Emit({.op = "MatMul", .inputs = {product, b}});
  for (const ValueId weight : {a, b}) {
    EXPECT_TRUE(builder.Emit({.op = "AssignAdd", .inputs = {weight, result}}).has_value());
  }
  builder.SetOutputs({result});
  return std::move(builder).Take();
}

std::vector<const KernelNode*> OfKind(const KernelGraph& graph, KernelKind kind) {
  std::vector<const KernelNode*> nodes;
  for (const KernelNode& node : graph.nodes) {
    if (node.kind == kind) {
      nodes.push_back(&node);
    }
  }
  return nodes;
}

Result<KernelGraph> Lowered(const Graph& local) {
  DRYDOCK_TRY(LoweredProgram lowered, LowerProgram(local));
  return std::move(lowered.graph);
}

TEST(LowerProgram, UpdatesWaitForReadersAndForTheUpdateBefore) {
  const auto graph = Lowered(TwoUpdates());
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  const auto states = OfKind(*graph, KernelKind::kUpdateState);
  const auto name = [&](KernelId id) { return graph->at(id).name.str(); };
  // One state before each update and one behind the last.
  ASSERT_EQ(states.size(), 3U);
  // U, the two Loads in a tuple, the product that reads a.
  ASSERT_EQ(states[0]->inputs.size(), 3U);
  EXPECT_EQ(graph->at(states[0]->inputs[1]).inputs.size(), 2U);
  EXPECT_EQ(name(states[0]->inputs[2]), "MatMul");
  // The state before, the first update, the product that reads b.
  ASSERT_EQ(states[1]->inputs.size(), 3U);
  EXPECT_EQ(name(states[1]->inputs[1]), "AssignAdd");
  EXPECT_EQ(name(states[1]->inputs[2]), "MatMul");
  EXPECT_NE(states[1]->inputs[2], states[0]->inputs[2]);
  EXPECT_EQ(states[2]->inputs.size(), 2U);
}

TEST(LowerProgram, AttributesAreConstantsThatEqualOnesShare) {
  const auto graph = Lowered(TwoUpdates());
  ASSERT_TRUE(graph.has_value());
  // MatMul(x, w, False, False) twice: one constant False.
  EXPECT_EQ(OfKind(*graph, KernelKind::kConstant).size(), 1U);
  EXPECT_EQ(OfKind(*graph, KernelKind::kKernel).front()->inputs.size(), 4U);
}

TEST(ScheduleKernels, UpdatesFollowTheirReaders) {
  const auto graph = ScheduleKernels(TwoUpdates(), {});
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(
      Names(*graph, graph->launches),
      (std::vector<std::string>{"MatMul on 0", "MatMul on 0", "AssignAdd on 0", "AssignAdd on 0"}));
}

/// Names and results of the kernels of an AlltoAll over 8 ranks, "Reshape(8, 1, 256)".
std::vector<std::string> ExchangeOf(Shape shape, std::int64_t split_dim, std::int64_t concat_dim) {
  GraphBuilder builder;
  const ValueId x = *builder.AddInput("x", {.shape = std::move(shape)});
  const NodeId id = *builder.AddNode({.op = "AlltoAll",
                                      .inputs = {x},
                                      .attrs = {{"split_count", 8},
                                                {"split_dim", split_dim},
                                                {"concat_dim", concat_dim},
                                                {"rank_size", 8}}});
  Node& node = builder.mutable_graph().nodes[ToIndex(id)];
  node.group = GroupPattern{.digits = {{.stride = 1, .extent = 8}}};
  builder.SetOutputs({node.outputs.front()});
  const auto lowered = Lowered(builder.graph());
  std::vector<std::string> kernels;
  for (std::size_t i = 0; lowered && i < lowered->nodes.size(); ++i) {
    const KernelNode& kernel = lowered->nodes[i];
    if (kernel.kind == KernelKind::kKernel) {
      kernels.push_back(kernel.name.str() + TupleText(kernel.results.front().type.shape));
      EXPECT_EQ(kernel.communication, kernel.name == "AllToAll");
    }
  }
  return kernels;
}

// Recorded of moe_alltoall: (8, 1, 256) is sent as it is and read as (1, 8, 256); on the way back
// the other way round.
TEST(LowerProgram, ExchangeBehindExtentsOfOneIsReshaped) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(ExchangeOf({8, 1, 256}, 0, 1), Names({"AllToAll(8, 1, 256)", "Reshape(1, 8, 256)"}));
  EXPECT_EQ(ExchangeOf({1, 8, 256}, 1, 0), Names({"Reshape(8, 1, 256)", "AllToAll(8, 1, 256)"}));
}

// (4, 16) cut along dimension 1 into 8 parts (4, 2): the parts come to the front as 8 x 4 rows.
TEST(LowerProgram, ExchangeOfInnerDimensionBringsThePartsToTheFront) {
  EXPECT_EQ(ExchangeOf({4, 16}, 1, 0),
            (std::vector<std::string>{"Reshape(4, 8, 2)", "Transpose(8, 4, 2)", "Reshape(32, 2)",
                                      "AllToAll(32, 2)"}));
}

}  // namespace
}  // namespace drydock::strategies
