#include <algorithm>
#include <functional>
#include <random>
#include <regex>

#include <gtest/gtest.h>

#include "base/text.h"
#include "strategies/passes/compile_job.h"
#include "tests/strategies/op_cases.h"

// Every strategy and layout that a rule refuses comes with remedies, and the remedies are legal by
// the same rule. The strategies are broken copies of legal ones, for every operator with a sample.
namespace drydock::strategies::cases {
namespace {

struct Broken {
  std::string name = {};
  const OpEntry* entry = nullptr;
  std::int64_t devices = 8;
  friend void PrintTo(const Broken& one, std::ostream* out) { *out << one.name; }
};

std::vector<Broken> SampledOperators() {
  std::vector<Broken> all;
  for (const OpEntry* entry : AllOps()) {
    if (entry->shard != nullptr && SampleOf(*entry) && entry->kind != OpKind::kDataset) {
      for (const std::int64_t devices : {6, 8}) {
        all.push_back({.name = std::string(entry->name) + "On" + std::to_string(devices),
                       .entry = entry,
                       .devices = devices});
      }
    }
  }
  return all;
}

DeviceContext DevicesOf(const Broken& one) {
  return {.stage_devices = one.devices, .job_devices = one.devices};
}

/// Wrong cuts, wrong ranks and wrong numbers of entries.
std::vector<Strategy> BrokenCopies(const Strategy& legal) {
  std::vector<Strategy> broken;
  for (std::size_t i = 0; i < legal.size(); ++i) {
    for (std::size_t d = 0; d < legal[i].size(); ++d) {
      for (const std::int64_t cut : {-1, 0, 2, 3, 4, 5, 7, 16}) {
        broken.push_back(legal);
        broken.back()[i][d] = cut;
      }
    }
    broken.push_back(legal);
    broken.back()[i].push_back(2);
  }
  broken.push_back(legal);
  broken.back().push_back({1});
  if (!legal.empty()) {
    broken.push_back(legal);
    broken.back().pop_back();
  }
  return broken;
}

class Remedies : public ::testing::TestWithParam<Broken> {
 protected:
  [[nodiscard]] const OpEntry& entry() const { return *GetParam().entry; }
  [[nodiscard]] OpCase sample() const { return *SampleOf(entry()); }
};
class RemediesOfStrategies : public Remedies {};
class RemediesOfIgnored : public Remedies {};
class RemediesOfLayouts : public Remedies {};

/// Strategies of such operators are ignored, and counted.
bool IgnoresStrategies(const Broken& one) {
  return one.entry->kind == OpKind::kTransparent || one.entry->kind == OpKind::kUpdate;
}

/// Fewest entries that have to change, looking at changes of one entry only; nullopt: more.
bool OneChangeIsEnough(const OpEntry& entry, const OpView& view, const Strategy& wanted,
                       const DeviceContext& devices) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (std::size_t d = 0; d < wanted[i].size(); ++d) {
      for (std::int64_t cut = 1; cut <= devices.stage_devices; ++cut) {
        Strategy changed = wanted;
        changed[i][d] = cut;
        if (TrySharding(entry, view, changed, devices)) {
          return true;
        }
      }
    }
  }
  return false;
}

TEST_P(Remedies, OfRefusedStrategiesAreLegalAndNear) {
  const OpCase one = sample();
  const OpView view = one.View();
  const DeviceContext devices = DevicesOf(GetParam());
  for (const Strategy& wanted : BrokenCopies(ReplicatedStrategy(entry(), view))) {
    SCOPED_TRACE(StrategyText(wanted));
    const auto sharding = DeriveSharding(entry(), view, wanted, devices);
    if (sharding || sharding.error().code != ErrorCode::kInvalidArgument) {
      continue;
    }
    const Error& error = sharding.error();
    EXPECT_NE(error.message.find("'" + std::string(entry().name) + "'"), std::string::npos)
        << error.message;
    const auto remedies = NearestLegalStrategies(entry(), view, wanted, devices, 3);
    ASSERT_FALSE(remedies.empty());
    for (const Strategy& remedy : remedies) {
      EXPECT_TRUE(TrySharding(entry(), view, remedy, devices)) << StrategyText(remedy);
      EXPECT_NE(error.hint.find(StrategyText(remedy)), std::string::npos) << error.hint;
      EXPECT_GE(ChangedEntries(remedy, wanted), ChangedEntries(remedies.front(), wanted));
    }
    if (ChangedEntries(remedies.front(), wanted) > 1) {
      EXPECT_FALSE(OneChangeIsEnough(entry(), view, wanted, devices));
    }
  }
}

/// "dimension 1 of input 0 (extent 6) into 4", for inputs and for entries that describe other
/// things.
bool NamesDimensionExtentAndCut(const std::string& message) {
  static const std::regex kPlace(
      "dimension [0-9]+ of (input|strategy entry) [0-9]+ \\(extent [0-9]+\\)");
  static const std::regex kCut("into -?[0-9]+");
  // A result that does not divide although the operands do.
  static const std::regex kResult(
      "output [0-9]+ .* dimension [0-9]+ of shape \\(.*\\) .* cut [0-9]+");
  return (std::regex_search(message, kPlace) && std::regex_search(message, kCut)) ||
         std::regex_search(message, kResult);
}

