#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "strategies/operators/sharding.h"

/// Random legal ways to cut an operator, for tests that compare sharded with whole runs.
namespace drydock::strategies {

/// A strategy that the operator's rule accepts: a candidate of the search, random cuts of its axes,
/// or random cuts of every dimension. Nullopt if none of `attempts` tries is legal and cuts
/// anything.
[[nodiscard]] std::optional<Strategy> RandomStrategy(const OpEntry& entry, const OpView& view,
                                                     const DeviceContext& devices,
                                                     std::mt19937_64& random, int attempts = 20);

/// Layouts of the operands that the operator's rule accepts: a random device matrix, several device
/// axes on one dimension. Nullopt if the operator takes none or no try is legal.
[[nodiscard]] std::optional<std::vector<TensorLayout>> RandomLayouts(const OpEntry& entry,
                                                                     const OpView& view,
                                                                     const DeviceContext& devices,
                                                                     std::mt19937_64& random);

/// An output strategy that the rule accepts beside `strategy`; nullopt if no try is legal.
[[nodiscard]] std::optional<Strategy> RandomOutStrategy(const OpEntry& entry, OpView view,
                                                        const Strategy& strategy,
                                                        const DeviceContext& devices,
                                                        std::mt19937_64& random);

}  // namespace drydock::strategies
