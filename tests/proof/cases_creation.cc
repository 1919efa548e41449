#include "tests/proof/proof_case.h"

// Tensors made of numbers, and transforms of frequencies. Source: mindspore
// ops_info/activation_info.cc.
namespace drydock::strategies::proof {
namespace {

ProofCase ProgressionCase(Draw& draw) {
  const bool arange = draw.op() == "Arange";
  const std::int64_t length = draw.Extent();
  const std::int64_t start = draw.Uniform(-5, 5);
  const std::int64_t step = draw.Pick<std::int64_t>({1, 2, -3});
  const std::int64_t end = start + length * step;
  ProofCase one{.attrs = {{"start", start}}};
  const bool real = draw.Chance(2);
  one.attrs["start"] = real ? Attr(static_cast<double>(start) + 0.25) : Attr(start);
  one.attrs[arange ? "end" : "limit"] = end;
  one.attrs[arange ? "step" : "delta"] = step;
  return one;
}
PROOF_CASES_OF(Progressions, ProgressionCase, "Arange", "Range");

ProofCase LinSpaceCase(Draw& draw) {
  return {.operands = {NoGradient(Floats({}, -2.0, -1.0)), NoGradient(Floats({}, 1.0, 2.0))},
          .attrs = {{draw.op() == "LinSpace" ? "num" : "steps", draw.Extent()}}};
}
PROOF_CASES_OF(LinSpaces, LinSpaceCase, "LinSpace", "LinSpaceExt");

ProofCase FillCase(Draw& draw) {
  return {.operands = {draw.Chance(2) ? Scalar(0.7) : Floats({})},
          .attrs = {{"shape", draw.AnyShape(0, 4)}}};
}
PROOF_CASES(FillV2, FillCase);

// ---- Transforms
// ---------------------------------------------------------------------------------

/// Some dimensions, sizes that cut off or add zeros now and then.
ProofCase CosineCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  const bool many = draw.op().ends_with("N");
  ProofCase one{.operands = {Floats(shape)}};
  one.attrs["norm"] = draw.Pick({Attr(), Attr("ortho"), Attr("forward"), Attr("backward")});
  const std::vector<std::int64_t> dims =
      many ? draw.SomeDimensions(std::ssize(shape))
           : std::vector<std::int64_t>{draw.Dimension(std::ssize(shape))};
  one.attrs[many ? "axes" : "axis"] = many ? Attr(dims) : Attr(dims[0]);
  if (draw.Chance(3)) {
    std::vector<std::int64_t> sizes = {};
    for (std::size_t i = 0; i < dims.size(); ++i) {
      sizes.push_back(draw.Uniform(1, 6));
    }
    one.attrs[many ? "s" : "n"] = many ? Attr(sizes) : Attr(sizes[0]);
  }
  return one;
}
PROOF_CASES_OF(Cosines, CosineCase, "DCT", "IDCT", "DCTN", "IDCTN");

ProofCase ShiftCase(Draw& draw) {
  const Shape shape = draw.AnyShape(1, 3);
  ProofCase one{.operands = {Floats(shape)}};
  if (!draw.Chance(4)) {
    one.attrs["dim"] = draw.SomeDimensions(std::ssize(shape));
  }
  return one;
}
PROOF_CASES_OF(Shifts, ShiftCase, "FFTShift", "IFFTShift");

constexpr std::string_view kComplex = "complex values; the reference execution holds real numbers";
PROOF_NONE(Fourier, kComplex, "FFT", "FFT2", "FFTN", "IFFT", "IFFT2", "IFFTN", "RFFT", "RFFT2",
           "RFFTN", "IRFFT", "IRFFT2", "IRFFTN", "HFFT", "HFFT2", "HFFTN", "IHFFT", "IHFFT2",
           "IHFFTN");
PROOF_NONE(ComplexParts, kComplex, "Polar", "Complex", "Conj", "Real", "Imag");

}  // namespace
}  // namespace drydock::strategies::proof
