#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/result.h"
#include "strategies/operators/builder.h"
#include "strategies/operators/nd_array.h"

/// Runs single operators on numbers and compares their gradient functions with finite differences.
namespace drydock::strategies::checks {

/// Output types of one operator application.
[[nodiscard]] Result<std::vector<TensorType>> InferOp(std::string_view op,
                                                      const std::vector<TensorType>& inputs,
                                                      AttrMap attrs = {});

/// Results of one operator application; element types default to float64.
[[nodiscard]] Result<std::vector<NdArray>> RunOp(std::string_view op,
                                                 const std::vector<NdArray>& inputs,
                                                 AttrMap attrs = {},
                                                 std::vector<DType> dtypes = {});

/// Values of all tensors of a program of one rank; `leaves` are the graph inputs in order.
[[nodiscard]] Result<std::vector<NdArray>> RunGraph(const Graph& graph,
                                                    const std::vector<NdArray>& leaves);

/// An operator whose gradient is checked.
struct GradientCase {
  std::string op = {};
  std::vector<NdArray> inputs = {};
  AttrMap attrs = {};
  std::vector<DType> dtypes = {};  ///< Per input; float64 if empty.
  std::vector<bool> wanted = {};   ///< Inputs to differentiate by; the floating ones if empty.
  std::vector<bool> weighed = {};  ///< Outputs that reach the loss; the floating ones if empty.
  double step = 1e-5;              ///< Half distance of the central difference.
  double tolerance = 1e-6;         ///< On |difference| / max(1, |slope|).
};

/// True if the operator's gradient function agrees with central differences of its evaluation, for
/// a loss that weighs every element of every output in `weighed` differently. A gradient of another
/// type than its input, or a gradient nobody asked for, is a failure as well.
[[nodiscard]] testing::AssertionResult GradientAgrees(const GradientCase& one);

/// Array of numbers drawn from [low, high).
[[nodiscard]] NdArray RandomArray(const Shape& shape, std::mt19937_64& random, double low,
                                  double high);

/// The same with different numbers that keep a distance of at least 0.01 (no ties, no kinks).
[[nodiscard]] NdArray SpreadArray(const Shape& shape, std::mt19937_64& random);

/// 0, 1, 2, ... in a shape.
[[nodiscard]] NdArray Counting(const Shape& shape);

/// Seed of a randomized test: DRYDOCK_SEED of the environment, else `fallback`. Tests print it.
[[nodiscard]] std::uint64_t SeedOr(std::uint64_t fallback);

}  // namespace drydock::strategies::checks
