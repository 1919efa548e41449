#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "strategies/operators/nd_array.h"
#include "strategies/operators/op_entry.h"

/// Exchange of border rows between ranks that hold neighbouring parts of an image.
///
/// A rank that computes part p of an output needs a window of the input that reaches beyond its own
/// part. Windows are given in coordinates of the whole input, so one description serves all ranks;
/// where a window reaches outside the input (padding at the edge) its elements are filled in and
/// nothing is sent. Source: mindspore conv2d_info.cc; docs/adr/0007-halo-exchange-by-windows.md.
namespace drydock::strategies {

/// Windows along one dimension of the exchanged tensor.
///
/// Example: 8 rows on 2 ranks, a 3 x 3 kernel with stride 1 and padding 1: parts 2, extent 8,
/// first -1, step 4, length 6: part 0 works on rows [-1, 5), part 1 on [3, 9).
struct HaloDim {
  std::size_t dim = 0;
  std::int64_t parts = 1;   ///< Ranks along the dimension.
  std::int64_t extent = 1;  ///< Of the whole tensor; a multiple of `parts`.
  std::int64_t first = 0;   ///< Where the window of part 0 begins.
  std::int64_t step = 0;    ///< From the begin of one window to the next.
  std::int64_t length = 1;  ///< Of every window.
  friend bool operator==(const HaloDim&, const HaloDim&) = default;
};

/// Exchange over one or two dimensions (rows, columns); members of the group lie on a grid of
/// parts, the last dimension varying fastest.
struct HaloPlan {
  std::vector<HaloDim> dims = {};
  bool fill_lowest = false;  ///< Outside the input: lowest number (maxima) instead of 0.
};

/// Rows a part sends to, or receives from, the part before and the part after it.
struct HaloLengths {
  std::int64_t before = 0;
  std::int64_t after = 0;
  friend bool operator==(const HaloLengths&, const HaloLengths&) = default;
};
[[nodiscard]] HaloLengths SentRows(const HaloDim& dim, std::int64_t part);
[[nodiscard]] HaloLengths ReceivedRows(const HaloDim& dim, std::int64_t part);

/// True if every window stays within the part and its two neighbours, none is empty, and the
/// neighbours' rows are those that a convolution sends (no part gives up rows of its own).
[[nodiscard]] bool IsNeighbourly(const HaloDim& dim);

/// Plan of a node, from its attributes; the attributes of a plan.
/// @error kUnsupported  the node was written in the script with neighbours of its own choice
[[nodiscard]] Result<HaloPlan> HaloPlanOf(const AttrMap& attrs);
[[nodiscard]] AttrMap HaloAttrs(const HaloPlan& plan);

/// Bytes that member `member` sends, given the shape of one part and the element size. Forward and
/// backward exchanges send the same rows in opposite directions.
[[nodiscard]] std::int64_t HaloSentBytes(const HaloPlan& plan, const Shape& part_shape,
                                         std::int64_t element_bytes, std::int64_t member,
                                         bool backward);

/// What the reference's primitive says about one rank: attributes send_rank_ids, recv_rank_ids
/// (eight neighbours clockwise from the top, -1 = none), send_lens and recv_lens (top, bottom,
/// left, right).
[[nodiscard]] AttrMap HaloNeighbours(const HaloPlan& plan, std::span<const std::int64_t> members,
                                     std::int64_t member, bool backward);

/// Windows of all members from their parts; parts' gradients from the windows' gradients.
[[nodiscard]] std::vector<NdArray> HaloWindows(const HaloPlan& plan,
                                               const std::vector<NdArray>& parts);
[[nodiscard]] std::vector<NdArray> HaloGradients(const HaloPlan& plan,
                                                 const std::vector<NdArray>& windows);

/// Appends the exchange of `value` between the ranks that differ in the given rule axes, which are
/// those of the dimensions with several parts.
[[nodiscard]] Result<ValueId> EmitHaloExchange(const LocalizeContext& context, ValueId value,
                                               const HaloPlan& plan,
                                               std::span<const AxisIndex> axes);

}  // namespace drydock::strategies
