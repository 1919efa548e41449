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

}  // namespace

Samples ArithmeticSamples() {
  return ElementwiseSamples();
}

}  // namespace drydock::strategies::cases
