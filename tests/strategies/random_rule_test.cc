#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "strategies/operators/builder.h"
#include "strategies/passes/compile_job.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/op_cases.h"

// Random numbers: who draws alike and who does not; moments of the distributions.
namespace drydock::strategies {
namespace {

using cases::Numbers;
using checks::RunOp;

constexpr std::int64_t kCount = 4000;

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments MomentsOf(const char* op, const std::vector<NdArray>& inputs = {}) {
  const auto drawn = RunOp(op, inputs, {{"shape", Numbers{kCount}}, {"seed", 11}, {"seed2", 13}});
  Moments moments = {};
  for (const double x : drawn->front().data) {
    moments.mean += x / kCount;
  }
  for (const double x : drawn->front().data) {
    moments.variance += (x - moments.mean) * (x - moments.mean) / kCount;
  }
  return moments;
}

// The mean of n numbers of variance v deviates by sqrt(v / n); 5 of those are allowed. Variances
// get 15 %.

TEST(RandomNumbers, UniformHasMeanOneHalf) {
  const Moments moments = MomentsOf("UniformReal");
  EXPECT_NEAR(moments.mean, 0.5, 5 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(moments.variance, 1.0 / 12, 0.15 / 12);
}

TEST(RandomNumbers, NormalHasMeanZeroAndVarianceOne) {
  const Moments moments = MomentsOf("StandardNormal");
  EXPECT_NEAR(moments.mean, 0, 5 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(moments.variance, 1, 0.15);
}

TEST(RandomNumbers, GammaHasMeanShapeOverRate) {
  // alpha / beta and alpha / beta^2.
  for (const double alpha : {0.5, 3.0}) {
    const Moments moments =
        MomentsOf("Gamma", {{.shape = {1}, .data = {alpha}}, {.shape = {1}, .data = {2}}});
    EXPECT_NEAR(moments.mean, alpha / 2, 5 * std::sqrt(alpha / 4 / kCount));
    EXPECT_NEAR(moments.variance, alpha / 4, 0.15 * alpha / 4 + 0.02);
  }
}

/// Seeds that the ranks of 8 use for a tensor of shape (8, 6).
std::vector<std::string> SeedsOf(const Strategy& strategy, std::int64_t seed) {
  const OpEntry& entry = *FindOp("UniformReal");
  cases::OpCase one{.entry = &entry,
                    .outputs = {{.shape = {8, 6}}},
                    .attrs = {{"shape", Numbers{8, 6}}, {"seed", seed}, {"seed2", 5}}};
  const auto sharding =
      DeriveSharding(entry, one.View(), strategy, {.stage_devices = 8, .job_devices = 8});
  EXPECT_TRUE(sharding) << sharding.error().message;
  const auto program = cases::LocalExample(one, *sharding);
  EXPECT_TRUE(program) << program.error().message;
  std::vector<std::string> seeds;
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    seeds.push_back(cases::AttrTexts(*program, "UniformReal", "seed", rank).front());
  }
  return seeds;
}

TEST(RandomRule, SlicesDrawFromTheirOwnSeeds) {
  // mindspore ops_info/random_distribute_info.cc: seed += rank / repeat. 4 x 2 slices: no
  // repetition.
  EXPECT_EQ(SeedsOf({{4, 2}}, 10),
            (std::vector<std::string>{"10", "11", "12", "13", "14", "15", "16", "17"}));
}

TEST(RandomRule, RanksThatRepeatASliceShareItsSeed) {
  EXPECT_EQ(SeedsOf({{4, 1}}, 10),
            (std::vector<std::string>{"10", "10", "11", "11", "12", "12", "13", "13"}));
}

TEST(RandomRule, ShapeBecomesThatOfTheSlice) {
  const OpEntry& entry = *FindOp("Gamma");
  cases::OpCase one{.entry = &entry,
                    .inputs = {{.shape = {1}}, {.shape = {6}}},
                    .outputs = {{.shape = {8, 6}}},
                    .attrs = {{"shape", Numbers{8, 6}}}};
  const DeviceContext devices{.stage_devices = 8, .job_devices = 8};
  const auto sharding = DeriveSharding(entry, one.View(), {{8, 1}, {1}, {1}}, devices);
  ASSERT_TRUE(sharding) << sharding.error().message;
  EXPECT_EQ(cases::AttrTexts(*cases::LocalExample(one, *sharding), "Gamma", "shape", 0),
            std::vector<std::string>{"(1, 6)"});
  // beta has a number of its own for each column and is whole.
  EXPECT_EQ(DeriveSharding(entry, one.View(), {{4, 2}, {1}, {1}}, devices).error().reason,
            "Gamma:strategy-uncut");
  EXPECT_EQ(*DefaultStrategy(entry, one.View(), devices), (Strategy{{8, 1}, {1}, {1}}));
}

TEST(PackedMask, BitsSayWhatIsKept) {
  // 0b101: elements 0 and 2 of 3.
  NdArray mask = FilledArray({16}, 0.0);
  mask.data[0] = 5;
  const auto out = RunOp("DropoutDoMask", {{.shape = {3}, .data = {1, 2, 3}}, mask},
                         {{"keep_prob", 0.5}}, {DType::kFloat64, DType::kUInt8});
  EXPECT_EQ(out->front().data, (std::vector<double>{2, 0, 6}));
}

TEST(PackedMask, GeneratedMaskDropsWhatDropoutDoes) {
  const NdArray x = FilledArray({200}, 1.0);
  const AttrMap seeds = {{"Seed0", 3}, {"Seed1", 4}, {"keep_prob", 0.5}};
  AttrMap with_shape = seeds;
  with_shape["shape"] = Numbers{200};
  const auto mask = RunOp("DropoutGenMask", {}, with_shape);
  ASSERT_TRUE(mask) << mask.error().message;
  EXPECT_EQ(mask->front().shape, (Shape{32}));  // 200 bits in groups of 128: 2 * 16 bytes.
  const auto by_mask = RunOp("DropoutDoMask", {x, mask->front()}, {{"keep_prob", 0.5}},
                             {DType::kFloat64, DType::kUInt8});
  EXPECT_EQ(by_mask->front(), RunOp("Dropout", {x}, seeds)->front());
}

TEST(PackedMask, SlicesOfWholeGroupsOfBitsCutIt) {
  const OpEntry& entry = *FindOp("DropoutExt");
  const DeviceContext devices{.stage_devices = 4, .job_devices = 4};
  const auto masks = [&](std::int64_t rows) {
    const Shape mask = {rows * 64 / 8};
    const cases::OpCase one =
        cases::CaseFrom(entry, {{rows, 64}, {1}, {1}}, {{rows, 64}, mask}, {{"p", 0.5}});
    return DeriveSharding(entry, one.View(), {{4, 1}, {1}, {1}}, devices);
  };
  // 8 x 64 elements on 4 ranks: 128 bits each. 4 x 64: 64 each, whose masks are no quarter.
  const auto even = masks(8);
  ASSERT_TRUE(even) << even.error().message;
  EXPECT_EQ(SliceShape(even->outputs[1]), (Shape{16}));
  const auto odd = masks(4);
  ASSERT_TRUE(odd) << odd.error().message;
  EXPECT_EQ(SliceShape(odd->outputs[1]), (Shape{32}));
}

/// sum of DropoutExt(w (4, 64)) cut into 4 rows, and its gradient; with the mask as a result.
Result<LocalProgram> DropoutOfRows(bool mask_is_read) {
  GraphBuilder builder("net");
  const ValueId w = *builder.AddParameter("w", {.shape = {4, 64}}, {});
  const ValueId seed = *builder.AddConstant({.shape = {1}, .dtype = DType::kInt64}, {{1}});
  const NodeId node =
      *builder.AddNode({.op = "DropoutExt", .inputs = {w, seed, seed}, .attrs = {{"p", 0.5}}});
  builder.mutable_graph().nodes[ToIndex(node)].in_strategy = Strategy{{4, 1}, {1}, {1}};
  const std::vector<ValueId> results = builder.graph().at(node).outputs;
  const ValueId loss = *builder.Emit({.op = "ReduceSum", .inputs = {results[0]}});
  const ValueId gradient = *builder.Emit({.op = "_Gradient", .inputs = {loss, w}});
  builder.SetOutputs(mask_is_read ? std::vector<ValueId>{loss, gradient, results[1]}
                                  : std::vector<ValueId>{loss, gradient});
  return Compile(
      builder.graph(),
      {.world_size = 4, .mode = ParallelMode::kSemiAutoParallel, .any_device_count = true});
}

TEST(PackedMask, OddSlicesKeepTheirOwnForTheGradient) {
  // 64 bits per rank, in groups of 128: 16 bytes, read by the gradient kernel.
  const auto program = DropoutOfRows(false);
  ASSERT_TRUE(program) << FormatError(program.error());
  std::int64_t readers = 0;
  for (const Node& node : program->local.nodes) {
    if (node.op == "DropoutGradExt") {
      EXPECT_EQ(program->local.at(node.inputs[1]).type.shape, Shape{16});
      ++readers;
    }
  }
  EXPECT_EQ(readers, 1);
}

TEST(PackedMask, OddSlicesHaveNoneToRead) {
  const auto program = DropoutOfRows(true);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(program.error().message.find("result 1 of 'DropoutExt'"), std::string::npos);
}

TEST(CandidateSampler, UniqueClassesComeOnce) {
  const auto drawn =
      RunOp("UniformCandidateSampler", {{.shape = {2, 1}, .data = {0, 1}}},
            {{"num_true", 1}, {"num_sampled", 9}, {"unique", true}, {"range_max", 9}, {"seed", 5}},
            {DType::kInt64});
  ASSERT_TRUE(drawn) << drawn.error().message;
  EXPECT_EQ(std::set<double>(drawn->front().data.begin(), drawn->front().data.end()).size(), 9U);
}

// A mask is made of nothing: there is no operand whose strategy it could take over.
TEST(DropoutMask, NetworksWithOneArePropagated) {
  GraphBuilder builder("net");
  const ValueId x = *builder.AddInput("x", {.shape = {16, 8}});
  const ValueId mask = *builder.Emit(
      {.op = "DropoutGenMask", .attrs = {{"shape", Shape{16, 8}}, {"keep_prob", 0.5}}});
  builder.SetOutputs(
      {*builder.Emit({.op = "DropoutDoMask", .inputs = {x, mask}, .attrs = {{"keep_prob", 0.5}}})});
  const auto program =
      Compile(std::move(builder).Take(), {.world_size = 8,
                                          .mode = ParallelMode::kAutoParallel,
                                          .search_mode = SearchMode::kShardingPropagation});
  ASSERT_TRUE(program.has_value()) << FormatError(program.error());
  EXPECT_TRUE(program->from->plans.back().sharding.has_value());
}

}  // namespace
}  // namespace drydock::strategies
