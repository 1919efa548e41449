#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "strategies/operators/nd_array.h"
#include "strategies/operators/op_entry.h"
#include "strategies/rules/windows/halo.h"

/// Sliding windows over the spatial dimensions of a tensor (n, c, spatial...): what convolutions
/// and pools have in common. Source: mindspore ops_info/conv2d_info.cc.
namespace drydock::strategies {

/// One spatial dimension of a convolution or pool.
struct WindowDim {
  std::int64_t in = 1;
  std::int64_t taps = 1;  ///< Kernel extent.
  std::int64_t dilation = 1;
  std::int64_t stride = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
  std::int64_t out = 1;
  /// Elements between the first and the last tap, both included.
  [[nodiscard]] std::int64_t Reach() const { return dilation * (taps - 1) + 1; }
};

enum class PadMode : std::uint8_t { kValid, kSame, kPad };

struct WindowForm {
  PadMode mode = PadMode::kValid;
  std::vector<WindowDim> dims = {};
};

/// How an operator's attributes are called.
struct WindowAttrs {
  std::string_view kernel = "kernel_size";
  std::string_view stride = "stride";
  std::string_view dilation = "dilation";
  std::string_view pad = "pad";  ///< One number, one per dimension, or two per dimension.
  bool has_mode = true;          ///< False: always padded as `pad` says.
};

/// Form of an operator that slides over the spatial extents `in`.
///
/// @param kernel  extents of the kernel; empty = attribute `names.kernel`
/// @error kInvalidArgument  "<op>:attribute"       an attribute has a wrong length or value
/// @error kInvalidArgument  "<op>:shape-mismatch"  the kernel does not fit into the padded input
/// @error kUnsupported      data_format is not channels first
[[nodiscard]] Result<WindowForm> WindowFormOf(const OpView& op, std::span<const std::int64_t> in,
                                              std::span<const std::int64_t> kernel,
                                              const WindowAttrs& names);

/// Integers of attribute `name`, one per spatial dimension: a single number counts for all, entries
/// for batch and channels in front are dropped. `fallback` if absent.
[[nodiscard]] Result<std::vector<std::int64_t>> SpatialAttr(const OpView& op, std::string_view name,
                                                            std::size_t spatial,
                                                            std::int64_t fallback);

/// Extents of a tensor behind batch and channel.
[[nodiscard]] std::span<const std::int64_t> SpatialExtents(const Shape& shape);

/// Output extents of a form.
[[nodiscard]] Shape WindowOutputs(const WindowForm& form);

// ---- Cutting spatial dimensions -----------------------------------------------------------------

/// What cut spatial dimensions mean for the ranks.
struct WindowCut {
  HaloPlan plan = {};  ///< Windows to exchange; empty if no rank needs its neighbours' rows.
  std::vector<std::size_t> exchanged = {};  ///< Spatial dimensions whose windows are exchanged.
};

/// Cut a convolution or pool over its input into `cuts` (one per spatial dimension).
///
/// @param may_exchange  false: kernels may not reach beyond the stride (2-D pools)
/// @error kInvalidArgument
/// "<op>:strategy-output|strategy-extent|strategy-valid|strategy-stride|strategy-pad|
///                          strategy-halo"  which rule the cut breaks, with the numbers
[[nodiscard]] Result<WindowCut> CutWindows(const OpView& op, const WindowForm& form,
                                           std::span<const std::int64_t> cuts, bool may_exchange);

/// The same for the input gradient of a convolution, whose result has the extents `form.dims[].in`
/// and whose operand has `form.dims[].out`.
[[nodiscard]] Result<WindowCut> CutBackwardWindows(const OpView& op, const WindowForm& form,
                                                   std::span<const std::int64_t> cuts);

/// True if the parts of a backward window's result do not all begin at a stride: their exchanged
/// windows then begin at their own part of the operand, and rows around the result are cut off.
[[nodiscard]] bool BeginsBetweenStrides(const WindowDim& dim, std::int64_t parts);

// ---- Arithmetic ---------------------------------------------------------------------------------

/// Calls f(input position, output position, tap) for every tap of every window that meets the
/// input; positions are row-major offsets in the spatial extents.
void ForEachTap(const WindowForm& form,
                const std::function<void(std::size_t, std::size_t, std::size_t)>& f);

/// y (n, co, out...) of x (n, ci, in...) and w (co, ci / groups, taps...).
[[nodiscard]] NdArray Convolve(const NdArray& x, const NdArray& w, const WindowForm& form);
/// Gradient of x.
[[nodiscard]] NdArray ConvolveBackInput(const NdArray& dy, const NdArray& w, const WindowForm& form,
                                        std::int64_t groups);
/// Gradient of w, which has `w_shape`.
[[nodiscard]] NdArray ConvolveBackFilter(const NdArray& dy, const NdArray& x,
                                         const WindowForm& form, const Shape& w_shape);

}  // namespace drydock::strategies
