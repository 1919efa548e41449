#include <gtest/gtest.h>

#include "base/text.h"
#include "strategies/operators/op_signature.h"
#include "tests/strategies/op_cases.h"

// Whatever operands, attributes and strategies come in, every operator of the table answers: with a
// result, or with an error that says what is wrong. Nothing may crash.
namespace drydock::strategies::cases {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 40;

std::vector<Shape> StrangeShapes() {
  return {{},           {0},         {1},    {7},       {kHuge},
          {0, 0, 0},    {3, 0},      {1, 1}, {2, 3, 5}, {1, 1, 1, 1, 1, 1, 1, 1, 1},
          {4, 4, 4, 4}, Shape(12, 1)};
}

/// A sample with one thing changed.
std::vector<OpCase> Changed(const OpCase& sample) {
  std::vector<OpCase> changed = {sample};
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    for (const Shape& shape : StrangeShapes()) {
      changed.push_back(sample);
      changed.back().inputs[i].shape = shape;
    }
    for (const DType dtype :
         {DType::kBool, DType::kInt64, DType::kUInt8, DType::kFloat16, DType::kComplex64}) {
      changed.push_back(sample);
      changed.back().inputs[i].dtype = dtype;
    }
    changed.push_back(sample);
    changed.back().inputs.erase(changed.back().inputs.begin() + static_cast<std::ptrdiff_t>(i));
    changed.push_back(changed.back());
    changed.back().absent = std::uint64_t{1} << i;
  }
  changed.push_back(sample);
  changed.back().inputs.clear();
  changed.push_back(sample);
  changed.back().inputs.push_back({.shape = {2}});
  for (const Shape& shape : StrangeShapes()) {
    changed.push_back(sample);
    for (TensorType& input : changed.back().inputs) {
      input.shape = shape;
    }
  }
  for (const auto& [name, value] : sample.attrs) {
    for (const Attr& strange : {Attr(), Attr(-1), Attr(0), Attr(7), Attr(kHuge), Attr("text"),
                                Attr(0.5), Attr(true), Attr(Attr::List())}) {
      changed.push_back(sample);
      changed.back().attrs[name] = strange;
    }
  }
  return changed;
}

std::vector<Strategy> StrangeStrategies(const OpEntry& entry, const OpView& view) {
  const Strategy ones = ReplicatedStrategy(entry, view);
  std::vector<Strategy> all = {{}, ones, {{}}, {{1}}, {{2, 2}, {2, 2}}};
  for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{-2}, std::int64_t{2},
                                 std::int64_t{8}, std::int64_t{1} << 62}) {
    all.push_back(ones);
    for (auto& entries : all.back()) {
      entries.assign(entries.size(), cut);
    }
    for (std::size_t i = 0; i < ones.size() && !ones[i].empty(); ++i) {
      all.push_back(ones);
      all.back()[i].front() = cut;
    }
  }
  all.push_back(ones);
  all.back().emplace_back(1, 1);
  return all;
}

void ExpectSaid(const Error& error, const OpEntry& entry) {
  EXPECT_FALSE(error.message.empty()) << entry.name;
  EXPECT_NE(error.code, ErrorCode::kInternal) << entry.name << ": " << error.message;
}

/// Sharding of one application in every strange way, and what one rank then runs.
std::size_t ShardStrangely(const OpEntry& entry, const OpCase& one) {
  std::size_t count = 0;
  const OpView view = one.View();
  const DeviceContext devices{.stage_devices = 8, .job_devices = 8};
  for (const Strategy& strategy : StrangeStrategies(entry, view)) {
    const auto sharding = TrySharding(entry, view, strategy, devices);
    if (!sharding) {
      ExpectSaid(sharding.error(), entry);
    } else if (entry.infer != nullptr) {
      const auto local = LocalExample(one, *sharding);
      EXPECT_TRUE(local || !local.error().message.empty()) << entry.name;
    }
    ++count;
  }
  const auto strategy = DefaultStrategy(entry, view, devices);
  if (!strategy) {
    ExpectSaid(strategy.error(), entry);
  }
  if (entry.flops != nullptr) {
    EXPECT_GE(entry.flops(view), 0) << entry.name;
  }
  return count;
}

bool FitsGraph(const std::vector<TensorType>& types) {
  return std::ranges::all_of(types, [](const TensorType& type) {
    return std::ranges::all_of(type.shape, [](std::int64_t extent) { return extent >= 0; }) &&
           ElementCount(type.shape).has_value();
  });
}

