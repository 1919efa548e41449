#include <algorithm>
#include <string>

#include "base/text.h"
#include "strategies/operators/strategy_check.h"
#include "strategies/rules/common/common_rules.h"
#include "strategies/rules/windows/window.h"

/// Which cuts of the spatial dimensions of a convolution or pool are legal, and which border rows
/// the ranks then need from each other. Source: mindspore ops_info/conv2d_info.cc.
///
/// With kernels no longer than the stride the parts are independent if every part holds whole
/// strides. Longer kernels reach into the neighbours' parts: window i begins at i * (output rows
/// per part) * stride - padding. All windows are equally long, so one program serves all ranks.
namespace drydock::strategies {
namespace {

/// One cut dimension and the words for its messages.
struct CutDim {
  const OpView& op;
  const WindowDim& dim;
  std::size_t spatial = 0;
  std::int64_t parts = 1;

  [[nodiscard]] std::string Where() const { return CutText(op, 0, spatial + 2, parts); }
  [[nodiscard]] tl::unexpected<Error> Refuse(std::string_view label, const std::string& why) const {
    return FailOp(op, "strategy-" + std::string(label), Where() + ", but " + why);
  }
};

Status CheckExtents(const CutDim& cut) {
  if (cut.dim.out % cut.parts != 0) {
    return cut.Refuse(
        "output", "the output extent " + std::to_string(cut.dim.out) + " is not divisible by that");
  }
  if (cut.dim.in % cut.parts != 0) {
    return cut.Refuse(
        "extent", "the input extent " + std::to_string(cut.dim.in) + " is not divisible by that");
  }
  return {};
}

/// Every part must hold whole strides.
Status CheckWholeStrides(const CutDim& cut) {
  const std::int64_t part = cut.dim.in / cut.parts;
  if (part % cut.dim.stride == 0) {
    return {};
  }
  return cut.Refuse("stride", "parts of " + std::to_string(part) +
                                  " are not divisible by the stride " +
                                  std::to_string(cut.dim.stride));
}

Status CheckIndependent(const CutDim& cut) {
  if (cut.dim.pad_begin + cut.dim.pad_end != 0) {
    return cut.Refuse("pad", "a kernel no longer than the stride allows no padding there");
  }
  return CheckWholeStrides(cut);
}

/// Unused trailing rows are taken off the end padding first.
Result<HaloDim> ExchangeOf(const CutDim& cut) {
  const WindowDim& dim = cut.dim;
  const std::int64_t total = dim.in + dim.pad_begin + dim.pad_end - dim.Reach();
  const std::int64_t unused = total - (dim.out - 1) * dim.stride;
  if (unused < 0 || unused > dim.pad_end || (dim.out * dim.stride - dim.in) % cut.parts != 0) {
    return cut.Refuse("pad", "the windows do not end with the padded input of " +
                                 std::to_string(dim.in + dim.pad_begin + dim.pad_end));
  }
  const HaloDim halo{.dim = cut.spatial + 2,
                     .parts = cut.parts,
                     .extent = dim.in,
                     .first = -dim.pad_begin,
                     .step = dim.out / cut.parts * dim.stride,
                     .length = (dim.out / cut.parts - 1) * dim.stride + dim.Reach()};
  if (!IsNeighbourly(halo)) {
    return cut.Refuse("halo", "a window of " + std::to_string(halo.length) +
                                  " reaches beyond the neighbouring parts of " +
                                  std::to_string(dim.in / cut.parts) +
                                  " or leaves rows of its own part out");
  }
  return halo;
}

/// a / b rounded down, b > 0.
std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/// Row r needs the gradients o with r + padding - (reach - 1) <= o * stride <= r + padding. Parts
/// that begin between two strides need unequally placed ones: their windows hold what any does.
HaloDim BackwardExchangeOf(const CutDim& cut) {
  const WindowDim& dim = cut.dim;
  const std::int64_t rows = dim.in / cut.parts;
  const bool between = BeginsBetweenStrides(dim, cut.parts);
  HaloDim halo{.dim = cut.spatial + 2,
               .parts = cut.parts,
               .extent = dim.out,
               .step = between ? dim.out / cut.parts : rows / dim.stride};
  // The first part decides where all windows begin and end, or each part has its say.
  std::int64_t first = between ? 0 : dim.out;
  std::int64_t last = between ? halo.step - 1 : -dim.out;
  for (std::int64_t part = 0; part < (between ? cut.parts : 1); ++part) {
    const std::int64_t row = part * rows + dim.pad_begin;
    const std::int64_t lowest = -FloorDiv(dim.Reach() - 1 - row, dim.stride);
    first = std::min(first, lowest - part * halo.step);
    last = std::max(last, FloorDiv(row + rows - 1, dim.stride) - part * halo.step);
  }
  halo.first = first;
  halo.length = last - first + 1;
  return halo;
}

/// Dimensions that rules let be cut: rows and columns, or depth and rows. The rule itself refuses a
/// cut of the third one.
constexpr std::size_t kCutDims = 2;

/// The whole dimension as one part.
HaloDim WholeDim(std::size_t spatial, std::int64_t extent) {
  return {.dim = spatial + 2, .parts = 1, .extent = extent, .step = extent, .length = extent};
}

bool IsCut(std::span<const std::int64_t> cuts, std::size_t spatial) {
  return spatial < std::min(cuts.size(), kCutDims) && cuts[spatial] > 1;
}

/// A plan covers the first two spatial dimensions (rows and columns) as soon as one is exchanged;
/// ranks that are independent along the other one exchange only with ranks of their own part of it.
void AddDim(const HaloDim& halo, std::size_t spatial, WindowCut& cut) {
  cut.plan.dims[spatial] = halo;
  cut.exchanged.push_back(spatial);
}

void DropIdlePlan(WindowCut& cut) {
  if (cut.exchanged.empty()) {
    cut.plan.dims.clear();
  }
}

/// Checks one dimension of a form that is cut somewhere; adds its exchange if there is one.
Status AddWindows(const CutDim& cut, PadMode mode, bool may_exchange, WindowCut& result) {
  const bool independent = cut.dim.Reach() <= cut.dim.stride;
  if (cut.parts == 1) {
    // The reference tests whole strides in both dimensions as soon as one of them is cut.
    return mode == PadMode::kValid && independent ? CheckWholeStrides(cut) : Status();
  }
  DRYDOCK_RETURN_IF_ERROR(CheckExtents(cut));
  if (independent) {
    return CheckIndependent(cut);
  }
  if (mode == PadMode::kValid || !may_exchange) {
    return cut.Refuse("valid", "a kernel of " + std::to_string(cut.dim.Reach()) +
                                   " reaches beyond the stride " + std::to_string(cut.dim.stride) +
                                   (may_exchange ? "; pad mode 'valid' exchanges no rows" : ""));
  }
  DRYDOCK_TRY(const HaloDim halo, ExchangeOf(cut));
  AddDim(halo, cut.spatial, result);
  return {};
}

}  // namespace

bool BeginsBetweenStrides(const WindowDim& dim, std::int64_t parts) {
  return dim.in / parts % dim.stride != 0;
}

Result<WindowCut> CutWindows(const OpView& op, const WindowForm& form,
                             std::span<const std::int64_t> cuts, bool may_exchange) {
  WindowCut result = {};
  bool any_cut = false;
  for (std::size_t i = 0; i < form.dims.size(); ++i) {
    any_cut = any_cut || IsCut(cuts, i);
    if (i < kCutDims) {
      result.plan.dims.push_back(WholeDim(i, form.dims[i].in / (IsCut(cuts, i) ? cuts[i] : 1)));
    }
  }
  for (std::size_t i = 0; i < form.dims.size() && any_cut; ++i) {
    const CutDim cut{
        .op = op, .dim = form.dims[i], .spatial = i, .parts = IsCut(cuts, i) ? cuts[i] : 1};
    DRYDOCK_RETURN_IF_ERROR(AddWindows(cut, form.mode, may_exchange, result));
  }
  DropIdlePlan(result);
  return result;
}

Result<WindowCut> CutBackwardWindows(const OpView& op, const WindowForm& form,
                                     std::span<const std::int64_t> cuts) {
  WindowCut result = {};
  for (std::size_t i = 0; i < std::min(form.dims.size(), kCutDims); ++i) {
    result.plan.dims.push_back(WholeDim(i, form.dims[i].out / (IsCut(cuts, i) ? cuts[i] : 1)));
  }
  for (std::size_t i = 0; i < form.dims.size(); ++i) {
    if (!IsCut(cuts, i)) {
      continue;
    }
    const CutDim cut{.op = op, .dim = form.dims[i], .spatial = i, .parts = cuts[i]};
    DRYDOCK_RETURN_IF_ERROR(CheckExtents(cut));
    if (form.mode == PadMode::kValid) {
      return cut.Refuse("valid", "pad mode 'valid' does not allow it");
    }
    const WindowDim& dim = cut.dim;
    if (dim.Reach() <= dim.stride) {
      DRYDOCK_RETURN_IF_ERROR(CheckIndependent(cut));
      continue;
    }
    const HaloDim halo = BackwardExchangeOf(cut);
    if (!IsNeighbourly(halo)) {
      return cut.Refuse("halo", "a window of " + std::to_string(halo.length) +
                                    " reaches beyond the neighbouring parts of " +
                                    std::to_string(dim.out / cut.parts));
    }
    AddDim(halo, i, result);
  }
  DropIdlePlan(result);
  return result;
}

}  // namespace drydock::strategies
