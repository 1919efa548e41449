#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategies/operators/recursive_facts.h"

namespace drydock::strategies {

/// Cuts of one tensor, dimension by dimension; empty: not known.
using Cuts = std::vector<std::int64_t>;

/// 1 where nothing is known.
inline std::int64_t CutAlong(const Cuts& cuts, std::size_t dim) {
  return dim < cuts.size() ? cuts[dim] : 1;
}

/// An operator that follows others in the recursive search. Shapes of the tensors that are there.
struct FollowingOperator {
  const Node* node = nullptr;
  FollowForm form = FollowForm::kPlain;
  std::vector<Shape> inputs = {};
  std::vector<Shape> outputs = {};
};

/// Cuts that an operator with a strategy leaves its result in, as its users take them over.
[[nodiscard]] Cuts CutsLeftBy(const FollowingOperator& op, const Strategy& strategy);

/// Cuts that an operator takes over from a user, which wants its result cut like `wanted`.
/// @param user  shape of the user's operand
[[nodiscard]] Cuts CutsForUser(const FollowingOperator& op, const Cuts& wanted, const Shape& user,
                               std::int64_t stage_devices);

/// The strategy of an operator that takes over cuts.
[[nodiscard]] Strategy StrategyFromCuts(const FollowingOperator& op, const Cuts& cuts,
                                        std::int64_t stage_devices);

/// One entry per operand; the first dimension along all ranks where that is possible.
[[nodiscard]] Strategy WholeBatchStrategy(const FollowingOperator& op, std::int64_t stage_devices);

}  // namespace drydock::strategies
