#include <limits>

#include <gtest/gtest.h>

#include "strategies/operators/sharding.h"
#include "tests/strategies/gradient_check.h"

/// Result types, refused applications and refused strategies of operators of many families.
namespace drydock::strategies::checks {
namespace {

using Numbers = std::vector<std::int64_t>;

// ---- Types and extents

struct TypeCase {
  const char* op;
  TensorType in;
  AttrMap attrs;
  TensorType out;
  friend void PrintTo(const TypeCase& one, std::ostream* stream) {
    *stream << one.op << " " << TypeText(one.in) << " -> " << TypeText(one.out);
  }
};

class ResultType : public testing::TestWithParam<TypeCase> {};

TEST_P(ResultType, FollowsOperandAndNumbers) {
  const auto types = InferOp(GetParam().op, {GetParam().in}, GetParam().attrs);
  ASSERT_TRUE(types.has_value()) << FormatError(types.error());
  EXPECT_EQ((*types)[0], GetParam().out);
}

const TensorType kInts = {.shape = {4}, .dtype = DType::kInt32};
const TensorType kBools = {.shape = {4}, .dtype = DType::kBool};
const TensorType kFloats = {.shape = {4}, .dtype = DType::kFloat32};
const TensorType kLongs = {.shape = {4}, .dtype = DType::kInt64};
INSTANTIATE_TEST_SUITE_P(
    Numbers, ResultType,
    testing::Values(TypeCase{"Muls", kInts, {{"other", 2}}, kInts},
                    TypeCase{"Muls", kInts, {{"other", 2.0}}, kFloats},
                    TypeCase{"Muls", kBools, {{"other", 2}}, kLongs},
                    TypeCase{"Muls", kBools, {{"other", true}}, kBools},
                    TypeCase{"FmodScalar", kBools, {{"other", true}}, kLongs},
                    TypeCase{"FmodScalar", kInts, {{"other", 2.5}}, kFloats},
                    TypeCase{"RemainderTensorScalar", kBools, {{"other", 2}}, kBools},
                    TypeCase{"RemainderTensorScalar", kInts, {{"other", 2.5}}, kFloats},
                    TypeCase{"SumExt", kInts, {{"keepdim", true}}, {{1}, DType::kInt64}},
                    TypeCase{"SumExt", kInts, {{"dtype", "float32"}}, {{}, DType::kFloat32}},
                    TypeCase{"CumsumExt", kBools, {{"dim", 0}}, kLongs}));

TensorType Complex(Shape shape) {
  return {.shape = std::move(shape), .dtype = DType::kComplex64};
}

// Half spectra have n / 2 + 1 elements: 6 -> 4, 5 -> 3; back, 2 (m - 1) unless n is given.
const TensorType kSignal = {.shape = {4, 6}, .dtype = DType::kFloat32};
INSTANTIATE_TEST_SUITE_P(
    Spectra, ResultType,
    testing::Values(
        TypeCase{"FFT", kSignal, {}, Complex({4, 6})},
        TypeCase{"FFT", kSignal, {{"n", 8}, {"dim", 0}}, Complex({8, 6})},
        TypeCase{"FFT", {{4}, DType::kFloat64}, {}, {.shape = {4}, .dtype = DType::kComplex128}},
        TypeCase{"FFT2", kSignal, {{"s", Numbers{2, 3}}}, Complex({2, 3})},
        TypeCase{"IFFTN", kSignal, {{"s", Numbers{3}}}, Complex({4, 3})},
        TypeCase{"RFFT", kSignal, {}, Complex({4, 4})},
        TypeCase{"RFFT2", kSignal, {{"s", Numbers{2, 5}}}, Complex({2, 3})},
        TypeCase{"RFFTN", kSignal, {}, Complex({4, 4})},
        TypeCase{"IRFFT", Complex({4, 4}), {}, kSignal},
        TypeCase{"IRFFT", Complex({4, 4}), {{"n", 5}}, {{4, 5}, DType::kFloat32}},
        TypeCase{"HFFT", Complex({4, 4}), {}, kSignal},
        TypeCase{"IHFFT", kSignal, {}, Complex({4, 4})},
        TypeCase{"DCT", kSignal, {{"n", 3}}, {{4, 3}, DType::kFloat32}},
        TypeCase{"DCT", Complex({4, 6}), {}, Complex({4, 6})},
        TypeCase{"IDCTN", {{4}, DType::kComplex128}, {}, {{4}, DType::kComplex128}}));

// ---- Refusals

struct RefusedCase {
  const char* op;
  std::vector<TensorType> inputs;
  AttrMap attrs;
  const char* reason;
  friend void PrintTo(const RefusedCase& one, std::ostream* out) { *out << one.reason; }
};

class RefusedApplication : public testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedApplication, NamesTheReason) {
  const auto types = InferOp(GetParam().op, GetParam().inputs, GetParam().attrs);
  ASSERT_FALSE(types.has_value());
  EXPECT_EQ(types.error().reason, GetParam().reason) << types.error().message;
}

const TensorType kTall = {.shape = {4, 3}};
INSTANTIATE_TEST_SUITE_P(
    All, RefusedApplication,
    testing::Values(
        RefusedCase{"Elu", {kFloats}, {{"alpha", 2.0}}, "Elu:alpha"},
        RefusedCase{
            "Activation", {kFloats}, {{"activation_type", "gelu"}}, "Activation:activation-type"},
        RefusedCase{"BitwiseAnd", {kFloats, kFloats}, {}, "BitwiseAnd:dtype"},
        RefusedCase{"BitwiseAnd", {kInts, kLongs}, {}, "BitwiseAnd:dtype-mismatch"},
        RefusedCase{"Gcd", {kBools, kBools}, {}, "Gcd:dtype"},
        RefusedCase{"PopulationCount", {kInts}, {}, "PopulationCount:dtype"},
        RefusedCase{"AddExt", {kInts, kInts}, {{"alpha", 0.5}}, "AddExt:alpha"},
        RefusedCase{"SubExt", {kInts, kInts}, {{"alpha", true}}, "SubExt:alpha"},
        RefusedCase{"MaskedFill", {kFloats, kInts, {}}, {}, "MaskedFill:dtype"},
        RefusedCase{"MaskedFill", {kFloats, kBools, kFloats}, {}, "MaskedFill:rank"},
        RefusedCase{"Outer", {kTall, kFloats}, {}, "Outer:rank"},
        RefusedCase{"InplaceCopy", {{.shape = {1}}, kFloats}, {}, "InplaceCopy:shape-mismatch"},
        RefusedCase{"Betainc", {kFloats, kFloats, kTall}, {}, "Betainc:shape-mismatch"},
        RefusedCase{"PadV3", {kFloats}, {{"paddings", Numbers{1}}}, "PadV3:paddings"},
        RefusedCase{"PadV3", {kFloats}, {{"paddings", Numbers{1, 1, 1, 1}}}, "PadV3:paddings"},
        RefusedCase{"PadV3", {kFloats}, {{"paddings", Numbers{-3, -2}}}, "PadV3:paddings"},
        RefusedCase{
            "PadV3", {kFloats}, {{"paddings", Numbers{1, 1}}, {"mode", "wrap"}}, "PadV3:mode"},
        RefusedCase{
            "RepeatInterleaveInt", {kFloats}, {{"repeats", -1}}, "RepeatInterleaveInt:repeats"},
        RefusedCase{"RepeatInterleaveInt",
                    {kFloats},
                    {{"repeats", 2}, {"output_size", 7}},
                    "RepeatInterleaveInt:output-size"},
        RefusedCase{
            "RepeatInterleaveTensor", {kFloats, kInts}, {}, "RepeatInterleaveTensor:unsupported"},
        RefusedCase{"PadV3",
                    {kFloats},
                    {{"paddings", Numbers{4, 0}}, {"mode", "reflect"}},
                    "PadV3:paddings"},
        RefusedCase{"PadV3",
                    {kFloats},
                    {{"paddings", Numbers{std::numeric_limits<std::int64_t>::min(), 0}}},
                    "PadV3:paddings"},
        RefusedCase{"Argmax", {{.shape = {2, 0}}}, {}, "Argmax:empty"},
        RefusedCase{"MaxDim", {{.shape = {2, 0}}}, {{"dim", 1}}, "MaxDim:empty"},
        RefusedCase{
            "SplitTensor", {{.shape = {1000000}}}, {{"split_size", 1}}, "SplitTensor:sizes"},
        RefusedCase{"Arange",
                    {},
                    {{"start", 0}, {"end", std::numeric_limits<std::int64_t>::max()}},
                    "Arange:progression"},
        RefusedCase{"SliceExt", {kFloats}, {{"step", 0}}, "SliceExt:step"},
        RefusedCase{
            "SplitWithSize", {kFloats}, {{"split_size", Numbers{1, 2}}}, "SplitWithSize:sizes"},
        RefusedCase{"SplitTensor", {kFloats}, {{"split_size", 0}}, "SplitTensor:sizes"},
        RefusedCase{"Stack", {kFloats, kTall}, {}, "Stack:shape-mismatch"},
        RefusedCase{"Stack", {kFloats}, {{"axis", 2}}, "Stack:axis-out-of-range"},
        RefusedCase{"Tril", {kFloats}, {}, "Tril:rank"},
        RefusedCase{"Cholesky", {kTall}, {}, "Cholesky:shape-mismatch"},
        RefusedCase{"ReverseV2", {kFloats}, {{"axis", Numbers{}}}, "ReverseV2:axis-empty"},
        RefusedCase{"Swiglu", {kTall}, {}, "Swiglu:not-divisible"},
        RefusedCase{"TopkExt", {kFloats}, {{"k", 5}}, "TopkExt:k"},
        RefusedCase{"MeanExt", {kInts}, {}, "MeanExt:dtype"},
        RefusedCase{"PReLU", {kTall, {.shape = {4}}}, {}, "PReLU:shape-mismatch"},
        RefusedCase{"SquareSumAll", {kFloats, kTall}, {}, "SquareSumAll:shape-mismatch"},
        RefusedCase{"Arange", {}, {{"start", 0}, {"end", 3}, {"step", 0}}, "Arange:progression"},
        RefusedCase{"Range", {}, {{"start", 0}, {"limit", 3}, {"delta", -1}}, "Range:progression"},
        RefusedCase{"LinSpace", {{}, {}}, {{"num", 0}}, "LinSpace:count"},
        RefusedCase{"FillV2", {{}}, {{"shape", Numbers{-1}}}, "FillV2:shape"},
        RefusedCase{"RFFT", {Complex({4})}, {}, "RFFT:dtype"},
        RefusedCase{"FFT2", {kTall}, {{"s", Numbers{2}}}, "FFT2:sizes"},
        RefusedCase{"IRFFT", {Complex({1})}, {}, "IRFFT:sizes"},
        RefusedCase{"Polar", {kInts, kInts}, {}, "Polar:dtype"}));

// ---- Strategies

struct StrategyCase {
  const char* op;
  std::vector<TensorType> inputs;
  AttrMap attrs;
  Strategy strategy;
  const char* reason;  ///< "" = legal.
  friend void PrintTo(const StrategyCase& one, std::ostream* stream) {
    *stream << one.op << " " << one.reason;
  }
};

class CutApplication : public testing::TestWithParam<StrategyCase> {};

TEST_P(CutApplication, IsLegalOrRefusedByItsRule) {
  const StrategyCase& one = GetParam();
  const OpEntry* entry = FindOp(one.op);
  const auto outputs = InferOp(one.op, one.inputs, one.attrs);
  ASSERT_TRUE(outputs.has_value()) << FormatError(outputs.error());
  const OpView view{.op = one.op, .inputs = one.inputs, .outputs = *outputs, .attrs = &one.attrs};
  const auto sharding =
      DeriveSharding(*entry, view, one.strategy, {.stage_devices = 4, .job_devices = 4});
  EXPECT_EQ(sharding ? "" : sharding.error().reason, one.reason);
  EXPECT_EQ(!sharding && IsCausedBy(sharding.error(), StrategyCause::kEntries),
            std::string_view(one.reason).ends_with(":strategy-entries"));
}

const TensorType kGrid = {.shape = {4, 4}};
const TensorType kGridMask = {.shape = {4, 4}, .dtype = DType::kBool};
INSTANTIATE_TEST_SUITE_P(
    All, CutApplication,
    testing::Values(
        StrategyCase{"PadV3", {kGrid}, {{"paddings", Numbers{1, 1}}}, {{4, 1}}, ""},
        StrategyCase{
            "PadV3", {kGrid}, {{"paddings", Numbers{1, 1}}}, {{1, 4}}, "PadV3:strategy-uncut"},
        StrategyCase{"PadV3",
                     {kGrid},
                     {{"paddings", Numbers{1, 1}}, {"mode", "edge"}},
                     {{4, 1}},
                     "PadV3:strategy-mode"},
        StrategyCase{"MaskedFill", {kGrid, kGridMask, {}}, {}, {{2, 2}, {2, 2}}, ""},
        StrategyCase{"MaskedFill", {kGrid, kGridMask, {}}, {}, {{2, 2}, {2, 2}, {}}, ""},
        StrategyCase{"Lerp", {kGrid, kGrid, {}}, {}, {{2, 2}, {2, 2}}, ""},
        StrategyCase{"Outer", {kFloats, kFloats}, {}, {{2}, {2}}, ""},
        StrategyCase{"RepeatInterleaveInt", {kGrid}, {{"repeats", 2}, {"dim", 0}}, {{4, 1}}, ""},
        StrategyCase{"RepeatInterleaveInt",
                     {kGrid},
                     {{"repeats", 2}},
                     {{4, 1}},
                     "RepeatInterleaveInt:strategy-uncut"},
        StrategyCase{"RepeatInterleaveTensor",
                     {kGrid, kInts},
                     {{"dim", 0}, {"output_size", 8}},
                     {{1, 4}, {1}},
                     ""},
        StrategyCase{"RepeatInterleaveTensor",
                     {kGrid, kInts},
                     {{"dim", 0}, {"output_size", 8}},
                     {{1, 2}, {2}},
                     "RepeatInterleaveTensor:strategy-uncut"},
        StrategyCase{"SplitTensor",
                     {kGrid},
                     {{"split_size", 2}, {"dim", 1}},
                     {{1, 2}},
                     "SplitTensor:strategy-uncut"},
        StrategyCase{"SplitWithSize",
                     {kGrid},
                     {{"split_size", Numbers{2, 2}}, {"dim", 1}, {"skip_redistribution", true}},
                     {{1, 2}},
                     ""},
        StrategyCase{"Tril",
                     {{.shape = {1, 1, 1, 1, 1, 4, 4}}},
                     {},
                     {{1, 1, 1, 1, 1, 2, 2}},
                     "Tril:strategy-rank"},
        StrategyCase{"Sort", {kGrid}, {}, {{1, 4}}, "Sort:strategy-uncut"},
        StrategyCase{"L2Normalize",
                     {kGrid},
                     {{"axis", Numbers{0, 1}}},
                     {{1, 4}},
                     "L2Normalize:strategy-uncut"},
        StrategyCase{"MaxDim", {kGrid}, {{"dim", 1}}, {{1, 4}}, "MaxDim:strategy-uncut"},
        StrategyCase{"Argmax", {kGrid}, {}, {{1, 4}}, ""},
        StrategyCase{"PReLU", {kGrid, kFloats}, {}, {{1, 4}, {1}}, "PReLU:strategy-axis"},
        StrategyCase{"PReLU", {kGrid, {.shape = {1}}}, {}, {{1, 4}, {1}}, ""},
        StrategyCase{"Arange", {}, {{"start", 0}, {"end", 8}}, {{4}}, ""},
        StrategyCase{"Arange", {}, {{"start", 0}, {"end", 6}}, {{4}}, "Arange:strategy-divisible"},
        StrategyCase{"Range",
                     {},
                     {{"start", 0}, {"limit", 8}, {"delta", 1}},
                     {{4}},
                     "Range:strategy-entries"},
        StrategyCase{"FillV2", {{}}, {{"shape", Numbers{4}}}, {{4}, {}}, ""},
        StrategyCase{"FFT", {kGrid}, {}, {{4, 1}}, ""},
        StrategyCase{"FFT", {kGrid}, {}, {{1, 4}}, "FFT:strategy-uncut"},
        StrategyCase{"FFTShift", {kGrid}, {}, {{4, 1}}, "FFTShift:strategy-uncut"},
        StrategyCase{"DCTN", {kGrid}, {{"axes", Numbers{1}}}, {{4, 1}}, ""}));

// 2 * (2^63 - 1 - 1) elements cannot be counted.
TEST(SpectralRefusal, HalfASpectrumOfTooManyElements) {
  const auto types = InferOp(
      "IRFFT", {{.shape = {std::numeric_limits<std::int64_t>::max()}, .dtype = DType::kComplex64}});
  EXPECT_FALSE(types.has_value());
}

}  // namespace
}  // namespace drydock::strategies::checks
