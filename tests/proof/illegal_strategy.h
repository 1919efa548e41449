#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "strategies/operators/sharding.h"

/// Strategies that break one rule each, for tests that nothing illegal is accepted.
namespace drydock::strategies::proof {

/// One way to break a legal strategy. Source: mindspore ops_info/operator_info.cc.
enum class Break : std::uint8_t {
  kFewerEntries,   ///< One entry missing.
  kMoreEntries,    ///< One entry too many.
  kLowerRank,      ///< An entry with one cut missing.
  kHigherRank,     ///< An entry with one cut too many.
  kZero,           ///< A cut of 0.
  kNegative,       ///< A cut below 0.
  kNotDividing,    ///< A cut that does not divide its extent.
  kNotPower,       ///< A cut that is no power of two in a job of 2^n devices.
  kTie,            ///< Two dimensions of one axis cut differently.
  kUncut,          ///< A dimension that must stay whole is cut.
  kTooMany,        ///< More slices than devices.
  kUnevenDevices,  ///< Fewer slices than devices, but not a divisor.
};

inline constexpr Break kAllBreaks[] = {
    Break::kFewerEntries, Break::kMoreEntries, Break::kLowerRank,   Break::kHigherRank,
    Break::kZero,         Break::kNegative,    Break::kNotDividing, Break::kNotPower,
    Break::kTie,          Break::kUncut,       Break::kTooMany,     Break::kUnevenDevices};

/// What the message's reason says of it: "<operator>:strategy-<code>".
[[nodiscard]] std::string_view CodeOf(Break how);

/// `legal` with one rule broken; nullopt where this operator has nothing to break that way.
[[nodiscard]] std::optional<Strategy> BreakStrategy(Break how, const ShardRule& rule,
                                                    const OpView& view, const Strategy& legal,
                                                    const DeviceContext& devices,
                                                    std::mt19937_64& random);

}  // namespace drydock::strategies::proof
