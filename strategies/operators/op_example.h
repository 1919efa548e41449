#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// One small legal application of an operator; owns what an OpView points to.
struct OpExample {
  const OpEntry* entry = nullptr;
  std::vector<TensorType> inputs = {};  ///< Optional operands that are left out have no place here.
  std::vector<TensorType> outputs = {};
  AttrMap attrs = {};
  std::uint64_t absent = 0;  ///< As in OpView.
  /// Valid as long as the example.
  [[nodiscard]] OpView View() const;
};

/// OpEntry::example taken apart, results inferred. Without one, every operand that the signature
/// asks for is a float32 tensor of shape (4, 6), and a tuple has three of them. Operators without
/// inference (pseudo rules) give results like their operands.
/// @error kInvalidArgument  the call does not parse, or is not legal: a defect of the entry, or an
///                          operator that stands in compiled programs only
[[nodiscard]] Result<OpExample> ExampleOf(const OpEntry& entry);

/// What one rank runs in place of the operator: graph inputs are the local operands.
/// @error  what the entry's `localize` says
[[nodiscard]] Result<Graph> LocalExample(const OpExample& one, const OpSharding& sharding);

}  // namespace drydock::strategies
