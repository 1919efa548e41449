#include "strategies/layout/tensor_layout.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/text.h"

namespace drydock::strategies {
namespace {

constexpr std::size_t kMaxAxes = 64;              ///< Device axes; extents above 1 cannot be more.
constexpr std::size_t kMaxTensorDimensions = 64;  ///< Tensor dimensions.

/// Index from the left of device axis `axis`, which counts from the right.
std::size_t FromLeft(const TensorLayout& layout, std::int64_t axis) {
  return layout.device_matrix.size() - 1 - static_cast<std::size_t>(axis);
}

std::int64_t Cut(const TensorLayout& layout, std::size_t dimension) {
  std::int64_t cut = 1;
  for (const std::int64_t axis : layout.tensor_map[dimension]) {
    cut *= layout.device_matrix[FromLeft(layout, axis)];
  }
  return cut;
}

/// Which slice along `dimension` a rank owns: the first axis is the outermost cut.
RankExpr SliceIndex(const TensorLayout& layout, std::size_t dimension) {
  RankExpr index;
  for (const std::int64_t axis : layout.tensor_map[dimension]) {
    const RankDigit digit = AxisDigit(layout.device_matrix, FromLeft(layout, axis));
    index = Plus(Times(index, digit.extent), DigitTimes(digit, 1));
  }
  return index;
}

Status CheckPositive(std::span<const std::int64_t> values, const char* what) {
  for (const std::int64_t value : values) {
    if (value <= 0) {
      return FailInput("Layout:not-positive",
                       std::string(what) + " " + TupleText(values) + " has an entry below 1");
    }
  }
  if (auto product = ProductChecked(values); !product) {
    return tl::unexpected(WithNote(std::move(product).error(), std::string("in a ") + what));
  }
  return {};
}

Status CheckAxes(const TensorLayout& layout) {
  std::uint64_t used = 0;
  for (std::size_t d = 0; d < layout.tensor_map.size(); ++d) {
    for (const std::int64_t axis : layout.tensor_map[d]) {
      if (axis < 0 || axis >= std::ssize(layout.device_matrix)) {
        return FailInput("Layout:no-such-axis",
                         "tensor map entry " + std::to_string(axis) + " of dimension " +
                             std::to_string(d) + " is not an axis of device matrix " +
                             TupleText(layout.device_matrix),
                         "axes count from the right and start at 0");
      }
      const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(axis);
      if ((used & bit) != 0) {
        return FailInput("Layout:axis-used-twice",
                         "device axis " + std::to_string(axis) +
                             " (counted from the right) cuts the tensor more than once",
                         "use every device axis at most once per tensor");
      }
      used |= bit;
    }
  }
  return {};
}

Status CheckDivisible(const TensorLayout& layout) {
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    const std::int64_t cut = Cut(layout, d);
    if (layout.shape[d] % cut != 0) {
      return FailInput("Layout:not-divisible",
                       "dimension " + std::to_string(d) + " of shape " + TupleText(layout.shape) +
                           " is not divisible by its cut " + std::to_string(cut),
                       "cut it into a divisor of " + std::to_string(layout.shape[d]));
    }
  }
  return {};
}

Status CheckInterleave(const TensorLayout& layout) {
  if (layout.interleave < 1 ||
      (layout.interleave > 1 && layout.device_matrix.back() != layout.interleave)) {
    return FailInput("Layout:interleave",
                     "interleaving " + std::to_string(layout.interleave) +
                         " is not the last entry of device matrix " +
                         TupleText(layout.device_matrix),
                     "make 'interleaved_parallel' the last axis");
  }
  return {};
}

Status CheckTrailingNone(const TensorLayout& layout) {
  for (std::size_t i = 0; i < layout.trailing_none.size(); ++i) {
    const std::size_t d = layout.trailing_none[i];
    const bool ascending = i == 0 || layout.trailing_none[i - 1] < d;
    if (!ascending || d >= layout.shape.size() || layout.tensor_map[d].empty()) {
      return FailInput("Layout:trailing-none",
                       "\"None\" stands behind no axis in dimension " + std::to_string(d));
    }
  }
  return {};
}

}  // namespace

TensorLayout MakeLayout(std::vector<std::int64_t> device_matrix,
                        std::span<const std::int64_t> tensor_map, Shape shape) {
  TensorLayout layout{.device_matrix = std::move(device_matrix), .shape = std::move(shape)};
  layout.tensor_map.reserve(tensor_map.size());
  for (const std::int64_t axis : tensor_map) {
    auto& axes = layout.tensor_map.emplace_back();
    if (axis != -1) {
      axes.push_back(axis);
    }
  }
  return layout;
}

TensorLayout ReplicatedLayout(std::int64_t device_count, Shape shape) {
  TensorLayout layout{.device_matrix = {device_count}, .shape = std::move(shape)};
  layout.tensor_map.resize(layout.shape.size());
  return layout;
}