/// Refusals of a strategy as a whole: how many entries or cuts it has, or the product of its cuts.
bool IsAboutTheWhole(std::string_view reason) {
  return reason.ends_with(":strategy-entries") || reason.ends_with(":strategy-rank") ||
         reason.ends_with(":strategy-product");
}

TEST_P(Remedies, RefusalsNameTheirPlace) {
  const OpCase one = sample();
  const OpView view = one.View();
  for (const Strategy& wanted : BrokenCopies(ReplicatedStrategy(entry(), view))) {
    SCOPED_TRACE(StrategyText(wanted));
    const auto sharding = DeriveSharding(entry(), view, wanted, DevicesOf(GetParam()));
    if (sharding) {
      continue;
    }
    const Error& error = sharding.error();
    EXPECT_TRUE(error.reason.starts_with(std::string(entry().name) + ":")) << error.reason;
    EXPECT_NE(error.message.find("'" + std::string(entry().name) + "'"), std::string::npos)
        << error.message;
    if (error.code == ErrorCode::kInvalidArgument && !IsAboutTheWhole(error.reason)) {
      EXPECT_TRUE(NamesDimensionExtentAndCut(error.message))
          << error.reason << ": " << error.message;
    }
    // The whole strategy and all shapes stand beside it in any case.
    if (error.code == ErrorCode::kInvalidArgument) {
      ASSERT_FALSE(error.notes.empty());
      EXPECT_NE(error.notes.back().find(StrategyText(wanted)), std::string::npos);
    }
  }
}

/// The example as a network of one operator at line 7, with a strategy at line 3.
Graph WithStrategy(const OpCase& one, const Strategy& strategy) {
  GraphBuilder builder("net");
  NodeSpec spec{.op = one.entry->name, .attrs = one.attrs};
  std::size_t next = 0;
  for (std::size_t i = 0; next < one.inputs.size(); ++i) {
    if ((one.absent >> i & 1) != 0) {
      spec.inputs.push_back(kNoValue);
    } else {
      spec.inputs.push_back(*builder.AddParameter("p" + std::to_string(i), one.inputs[next++], {}));
    }
  }
  const std::int32_t given = builder.AddStack({{.file = "net.py", .line = 3, .column = 9}});
  spec.place = builder.AddStack({{.file = "net.py", .line = 7, .column = 16}});
  const NodeId node = one.entry->infer != nullptr
                          ? *builder.AddNode(std::move(spec))
                          : builder.AddNodeWithTypes(std::move(spec), one.outputs);
  builder.SetOutputs(builder.graph().at(node).outputs);
  Graph graph = std::move(builder).Take();
  graph.nodes.front().in_strategy = strategy;
  graph.nodes.front().shard_place = given;
  return graph;
}

TEST_P(RemediesOfStrategies, RefusalsPointToTheLineOfTheStrategy) {
  const OpCase one = sample();
  Strategy wanted = ReplicatedStrategy(entry(), one.View());
  wanted.push_back({0});  // One entry too many, and no cut at all: wrong for every operator.
  const auto program = Compile(
      WithStrategy(one, wanted),
      {.world_size = GetParam().devices == 6 ? 4 : 8, .mode = ParallelMode::kSemiAutoParallel});
  ASSERT_FALSE(program);
  ASSERT_TRUE(program.error().place) << FormatError(program.error());
  EXPECT_EQ(program.error().place->file, "net.py");
  EXPECT_EQ(program.error().place->line, 3);
}

TEST_P(RemediesOfIgnored, StrategiesThatAreIgnoredAreCounted) {
  const OpCase one = sample();
  const auto program = Compile(WithStrategy(one, ReplicatedStrategy(entry(), one.View())),
                               {.world_size = 8, .mode = ParallelMode::kSemiAutoParallel});
  ASSERT_TRUE(program) << FormatError(program.error());
  const auto ignored =
      std::ranges::find(program->from->diagnostics, "strategy-ignored", &Diagnostic::code);
  ASSERT_NE(ignored, program->from->diagnostics.end());
  EXPECT_NE(ignored->text.find("'" + std::string(entry().name) + "'"), std::string::npos);
}

