#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Discrete Fourier and cosine transforms, and the shifts that go with them. Transformed dimensions
/// stay whole. Reference execution for what is real on both sides: cosine transforms and shifts.
/// Source: mindspore ops_info/fft_info.cc.
namespace drydock::strategies {
namespace {

using Gradients = Result<std::vector<ValueId>>;

// ---- Form

/// What happens to element types and to the last transformed dimension of n elements.
enum class Spectrum : std::uint8_t {
  kComplex,   ///< Complex result, n elements.
  kToHalf,    ///< Real operand, complex result of n / 2 + 1 elements.
  kFromHalf,  ///< Real result; n elements come from n / 2 + 1.
  kCosine,    ///< Real on both sides; of complex numbers both parts alike.
};

/// Which dimensions a transform works along when the script does not say.
enum class Extent : std::uint8_t { kOne, kTwo, kAll };

/// Names of the attributes: sizes (`n` or `s`) and dimensions (`dim`, `axis` or `axes`).
struct SpectralKind {
  Spectrum spectrum = Spectrum::kComplex;
  Extent extent = Extent::kOne;
  const char* sizes = "n";
  const char* dims = "dim";
};

/// Transformed dimensions, the last one last, and the number of elements used of each.
struct SpectralForm {
  std::vector<std::size_t> dims = {};
  std::vector<std::int64_t> sizes = {};
};

std::vector<std::int64_t> DefaultDims(Extent extent, std::size_t rank,
                                      std::optional<std::size_t> size_count) {
  if (extent == Extent::kOne) {
    return {-1};
  }
  if (extent == Extent::kTwo) {
    return {-2, -1};
  }
  // The last ones, as many as sizes are given; all without sizes.
  const std::size_t count = size_count.value_or(rank);
  std::vector<std::int64_t> dims(count);
  std::iota(dims.begin(), dims.end(), -static_cast<std::int64_t>(count));
  return dims;
}

template <const SpectralKind& K>
Result<SpectralForm> FormOf(const OpView& op) {
  const Shape& shape = op.inputs[0].shape;
  DRYDOCK_TRY(const auto sizes, IntListAttr(*op.attrs, K.sizes));
  DRYDOCK_TRY(const auto named, IntListAttr(*op.attrs, K.dims));
  const std::optional<std::size_t> size_count = sizes ? std::optional(sizes->size()) : std::nullopt;
  const auto dims = named ? *named : DefaultDims(K.extent, shape.size(), size_count);
  SpectralForm form = {};
  for (const std::int64_t dim : dims) {
    DRYDOCK_TRY(const std::size_t normal, NormalisedAxis(op, dim, shape.size()));
    form.dims.push_back(normal);
  }
  if (form.dims.empty() || (sizes && sizes->size() != form.dims.size())) {
    return FailOp(op, "sizes",
                  "'" + std::string(op.op) + "' takes one size for each of " +
                      std::to_string(form.dims.size()) + " transformed dimensions");
  }
  for (std::size_t i = 0; i < form.dims.size(); ++i) {
    const std::int64_t extent = shape[form.dims[i]];
    const bool from_half = K.spectrum == Spectrum::kFromHalf && i + 1 == form.dims.size();
    std::int64_t size = extent;
    if (sizes) {
      size = (*sizes)[i];
    } else if (from_half) {
      DRYDOCK_TRY(size, MulChecked(2, extent - 1));
    }
    form.sizes.push_back(size);
    if (form.sizes.back() < 1) {
      return FailOp(op, "sizes",
                    "'" + std::string(op.op) + "' cannot transform " +
                        std::to_string(form.sizes.back()) + " elements of dimension " +
                        std::to_string(form.dims[i]));
    }
  }
  return form;
}

/// Element type of the result; float64 and complex128 stay wide.
DType ResultType(Spectrum spectrum, DType dtype) {
  const bool wide = dtype == DType::kFloat64 || dtype == DType::kComplex128;
  if (spectrum == Spectrum::kComplex || spectrum == Spectrum::kToHalf ||
      (spectrum == Spectrum::kCosine && IsComplex(dtype))) {
    return wide ? DType::kComplex128 : DType::kComplex64;
  }
  return wide ? DType::kFloat64 : DType::kFloat32;
}

template <const SpectralKind& K>
Result<std::vector<TensorType>> InferSpectral(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  if (K.spectrum == Spectrum::kToHalf && IsComplex(op.inputs[0].dtype)) {
    return FailOp(op, "dtype",
                  "'" + std::string(op.op) + "' takes real numbers, but input 0 is " +
                      std::string(DTypeName(op.inputs[0].dtype)),
                  "use the transform of complex numbers");
  }
  DRYDOCK_TRY(const SpectralForm form, FormOf<K>(op));
  TensorType type = op.inputs[0];
  for (std::size_t i = 0; i < form.dims.size(); ++i) {
    type.shape[form.dims[i]] = form.sizes[i];
  }
  if (K.spectrum == Spectrum::kToHalf) {
    type.shape[form.dims.back()] = form.sizes.back() / 2 + 1;
  }
  type.dtype = ResultType(K.spectrum, type.dtype);
  return std::vector<TensorType>{type};
}

/// Transformed dimensions carry no axis, so that their maps are -1.
ShardRule RuleWithWhole(const OpView& op, std::span<const std::size_t> whole) {
  TensorAxes axes = AxesInOrder(op.inputs[0].shape.size());
  for (const std::size_t dim : whole) {
    axes[dim].clear();
  }
  return ShardRule{
      .axis_count = static_cast<std::int32_t>(axes.size()), .inputs = {axes}, .outputs = {axes}};
}

Result<Strategy> BatchUnless(const OpView& op, std::int64_t device_count,
                             std::span<const std::size_t> whole) {
  return BatchStrategy(op, device_count, {std::ranges::find(whole, 0U) == whole.end()});
}

template <const SpectralKind& K>
Result<ShardRule> ShardSpectral(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const SpectralForm form, FormOf<K>(op));
  return RuleWithWhole(op, form.dims);
}

template <const SpectralKind& K>
Result<Strategy> DefaultSpectral(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const SpectralForm form, FormOf<K>(op));
  return BatchUnless(op, device_count, form.dims);
}

