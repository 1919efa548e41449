#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strategies/operators/op_outline.h"
#include "strategies/operators/op_signature.h"
#include "tests/strategies/gradient_check.h"
#include "tests/strategies/op_cases.h"

// What every entry of the table has to say (design: one operator, one entry). A new entry that
// leaves something out fails here.
namespace drydock::strategies::cases {
namespace {

class EntryFacts : public testing::TestWithParam<const OpEntry*> {
 protected:
  [[nodiscard]] const OpEntry& entry() const { return *GetParam(); }
  /// Pseudo rules stand for operators outside the table; types come from their callers.
  [[nodiscard]] bool HasTypes() const { return entry().infer != nullptr; }
};

/// Those that can be cut, and not by layouts alone.
class CutEntryFacts : public EntryFacts {};
/// Those of which there is an example, and types for it.
class TypedEntryFacts : public EntryFacts {};

TEST_P(EntryFacts, OperandsAndAttributesHaveNames) {
  const OpSignature signature = ParseSignature(entry().signature);
  EXPECT_TRUE(entry().signature.starts_with(entry().name)) << entry().signature;
  EXPECT_FALSE(entry().family.empty());
  std::set<std::string> names;
  for (const auto* arguments : {&signature.constructor, &signature.call}) {
    for (const SignatureArgument& argument : *arguments) {
      EXPECT_TRUE(names.insert(argument.name).second) << argument.name << " twice";
    }
  }
}

/// Operators of compiled programs only, of which a single application says little; all others are
/// tried on an example.
bool StandsInLocalProgramsOnly(const OpEntry& entry) {
  return entry.family == "gradient" || entry.family == "virtual" || entry.family == "rank" ||
         entry.family == "communication" || entry.family == "optimizer" ||
         entry.kind == OpKind::kDataset;
}

TEST_P(EntryFacts, ExampleIsLegal) {
  const auto example = ExampleOf(entry());
  if (!StandsInLocalProgramsOnly(entry())) {
    EXPECT_TRUE(example) << "give the entry an .example: " << FormatError(example.error());
  }
  EXPECT_TRUE(example || entry().example.empty()) << FormatError(example.error());
}

TEST_P(EntryFacts, CostIsGivenOrExplicitlyZero) {
  ASSERT_NE(entry().flops, nullptr) << "give the entry .flops, or NoFlops where data only moves";
  const auto example = ExampleOf(entry());
  if (example && HasTypes()) {
    const double flops = entry().flops(example->View());
    EXPECT_GE(flops, 0);
    EXPECT_TRUE(flops == 0 || entry().flops != &NoFlops);
  }
}

/// What tells collectives apart is in their facts: nobody asks for their names.
TEST_P(EntryFacts, CollectivesSayWhatTheySendAndDo) {
  EXPECT_EQ(entry().kind == OpKind::kCollective, entry().collective != nullptr);
  if (entry().collective != nullptr) {
    EXPECT_NE(entry().collective->sent, nullptr);
    EXPECT_NE(entry().collective->run, nullptr);
  }
}

/// Results from which a gradient can arrive are floating.
TEST_P(EntryFacts, GradientIsGivenOrExplicitlyNone) {
  ASSERT_NE(entry().gradient, nullptr)
      << "give the entry .gradient, or GradientNotNeeded, or NoBackward";
  const auto example = ExampleOf(entry());
  const bool floating = example && std::ranges::any_of(example->outputs, [](const TensorType& t) {
                          return IsFloating(t.dtype) || IsComplex(t.dtype);
                        });
  if (GradientSupportOf(entry()) == GradientSupport::kYes && example && HasTypes()) {
    EXPECT_TRUE(floating) << "results that are no real numbers have no gradient";
  }
}

/// The reference's default does not look at what an operator wants, so some fail (mindspore
/// ops_info/operator_info.cc): those that take all devices or none, where the extent only divides
/// by some; those that list one of two tied operands; Tile, whose entry describes the multiples
/// while the correction looks at the operand.
bool DefaultMayFail(std::string_view op) {
  static const std::set<std::string_view> kOps = {"BatchParallel",
                                                  "Embedding",
                                                  "SparseSoftmaxCrossEntropyWithLogits",
                                                  "KVCacheMgr",
                                                  "KVCacheScatterUpdate",
                                                  "Tile",
                                                  "_SparseCrossEntropyGrad"};
  return kOps.contains(op);
}

TEST_P(CutEntryFacts, DefaultStrategyIsLegal) {
  const auto example = ExampleOf(entry());
  ASSERT_TRUE(example) << FormatError(example.error());
  for (const std::int64_t devices : {1, 2, 3, 4, 6, 8, 12}) {
    const DeviceContext context{.stage_devices = devices, .job_devices = devices};
    const auto strategy = DefaultStrategy(entry(), example->View(), context);
    const auto sharding = strategy ? TrySharding(entry(), example->View(), *strategy, context)
                                   : Result<OpSharding>(tl::unexpected(strategy.error()));
    if (DefaultMayFail(entry().name)) {
      EXPECT_TRUE(sharding || sharding.error().code != ErrorCode::kInternal);
    } else {
      EXPECT_TRUE(sharding) << devices << " devices: " << FormatError(sharding.error());
    }
  }
}

/// The example with extents times small numbers. Equal extents stay equal, so that what has to
/// match still does.
OpExample Scaled(OpExample example, const std::array<std::int64_t, 10>& factors) {
  for (TensorType& input : example.inputs) {
    for (std::int64_t& extent : input.shape) {
      extent *= extent > 1 ? factors[static_cast<std::size_t>(extent % 10)] : 1;
    }
  }
  example.outputs.clear();
  return example;
}

TEST_P(TypedEntryFacts, InferenceAnswersOnScaledOperands) {
  const auto example = ExampleOf(entry());
  const std::uint64_t seed = checks::SeedOr(20250705);
  std::cout << "DRYDOCK_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  int legal = 0;
  for (int trial = 0; trial < 24; ++trial) {
    std::array<std::int64_t, 10> factors = {};
    for (std::int64_t& factor : factors) {
      factor = trial == 0 ? 1 : 1 + static_cast<std::int64_t>(random() % 3);
    }
    const OpExample scaled = Scaled(*example, factors);
    const auto outputs = entry().infer(scaled.View());
    if (!outputs) {
      EXPECT_NE(outputs.error().code, ErrorCode::kInternal) << outputs.error().message;
      EXPECT_FALSE(outputs.error().message.empty());
      continue;
    }
    ++legal;
    EXPECT_FALSE(outputs->empty() && !example->outputs.empty());
    for (const TensorType& output : *outputs) {
      EXPECT_TRUE(std::ranges::all_of(output.shape, [](std::int64_t e) { return e >= 0; }))
          << TypeText(output);
    }
  }
  EXPECT_GT(legal, 0);
}

TEST_P(CutEntryFacts, WhatMayBeCutIsKnown) {
  const OpOutline outline = OutlineOf(entry());
  EXPECT_TRUE(outline.known);
  EXPECT_NE(CutsText(outline), "-");
}

std::vector<const OpEntry*> EntriesWhere(const std::function<bool(const OpEntry&)>& asked) {
  std::vector<const OpEntry*> entries(AllOps().begin(), AllOps().end());
  std::erase_if(entries, [&asked](const OpEntry* entry) { return !asked(*entry); });
  return entries;
}

std::string NameOfEntry(const testing::TestParamInfo<const OpEntry*>& info) {
  return TestName(std::string(info.param->name));
}

INSTANTIATE_TEST_SUITE_P(Table, EntryFacts,
                         testing::ValuesIn(EntriesWhere([](const OpEntry&) { return true; })),
                         NameOfEntry);
INSTANTIATE_TEST_SUITE_P(Table, CutEntryFacts,
                         testing::ValuesIn(EntriesWhere([](const OpEntry& entry) {
                           return entry.shard != nullptr && !entry.layouts_as_given &&
                                  ExampleOf(entry).has_value();
                         })),
                         NameOfEntry);
INSTANTIATE_TEST_SUITE_P(Table, TypedEntryFacts,
                         testing::ValuesIn(EntriesWhere([](const OpEntry& entry) {
                           return entry.infer != nullptr && ExampleOf(entry).has_value();
                         })),
                         NameOfEntry);

}  // namespace
}  // namespace drydock::strategies::cases
