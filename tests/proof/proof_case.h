#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string_view>
#include <vector>

#include "strategies/graph/attr.h"
#include "strategies/graph/dtype.h"
#include "strategies/operators/nd_array.h"
#include "tests/proof/draw.h"

/// What the numeric proof needs to know about an operator: how to draw a small random application.
///
/// The engine (proof_step.h) does the rest: random worlds, legal strategies and layouts; sharded
/// results and gradients against one device; gradients against finite differences.
namespace drydock::strategies::proof {

/// How the numbers of an operand are drawn.
enum class Values : std::uint8_t {
  kSpread,       ///< Different numbers, evenly spread over (low, high): no ties, kinks avoided.
  kInteger,      ///< Whole numbers in [low, high].
  kDistinct,     ///< Whole numbers in [low, high], no two alike (a permutation if they all fit).
  kSorted,       ///< As kSpread, ascending along the last dimension.
  kOneHot,       ///< 0 with one 1 in each row of the last dimension.
  kProbability,  ///< In (0, 1), rows of the last dimension add up to 1.
  kFixed,        ///< `data` as it is.
};

/// Where an operand comes from in the training step.
enum class Feed : std::uint8_t {
  kAny,        ///< The engine draws: parameter, data-set input, or result of another operator.
  kParameter,  ///< A parameter; in updates the state of operand 0, or one number.
  kInput,      ///< A data-set input.
  kConstant,   ///< A constant of the graph (scalars, tables).
  kGradient,   ///< The gradient of operand 0 (operators that update a parameter).
  kAbsent,     ///< An optional operand that is not given.
};

/// One operand of an application. Made by the functions below.
struct Operand {
  TensorType type = {};
  Values values = Values::kSpread;
  double low = -2.0;
  double high = 2.0;
  std::vector<double> data = {};  ///< For kFixed.
  bool differentiable = true;     ///< Its gradient is checked; ignored if not floating.
  Feed feed = Feed::kAny;
};

/// Different floats in (low, high), none a multiple of (high - low) / 8.
[[nodiscard]] Operand Floats(Shape shape, double low = -2.0, double high = 2.0);
/// Floats in (0.3, 2.3).
[[nodiscard]] Operand Positive(Shape shape);
/// int32 numbers in [0, below).
[[nodiscard]] Operand Indices(Shape shape, std::int64_t below, DType dtype = DType::kInt32);
/// Whole numbers in [low, high] of any element type (floating ones are not differentiated by).
[[nodiscard]] Operand Integers(Shape shape, std::int64_t low, std::int64_t high,
                               DType dtype = DType::kInt32);
/// Random truth values.
[[nodiscard]] Operand Bools(Shape shape);
/// Given contents.
[[nodiscard]] Operand Fixed(Shape shape, std::vector<double> data, DType dtype = DType::kFloat32);
/// A scalar constant of the graph, not differentiated by.
[[nodiscard]] Operand Scalar(double value, DType dtype = DType::kFloat32);
/// An optional operand that is not given.
[[nodiscard]] Operand Absent();
/// The operand with another way of drawing, feed, element type, or without gradient.
[[nodiscard]] Operand WithValues(Operand operand, Values values);
[[nodiscard]] Operand FedAs(Operand operand, Feed feed);
[[nodiscard]] Operand OfType(Operand operand, DType dtype);
[[nodiscard]] Operand NoGradient(Operand operand);

/// One application of an operator, legal on one device.
struct ProofCase {
  std::vector<Operand> operands = {};
  AttrMap attrs = {};
  /// Outputs that reach the loss; empty = all floating ones.
  std::vector<bool> weighed = {};
  /// Outputs whose values are compared; empty = all (false for random ones, such as masks).
  std::vector<bool> compared = {};
  /// Outputs of which every rank has its own: the mean over all ranks is the whole's; none if
  /// empty.
  std::vector<bool> per_rank = {};
  /// The operator (of an update: its weight) is not cut.
  bool whole = false;
  /// Sharded against whole, relative to max(1, |value|).
  double tolerance = 1e-8;
  /// Gradient against finite difference, relative to max(1, |slope|), and the difference's step.
  double slope_tolerance = 1e-5;
  double slope_step = 1e-5;
  /// False where the gradient is not that of the values (straight-through estimators).
  bool check_slope = true;
};

/// Draws an application of operator `draw.op()`.
using CaseGenerator = ProofCase (*)(Draw& draw);

/// What is registered for an operator: a generator, or the reason why there is none.
struct ProofEntry {
  std::string_view op = {};
  CaseGenerator generator = nullptr;
  std::string_view reason = {};
  friend void PrintTo(const ProofEntry& one, std::ostream* out) { *out << one.op; }
};

/// Adds entries during static initialisation; use the macros.
struct ProofRegistrar {
  ProofRegistrar(CaseGenerator generator, std::initializer_list<std::string_view> ops);
  ProofRegistrar(std::string_view reason, std::initializer_list<std::string_view> ops);
};

/// PROOF_CASES(MatMul, MatMulCase);
#define PROOF_CASES(op, generator) PROOF_CASES_OF(op, generator, #op)
/// One generator for a family: PROOF_CASES_OF(Unary, UnaryCase, "Sin", "Cos"); `id` is any name
/// that is unique in the file.
#define PROOF_CASES_OF(id, generator, ...) \
  const ::drydock::strategies::proof::ProofRegistrar proof_cases_##id(generator, {__VA_ARGS__})
/// Operators that cannot be proven numerically, with the reason: PROOF_NONE(Fft, "complex values",
/// "FFT", "IFFT");
#define PROOF_NONE(id, reason, ...)                                                            \
  const ::drydock::strategies::proof::ProofRegistrar proof_none_##id(std::string_view(reason), \
                                                                     {__VA_ARGS__})

/// All registered entries by operator name.
[[nodiscard]] const std::vector<ProofEntry>& AllProofEntries();

/// Entry of an operator, null if there is none.
[[nodiscard]] const ProofEntry* FindProof(std::string_view op);

/// Numbers of an operand.
[[nodiscard]] NdArray DrawValues(const Operand& operand, std::mt19937_64& random);

}  // namespace drydock::strategies::proof
