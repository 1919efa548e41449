#include <cstdlib>
#include <numeric>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/checked.h"
#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"
#include "strategies/program/agreement.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/sharded_run.h"

/// Tables that a script cuts by hand into parts of different length (mindspore
/// ops_info/gather_info.cc, mode MANUAL): every rank has a table of its own length, and all
/// together compute what one device does.
namespace drydock::strategies {
namespace {

using Numbers = std::vector<std::int64_t>;

/// What a network looks up, and how it is cut.
struct LookUp {
  std::string op = "Gather";
  Numbers rows = {1, 7};  ///< Of each part.
  std::int64_t columns = 4;
  std::int64_t column_cut = 1;
  bool with_offsets = false;
};

/// Indices of which column k stays within the rows of its part.
NdArray IndicesWithin(const Numbers& rows, std::int64_t samples, std::int64_t fields,
                      std::mt19937_64& random) {
  const std::int64_t columns = std::ssize(rows) * fields;
  NdArray indices = FilledArray({samples, columns}, 0.0);
  for (std::int64_t i = 0; i < samples * columns; ++i) {
    const auto own = rows.begin() + i % columns / fields;
    const std::int64_t first = std::accumulate(rows.begin(), own, std::int64_t{0});
    const auto within = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(*own));
    indices.data[static_cast<std::size_t>(i)] = static_cast<double>(first + within);
  }
  return indices;
}

Attr PartsAttr(const LookUp& look_up) {
  if (!look_up.with_offsets) {
    return look_up.rows;
  }
  Attr::List pairs;
  std::int64_t offset = 0;
  for (const std::int64_t rows : look_up.rows) {
    pairs.emplace_back(Numbers{rows, offset});
    offset += rows;
  }
  return pairs;
}

/// Adds what stands between the gradient of a table and its update.
using PostFn = Result<ValueId> (*)(GraphBuilder& builder, ValueId table, ValueId gradient);

Result<ValueId> Emit(GraphBuilder& builder, std::string_view op, std::vector<ValueId> inputs,
                     AttrMap attrs = {}) {
  return builder.Emit({.op = op, .inputs = std::move(inputs), .attrs = std::move(attrs)});
}

/// A momentum step, whose state has the table's shape.
Result<ValueId> Momentum(GraphBuilder& builder, ValueId table, ValueId gradient) {
  const TensorType type = builder.TypeOf(table);
  const Parameter hyper{.role = ParameterRole::kHyper};
  DRYDOCK_TRY(const ValueId rate, builder.AddParameter("rate", {.shape = {}}, hyper));
  DRYDOCK_TRY(const ValueId momentum, builder.AddParameter("momentum", {.shape = {}}, hyper));
  DRYDOCK_TRY(const ValueId moment,
              builder.AddParameter("moment", type,
                                   {.role = ParameterRole::kOptimizerState, .state_of = table}));
  return Emit(builder, "ApplyMomentum", {table, moment, rate, gradient, momentum});
}

Result<ValueId> StepByNorm(GraphBuilder& builder, ValueId table, ValueId gradient) {
  DRYDOCK_TRY(const ValueId squares, Emit(builder, "Square", {gradient}));
  // Sums behind the gradients stay within the rank, as in the reference, unless they are kept
  // alive.
  DRYDOCK_TRY(
      const ValueId sum,
      builder.Emit({.op = "ReduceSum", .inputs = {squares}, .attrs = {{"keep_alive", true}}}));
  DRYDOCK_TRY(const ValueId norm, Emit(builder, "Sqrt", {sum}));
  DRYDOCK_TRY(const ValueId step, Emit(builder, "RealDiv", {gradient, norm}));
  return Emit(builder, "AssignSub", {table, step});
}

Result<ValueId> StepByMean(GraphBuilder& builder, ValueId table, ValueId gradient) {
  DRYDOCK_TRY(const ValueId squares, Emit(builder, "Square", {gradient}));
  DRYDOCK_TRY(const ValueId mean, Emit(builder, "ReduceMean", {squares}));
  DRYDOCK_TRY(const ValueId step, Emit(builder, "RealDiv", {gradient, mean}));
  return Emit(builder, "AssignSub", {table, step});
}

/// The place of the extreme of each column, a number in the whole table.
Result<ValueId> StepByPlace(GraphBuilder& builder, ValueId table, ValueId gradient) {
  DRYDOCK_TRY(const ValueId place, Emit(builder, "Argmax", {gradient}, {{"axis", 0}}));
  DRYDOCK_TRY(const ValueId number, Emit(builder, "Cast", {place}, {{"dtype", "float32"}}));
  DRYDOCK_TRY(const ValueId step, Emit(builder, "Mul", {gradient, number}));
  return Emit(builder, "AssignSub", {table, step});
}

/// loss = sum of (table[indices] * w)^2; the table and w are updated.
RandomStep StepWith(const LookUp& look_up, std::uint64_t seed, PostFn post = &Momentum) {
  constexpr std::int64_t kSamples = 3;
  constexpr std::int64_t kFields = 1;
  std::mt19937_64 random(seed);
  const std::int64_t parts = std::ssize(look_up.rows);
  const std::int64_t rows =
      std::accumulate(look_up.rows.begin(), look_up.rows.end(), std::int64_t{0});
  GraphBuilder builder("net");
  const ValueId indices =
      *builder.AddInput("indices", {.shape = {kSamples, parts * kFields}, .dtype = DType::kInt32});
  const ValueId table = *builder.AddParameter("table", {.shape = {rows, look_up.columns}}, {});
  const ValueId w = *builder.AddParameter("w", {.shape = {parts * kFields, look_up.columns}}, {});
  const NodeId found = *builder.AddNode(
      {.op = look_up.op,
       .inputs = {table, indices},
       .attrs = {{look_up.op == "Gather" ? "axis" : "offset", 0},
                 {look_up.with_offsets ? "manual_split_with_offset" : "manual_split",
                  PartsAttr(look_up)}}});
  builder.mutable_graph().nodes[ToIndex(found)].in_strategy =
      Strategy{{parts, look_up.column_cut}, {1, parts}};
  const NodeId product =
      *builder.AddNode({.op = "Mul", .inputs = {builder.graph().at(found).outputs[0], w}});
  builder.mutable_graph().nodes[ToIndex(product)].in_strategy =
      Strategy{{1, parts, look_up.column_cut}, {parts, look_up.column_cut}};
  const ValueId squares = *Emit(builder, "Square", {builder.graph().at(product).outputs[0]});
  const ValueId loss = *Emit(builder, "ReduceSum", {squares});
  const NodeId gradient = *builder.AddNode({.op = "_Gradient", .inputs = {loss, table, w}});
  const std::vector<ValueId> gradients = builder.graph().at(gradient).outputs;
  EXPECT_TRUE(post(builder, table, gradients[0]).has_value());
  EXPECT_TRUE(Emit(builder, "AssignSub", {w, gradients[1]}).has_value());
  builder.SetOutputs({loss});
  RandomStep step;
  step.data.inputs = {IndicesWithin(look_up.rows, kSamples, kFields, random)};
  for (const Parameter& parameter : builder.graph().parameters) {
    step.data.parameters.push_back(
        checks::RandomArray(builder.graph().at(parameter.value).type.shape, random, 0.5, 1));
  }
  step.graph = builder.graph();
  step.job = {.world_size = parts * look_up.column_cut,
              .mode = ParallelMode::kSemiAutoParallel,
              .any_device_count = true};
  step.job.dataset.kind = DatasetStrategy::Kind::kFullBatch;
  return step;
}

Shape LocalShape(const LocalProgram& program, std::string_view name) {
  for (const Parameter& parameter : program.local.parameters) {
    if (program.local.at(parameter.value).name == name) {
      return program.local.at(parameter.value).type.shape;
    }
  }
  return {};
}

struct HandCutCase {
  const char* name;
  LookUp look_up;
  PostFn post = &Momentum;
};

void PrintTo(const HandCutCase& item, std::ostream* out) {
  *out << item.name;
}

class HandCutTables : public testing::TestWithParam<HandCutCase> {};

TEST_P(HandCutTables, RanksTogetherComputeWhatOneDeviceDoes) {
  EXPECT_EQ(Difference(StepWith(GetParam().look_up, 11, GetParam().post)), "");
}

INSTANTIATE_TEST_SUITE_P(
    Forms, HandCutTables,
    testing::Values(HandCutCase{"TwoParts", {.rows = {1, 7}}},
                    HandCutCase{"OddSum", {.rows = {2, 7}}},
                    HandCutCase{"AveragePartFirst", {.rows = {3, 4, 2}}},
                    HandCutCase{"ColumnsCutToo", {.rows = {10, 20, 30, 4}, .column_cut = 2}},
                    HandCutCase{"OffsetsGiven", {.rows = {5, 1, 3}, .with_offsets = true}},
                    HandCutCase{"HostLookUp", {.op = "EmbeddingLookup", .rows = {4, 8, 1, 3}}},
                    HandCutCase{
                        "NormOverAllParts", {.rows = {6, 2, 1}, .column_cut = 2}, &StepByNorm}),
    [](const auto& suite) { return suite.param.name; });

TEST(HandCutTable, RandomPartsComputeWhatOneDeviceDoes) {
  const char* given = std::getenv("DRYDOCK_SEED");  // NOLINT(concurrency-mt-unsafe): one thread
  const std::uint64_t first = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  for (std::uint64_t seed = first; seed < first + 20; ++seed) {
    std::mt19937_64 random(seed);
    LookUp look_up{.op = random() % 2 == 0 ? "Gather" : "EmbeddingLookup",
                   .rows = Numbers(2 + random() % 3),
                   .column_cut = random() % 2 == 0 ? 1 : 2,
                   .with_offsets = random() % 3 == 0};
    for (std::int64_t& rows : look_up.rows) {
      rows = static_cast<std::int64_t>(1 + random() % 9);
    }
    SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
    ASSERT_EQ(Difference(StepWith(look_up, seed)), "");
  }
}

TEST(HandCutTable, EveryRankHoldsItsOwnRowsOfTableAndState) {
  // Device matrix (2, 2): ranks 0 and 1 have part 0 (1 row), ranks 2 and 3 part 1 (7 rows); each
  // 2 of the 4 columns.
  const RandomStep step = StepWith({.rows = {1, 7}, .column_cut = 2}, 3);
  const auto first = Compile(step.graph, step.job);
  const auto last = Compile(step.graph, step.job, RankId{3});
  ASSERT_TRUE(first.has_value()) << FormatError(first.error());
  ASSERT_TRUE(last.has_value()) << FormatError(last.error());
  EXPECT_EQ(LocalShape(*first, "table"), (Shape{1, 2}));
  EXPECT_EQ(LocalShape(*first, "moment"), (Shape{1, 2}));
  EXPECT_EQ(LocalShape(*last, "table"), (Shape{7, 2}));
  EXPECT_EQ(LocalShape(*last, "moment"), (Shape{7, 2}));
  EXPECT_EQ(HandCutRows(*first->from, RankId{1}), Numbers{1});
  EXPECT_EQ(HandCutRows(*first->from, RankId{2}), Numbers{7});
  const std::vector<Range> owned = {{.begin = 1, .end = 8}, {.begin = 2, .end = 4}};
  EXPECT_EQ(OwnedRanges(*first, 0, RankId{3}), owned);
  EXPECT_EQ(SequenceOf(*first).collectives, SequenceOf(*last).collectives);
}

TEST(HandCutTable, EqualPartsAreOneProgram) {
  const RandomStep step = StepWith({.rows = {4, 4}}, 3);
  const auto program = Compile(step.graph, step.job);
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  EXPECT_TRUE(program->from->hand_cuts.empty());
}

/// What compiling a step says.
Error ErrorOf(const RandomStep& step) {
  const auto program = Compile(step.graph, step.job);
  return program ? Error{} : program.error();
}

TEST(HandCutTable, MeanOverRowsIsUnsupported) {
  const Error error = ErrorOf(StepWith({.rows = {1, 7}}, 3, &StepByMean));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_NE(error.message.find("'ReduceMean'"), std::string::npos) << error.message;
}

TEST(HandCutTable, PlaceInTheWholeIsUnsupported) {
  const Error error = ErrorOf(StepWith({.rows = {1, 7}}, 3, &StepByPlace));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_NE(error.message.find("'Argmax'"), std::string::npos) << error.message;
}

TEST(HandCutTable, PartsThatAreNotTheTableAreRefused) {
  RandomStep step = StepWith({.rows = {1, 7}}, 3);
  for (Node& node : step.graph.nodes) {
    if (node.attrs.contains("manual_split")) {
      node.attrs["manual_split"] = Numbers{1, 6};
    }
  }
  EXPECT_EQ(ErrorOf(step).reason, "Gather:strategy-manual");
}

TEST(HandCutTable, NoSearchGivesItsLookUpAStrategy) {
  RandomStep step = StepWith({.rows = {4, 4}}, 3);
  step.job.mode = ParallelMode::kAutoParallel;
  step.job.search_mode = SearchMode::kShardingPropagation;
  for (Node& node : step.graph.nodes) {
    if (node.attrs.contains("manual_split")) {
      node.in_strategy.reset();
    }
  }
  const Error error = ErrorOf(step);
  EXPECT_EQ(error.reason, "Gather:strategy-manual") << error.message;
}

TEST(HandCutTable, PartsShorterThanTheirIndicesAreRefused) {
  // Both ranks look up 2 of the 4 columns of indices; part 0 has 1 row.
  RandomStep step = StepWith({.rows = {1, 7}}, 3);
  step.graph.values[ToIndex(step.graph.inputs[0])].type.shape[1] = 4;
  EXPECT_EQ(ErrorOf(step).reason, "Gather:strategy-manual");
}

}  // namespace
}  // namespace drydock::strategies
