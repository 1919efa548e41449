#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "strategies/layout/redistribution.h"
#include "strategies/layout/tensor_layout.h"

// A slow, obvious executor of redistributions on real numbers, and generators of layouts. Written
// from the meaning of the primitives (docs/sharding.md) and from the plain
// coordinate formulas, without the library's symbolic forms where those are under test.

namespace drydock::strategies::oracle {

/// A dense row-major tensor on one rank.
struct Tensor {
  Shape shape = {};
  std::vector<std::int64_t> values = {};
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// One tensor per rank of the stage.
using Job = std::vector<Tensor>;

/// The slice a rank owns, from its coordinates in the device matrix (sections 1.1, 1.4 and 2).
[[nodiscard]] Tensor OwnedSlice(const Tensor& whole, const TensorLayout& layout,
                                std::int64_t position);

/// All ranks' slices of the tensor with values 0, 1, 2, .. seen in the layout's shape.
[[nodiscard]] Job SlicesOfCountingTensor(const TensorLayout& layout);

/// Runs the primitives on all ranks in lock step.
[[nodiscard]] Job RunForward(const std::vector<RedistributionOp>& ops, Job job);

/// Gradients of the job's inputs from gradients of its outputs, by the table of section 9.
[[nodiscard]] Job RunBackward(const std::vector<RedistributionOp>& ops, Job gradients);

/// Two layouts of one tensor on one set of devices.
struct Pair {
  TensorLayout from = {};
  TensorLayout to = {};
};

/// Random pair: 2 to 16 devices, 16 to 576 elements, sometimes reshaped, nested or with ones.
[[nodiscard]] Pair RandomPair(std::mt19937_64* random);

/// Every valid layout with one axis per dimension of the given device matrix and shape.
[[nodiscard]] std::vector<TensorLayout> AllLayouts(const std::vector<std::int64_t>& device_matrix,
                                                   const Shape& shape);

/// Every way to write `value` as a product of factors above 1, in every order.
[[nodiscard]] std::vector<std::vector<std::int64_t>> Factorizations(std::int64_t value);

/// The layout as text, for messages.
[[nodiscard]] std::string TextOf(const TensorLayout& layout);

}  // namespace drydock::strategies::oracle