/// 5 N log2(L) for L transformed elements.
template <const SpectralKind& K>
double SpectralFlops(const OpView& op) {
  const Result<SpectralForm> form = FormOf<K>(op);
  double length = 2;
  for (std::size_t i = 0; form && i < form->sizes.size(); ++i) {
    length *= static_cast<double>(form->sizes[i]);
  }
  return 5.0 * Elements(op.inputs[0]) * std::max(1.0, std::log2(length) - 1.0);
}

// ---- Gradient: the transposed transform

/// Kernel SpectralGrad: dY and the forward node's attributes; `transform` names the forward
/// operator, `shape` and `dtype` are those of its operand.
Gradients GradientOfSpectral(const GradientContext& context) {
  AttrMap attrs = context.node.attrs;
  const TensorType operand = context.TypeOf(context.node.inputs[0]);
  attrs["transform"] = context.node.op;
  attrs["shape"] = operand.shape;
  attrs["operand_dtype"] = std::string(DTypeName(operand.dtype));
  DRYDOCK_TRY(const ValueId gradient,
              context.Emit("SpectralGrad", {OutputGradient(context)}, std::move(attrs)));
  return std::vector<ValueId>{gradient};
}

Result<std::vector<TensorType>> InferSpectralGrad(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_TRY(Shape shape, RequiredListAttr(op, "shape"));
  DRYDOCK_TRY(const std::string name, TextAttr(*op.attrs, "operand_dtype", "float32"));
  DRYDOCK_TRY(const DType dtype, ParseDType(name));
  return std::vector<TensorType>{{.shape = std::move(shape), .dtype = dtype}};
}

// ---- Values of the cosine transforms

constexpr SpectralKind kCosineOne = {Spectrum::kCosine, Extent::kOne, "n", "axis"};
constexpr SpectralKind kCosineMany = {Spectrum::kCosine, Extent::kAll, "s", "axes"};

enum class Norm : std::uint8_t { kBackward, kForward, kOrtho };