/// The operands of a case as a graph has them: those that are left out in their place.
std::vector<ValueId> Operands(const OpCase& one) {
  std::vector<ValueId> operands;
  for (std::size_t used = 0, p = 0; used < one.inputs.size() || (one.absent >> p) != 0; ++p) {
    const bool absent = ((one.absent >> p) & 1U) != 0;
    operands.push_back(absent ? kNoValue : ValueId{static_cast<std::int32_t>(used++)});
  }
  return operands;
}

class BadInput : public testing::TestWithParam<const OpEntry*> {};

/// The example, or float tensors where the operator stands in compiled programs only and has none.
OpCase AnyCase(const OpEntry& entry) {
  if (const std::optional<OpCase> sample = SampleOf(entry)) {
    return *sample;
  }
  OpCase one{.entry = &entry};
  for (const SignatureArgument& argument : ParseSignature(entry.signature).call) {
    if (argument.kind == ArgumentKind::kTensor || argument.kind == ArgumentKind::kTensorList) {
      one.inputs.push_back({.shape = {4, 6}});
    }
  }
  return one;
}

TEST_P(BadInput, IsAnswered) {
  const OpEntry& entry = *GetParam();
  std::size_t tried = 0;
  for (OpCase& one : Changed(AnyCase(entry))) {
    if (!FitsGraph(one.inputs)) {
      continue;  // A graph refuses such operands before an operator sees them.
    }
    if (const Status fits = CheckOperands(entry, Operands(one)); !fits) {
      ExpectSaid(fits.error(), entry);  // So does the builder.
      continue;
    }
    one.outputs.clear();
    // Pseudo rules have no results of their own: the caller says what they are.
    auto outputs = entry.infer != nullptr ? entry.infer(one.View())
                                          : Result<std::vector<TensorType>>(one.inputs);
    ++tried;
    if (!outputs) {
      ExpectSaid(outputs.error(), entry);
      continue;
    }
    one.outputs = *std::move(outputs);
    if (entry.shard != nullptr && FitsGraph(one.outputs)) {
      tried += ShardStrangely(entry, one);
    }
  }
  EXPECT_GT(tried, 0U);
}

class BadInputOfCut : public BadInput {};

TEST_P(BadInputOfCut, StrategiesOfOperandsThatAreLeftOutAreRefused) {
  const OpEntry& entry = *GetParam();
  const OpCase one = AnyCase(entry);
  const DeviceContext devices{.stage_devices = 8, .job_devices = 8};
  Strategy strategy = ReplicatedStrategy(entry, one.View());
  for (int more = 0; more < 3; ++more) {
    strategy.push_back({1});
    const auto sharding = TrySharding(entry, one.View(), strategy, devices);
    ASSERT_FALSE(sharding) << StrategyText(strategy);
    ExpectSaid(sharding.error(), entry);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadInput,
    testing::ValuesIn(std::vector<const OpEntry*>(AllOps().begin(), AllOps().end())),
    [](const auto& suite) { return TestName(std::string(suite.param->name)); });

std::vector<const OpEntry*> EntriesWithResults() {
  std::vector<const OpEntry*> entries(AllOps().begin(), AllOps().end());
  std::erase_if(entries, [](const OpEntry* entry) {
    return entry->shard == nullptr || AnyCase(*entry).outputs.empty();
  });
  return entries;
}

INSTANTIATE_TEST_SUITE_P(Table, BadInputOfCut, testing::ValuesIn(EntriesWithResults()),
                         [](const auto& suite) {
                           return TestName(std::string(suite.param->name));
                         });

/// Results of a network of one ReLU.
Status DeclareInput(const Shape& shape) {
  GraphBuilder builder("bad");
  const auto input = builder.AddInput("x", {.shape = shape});
  return input ? Status() : tl::unexpected(input.error());
}

TEST(BadOperand, DynamicExtentsAndTooManyDimensionsNeverReachAnOperator) {
  EXPECT_TRUE(DeclareInput({4, 6}));
  EXPECT_TRUE(DeclareInput({}));
  EXPECT_TRUE(DeclareInput(Shape(8, 1)));
  EXPECT_FALSE(DeclareInput({-1, 6}));
  EXPECT_FALSE(DeclareInput({-2}));
  EXPECT_FALSE(DeclareInput(Shape(9, 1)));
  EXPECT_FALSE(DeclareInput({kHuge, kHuge}));
}

}  // namespace
}  // namespace drydock::strategies::cases
