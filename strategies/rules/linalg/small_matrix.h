#pragma once

#include <cstdint>
#include <vector>

#include "strategies/operators/nd_array.h"

/// Small dense matrices for reference evaluations: clear, not fast.
namespace drydock::strategies {

struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> data = {};  ///< Row major.
  [[nodiscard]] double& At(std::int64_t row, std::int64_t column) {
    return data[static_cast<std::size_t>(row * columns + column)];
  }
  [[nodiscard]] double At(std::int64_t row, std::int64_t column) const {
    return data[static_cast<std::size_t>(row * columns + column)];
  }
};

/// Matrix number `index` of an array of matrices; the array itself if it has two dimensions.
[[nodiscard]] Matrix MatrixAt(const NdArray& array, std::int64_t index);

[[nodiscard]] Matrix Identity(std::int64_t n);
[[nodiscard]] Matrix Transposed(const Matrix& a);
[[nodiscard]] Matrix Product(const Matrix& a, const Matrix& b);
[[nodiscard]] Matrix Plus(const Matrix& a, const Matrix& b);
[[nodiscard]] Matrix Minus(const Matrix& a, const Matrix& b);

/// The lower or upper triangle of a square matrix, zeros elsewhere; ones on the diagonal if `unit`.
[[nodiscard]] Matrix TrianglePart(const Matrix& a, bool lower, bool unit);

/// x with a x = b, by elimination with row exchanges. A singular matrix gives infinities.
[[nodiscard]] Matrix SolveSquare(Matrix a, Matrix b);

/// (a^T a)^-1 a^T, or a^T (a a^T)^-1 for more columns than rows; a has full rank.
[[nodiscard]] Matrix PseudoInverse(const Matrix& a);

}  // namespace drydock::strategies
