#include "strategies/rules/windows/window.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_rules.h"

namespace drydock::strategies {
namespace {

/// Largest kernel extent, stride, dilation and padding: keeps products of them within 64 bits.
constexpr std::int64_t kMaxWindow = std::int64_t{1} << 30;

tl::unexpected<Error> FailAttr(const OpView& op, std::string_view name, const std::string& what) {
  return FailOp(op, "attribute",
                "attribute '" + std::string(name) + "' of '" + std::string(op.op) + "' " + what);
}

Status CheckRange(const OpView& op, std::string_view name, std::span<const std::int64_t> values,
                  std::int64_t least) {
  for (const std::int64_t value : values) {
    if (value < least || value > kMaxWindow) {
      return FailAttr(op, name,
                      "is " + TupleText(values) + ", but its entries must be at least " +
                          std::to_string(least));
    }
  }
  return {};
}

Result<PadMode> PadModeOf(const OpView& op) {
  DRYDOCK_TRY(std::string text, TextAttr(*op.attrs, "pad_mode", "valid"));
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (text == "valid") {
    return PadMode::kValid;
  }
  if (text == "same") {
    return PadMode::kSame;
  }
  if (text == "pad") {
    return PadMode::kPad;
  }
  return FailAttr(op, "pad_mode", "is '" + text + "', but must be 'valid', 'same' or 'pad'");
}

/// Begin and end padding of every dimension from one number, one or two per dimension.
Result<std::vector<std::int64_t>> PadsOf(const OpView& op, std::string_view name,
                                         std::size_t spatial) {
  DRYDOCK_TRY(const auto given, IntListAttr(*op.attrs, name));
  const std::vector<std::int64_t> list = given.value_or(std::vector<std::int64_t>{0});
  DRYDOCK_RETURN_IF_ERROR(CheckRange(op, name, list, 0));
  std::vector<std::int64_t> pads;
  if (list.size() == 2 * spatial) {
    return list;
  }
  if (list.size() != 1 && list.size() != spatial) {
    return FailAttr(op, name,
                    "has " + std::to_string(list.size()) + " entries, but must have 1, " +
                        std::to_string(spatial) + " or " + std::to_string(2 * spatial));
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    pads.insert(pads.end(), 2, list[list.size() == 1 ? 0 : i]);
  }
  return pads;
}

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Fills output extent and padding of a dimension from mode and given padding.
void Resolve(PadMode mode, bool ceil_mode, WindowDim& dim) {
  const std::int64_t reach = dim.Reach();
  if (mode == PadMode::kSame) {
    dim.out = CeilDivide(dim.in, dim.stride);
    const std::int64_t total =
        std::max<std::int64_t>((dim.out - 1) * dim.stride + reach - dim.in, 0);
    dim.pad_begin = total / 2;
    dim.pad_end = total - dim.pad_begin;
    return;
  }
  if (mode == PadMode::kValid) {
    dim.pad_begin = dim.pad_end = 0;
  }
  const std::int64_t room = dim.in + dim.pad_begin + dim.pad_end - reach;
  if (room < 0) {
    dim.out = 0;
    return;
  }
  dim.out = (room + (ceil_mode ? dim.stride - 1 : 0)) / dim.stride + 1;
  if (ceil_mode && (dim.out - 1) * dim.stride >= dim.in + dim.pad_begin) {
    --dim.out;
  }
}

Status CheckFormat(const OpView& op, std::size_t spatial) {
  const std::string first = spatial == 2 ? "NCHW" : "NCDHW";
  DRYDOCK_TRY(const std::string format, TextAttr(*op.attrs, "data_format", first));
  if (format != first) {
    return UnsupportedForm(op, "data format '" + format + "' of '" + std::string(op.op) +
                                   "' is not handled, only '" + first + "' is");
  }
  return {};
}

}  // namespace

Result<std::vector<std::int64_t>> SpatialAttr(const OpView& op, std::string_view name,
                                              std::size_t spatial, std::int64_t fallback) {
  DRYDOCK_TRY(const auto given, IntListAttr(*op.attrs, name));
  std::vector<std::int64_t> list = given.value_or(std::vector<std::int64_t>{fallback});
  if (list.size() == spatial + 2) {
    if (list[0] != 1 || list[1] != 1) {
      return FailAttr(
          op, name, "must be 1 in the dimensions of batch and channels, but is " + TupleText(list));
    }
    list.erase(list.begin(), list.begin() + 2);
  }
  if (list.size() == 1) {
    list.assign(spatial, list.front());
  }
  if (list.size() != spatial) {
    return FailAttr(op, name,
                    "has " + std::to_string(list.size()) + " entries, but must have 1 or " +
                        std::to_string(spatial));
  }
  DRYDOCK_RETURN_IF_ERROR(CheckRange(op, name, list, 1));
  return list;
}

std::span<const std::int64_t> SpatialExtents(const Shape& shape) {
  return std::span(shape).subspan(std::min<std::size_t>(2, shape.size()));
}

Result<WindowForm> WindowFormOf(const OpView& op, std::span<const std::int64_t> in,
                                std::span<const std::int64_t> kernel, const WindowAttrs& names) {
  const std::size_t spatial = in.size();
  DRYDOCK_RETURN_IF_ERROR(CheckFormat(op, spatial));
  WindowForm form = {};
  form.mode = PadMode::kPad;
  if (names.has_mode) {
    DRYDOCK_TRY(form.mode, PadModeOf(op));
  }
  std::vector<std::int64_t> taps(kernel.begin(), kernel.end());
  if (taps.empty() || op.attrs->contains(names.kernel)) {
    DRYDOCK_TRY(taps, SpatialAttr(op, names.kernel, spatial, 1));
  }
  if (!kernel.empty() && !std::ranges::equal(taps, kernel)) {
    return FailAttr(op, names.kernel,
                    "is " + TupleText(taps) + ", but the weight has " + TupleText(kernel));
  }
  DRYDOCK_RETURN_IF_ERROR(CheckRange(op, names.kernel, taps, 1));
  DRYDOCK_TRY(const std::vector<std::int64_t> strides, SpatialAttr(op, names.stride, spatial, 1));
  DRYDOCK_TRY(const std::vector<std::int64_t> dilations,
              SpatialAttr(op, names.dilation, spatial, 1));
  DRYDOCK_TRY(const std::vector<std::int64_t> pads, PadsOf(op, names.pad, spatial));
  DRYDOCK_TRY(const bool ceil_mode, BoolAttr(*op.attrs, "ceil_mode", false));
  for (std::size_t i = 0; i < spatial; ++i) {
    WindowDim dim{.in = in[i],
                  .taps = taps[i],
                  .dilation = dilations[i],
                  .stride = strides[i],
                  .pad_begin = pads[2 * i],
                  .pad_end = pads[2 * i + 1]};
    Resolve(form.mode, ceil_mode, dim);
    if (dim.out < 1) {
      return FailOp(op, "shape-mismatch",
                    "'" + std::string(op.op) + "': a window of " + std::to_string(dim.Reach()) +
                        " does not fit into spatial dimension " + std::to_string(i) +
                        " of extent " + std::to_string(dim.in) + " and its padding");
    }
    form.dims.push_back(dim);
  }
  return form;
}

Shape WindowOutputs(const WindowForm& form) {
  Shape out;
  for (const WindowDim& dim : form.dims) {
    out.push_back(dim.out);
  }
  return out;
}

void ForEachTap(const WindowForm& form,
                const std::function<void(std::size_t, std::size_t, std::size_t)>& f) {
  Shape in;
  Shape taps;
  for (const WindowDim& dim : form.dims) {
    in.push_back(dim.in);
    taps.push_back(dim.taps);
  }
  std::size_t y = 0;
  ForEachElement(WindowOutputs(form), [&](std::span<const std::int64_t> out) {
    std::size_t tap = 0;
    ForEachElement(taps, [&](std::span<const std::int64_t> k) {
      std::vector<std::int64_t> at(out.size());
      bool inside = true;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const WindowDim& dim = form.dims[i];
        at[i] = out[i] * dim.stride - dim.pad_begin + k[i] * dim.dilation;
        inside = inside && at[i] >= 0 && at[i] < dim.in;
      }
      if (inside) {
        f(OffsetOf(in, at), y, tap);
      }
      ++tap;
    });
    ++y;
  });
}

