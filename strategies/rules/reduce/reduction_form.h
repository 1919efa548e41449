#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "strategies/operators/op_entry.h"

/// What reductions over listed dimensions share. Source: mindspore reduce_base_method_info.cc.
namespace drydock::strategies {

/// Which dimensions a reduction removes and how its result looks.
struct Reduction {
  std::vector<std::size_t> axes = {};
  bool keep_dims = false;
};

/// Form of a reduction of input 0: attributes `axis` and `keep_dims`, which mint operators call
/// `dim` and `keepdim`; no or empty axes reduce everything, unless attribute `skip_mode` is set.
/// @error kInvalidArgument  an axis is outside the tensor
[[nodiscard]] Result<Reduction> ReductionOf(const OpView& op);

/// `value`, shaped like the forward node's result, with extent 1 in place of the reduced
/// dimensions.
[[nodiscard]] Result<ValueId> WithReducedDims(const GradientContext& context, ValueId value);

/// The result's gradient repeated over the reduced dimensions.
[[nodiscard]] Result<ValueId> SpreadGradient(const GradientContext& context);

}  // namespace drydock::strategies
