#include "strategies/program/collectives.h"

#include <limits>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"

/// What a rank sends for a collective, by the facts in its entry.
namespace drydock::strategies {
namespace {

/// The only collective of a program: `op` over all `ranks`, of `elements` float32 on each.
CollectiveUse UseOf(std::string_view op, std::int64_t ranks, std::int64_t elements,
                    AttrMap attrs = {}) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {elements}});
  attrs["rank_size"] = ranks;
  const NodeId id = *builder.AddNode({.op = op, .inputs = {x}, .attrs = std::move(attrs)});
  LocalProgram program{.from = TracedPlan{.config = {.world_size = ranks}},
                       .local = std::move(builder).Take()};
  program.local.nodes[ToIndex(id)].group = MakeGroupPattern({{.stride = 1, .extent = ranks}});
  return CollectivesOf(program).front();
}

// 4 ranks, payload 4096 B. Ring: AllReduce 2 * 3/4 of it, ReduceScatter and AlltoAll 3/4, AllGather
// 3 times.
TEST(CollectivesOf, BytesAreThoseOfARing) {
  EXPECT_EQ(UseOf("AllReduce", 4, 1024).sent_bytes, 6144);
  EXPECT_EQ(UseOf("ReduceScatter", 4, 1024).sent_bytes, 3072);
  EXPECT_EQ(UseOf("AllGather", 4, 1024).sent_bytes, 12288);
  EXPECT_EQ(UseOf("AlltoAll", 4, 1024, {{"split_count", 4}, {"split_dim", 0}, {"concat_dim", 0}})
                .sent_bytes,
            3072);
  // Along a chain each member but the last one passes the payload on.
  EXPECT_EQ(UseOf("Broadcast", 4, 1024, {{"root_rank", 0}}).sent_bytes, 4096);
}

// 3 ranks, payload 4 B: 2 * 2/3 * 4 = 5.33 -> 6; in a group of one nothing is sent.
TEST(CollectivesOf, BytesAreRoundedUp) {
  EXPECT_EQ(UseOf("AllReduce", 3, 1).sent_bytes, 6);
  EXPECT_EQ(UseOf("AllReduce", 1, 1).sent_bytes, 0);
}

// 65536 = 2^16 ranks, 2^45 elements = 2^47 B: 2 * (2^16 - 1) * 2^47 does not fit 64 bits, but a
// 2^16th of it does: 2^48 - 2^32. Twice 3 * 2^61 B does not fit at all. A result of 2^62 B is the
// largest power of two that a graph takes.
TEST(CollectivesOf, ProductsBeyond64BitsAreWorkedOut) {
  EXPECT_EQ(UseOf("AllReduce", 65536, std::int64_t{1} << 45U).sent_bytes,
            (std::int64_t{1} << 48U) - (std::int64_t{1} << 32U));
  EXPECT_EQ(UseOf("AllGather", 65536, std::int64_t{1} << 44U).sent_bytes,
            (std::int64_t{1} << 62U) - (std::int64_t{1} << 46U));
  EXPECT_EQ(UseOf("AllReduce", 65536, std::int64_t{3} << 59U).sent_bytes,
            std::numeric_limits<std::int64_t>::max());
}

/// A step whose weight goes through `count` operators that pass its layout on, then into a MatMul.
Graph LongChain(int count) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {8, 16}});
  const ValueId w = *builder.AddParameter("w", {.shape = {16, 8}}, {});
  ValueId end = w;
  for (int i = 0; i < count; ++i) {
    end = *builder.Emit(
        {.op = "Cast", .inputs = {end}, .attrs = {{"dtype", i % 2 == 0 ? "float16" : "float32"}}});
  }
  const NodeId product = *builder.AddNode({.op = "MatMul", .inputs = {x, end}});
  builder.mutable_graph().nodes[ToIndex(product)].in_strategy = Strategy{{1, 2}, {2, 1}};
  builder.SetOutputs({builder.graph().at(product).outputs.front()});
  return std::move(builder).Take();
}

// Deeper than a stack is: what the weight is wanted in is found by a loop.
TEST(WantedLayouts, ChainsMayBeAsLongAsTheGraph) {
  const auto program =
      Compile(LongChain(60'000), {.world_size = 2, .mode = ParallelMode::kSemiAutoParallel});
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  const Graph& local = program->local;
  EXPECT_EQ(local.at(local.parameters[0].value).type.shape, (Shape{8, 8}));
}

}  // namespace
}  // namespace drydock::strategies