/// Attribute norm: None or 'backward', 'forward', 'ortho', or their numbers 0, 1, 2.
Result<Norm> NormOf(const AttrMap& attrs) {
  if (const auto number = IntAttr(attrs, "norm", 0); number) {
    return *number == 2 ? Norm::kOrtho : *number == 1 ? Norm::kForward : Norm::kBackward;
  }
  DRYDOCK_TRY(const std::string name, TextAttr(attrs, "norm", "backward"));
  return name == "ortho" ? Norm::kOrtho : name == "forward" ? Norm::kForward : Norm::kBackward;
}

/// A cosine transform of type 2 along one dimension, as a matrix of n x n.
struct CosineMatrix {
  std::int64_t n = 1;
  bool inverse = false;
  Norm norm = Norm::kBackward;

  /// Factor of input element j in output element k.
  [[nodiscard]] double At(std::int64_t k, std::int64_t j) const {
    const std::int64_t frequency = inverse ? j : k;
    const std::int64_t place = inverse ? k : j;
    const double size = static_cast<double>(n);
    const double wave = std::cos(std::numbers::pi * static_cast<double>(frequency) *
                                 (2.0 * static_cast<double>(place) + 1.0) / (2.0 * size));
    if (norm == Norm::kOrtho) {
      return wave * std::sqrt((frequency == 0 ? 1.0 : 2.0) / size);
    }
    const double weight = inverse ? (frequency == 0 ? 1.0 : 2.0) : 2.0;
    const bool divided = inverse == (norm == Norm::kBackward);
    return divided ? wave * weight / (2.0 * size) : wave * weight;
  }
};

/// Matrix times x along `dim`: elements beyond n are left out, missing ones are 0. `transposed`
/// gives the gradient: `x` has n elements then and the result `extent`.
NdArray AlongDim(const NdArray& x, std::size_t dim, const CosineMatrix& matrix,
                 std::optional<std::int64_t> transposed_extent) {
  Shape shape = x.shape;
  shape[dim] = transposed_extent.value_or(matrix.n);
  NdArray out = FilledArray(shape, 0.0);
  std::size_t n = 0;
  ForEachElement(shape, [&](std::span<const std::int64_t> index) {
    std::vector<std::int64_t> at(index.begin(), index.end());
    const std::int64_t here = index[dim];
    double sum = 0;
    for (std::int64_t j = 0; here < matrix.n && j < std::min(x.shape[dim], matrix.n); ++j) {
      at[dim] = j;
      const double factor = transposed_extent ? matrix.At(j, here) : matrix.At(here, j);
      sum += factor * x.data[OffsetOf(x.shape, at)];
    }
    out.data[n++] = sum;
  });
  return out;
}

Status ExpectTypeTwo(const OpView& op) {
  DRYDOCK_TRY(const std::int64_t type, IntAttr(*op.attrs, "type", 2));
  if (type != 2) {
    return UnsupportedForm(
        op, "reference execution of cosine transforms knows type 2, not " + std::to_string(type));
  }
  return {};
}

template <const SpectralKind& K, bool Inverse>
Result<std::vector<NdArray>> EvaluateCosine(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_RETURN_IF_ERROR(ExpectTypeTwo(op));
  DRYDOCK_TRY(const SpectralForm form, FormOf<K>(op));
  DRYDOCK_TRY(const Norm norm, NormOf(context.attrs));
  NdArray out = context.inputs[0];
  for (std::size_t i = 0; i < form.dims.size(); ++i) {
    out = AlongDim(out, form.dims[i], {form.sizes[i], Inverse, norm}, std::nullopt);
  }
  return std::vector<NdArray>{out};
}

template <const SpectralKind& K>
Result<std::vector<NdArray>> TransposedCosine(const EvaluateContext& context, bool inverse) {
  const OpView op{.inputs = context.output_types, .attrs = &context.attrs};
  DRYDOCK_RETURN_IF_ERROR(ExpectTypeTwo(op));
  DRYDOCK_TRY(const SpectralForm form, FormOf<K>(op));
  DRYDOCK_TRY(const Norm norm, NormOf(context.attrs));
  NdArray out = context.inputs[0];
  for (std::size_t i = form.dims.size(); i-- > 0;) {
    out = AlongDim(out, form.dims[i], {form.sizes[i], inverse, norm},
                   context.output_types[0].shape[form.dims[i]]);
  }
  return std::vector<NdArray>{out};
}