TEST_P(RemediesOfLayouts, OfRefusedLayoutsAreLegal) {
  const OpCase one = sample();
  const OpView view = one.View();
  const Broken& broken = GetParam();
  std::mt19937_64 random(20250705);
  int refused = 0;
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<TensorLayout> layouts;
    for (const TensorType& type : one.inputs) {
      layouts.push_back({.device_matrix = {2, broken.devices / 2}});
      for (std::size_t d = 0; d < type.shape.size(); ++d) {
        const auto axis = static_cast<std::int64_t>(random() % 3) - 1;
        layouts.back().tensor_map.push_back(axis < 0 ? std::vector<std::int64_t>{}
                                                     : std::vector<std::int64_t>{axis});
      }
    }
    const DeviceContext devices = DevicesOf(broken);
    const auto sharding = DeriveShardingFromLayouts(entry(), view, layouts, {}, devices);
    if (sharding || sharding.error().code != ErrorCode::kInvalidArgument) {
      continue;
    }
    ++refused;
    const auto remedies = NearestLegalLayouts(entry(), view, layouts, devices, 3);
    ASSERT_FALSE(remedies.empty()) << sharding.error().message;
    for (const auto& remedy : remedies) {
      EXPECT_TRUE(DeriveShardingFromLayouts(entry(), view, remedy, {}, devices));
    }
    EXPECT_NE(sharding.error().hint.find("tensor maps"), std::string::npos);
  }
  // An axis drawn for two dimensions of one tensor, or 3 ranks for an extent of 4, is refused.
  EXPECT_GT(refused, 0);
}

std::vector<Broken> OperatorsWhere(const std::function<bool(const Broken&)>& asked) {
  std::vector<Broken> all = SampledOperators();
  std::erase_if(all, [&asked](const Broken& one) { return !asked(one); });
  return all;
}

std::string NameOfOperator(const testing::TestParamInfo<Broken>& info) {
  return TestName(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(Table, Remedies, testing::ValuesIn(SampledOperators()), NameOfOperator);
INSTANTIATE_TEST_SUITE_P(Table, RemediesOfStrategies,
                         testing::ValuesIn(OperatorsWhere(std::not_fn(IgnoresStrategies))),
                         NameOfOperator);
INSTANTIATE_TEST_SUITE_P(Table, RemediesOfIgnored,
                         testing::ValuesIn(OperatorsWhere(IgnoresStrategies)), NameOfOperator);
INSTANTIATE_TEST_SUITE_P(Table, RemediesOfLayouts,
                         testing::ValuesIn(OperatorsWhere([](const Broken& one) {
                           return one.entry->accepts_layout;
                         })),
                         NameOfOperator);

// The extents and cuts of a refusal by hand: 6 columns do not divide by 4.
TEST(Refusal, NamesDimensionExtentAndCut) {
  const OpCase one{.entry = FindOp("MatMul"),
                   .inputs = {{.shape = {4, 6}}, {.shape = {6, 2}}},
                   .outputs = {{.shape = {4, 2}}}};
  const auto sharding = DeriveSharding(*one.entry, one.View(), {{1, 4}, {4, 1}},
                                       {.stage_devices = 8, .job_devices = 8});
  ASSERT_FALSE(sharding);
  EXPECT_EQ(sharding.error().message,
            "strategy of 'MatMul' cuts dimension 1 of input 0 (extent 6) into 4, but the extent is "
            "not divisible by 4");
  // Both entries of k change: {1, 2}, {2, 1} halves it, and leaves room for the rest.
  EXPECT_NE(sharding.error().hint.find("((1, 2), (2, 1))"), std::string::npos)
      << sharding.error().hint;
}

TEST(Refusal, OfATieNamesBothDimensions) {
  const OpCase one{.entry = FindOp("MatMul"),
                   .inputs = {{.shape = {4, 8}}, {.shape = {8, 2}}},
                   .outputs = {{.shape = {4, 2}}}};
  const std::vector<TensorLayout> layouts = {
      {.device_matrix = {2, 4}, .tensor_map = {{}, {0}}},
      {.device_matrix = {2, 4}, .tensor_map = {{1}, {}}},
  };
  const auto sharding = DeriveShardingFromLayouts(*one.entry, one.View(), layouts, {},
                                                  {.stage_devices = 8, .job_devices = 8});
  ASSERT_FALSE(sharding);
  EXPECT_EQ(sharding.error().message,
            "the layouts of 'MatMul' cut dimension 1 of input 0 (extent 8) into 4 but dimension 0 "
            "of input 1 (extent 8) into 2, or along other axes; the two must be cut alike");
  // One change: the second operand's rows follow axis 0 as well, or the first one's columns axis 1.
  EXPECT_NE(sharding.error().hint.find("tensor maps ((-1, 1), (1, -1)) on device matrix (2, 4)"),
            std::string::npos)
      << sharding.error().hint;
}

// The layouts name an axis of one device in front of 1 row of the first operand only.
TEST(Accepted, AxesOfOneDeviceMayStandInOneOperandOnly) {
  const OpCase one{.entry = FindOp("Mul"),
                   .inputs = {{.shape = {1, 32, 64, 16}}, {.shape = {1, 1, 64, 16}}},
                   .outputs = {{.shape = {1, 32, 64, 16}}}};
  const std::vector<TensorLayout> layouts = {
      {.device_matrix = {1, 2, 4}, .tensor_map = {{2}, {0}, {1}, {}}},
      {.device_matrix = {1, 2, 4}, .tensor_map = {{}, {}, {1}, {}}},
  };
  EXPECT_TRUE(DeriveShardingFromLayouts(*one.entry, one.View(), layouts, {},
                                        {.stage_devices = 8, .job_devices = 8}));
}

}  // namespace
}  // namespace drydock::strategies::cases
