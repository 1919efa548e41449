#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "strategies/layout/tensor_layout.h"

namespace drydock::strategies {

/// One primitive of a redistribution, for all ranks of the stage at once.
///
/// Which members are used depends on `kind`; shapes are local (per rank), elements.
struct RedistributionOp {
  enum class Kind : std::uint8_t {
    kAllGather,     ///< concatenates on dimension 0 over `group`
    kSplit,         ///< cuts dimension `axis` into `parts` tensors, consumed by the next kConcat
    kConcat,        ///< joins the tensors of the preceding kSplit on dimension `axis`
    kStridedSlice,  ///< keeps [begin, end) of every dimension, strides 1
    kReshape,       ///< to `output_shape`
    kAlltoAll,  ///< cuts `split_dim` into `parts`, sends part j to member j, joins on `concat_dim`
  };
  Kind kind = Kind::kReshape;
  GroupPattern group = {};
  std::int64_t axis = 0;
  std::int64_t parts = 0;
  std::int64_t split_dim = 0;
  std::int64_t concat_dim = 0;
  std::vector<RankExpr> begin = {};
  std::vector<RankExpr> end = {};
  Shape input_shape = {};   ///< Of one part for kConcat.
  Shape output_shape = {};  ///< Of one part for kSplit.
  friend bool operator==(const RedistributionOp&, const RedistributionOp&) = default;
};

/// Cost of a redistribution in elements moved, before the element size is applied.
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/tensor_redistribution.cc.
struct RedistributionCost {
  double forward_communication = 0;
  double backward_communication = 0;
  double communication = 0;
  double computation = 0;
  double memory = 0;
  friend bool operator==(const RedistributionCost&, const RedistributionCost&) = default;
};

struct RedistributionOptions {
  bool enable_alltoall = false;  ///< AlltoAll instead of AllGather followed by a slice.
  bool keep_reshape = false;     ///< Emit the Reshape even if shapes agree (Reshape operator).
  bool optimize = true;          ///< Run the peephole optimizer of section 8.7.
  /// Look for a sequence that sends fewer elements; AlltoAll is used whatever `enable_alltoall`
  /// says. The reference's sequence stays where nothing cheaper is found.
  bool cheapest = false;
};

/// Operators that turn slices of `from` into slices of `to`; empty if nothing has to be done.
///
/// Both layouts lie on the same number of devices and have equal element counts; shapes may differ
/// (Reshape).
/// @error kInvalidArgument  device or element counts differ, or a layout is invalid
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/tensor_redistribution.cc.
[[nodiscard]] Result<std::vector<RedistributionOp>> InferRedistribution(
    const TensorLayout& from, const TensorLayout& to, const RedistributionOptions& options);

/// Cost of the same redistribution (of the raw operator list, as the reference's search uses it).
[[nodiscard]] Result<RedistributionCost> CostOfRedistribution(const TensorLayout& from,
                                                              const TensorLayout& to,
                                                              const RedistributionOptions& options);

}  // namespace drydock::strategies