namespace {

/// Calls f(x offset, w offset, y offset) for every product of a convolution.
template <typename F>
void ForEachProduct(const Shape& x, const Shape& w, const WindowForm& form, F f) {
  const auto area = [](std::span<const std::int64_t> extents) {
    return static_cast<std::size_t>(Product(extents));
  };
  const std::size_t x_area = area(SpatialExtents(x));
  const std::size_t w_area = area(SpatialExtents(w));
  const std::size_t y_area = area(WindowOutputs(form));
  const auto outs = static_cast<std::size_t>(w[0]);
  const auto ins = static_cast<std::size_t>(w[1]);
  const std::size_t channels = static_cast<std::size_t>(x[1]);
  const std::size_t outs_per_group = outs / (channels / ins);
  ForEachTap(form, [&](std::size_t x_at, std::size_t y_at, std::size_t tap) {
    for (std::size_t n = 0; n < static_cast<std::size_t>(x[0]); ++n) {
      for (std::size_t co = 0; co < outs; ++co) {
        for (std::size_t ci = 0; ci < ins; ++ci) {
          const std::size_t channel = co / outs_per_group * ins + ci;
          f((n * channels + channel) * x_area + x_at, (co * ins + ci) * w_area + tap,
            (n * outs + co) * y_area + y_at);
        }
      }
    }
  });
}

Shape WithChannels(std::int64_t batch, std::int64_t channels, Shape spatial) {
  spatial.insert(spatial.begin(), {batch, channels});
  return spatial;
}

Shape InputExtents(const WindowForm& form) {
  Shape in;
  for (const WindowDim& dim : form.dims) {
    in.push_back(dim.in);
  }
  return in;
}

}  // namespace

NdArray Convolve(const NdArray& x, const NdArray& w, const WindowForm& form) {
  NdArray y = FilledArray(WithChannels(x.shape[0], w.shape[0], WindowOutputs(form)), 0.0);
  ForEachProduct(x.shape, w.shape, form, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
    y.data[yi] += x.data[xi] * w.data[wi];
  });
  return y;
}

NdArray ConvolveBackInput(const NdArray& dy, const NdArray& w, const WindowForm& form,
                          std::int64_t groups) {
  NdArray dx = FilledArray(WithChannels(dy.shape[0], w.shape[1] * groups, InputExtents(form)), 0.0);
  ForEachProduct(dx.shape, w.shape, form, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
    dx.data[xi] += dy.data[yi] * w.data[wi];
  });
  return dx;
}

NdArray ConvolveBackFilter(const NdArray& dy, const NdArray& x, const WindowForm& form,
                           const Shape& w_shape) {
  NdArray dw = FilledArray(w_shape, 0.0);
  ForEachProduct(x.shape, w_shape, form, [&](std::size_t xi, std::size_t wi, std::size_t yi) {
    dw.data[wi] += dy.data[yi] * x.data[xi];
  });
  return dw;
}

}  // namespace drydock::strategies
