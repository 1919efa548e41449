#include <string>

#include "tests/strategies/op_samples.h"

namespace drydock::strategies::cases {
namespace {

const TensorType kFloats = Float({4, 6});
const TensorType kIntegers = Int({4, 6});
const TensorType kScalar = Float({});

Samples ElementwiseSamples() {
  Samples samples = {
      {"ClampScalar", {{kFloats}, {{"min", -1.0}, {"max", 1.0}}}},
      {"Muls", {{kFloats}, {{"other", 3}}}},
      {"FmodScalar", {{kFloats}, {{"other", 3}}}},
      {"RemainderTensorScalar", {{kFloats}, {{"other", 3}}}},
      {"RemainderScalarTensor", {{kFloats}, {{"input", 3}}}},
      {"Invert", {{kIntegers}}},
      {"PopulationCount", {{{.shape = {4, 6}, .dtype = DType::kInt16}}}},
      {"Betainc", {{kFloats, kFloats, kFloats}}},
      {"AddcmulExt", {{kFloats, kFloats, kFloats}}},
      {"Lerp", {{kFloats, kFloats, kFloats}}},
      {"MaskedFill", {{kFloats, {.shape = {4, 6}, .dtype = DType::kBool}, kScalar}}},
      {"Outer", {{Float({4}), Float({6})}}},
  };
  for (const char* op :
       {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift", "Gcd"}) {
    samples[op] = {{kIntegers, kIntegers}, {}};
  }
  return samples;
}

Samples PlacementSamples() {
  return {
      {"PadV3", {{kFloats, kScalar}, {{"paddings", List({1, 2})}}}},
      {"RepeatElements", {{kFloats}, {{"rep", 2}, {"axis", 1}}}},
      {"RepeatInterleave", {{kFloats}, {{"repeats", 2}, {"dim", 1}}}},
      {"RepeatInterleaveInt", {{kFloats}, {{"repeats", 2}, {"dim", 1}}}},
      {"RepeatInterleaveTensor",
       {{kFloats, Int({6})}, {{"repeats", 2}, {"dim", 1}, {"output_size", 12}}}},
      {"SliceExt", {{kFloats}, {{"dim", 1}, {"start", 1}, {"end", 4}, {"step", 1}}}},
      {"SplitTensor", {{kFloats}, {{"split_size", 2}, {"dim", 1}}}},
      {"SplitWithSize", {{kFloats}, {{"split_size", List({2, 4})}, {"dim", 1}}}},
      {"SplitV", {{kFloats}, {{"size_splits", List({2, 4})}, {"split_dim", 1}, {"num_split", 2}}}},
      {"Stack", {{kFloats, kFloats}, {{"axis", 1}}}},
      {"StackExt", {{kFloats, kFloats}, {{"dim", 1}}}},
      {"Tril", {{kFloats}}},
      {"Triu", {{kFloats}}},
  };
}

Samples AlongDimensionSamples() {
  return {
      {"Cholesky", {{Float({2, 4, 4})}}},
      {"CumProd", {{kFloats}, {{"axis", 1}}}},
      {"Cummax", {{kFloats}, {{"axis", 1}}}},
      {"Cummin", {{kFloats}, {{"axis", 1}}}},
      {"CumsumExt", {{kFloats}, {{"dim", 1}}}},
      {"L2Normalize", {{kFloats}, {{"axis", 1}}}},
      {"ReverseV2", {{kFloats}, {{"axis", List({1})}}}},
      {"TopkExt", {{kFloats}, {{"k", 2}}}},
      {"MaxDim", {{kFloats}, {{"dim", 1}}}},
      {"ReduceAll", {{{.shape = {4, 6}, .dtype = DType::kBool}}}},
      {"ReduceAny", {{{.shape = {4, 6}, .dtype = DType::kBool}}}},
      {"SquareSumAll", {{kFloats, kFloats}}},
      {"PReLU", {{kFloats, Float({6})}}},
  };
}

Samples CreationSamples() {
  return {
      {"Arange", {{}, {{"start", 0}, {"end", 12}, {"step", 1}}}},
      {"Range", {{}, {{"start", 0}, {"limit", 12}, {"delta", 1}}}},
      {"LinSpace", {{kScalar, kScalar}, {{"num", 12}}}},
      {"LinSpaceExt", {{kScalar, kScalar}, {{"steps", 12}}}},
      {"FillV2", {{kScalar}, {{"shape", List({4, 6})}}}},
  };
}

Samples TransformSamples() {
  Samples samples = {};
  for (const char* op :
       {"DCT",    "DCTN",   "FFT",   "FFT2",   "FFTN",   "FFTShift", "HFFT",      "HFFT2",
        "HFFTN",  "IDCT",   "IDCTN", "IFFT",   "IFFT2",  "IFFTN",    "IFFTShift", "IHFFT",
        "IHFFT2", "IHFFTN", "IRFFT", "IRFFT2", "IRFFTN", "RFFT",     "RFFT2",     "RFFTN"}) {
    samples[op] = {{Float({8, 4, 6})}, {}};
    const std::string_view name = op;
    if (name.ends_with("N") || name.ends_with("Shift")) {
      samples[op].attrs[name.find("DCT") == std::string::npos ? "dim" : "axes"] = List({1, 2});
    }
  }
  return samples;
}

}  // namespace

Samples ArithmeticSamples() {
  Samples all = ElementwiseSamples();
  all.merge(PlacementSamples());
  all.merge(AlongDimensionSamples());
  all.merge(CreationSamples());
  all.merge(TransformSamples());
  return all;
}

}  // namespace drydock::strategies::cases