Result<std::vector<NdArray>> EvaluateSpectralGrad(const EvaluateContext& context) {
  DRYDOCK_TRY(const std::string transform, TextAttr(context.attrs, "transform", ""));
  const bool inverse = transform.starts_with("I");
  if (transform.find("DCT") == std::string::npos) {
    return Fail(ErrorCode::kUnsupported, "complex values have no reference execution");
  }
  return transform.ends_with("N") ? TransposedCosine<kCosineMany>(context, inverse)
                                  : TransposedCosine<kCosineOne>(context, inverse);
}

// ---- Shifts

/// Attribute dim, all dimensions by default.
Result<std::vector<std::size_t>> ShiftedDims(const OpView& op) {
  return ReducedAxesAttr(op, "dim", op.inputs[0].shape.size());
}

Result<std::vector<TensorType>> InferShift(const OpView& op) {
  DRYDOCK_TRY(auto types, InferSame(op));
  DRYDOCK_RETURN_IF_ERROR(ShiftedDims(op));
  return types;
}

Result<ShardRule> ShardShift(const OpView& op, const Strategy& /*strategy*/) {
  DRYDOCK_TRY(const auto dims, ShiftedDims(op));
  return RuleWithWhole(op, dims);
}

Result<Strategy> DefaultShift(const OpView& op, std::int64_t device_count) {
  DRYDOCK_TRY(const auto dims, ShiftedDims(op));
  return BatchUnless(op, device_count, dims);
}

constexpr char kFftShift[] = "FFTShift";
constexpr char kIfftShift[] = "IFFTShift";

/// The zero frequency moves from the front to the middle, or back.
template <bool Inverse>
Result<std::vector<NdArray>> EvaluateShift(const EvaluateContext& context) {
  const OpView op{.inputs = context.input_types, .attrs = &context.attrs};
  DRYDOCK_TRY(const auto dims, ShiftedDims(op));
  const NdArray& x = context.inputs[0];
  NdArray out{.shape = x.shape};
  ForEachElement(x.shape, [&](std::span<const std::int64_t> index) {
    std::vector<std::int64_t> at(index.begin(), index.end());
    for (const std::size_t dim : dims) {
      const std::int64_t n = x.shape[dim];
      at[dim] = (at[dim] + (Inverse ? n / 2 : n - n / 2)) % n;
    }
    out.data.push_back(x.data[OffsetOf(x.shape, at)]);
  });
  return std::vector<NdArray>{out};
}

// ---- Entries

constexpr SpectralKind kComplexOne = {Spectrum::kComplex, Extent::kOne, "n", "dim"};
constexpr SpectralKind kComplexTwo = {Spectrum::kComplex, Extent::kTwo, "s", "dim"};
constexpr SpectralKind kComplexMany = {Spectrum::kComplex, Extent::kAll, "s", "dim"};
constexpr SpectralKind kToHalfOne = {Spectrum::kToHalf, Extent::kOne, "n", "dim"};
constexpr SpectralKind kToHalfTwo = {Spectrum::kToHalf, Extent::kTwo, "s", "dim"};
constexpr SpectralKind kToHalfMany = {Spectrum::kToHalf, Extent::kAll, "s", "dim"};
constexpr SpectralKind kFromHalfOne = {Spectrum::kFromHalf, Extent::kOne, "n", "dim"};
constexpr SpectralKind kFromHalfTwo = {Spectrum::kFromHalf, Extent::kTwo, "s", "dim"};
constexpr SpectralKind kFromHalfMany = {Spectrum::kFromHalf, Extent::kAll, "s", "dim"};

#define DRYDOCK_SPECTRAL(id, arguments, kind, evaluate_fn, example_call)                         \
  DRYDOCK_OP(id, .family = "fft", .signature = #id "()" arguments, .infer = InferSpectral<kind>, \
             .shard = ShardSpectral<kind>, .default_strategy = DefaultSpectral<kind>,            \
             .gradient = GradientOfSpectral, .evaluate = evaluate_fn,                            \
             .flops = SpectralFlops<kind>, .cost = CostFamily::kSoftmax, .example = example_call)

#define DRYDOCK_SPECTRAL_ONE(id, kind) \
  DRYDOCK_SPECTRAL(id, "(input, #n=None, #dim=-1, #norm=None)", kind, nullptr, "()((8, 4, 6))")
