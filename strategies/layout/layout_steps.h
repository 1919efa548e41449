#pragma once

#include <cstdint>
#include <vector>

#include "strategies/layout/plain_layout.h"

namespace drydock::strategies {

/// One change of a tensor map on the way from one layout to another.
struct LayoutStep {
  enum class Kind : std::uint8_t {
    kSplit,    ///< Every rank keeps its part of `dimension`; map[dimension] = axis.
    kConcat,   ///< Ranks along `axis` join their parts of `dimension`; map[dimension] = -1.
    kPermute,  ///< Both at once: `dimension` becomes cut, `concat_dimension` becomes whole.
  };
  Kind kind = Kind::kSplit;
  std::int64_t dimension = 0;
  std::int64_t concat_dimension = 0;  ///< Of kPermute only.
  std::int64_t axis = 0;              ///< Device axis counted from the right.
  std::int64_t count = 0;             ///< Extent of the axis.
  Shape slice_before = {};            ///< Slice shape before the step, elements.
  /// Of kPermute only: one exchange with the step before, which is a kPermute of other dimensions
  /// along an outer axis.
  bool joint = false;
  friend bool operator==(const LayoutStep&, const LayoutStep&) = default;
};

/// Steps from one tensor map to another on the same device matrix and shape.
///
/// @param from  valid layout
/// @param to_map  valid tensor map for the same device matrix and shape
/// @param enable_alltoall  kPermute instead of kConcat followed by kSplit
/// Source: mindspore ccsrc/frontend/parallel/tensor_layout/redistribution_operator_infer.cc.
[[nodiscard]] std::vector<LayoutStep> InferSteps(const PlainLayout& from,
                                                 const std::vector<std::int64_t>& to_map,
                                                 bool enable_alltoall);

}  // namespace drydock::strategies
