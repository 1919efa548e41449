#pragma once

#include <cstdint>

#include "strategies/operators/op_entry.h"

namespace drydock::strategies {

/// How the recursive search looks at an operator.
enum class RecursiveRole : std::uint8_t {
  kUnknown,       ///< Is not cut.
  kMatMul,        ///< Cut by what its operands and its result cost.
  kConvolution,   ///< Cut along the batch.
  kPooling,       ///< Cut along batch or channels.
  kBatch,         ///< Cut along its first even dimension.
  kVirtual,       ///< The same, in no haste: data set and results of an evaluation.
  kCrossEntropy,  ///< Has a gradient as second result; its cuts come from its neighbours.
  kFollower,      ///< Follows its neighbours: it is left out while others are cut.
};

/// How an operator takes over the cuts of a neighbour, and passes them on.
enum class FollowForm : std::uint8_t {
  kPlain,       ///< Dimension by dimension.
  kArithmetic,  ///< Operands broadcast; the larger one tells the cuts of the result.
  kBroadcast,   ///< Operands broadcast; the first one tells.
  kBiasAdd,
  kSoftmax,    ///< Its axes stay whole.
  kLayerNorm,  ///< The last dimension stays whole.
  kRmsNorm,    ///< Cut along the first dimension, whatever its neighbours say.
  kBatchMatMul,
  kAttention,
  kGather,
  kOneHot,
  kStridedSlice,
  kL2Normalize,
  kFill,
  kFirstOperand,  ///< One entry, for the first operand.
  kWholeBatch,    ///< Every operand along its first dimension, over all ranks.
  kReshape,
  kTranspose,
  kExpandDims,
  kSqueeze,
  kReduce,
  kArgument,
  kCumulative,
  kFlatten,
  kAssign,  ///< Neighbours do not follow it.
};

struct RecursiveFacts {
  RecursiveRole role = RecursiveRole::kUnknown;
  FollowForm form = FollowForm::kPlain;
};

/// What the recursive search knows of an operator.
[[nodiscard]] RecursiveFacts RecursiveFactsOf(const OpEntry& entry);

/// True for operators that the dynamic search looks at before others that read the same value.
/// Source: mindspore/ccsrc/frontend/parallel/ops_info/operator_info.cc (GetAliveSuccEdges)
[[nodiscard]] bool ComesInFront(const OpEntry& entry);

}  // namespace drydock::strategies
