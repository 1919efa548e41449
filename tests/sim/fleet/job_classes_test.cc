#include <string>

#include <gtest/gtest.h>

#include "sim/fleet/dry_run.h"
#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"

/// Which ranks run which program: tables of different length, scripts that differ by rank, programs
/// beyond our limits; and what memory each class takes.
namespace drydock::sim {
namespace {

using strategies::GraphBuilder;
using strategies::JobProgram;
using strategies::RankSet;
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

strategies::JobConfig JobFor(std::int64_t world_size) {
  strategies::JobConfig job{.world_size = world_size,
                            .mode = strategies::ParallelMode::kSemiAutoParallel,
                            .any_device_count = true};
  job.dataset.kind = strategies::DatasetStrategy::Kind::kFullBatch;
  return job;
}

RankSet Ranks(std::vector<strategies::RankRange> ranges) {
  return {.ranges = std::move(ranges)};
}

Result<JobProgram> CompileTable(const Numbers& rows, std::int64_t total, RankId described) {
  return strategies::CompileJob(strategies::JobOf(TableStep(rows, total), JobFor(std::ssize(rows))),
                                described);
}

std::int64_t BytesOf(const ClassMemory& ranks, BufferKind kind) {
  return ranks.memory->breakdown_bytes[static_cast<std::size_t>(kind)];
}

/// Classes and programs of a job, as text: "0,2: program 0".
std::vector<std::string> ClassTexts(const JobProgram& job) {
  std::vector<std::string> texts;
  for (const strategies::RankClass& item : job.classes) {
    std::string text = RankSetText(item.ranks) + ":";
    for (const auto& run : item.runs) {
      text += run ? " " + std::to_string(*run) : " -";
    }
    texts.push_back(text);
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(CompileJob, RanksWithEquallyManyRowsShareAProgram) {
  const auto job = CompileTable({2, 4, 2, 8}, 16, RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  EXPECT_EQ(ClassTexts(*job), (Texts{"0,2: 0", "1: 1", "3: 2"}));
}

TEST(CompileJob, TheDescribedRanksProgramComesFirst) {
  const auto job = CompileTable({2, 4, 2, 8}, 16, RankId{3});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  const strategies::Graph& local = job->programs[0].local;
  EXPECT_EQ(local.at(local.parameters[0].value).type.shape, (strategies::Shape{8, kColumns}));
  EXPECT_EQ(&ProgramOf(*job, RankId{3}), &job->programs[0]);
}

TEST(CompileJob, EqualPartsAreOneProgram) {
  const auto job = CompileTable({4, 4, 4, 4}, 16, RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  EXPECT_EQ(ClassTexts(*job), (Texts{"0-3: 0"}));
}

TEST(CompileJob, TooManyLengthsAreUnsupported) {
  Numbers rows;
  std::int64_t total = 0;
  for (std::int64_t i = 1; i <= 65; ++i) {
    rows.push_back(i);
    total += i;
  }
  const auto job = CompileTable(rows, total, RankId{0});
  ASSERT_FALSE(job.has_value());
  EXPECT_EQ(job.error().code, ErrorCode::kUnsupported);
}

/// A sum over the batch; the script's own AllReduce, if it is asked for, joins all ranks.
strategies::TracedNetwork SumNetwork(bool all_reduce) {
  GraphBuilder builder("sum");
  const ValueId x = *builder.AddInput("x", {.shape = {8, 4}});
  ValueId sum = *builder.Emit({.op = "ReduceSum", .inputs = {x}});
  if (all_reduce) {
    sum = *builder.Emit({.op = "AllReduce", .inputs = {sum}, .attrs = {{"op", "sum"}}});
  }
  builder.SetOutputs({sum});
  return {.graph = builder.graph(),
          .config = {.world_size = 4, .mode = strategies::ParallelMode::kStandAlone}};
}

/// One whose layout gives each rank two parts of an operator that is not handled so.
strategies::TracedNetwork NetworkBeyondLimits() {
  GraphBuilder builder("beyond");
  const ValueId x = *builder.AddInput("x", {.shape = {8, 4}});
  const NodeId wider = *builder.AddNode({.op = "ExpandDims",
                                         .inputs = {*builder.Emit({.op = "Exp", .inputs = {x}})},
                                         .attrs = {{"axis", 0}}});
  strategies::Node& node = builder.mutable_graph().nodes[ToIndex(wider)];
  node.in_layout = std::vector<strategies::TensorLayout>{
      {.device_matrix = {4, 2}, .tensor_map = {{1, 0}, {}}, .interleave = 2}};
  builder.SetOutputs({node.outputs.front()});
  return {.graph = builder.graph(),
          .config = {.world_size = 4, .mode = strategies::ParallelMode::kSemiAutoParallel}};
}

TEST(CompileJob, EveryClassRunsItsProgramsInTheOrderOfTheScript) {
  // Ranks 0 and 1 compute A then B, ranks 2 and 3 only B, which is what reports tell of them.
  strategies::TracedJob traced;
  traced.networks = {SumNetwork(true), SumNetwork(false)};
  traced.classes = {{.ranks = Ranks({{0, 1}}), .runs = {0, 1}, .described = 0},
                    {.ranks = Ranks({{2, 3}}), .runs = {1}, .described = 1}};
  const auto job = strategies::CompileJob(std::move(traced), RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  EXPECT_EQ(ClassTexts(*job), (Texts{"0-1: 0 1", "2-3: 1"}));
  // A joins all four ranks, of which two never issue it.
  EXPECT_FALSE(CheckAgreement(*job).holds);
}

TEST(CompileJob, ALaterProgramBeyondOurLimitsIsNotComparedAndIsCounted) {
  // Both halves compute A; then ranks 0 and 1 something that is not handled, ranks 2 and 3 A again.
  strategies::TracedJob traced;
  traced.networks = {SumNetwork(true), NetworkBeyondLimits()};
  traced.classes = {{.ranks = Ranks({{0, 1}}), .runs = {0, 1}, .described = 0},
                    {.ranks = Ranks({{2, 3}}), .runs = {0, 0}, .described = 0}};
  const auto job = strategies::CompileJob(std::move(traced), RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  EXPECT_EQ(ClassTexts(*job), (Texts{"0-1: 0 -", "2-3: 0 0"}));
  ASSERT_EQ(job->diagnostics.size(), 1U);
  EXPECT_EQ(job->diagnostics[0].code, "not-modelled");
  EXPECT_EQ(job->diagnostics[0].kind, strategies::DiagnosticKind::kLimit);
  EXPECT_TRUE(CheckAgreement(*job).holds);
}

TEST(DryRun, EveryClassHasTheMemoryOfItsRows) {
  // 64 and 192 rows of 256 float32: 65536 B and 196608 B, for the table and for its state. Sizes
  // are rounded up alike, so they differ by 131072 B.
  auto job = CompileTable({64, 192}, 256, RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  const auto executor = MakeExecutor(1);
  const auto result = DryRun(*std::move(job), {.level = 1}, *executor);
  ASSERT_TRUE(result.has_value()) << FormatError(result.error());
  ASSERT_EQ(result->classes.size(), 2U);
  EXPECT_TRUE(result->agreement.holds);
  for (const BufferKind kind : {BufferKind::kParameter, BufferKind::kOptimizerState}) {
    EXPECT_GE(BytesOf(result->classes[0], kind), 65536);
    EXPECT_EQ(BytesOf(result->classes[1], kind) - BytesOf(result->classes[0], kind), 131072);
  }
}

// Parts of 2 and 8 rows: ranks 0 and 2, and rank 3, are classes of their own.
TEST(AccountRanks, GivesTheClassesOfTheRanksAsAWholeRunDoes) {
  const auto executor = MakeExecutor(1);
  auto job = CompileTable({2, 4, 2, 8}, 16, RankId{0});
  ASSERT_TRUE(job.has_value()) << FormatError(job.error());
  const auto classes = AccountRanks(*job, {}, Ranks({{2, 3}}), *executor);
  const auto whole = DryRun(*std::move(job), {}, *executor);
  ASSERT_TRUE(classes.has_value() && whole.has_value());
  ASSERT_EQ(classes->size(), 2U);
  EXPECT_EQ(RankSetText(classes->front().ranks), "0,2");
  EXPECT_EQ(classes->front().memory->used_peak_bytes, whole->classes[0].memory->used_peak_bytes);
  EXPECT_EQ(RankSetText(classes->back().ranks), "3");
  EXPECT_EQ(classes->back().memory->used_peak_bytes, whole->classes[2].memory->used_peak_bytes);
}

}  // namespace
}  // namespace drydock::sim
