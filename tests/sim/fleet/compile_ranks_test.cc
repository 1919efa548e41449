#include "sim/fleet/compile_ranks.h"

#include <string>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"

/// Networks whose ranks hold tables of different length: which ranks run which program, and what
/// memory each takes.
namespace drydock::sim {
namespace {

using strategies::GraphBuilder;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kColumns = 256;

/// Sum of rows of a table cut by hand into `rows`, one field of indices per part; the table's
/// update has a state of its shape.
strategies::Graph TableStep(const Numbers& rows, std::int64_t total) {
  GraphBuilder builder("net");
  const ValueId indices = *builder.AddInput(
      "indices", {.shape = {4, std::ssize(rows)}, .dtype = strategies::DType::kInt32});
  const ValueId table = *builder.AddParameter("table", {.shape = {total, kColumns}}, {});
  const NodeId found = *builder.AddNode(
      {.op = "Gather", .inputs = {table, indices}, .attrs = {{"axis", 0}, {"manual_split", rows}}});
  builder.mutable_graph().nodes[ToIndex(found)].in_strategy =
      strategies::Strategy{{std::ssize(rows), 1}, {1, std::ssize(rows)}};
  const ValueId loss =
      *builder.Emit({.op = "ReduceSum", .inputs = {builder.graph().at(found).outputs[0]}});
  const ValueId gradient = *builder.Emit({.op = "_Gradient", .inputs = {loss, table}});
  const ValueId moment = *builder.AddParameter(
      "moment", {.shape = {total, kColumns}},
      {.role = strategies::ParameterRole::kOptimizerState, .state_of = table});
  const ValueId step = *builder.Emit({.op = "Add", .inputs = {moment, gradient}});
  (void)*builder.Emit({.op = "Assign", .inputs = {moment, step}});
  (void)*builder.Emit({.op = "AssignSub", .inputs = {table, step}});
  builder.SetOutputs({loss});
  return builder.graph();
}

strategies::JobConfig JobOf(std::int64_t world_size) {
  strategies::JobConfig job{.world_size = world_size,
                            .mode = strategies::ParallelMode::kSemiAutoParallel,
                            .any_device_count = true};
  job.dataset.kind = strategies::DatasetStrategy::Kind::kFullBatch;
  return job;
}

const std::vector<RankRange> kFourRanks = {{.first = 0, .last = 3}};

std::int64_t BytesOf(const RankClass& ranks, BufferKind kind) {
  return ranks.memory->breakdown_bytes[static_cast<std::size_t>(kind)];
}

TEST(CompileForRanks, RanksWithEquallyManyRowsShareAProgram) {
  const auto network =
      CompileForRanks(TableStep({2, 4, 2, 8}, 16), JobOf(4), kFourRanks, RankId{0});
  ASSERT_TRUE(network.has_value()) << FormatError(network.error());
  ASSERT_EQ(network->others.size(), 2U);
  EXPECT_EQ(network->others[0].ranks, (std::vector<RankRange>{{.first = 1, .last = 1}}));
  EXPECT_EQ(network->others[1].ranks, (std::vector<RankRange>{{.first = 3, .last = 3}}));
}

TEST(CompileForRanks, TheDescribedRanksProgramComesFirst) {
  const auto network =
      CompileForRanks(TableStep({2, 4, 2, 8}, 16), JobOf(4), kFourRanks, RankId{3});
  ASSERT_TRUE(network.has_value()) << FormatError(network.error());
  const strategies::Graph& local = network->program.local;
  EXPECT_EQ(local.at(local.parameters[0].value).type.shape, (strategies::Shape{8, kColumns}));
}

TEST(CompileForRanks, EqualPartsAreOneProgram) {
  const auto network =
      CompileForRanks(TableStep({4, 4, 4, 4}, 16), JobOf(4), kFourRanks, RankId{0});
  ASSERT_TRUE(network.has_value()) << FormatError(network.error());
  EXPECT_TRUE(network->others.empty());
}

TEST(CompileForRanks, TooManyLengthsAreUnsupported) {
  Numbers rows;
  std::int64_t total = 0;
  for (std::int64_t i = 1; i <= 65; ++i) {
    rows.push_back(i);
    total += i;
  }
  const auto network =
      CompileForRanks(TableStep(rows, total), JobOf(65), {{.first = 0, .last = 64}}, RankId{0});
  ASSERT_FALSE(network.has_value());
  EXPECT_EQ(network.error().code, ErrorCode::kUnsupported);
}

TEST(CompileForRanks, EveryClassHasTheMemoryOfItsRows) {
  // 64 and 192 rows of 256 float32: 65536 B and 196608 B, for the table and for its state. Sizes
  // are rounded up alike, so they differ by 131072 B.
  auto network =
      CompileForRanks(TableStep({64, 192}, 256), JobOf(2), {{.first = 0, .last = 1}}, RankId{0});
  ASSERT_TRUE(network.has_value()) << FormatError(network.error());
  const auto executor = MakeExecutor(1);
  const auto result = DryRun(std::move(network->program), {.level = 1}, *executor,
                             {.others = std::move(network->others)});
  ASSERT_TRUE(result.has_value()) << FormatError(result.error());
  ASSERT_EQ(result->classes.size(), 2U);
  EXPECT_TRUE(result->agreement.holds);
  for (const BufferKind kind : {BufferKind::kParameter, BufferKind::kOptimizerState}) {
    EXPECT_GE(BytesOf(result->classes[0], kind), 65536);
    EXPECT_EQ(BytesOf(result->classes[1], kind) - BytesOf(result->classes[0], kind), 131072);
  }
}

TEST(RemainingRanks, AreThoseThatNobodyTook) {
  EXPECT_EQ(RemainingRanks(8, {{{.first = 1, .last = 2}}, {{.first = 5, .last = 9}}}),
            (std::vector<RankRange>{{.first = 0, .last = 0}, {.first = 3, .last = 4}}));
}

}  // namespace
}  // namespace drydock::sim
