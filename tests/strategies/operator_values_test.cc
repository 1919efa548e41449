#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "tests/strategies/gradient_check.h"

/// Values of operators whose sharding and gradients the numeric proof covers, worked out by hand:
/// remainders, bits, padding, repetition, sorting, running extremes, transforms, progressions.
namespace drydock::strategies::checks {
namespace {

using Numbers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

// ---- Values
// -------------------------------------------------------------------------------------

struct ValueCase {
  const char* op;
  std::vector<NdArray> inputs;
  AttrMap attrs;
  NdArray expected;
  std::size_t output = 0;
  DType dtype = DType::kFloat64;
  friend void PrintTo(const ValueCase& one, std::ostream* stream) {
    *stream << one.op << "[" << one.output << "]";
  }
};

class OperatorValue : public testing::TestWithParam<ValueCase> {};

TEST_P(OperatorValue, IsWhatArithmeticSays) {
  const ValueCase& one = GetParam();
  const auto results =
      RunOp(one.op, one.inputs, one.attrs, std::vector<DType>(one.inputs.size(), one.dtype));
  ASSERT_TRUE(results.has_value()) << FormatError(results.error());
  const NdArray& actual = results->at(one.output);
  EXPECT_EQ(actual.shape, one.expected.shape);
  ASSERT_EQ(actual.data.size(), one.expected.data.size());
  for (std::size_t i = 0; i < actual.data.size(); ++i) {
    EXPECT_NEAR(actual.data[i], one.expected.data[i], 1e-12) << "element " << i;
  }
}

NdArray Row(Reals data) {
  const std::int64_t extent = std::ssize(data);
  return {.shape = {extent}, .data = std::move(data)};
}

NdArray Table(Shape shape, Reals data) {
  return {.shape = std::move(shape), .data = std::move(data)};
}

// Of 7 and -7 by 3: the quotient cut towards 0 is 2 and -2 (rest 1 and -1), rounded down 2 and -3
// (rest 1 and 2).
INSTANTIATE_TEST_SUITE_P(
    Remainders, OperatorValue,
    testing::Values(
        ValueCase{"TruncateMod", {Row({7, -7}), Row({3, 3})}, {}, Row({1, -1})},
        ValueCase{"Mod", {Row({7, -7}), Row({3, 3})}, {}, Row({1, -1})},
        ValueCase{"FmodTensor", {Row({7, -7}), Row({3, 3})}, {}, Row({1, -1})},
        ValueCase{"RemainderTensorTensor", {Row({7, -7}), Row({3, 3})}, {}, Row({1, 2})},
        ValueCase{"TruncateDiv", {Row({7, -7}), Row({3, 3})}, {}, Row({2, -2})},
        ValueCase{
            "DivMod", {Row({7, -7}), Row({3, 3})}, {{"rounding_mode", "floor"}}, Row({2, -3})},
        ValueCase{
            "DivMod", {Row({7, -7}), Row({3, 3})}, {{"rounding_mode", "trunc"}}, Row({2, -2})},
        ValueCase{"DivMod", {Row({7, -7}), Row({2, 2})}, {}, Row({3.5, -3.5})},
        ValueCase{"FmodScalar", {Row({7, -7})}, {{"other", 3}}, Row({1, -1})},
        ValueCase{"RemainderTensorScalar", {Row({7, -7})}, {{"other", 3}}, Row({1, 2})},
        // -7 mod 3 and -7 mod -3, rounded down: 2 and -1.
        ValueCase{"RemainderScalarTensor", {Row({3, -3})}, {{"input", -7}}, Row({2, -1})}));

// 12 = 1100b, 10 = 1010b.
INSTANTIATE_TEST_SUITE_P(
    Bits, OperatorValue,
    testing::Values(
        ValueCase{"BitwiseAnd", {Row({12}), Row({10})}, {}, Row({8}), 0, DType::kInt32},
        ValueCase{"BitwiseOr", {Row({12}), Row({10})}, {}, Row({14}), 0, DType::kInt32},
        ValueCase{"BitwiseXor", {Row({12}), Row({10})}, {}, Row({6}), 0, DType::kInt32},
        ValueCase{"LeftShift", {Row({3}), Row({4})}, {}, Row({48}), 0, DType::kInt32},
        // Arithmetic: -9 / 4 rounded down.
        ValueCase{"RightShift", {Row({-9}), Row({2})}, {}, Row({-3}), 0, DType::kInt32},
        ValueCase{"Gcd", {Row({12, 0}), Row({-18, 5})}, {}, Row({6, 5}), 0, DType::kInt32},
        ValueCase{"Invert", {Row({5})}, {}, Row({-6}), 0, DType::kInt32},
        ValueCase{"Invert", {Row({5})}, {}, Row({250}), 0, DType::kUInt8},
        // -1 as int16 has 16 bits set.
        ValueCase{"PopulationCount", {Row({7, -1})}, {}, Row({3, 16}), 0, DType::kInt16}));

INSTANTIATE_TEST_SUITE_P(
    Functions, OperatorValue,
    testing::Values(
        ValueCase{"HShrink", {Row({-1, 0.4, 2})}, {}, Row({-1, 0, 2})},
        ValueCase{"SoftShrink", {Row({-1, 0.4, 2})}, {}, Row({-0.5, 0, 1.5})},
        ValueCase{"ClampScalar", {Row({-1, 0.4, 2})}, {{"max", 1}}, Row({-1, 0.4, 1})},
        ValueCase{"LeakyReLUExt", {Row({-2, 3})}, {{"negative_slope", 0.25}}, Row({-0.5, 3})},
        // log(1 + exp(0)) = log 2; beyond the threshold the input itself.
        ValueCase{"SoftplusExt", {Row({0, 30})}, {}, Row({std::numbers::ln2, 30})},
        ValueCase{"Activation", {Row({-1, 3, 9})}, {{"activation_type", "relu6"}}, Row({0, 3, 6})},
        ValueCase{"AddExt", {Row({1}), Row({2})}, {{"alpha", 3}}, Row({7})},
        ValueCase{"SubExt", {Row({1}), Row({2})}, {{"alpha", 3}}, Row({-5})},
        ValueCase{"AddcmulExt", {Row({1}), Row({2}), Row({3})}, {{"value", 2}}, Row({13})},
        // 1 + 2 * (3 * 4), 1 + 2 * (6 / 3).
        ValueCase{"Addcmul", {Row({1}), Row({3}), Row({4}), Row({2})}, {}, Row({25})},
        ValueCase{"Addcdiv", {Row({1}), Row({6}), Row({3}), Row({2})}, {}, Row({5})},
        ValueCase{"Lerp", {Row({1}), Row({5}), Row({0.25})}, {}, Row({2})},
        ValueCase{"Outer", {Row({1, 2}), Row({3, 4})}, {}, Table({2, 2}, {3, 4, 6, 8})},
        ValueCase{"IsClose",
                  {Row({1, 1, std::nan("")}), Row({1.000001, 1.1, std::nan("")})},
                  {},
                  Row({1, 0, 1})},
        ValueCase{"Hypot", {Row({3}), Row({4})}, {}, Row({5})}));

// Paddings come in pairs, last dimension first.
const NdArray kSquare = Table({2, 2}, {1, 2, 3, 4});
INSTANTIATE_TEST_SUITE_P(
    Placement, OperatorValue,
    testing::Values(
        ValueCase{"PadV3",
                  {kSquare, Table({}, {9})},
                  {{"paddings", Numbers{1, 0, 0, 1}}},
                  Table({3, 3}, {9, 1, 2, 9, 3, 4, 9, 9, 9})},
        ValueCase{"PadV3", {kSquare}, {{"paddings", Numbers{-1, 0}}}, Table({2, 1}, {2, 4})},
        ValueCase{"PadV3",
                  {Row({1, 2, 3})},
                  {{"paddings", Numbers{2, 1}}, {"mode", "reflect"}},
                  Row({3, 2, 1, 2, 3, 2})},
        ValueCase{"PadV3",
                  {Row({1, 2, 3})},
                  {{"paddings", Numbers{2, 1}}, {"mode", "edge"}},
                  Row({1, 1, 1, 2, 3, 3})},
        ValueCase{"PadV3",
                  {Row({1, 2, 3})},
                  {{"paddings", Numbers{2, 1}}, {"mode", "circular"}},
                  Row({2, 3, 1, 2, 3, 1})},
        ValueCase{"RepeatInterleaveInt",
                  {kSquare},
                  {{"repeats", 2}, {"dim", 1}},
                  Table({2, 4}, {1, 1, 2, 2, 3, 3, 4, 4})},
        ValueCase{"RepeatInterleave", {kSquare}, {{"repeats", 2}}, Row({1, 1, 2, 2, 3, 3, 4, 4})},
        ValueCase{"RepeatElements",
                  {kSquare},
                  {{"rep", 2}, {"axis", 0}},
                  Table({4, 2}, {1, 2, 1, 2, 3, 4, 3, 4})},
        ValueCase{"SliceExt",
                  {Row({0, 1, 2, 3, 4})},
                  {{"dim", 0}, {"start", -4}, {"end", 5}, {"step", 2}},
                  Row({1, 3})},
        ValueCase{"SplitTensor", {Row({0, 1, 2, 3, 4})}, {{"split_size", 2}}, Row({4}), 2},
        ValueCase{"SplitWithSize",
                  {Row({0, 1, 2, 3, 4})},
                  {{"split_size", Numbers{1, 4}}},
                  Row({1, 2, 3, 4}),
                  1},
        ValueCase{"Stack", {Row({1, 2}), Row({3, 4})}, {{"axis", -1}}, Table({2, 2}, {1, 3, 2, 4})},
        ValueCase{"Tril", {kSquare}, {}, Table({2, 2}, {1, 0, 3, 4})},
        ValueCase{"Triu", {kSquare}, {{"diagonal", 1}}, Table({2, 2}, {0, 2, 0, 0})}));

INSTANTIATE_TEST_SUITE_P(
    AlongDimensions, OperatorValue,
    testing::Values(
        ValueCase{"Sort", {Row({3, 1, 2})}, {}, Row({1, 2, 3})},
        ValueCase{"Sort", {Row({3, 1, 2})}, {{"descending", true}}, Row({0, 2, 1}), 1},
        ValueCase{
            "SortExt", {Table({2, 2}, {3, 1, 2, 4})}, {{"dim", 0}}, Table({2, 2}, {2, 1, 3, 4})},
        ValueCase{"TopkExt", {Row({3, 1, 2})}, {{"k", 2}, {"largest", false}}, Row({1, 2})},
        ValueCase{"CumProd", {Row({2, 3, 4})}, {{"axis", 0}}, Row({2, 6, 24})},
        ValueCase{"CumProd",
                  {Row({2, 3, 4})},
                  {{"axis", 0}, {"exclusive", true}, {"reverse", true}},
                  Row({12, 4, 1})},
        ValueCase{"Cummax", {Row({1, 3, 2, 3})}, {{"axis", 0}}, Row({1, 3, 3, 3})},
        // Of equal extremes the latest.
        ValueCase{"Cummax", {Row({1, 3, 2, 3})}, {{"axis", 0}}, Row({0, 1, 1, 3}), 1},
        ValueCase{"Cummin", {Row({2, 3, 1})}, {{"axis", 0}}, Row({2, 2, 1})},
        ValueCase{"CumsumExt", {Row({1, 2, 3})}, {{"dim", -1}}, Row({1, 3, 6})},
        // Length 5.
        ValueCase{"L2Normalize", {Row({3, 4})}, {}, Row({0.6, 0.8})},
        ValueCase{"ReverseV2", {Row({1, 2, 3})}, {{"axis", Numbers{0}}}, Row({3, 2, 1})},
        // 2 * sigmoid(2) * 3.
        ValueCase{"Swiglu", {Row({2, 3})}, {}, Row({6 / (1 + std::exp(-2.0))})},
        // (2 0; 1 3) times its transpose is (4 2; 2 10).
        ValueCase{"Cholesky", {Table({2, 2}, {4, 2, 2, 10})}, {}, Table({2, 2}, {2, 0, 1, 3})},
        ValueCase{"Cholesky",
                  {Table({2, 2}, {4, 2, 2, 10})},
                  {{"upper", true}},
                  Table({2, 2}, {2, 1, 0, 3})},
        ValueCase{"MeanExt", {kSquare}, {{"dim", Numbers{0}}}, Row({2, 3})},
        ValueCase{
            "SumExt", {kSquare}, {{"dim", Numbers{1}}, {"keepdim", true}}, Table({2, 1}, {3, 7})},
        ValueCase{"MaxDim", {kSquare}, {{"dim", 1}}, Row({1, 1}), 1},
        ValueCase{"Argmax", {kSquare}, {{"axis", 0}}, Row({1, 1})},
        ValueCase{"Argmin", {kSquare}, {}, Row({0, 0})},
        ValueCase{"ReduceAll", {Row({1, 0})}, {}, Table({}, {0}), 0, DType::kBool},
        ValueCase{"ReduceAny", {Row({1, 0})}, {}, Table({}, {1}), 0, DType::kBool},
        ValueCase{"L2Loss", {Row({1, 2})}, {}, Table({}, {2.5})},
        ValueCase{"SquareSumAll", {Row({1, 2}), Row({3, 4})}, {}, Table({}, {25}), 1},
        ValueCase{
            "PReLU", {Table({1, 2}, {-2, -2}), Row({0.5, 0.25})}, {}, Table({1, 2}, {-1, -0.5})}));

// Of (1, 2): 2 (1 + 2) = 6, and 2 (cos(pi/4) + 2 cos(3 pi/4)) = -sqrt(2). With both halves scaled
// to an orthonormal transform: 6 / sqrt(8) and -sqrt(2) / sqrt(4).
const double kRootTwo = std::numbers::sqrt2;
INSTANTIATE_TEST_SUITE_P(
    Transforms, OperatorValue,
    testing::Values(
        ValueCase{"DCT", {Row({1, 2})}, {}, Row({6, -kRootTwo})},
        ValueCase{"DCT", {Row({1, 2})}, {{"norm", "ortho"}}, Row({3 / kRootTwo, -kRootTwo / 2})},
        // Divided by 2 n = 4.
        ValueCase{"DCT", {Row({1, 2})}, {{"norm", "forward"}}, Row({1.5, -kRootTwo / 4})},
        ValueCase{"IDCT", {Row({6, -kRootTwo})}, {}, Row({1, 2})},
        ValueCase{"IDCT", {Row({1.5, -kRootTwo / 4})}, {{"norm", "forward"}}, Row({1, 2})},
        ValueCase{"FFTShift", {Row({0, 1, 2, 3, 4})}, {}, Row({3, 4, 0, 1, 2})},
        ValueCase{"IFFTShift", {Row({3, 4, 0, 1, 2})}, {}, Row({0, 1, 2, 3, 4})}));

INSTANTIATE_TEST_SUITE_P(
    Progressions, OperatorValue,
    testing::Values(
        ValueCase{"Arange", {}, {{"start", 1}, {"end", 6}, {"step", 2}}, Row({1, 3, 5})},
        ValueCase{"Arange", {}, {{"start", 3}, {"end", 0}, {"step", -1}}, Row({3, 2, 1})},
        ValueCase{"Range", {}, {{"start", 0}, {"limit", 1.0}, {"delta", 0.5}}, Row({0, 0.5})},
        ValueCase{"LinSpace",
                  {Table({}, {1}), Table({}, {2})},
                  {{"num", 5}},
                  Row({1, 1.25, 1.5, 1.75, 2})},
        ValueCase{"LinSpaceExt", {Table({}, {1}), Table({}, {2})}, {{"steps", 1}}, Row({1})},
        ValueCase{"FillV2", {Table({}, {4})}, {{"shape", Numbers{2}}}, Row({4, 4})}));

// ---- Gradients that the proof cannot reach: a padding by values of the tensor cannot be cut
// --------

class PaddingMode : public testing::TestWithParam<const char*> {};

TEST_P(PaddingMode, GradientAgreesWithFiniteDifferences) {
  const std::uint64_t seed = SeedOr(61);
  SCOPED_TRACE("DRYDOCK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  EXPECT_TRUE(GradientAgrees({.op = "PadV3",
                              .inputs = {RandomArray({3, 4}, random, -1, 1)},
                              .attrs = {{"paddings", Numbers{2, 1, 0, 2}}, {"mode", GetParam()}}}));
}

INSTANTIATE_TEST_SUITE_P(All, PaddingMode, testing::Values("reflect", "edge", "circular"));

}  // namespace
}  // namespace drydock::strategies::checks