Status ValidateLayout(const TensorLayout& layout) {
  if (layout.device_matrix.empty() || layout.device_matrix.size() > kMaxAxes ||
      layout.shape.size() > kMaxTensorDimensions) {
    return FailInput("Layout:rank", "a layout has 1 to 64 device axes and at most 64 dimensions");
  }
  if (layout.tensor_map.size() != layout.shape.size()) {
    return FailInput("Layout:tensor-map-length",
                     "tensor map has " + std::to_string(layout.tensor_map.size()) +
                         " entries, but shape " + TupleText(layout.shape) + " has " +
                         std::to_string(layout.shape.size()) + " dimensions",
                     "give one tensor map entry per dimension");
  }
  DRYDOCK_RETURN_IF_ERROR(CheckPositive(layout.device_matrix, "device matrix"));
  DRYDOCK_RETURN_IF_ERROR(CheckPositive(layout.shape, "tensor shape"));
  DRYDOCK_RETURN_IF_ERROR(CheckInterleave(layout));
  DRYDOCK_RETURN_IF_ERROR(CheckAxes(layout));
  DRYDOCK_RETURN_IF_ERROR(CheckDivisible(layout));
  return CheckTrailingNone(layout);
}

TensorLayout Standardize(const TensorLayout& layout) {
  TensorLayout standard{.shape = layout.shape, .interleave = layout.interleave};
  const std::size_t axis_count = layout.device_matrix.size();
  std::vector<std::int64_t> new_axis(axis_count, -1);  // by old axis counted from the right
  std::int64_t kept = 0;
  for (std::size_t axis = 0; axis < axis_count; ++axis) {
    const std::int64_t extent = layout.device_matrix[axis_count - 1 - axis];
    if (extent != 1) {
      new_axis[axis] = kept++;
      standard.device_matrix.insert(standard.device_matrix.begin(), extent);
    }
  }
  if (standard.device_matrix.empty()) {
    standard.device_matrix = {1};
  }
  for (const auto& axes : layout.tensor_map) {
    auto& standard_axes = standard.tensor_map.emplace_back();
    for (const std::int64_t axis : axes) {
      if (const std::int64_t renamed = new_axis[static_cast<std::size_t>(axis)]; renamed >= 0) {
        standard_axes.push_back(renamed);
      }
    }
  }
  for (const std::size_t d : layout.trailing_none) {
    if (!standard.tensor_map[d].empty()) {
      standard.trailing_none.push_back(d);
    }
  }
  return standard;
}

bool SameOwnership(const TensorLayout& a, const TensorLayout& b) {
  if (a.shape != b.shape || a.interleave != b.interleave ||
      Product(a.device_matrix) != Product(b.device_matrix)) {
    return false;
  }
  if (a.device_matrix == b.device_matrix && a.tensor_map == b.tensor_map) {
    return true;
  }
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    if (Cut(a, d) != Cut(b, d) || Canonical(SliceIndex(a, d)) != Canonical(SliceIndex(b, d))) {
      return false;
    }
  }
  return true;
}

std::vector<std::int64_t> CutsOf(const TensorLayout& layout) {
  std::vector<std::int64_t> cuts(layout.tensor_map.size());
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    cuts[d] = Cut(layout, d);
  }
  return cuts;
}

Shape SliceShape(const TensorLayout& layout) {
  Shape slice = layout.shape;
  for (std::size_t d = 0; d < slice.size(); ++d) {
    slice[d] /= Cut(layout, d);
  }
  return slice;
}

std::vector<RankExpr> SliceBegin(const TensorLayout& layout) {
  std::vector<RankExpr> begin(layout.shape.size());
  for (std::size_t d = 0; d < begin.size(); ++d) {
    begin[d] = Times(SliceIndex(layout, d), layout.shape[d] / Cut(layout, d));
  }
  return begin;
}

std::vector<Range> SliceOf(const TensorLayout& layout, std::int64_t position) {
  std::vector<Range> slice(layout.shape.size());
  for (std::size_t d = 0; d < slice.size(); ++d) {
    const std::int64_t length = layout.shape[d] / Cut(layout, d);
    const std::int64_t begin = ValueAt(SliceIndex(layout, d), position) * length;
    slice[d] = {.begin = begin, .end = begin + length};
  }
  return slice;
}

GroupPattern ReplicaPattern(const TensorLayout& layout) {
  std::uint64_t mapped = 0;  // bit per axis counted from the left
  for (const auto& axes : layout.tensor_map) {
    for (const std::int64_t axis : axes) {
      mapped |= std::uint64_t{1} << FromLeft(layout, axis);
    }
  }
  std::vector<RankDigit> digits;
  for (std::size_t a = 0; a < layout.device_matrix.size(); ++a) {
    if ((mapped >> a & 1U) == 0) {
      digits.push_back(AxisDigit(layout.device_matrix, a));
    }
  }
  return MakeGroupPattern(std::move(digits));
}

GroupPattern AxesPattern(const std::vector<std::int64_t>& device_matrix,
                         std::span<const std::size_t> axes) {
  std::vector<RankDigit> digits;
  digits.reserve(axes.size());
  for (const std::size_t axis : axes) {
    digits.push_back(AxisDigit(device_matrix, axis));
  }
  return MakeGroupPattern(std::move(digits));
}

Status SetTensorMap(TensorLayout& layout, std::vector<std::vector<std::int64_t>> map) {
  for (std::vector<std::int64_t>& axes : map) {
    if (!axes.empty() && axes.back() == -1) {
      axes.pop_back();
      if (!axes.empty()) {
        layout.trailing_none.push_back(layout.tensor_map.size());
      }
    }
    if (std::find(axes.begin(), axes.end(), -1) != axes.end()) {
      return FailInput("Layout:none-not-last", "\"None\" stands in front of another axis",
                       "put \"None\" at the end of the tuple or leave it out");
    }
    layout.tensor_map.push_back(std::move(axes));
  }
  return {};
}

}  // namespace drydock::strategies
