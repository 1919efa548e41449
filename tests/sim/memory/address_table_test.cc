#include "sim/memory/address_table.h"

#include <cstdint>
#include <limits>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace drydock::sim {
namespace {

TEST(AddressTable, KeepsWhatWasInsertedFirst) {
  AddressTable<int> table;
  table.Insert(512, 1);
  table.Insert(512, 2);
  ASSERT_NE(table.Find(512), nullptr);
  EXPECT_EQ(*table.Find(512), 1);
  EXPECT_EQ(table.Find(1024), nullptr);
}

TEST(AddressTable, EveryNumberMayBeAskedFor) {
  AddressTable<int> table;
  for (const std::int64_t address : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-512},
                                     std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(table.Find(address), nullptr);
    table.Erase(address);
  }
}

/// Addresses as the pool has them, few enough that entries often stand behind each other.
TEST(AddressTable, DoesWhatAMapDoes) {
  std::mt19937 random(7);
  AddressTable<std::uint32_t> table;
  std::map<std::int64_t, std::uint32_t> map;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const std::int64_t address = (static_cast<std::int64_t>(random() % 3000) - 1000) * 512;
    if (random() % 2 == 0) {
      table.Insert(address, i);
      map.emplace(address, i);
    } else {
      table.Erase(address);
      map.erase(address);
    }
    const std::int64_t asked = (static_cast<std::int64_t>(random() % 3000) - 1000) * 512;
    const auto expected = map.find(asked);
    const std::uint32_t* const found = table.Find(asked);
    ASSERT_EQ(found != nullptr, expected != map.end());
    ASSERT_TRUE(found == nullptr || *found == expected->second);
  }
  for (const auto& [address, value] : map) {
    ASSERT_NE(table.Find(address), nullptr);
    ASSERT_EQ(*table.Find(address), value);
  }
}

}  // namespace
}  // namespace drydock::sim
