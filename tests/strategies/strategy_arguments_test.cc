#include "strategies/operators/strategy_arguments.h"

#include <vector>

#include <gtest/gtest.h>

namespace drydock::strategies {
namespace {

constexpr OpEntry kPad = {.name = "P", .signature = "P()(x, #paddings, ?value)"};
constexpr OpEntry kRouter = {.name = "R", .signature = "R()(x, #a, #b=0, router)"};
constexpr OpEntry kGroups = {.name = "G", .signature = "G()(*x, *w, ?bias, ?scale, ?list)"};

/// Operands 0, 1, ...; kNoValue where `given` is false.
std::vector<ValueId> Operands(const std::vector<bool>& given) {
  std::vector<ValueId> ids;
  for (const bool is_given : given) {
    ids.push_back(is_given ? ValueId{static_cast<std::int32_t>(ids.size())} : kNoValue);
  }
  return ids;
}

TEST(StrategyArguments, EntryOfASettingIsRemoved) {
  const Strategy given = {{2, 4, 1}, {1}, {}};
  EXPECT_EQ(StrategyOfTensors(kPad, Operands({true, true}), given), (Strategy{{2, 4, 1}, {}}));
}

TEST(StrategyArguments, SettingsBetweenTensorsAreRemoved) {
  const Strategy given = {{2, 1, 1}, {1}, {1}, {2, 1, 1}};
  EXPECT_EQ(StrategyOfTensors(kRouter, Operands({true, true}), given),
            (Strategy{{2, 1, 1}, {2, 1, 1}}));
}

TEST(StrategyArguments, OneEntryPerTensorStaysAsItIs) {
  const Strategy given = {{2, 4, 1}, {}};
  EXPECT_EQ(StrategyOfTensors(kPad, Operands({true, true}), given), given);
}

TEST(StrategyArguments, AbsentTensorsMayHaveEmptyEntries) {
  // Two x, two w, no bias, no scale, a list.
  const Strategy given = {{1, 1}, {1, 1}, {1, 4}, {1, 4}, {}, {}, {1}};
  EXPECT_EQ(
      StrategyOfTensors(kGroups, Operands({true, true, true, true, false, false, true}), given),
      (Strategy{{1, 1}, {1, 1}, {1, 4}, {1, 4}, {1}}));
}

TEST(StrategyArguments, EntriesOfAbsentTensorsAtTheEndMayBeLeftOut) {
  const Strategy given = {{1, 1}, {1, 4}, {}};
  EXPECT_EQ(StrategyOfTensors(kGroups, Operands({true, true, false, false, false}), given),
            (Strategy{{1, 1}, {1, 4}}));
}

TEST(StrategyArguments, ACutOfASettingIsKeptForTheCheckToRefuse) {
  const Strategy given = {{2, 4, 1}, {2}, {}};
  EXPECT_EQ(StrategyOfTensors(kPad, Operands({true, true}), given), given);
}

TEST(StrategyArguments, SettingsBehindTheLastTensorHaveNoEntry) {
  constexpr OpEntry kSum = {.name = "S", .signature = "S()(x, #axis=(), #keep=False)"};
  const Strategy given = {{1, 4}, {1}};
  EXPECT_EQ(StrategyOfTensors(kSum, Operands({true}), given), given);
}

TEST(StrategyArguments, MoreEntriesThanArgumentsAreKeptForTheCheckToRefuse) {
  const Strategy given = {{2, 4, 1}, {1}, {}, {}};
  EXPECT_EQ(StrategyOfTensors(kPad, Operands({true, true}), given), given);
}

}  // namespace
}  // namespace drydock::strategies