#define DRYDOCK_SPECTRAL_TWO(id, kind)                                               \
  DRYDOCK_SPECTRAL(id, "(input, #s=None, #dim=(-2, -1), #norm=None)", kind, nullptr, \
                   "()((8, 4, 6))")
#define DRYDOCK_SPECTRAL_MANY(id, kind)                                          \
  DRYDOCK_SPECTRAL(id, "(input, #s=None, #dim=None, #norm=None)", kind, nullptr, \
                   "(dim=(1, 2))((8, 4, 6))")

DRYDOCK_SPECTRAL_ONE(FFT, kComplexOne);
DRYDOCK_SPECTRAL_ONE(IFFT, kComplexOne);
DRYDOCK_SPECTRAL_ONE(RFFT, kToHalfOne);
DRYDOCK_SPECTRAL_ONE(IRFFT, kFromHalfOne);
DRYDOCK_SPECTRAL_ONE(HFFT, kFromHalfOne);
DRYDOCK_SPECTRAL_ONE(IHFFT, kToHalfOne);
DRYDOCK_SPECTRAL_TWO(FFT2, kComplexTwo);
DRYDOCK_SPECTRAL_TWO(IFFT2, kComplexTwo);
DRYDOCK_SPECTRAL_TWO(RFFT2, kToHalfTwo);
DRYDOCK_SPECTRAL_TWO(IRFFT2, kFromHalfTwo);
DRYDOCK_SPECTRAL_TWO(HFFT2, kFromHalfTwo);
DRYDOCK_SPECTRAL_TWO(IHFFT2, kToHalfTwo);
DRYDOCK_SPECTRAL_MANY(FFTN, kComplexMany);
DRYDOCK_SPECTRAL_MANY(IFFTN, kComplexMany);
DRYDOCK_SPECTRAL_MANY(RFFTN, kToHalfMany);
DRYDOCK_SPECTRAL_MANY(IRFFTN, kFromHalfMany);
DRYDOCK_SPECTRAL_MANY(HFFTN, kFromHalfMany);
DRYDOCK_SPECTRAL_MANY(IHFFTN, kToHalfMany);
DRYDOCK_SPECTRAL(DCT, "(x, #type=2, #n=None, #axis=-1, #norm=None)", kCosineOne,
                 (EvaluateCosine<kCosineOne, false>), "()((8, 4, 6))");
DRYDOCK_SPECTRAL(IDCT, "(x, #type=2, #n=None, #axis=-1, #norm=None)", kCosineOne,
                 (EvaluateCosine<kCosineOne, true>), "()((8, 4, 6))");
DRYDOCK_SPECTRAL(DCTN, "(x, #type=2, #s=None, #axes=None, #norm=None)", kCosineMany,
                 (EvaluateCosine<kCosineMany, false>), "(axes=(1, 2))((8, 4, 6))");
DRYDOCK_SPECTRAL(IDCTN, "(x, #type=2, #s=None, #axes=None, #norm=None)", kCosineMany,
                 (EvaluateCosine<kCosineMany, true>), "(axes=(1, 2))((8, 4, 6))");

DRYDOCK_OP(SpectralGrad, .family = "gradient",
           .signature = "SpectralGrad(transform='', shape=None, operand_dtype='float32')(dout)",
           .infer = InferSpectralGrad, .gradient = GradientNotNeeded, .values = "-",
           .evaluate = EvaluateSpectralGrad, .flops = NoFlops);

#define DRYDOCK_SHIFT(id, opposite, is_inverse)                                                  \
  DRYDOCK_OP(id, .family = "fft", .signature = #id "()(input, #dim=None)", .infer = InferShift,  \
             .shard = ShardShift, .default_strategy = DefaultShift,                              \
             .gradient = GradientKernelWithAttrs<opposite, Reads::kGradient>,                    \
             .evaluate = EvaluateShift<is_inverse>, .flops = NoFlops, .cost = CostFamily::kCast, \
             .example = "(dim=(1, 2))((8, 4, 6))")

DRYDOCK_SHIFT(FFTShift, kIfftShift, false);
DRYDOCK_SHIFT(IFFTShift, kFftShift, true);

}  // namespace
}  // namespace drydock::strategies
