#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/graph/attr.h"
#include "strategies/graph/dtype.h"

/// Small legal applications of operators by name, one table for each group of families.
namespace drydock::strategies::cases {

struct Sample {
  std::vector<TensorType> inputs = {};
  AttrMap attrs = {};
  std::uint64_t absent = 0;  ///< As in OpView: optional tensors of the call that are not given.
};

using Samples = std::map<std::string_view, Sample>;

[[nodiscard]] inline TensorType Float(Shape shape) {
  return {.shape = std::move(shape), .dtype = DType::kFloat32};
}

[[nodiscard]] inline TensorType Int(Shape shape) {
  return {.shape = std::move(shape), .dtype = DType::kInt32};
}

[[nodiscard]] inline std::vector<std::int64_t> List(std::vector<std::int64_t> values) {
  return values;
}

/// Families elementwise_unary, broadcast_binary, shape, axis_local, reduction, creation, fft.
[[nodiscard]] Samples ArithmeticSamples();

/// Families scatter, gather, matmul, quant, random, moe, detection, linalg, dataset.
[[nodiscard]] Samples PlaceAndProductSamples();

/// Families conv_pool, normalisation, attention.
[[nodiscard]] Samples NetworkSamples();

}  // namespace drydock::strategies::cases
