#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace drydock::sim {

/// A tensor of the static memory plan (SOMAS): a kernel output or a workspace.
struct SomasTensor {
  std::int64_t bytes = 0;  ///< After rounding; 0 = takes no place.
  bool lifelong = false;   ///< Shares with nothing; placed behind all others.
  bool graph_output = false;
  /// Bytes of the tensors alive at the peak that may share memory with this one.
  std::int64_t reusable_peak_bytes = 0;
};

/// What is to be placed.
///
/// Example: two tensors that may share: `may_share = {{false, true}, {true, false}}`.
struct SomasProblem {
  std::vector<SomasTensor> tensors = {};
  std::vector<std::vector<bool>> may_share = {};  ///< Symmetric, one row and column per tensor.
  /// Chains of tensors that lie side by side in this order; a tensor is in one at most.
  std::vector<std::vector<std::int32_t>> contiguous = {};
};

enum class SomasAlgorithm : std::uint8_t {
  kManyObjects,   ///< Shelves: a block goes to the first shelf that takes it.
  kSingleObject,  ///< One address space.
};
enum class SomasOrder : std::uint8_t {
  kSize,       ///< Largest blocks first.
  kPeakReuse,  ///< Blocks that can re-use least of the peak first.
};
enum class SomasFit : std::uint8_t {
  kBest,      ///< Smallest gap, then lowest offset.
  kSmallest,  ///< Lowest offset, then smallest gap.
};

/// One run of the solver.
struct SomasSolution {
  SomasAlgorithm algorithm = SomasAlgorithm::kManyObjects;
  SomasOrder order = SomasOrder::kSize;
  SomasFit fit = SomasFit::kBest;
  std::int64_t total_bytes = 0;
  std::vector<std::int64_t> offsets = {};  ///< One per tensor, bytes.
};

/// All runs and the one MindSpore takes.
struct SomasPlan {
  std::vector<SomasSolution> solutions = {};  ///< By algorithm, then order, then fit.
  std::size_t chosen = 0;
};

/// Places all tensors in the eight ways MindSpore tries and chooses as it does: the smallest total,
/// the first of equals, except that one address space beats shelves only by more than 100 MiB.
///
/// @error kInternal  sizes of the parts do not match, an index is out of range, a size is negative,
/// or
///                   a tensor is in two chains
/// Source: mindspore/ccsrc/backend/common/somas (behaviour
/// only)
[[nodiscard]] Result<SomasPlan> SolveSomas(const SomasProblem& problem);

}  // namespace drydock::sim
