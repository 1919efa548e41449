#include "strategies/rules/linalg/small_matrix.h"

#include <cmath>
#include <utility>

namespace drydock::strategies {
namespace {

template <typename F>
Matrix Combined(const Matrix& a, const Matrix& b, F f) {
  Matrix out = a;
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    out.data[i] = f(a.data[i], b.data[i]);
  }
  return out;
}

Matrix Empty(std::int64_t rows, std::int64_t columns) {
  return {.rows = rows,
          .columns = columns,
          .data = std::vector<double>(static_cast<std::size_t>(rows * columns), 0.0)};
}

void ExchangeRows(Matrix& a, std::int64_t i, std::int64_t j) {
  for (std::int64_t c = 0; c < a.columns; ++c) {
    std::swap(a.At(i, c), a.At(j, c));
  }
}

/// row `to` -= factor * row `from`.
void SubtractRow(Matrix& a, std::int64_t from, std::int64_t to, double factor) {
  for (std::int64_t c = 0; c < a.columns; ++c) {
    a.At(to, c) -= factor * a.At(from, c);
  }
}

}  // namespace

Matrix MatrixAt(const NdArray& array, std::int64_t index) {
  const std::size_t rank = array.shape.size();
  Matrix out{.rows = array.shape[rank - 2], .columns = array.shape[rank - 1]};
  const std::int64_t size = out.rows * out.columns;
  const auto begin = array.data.begin() + (rank > 2 ? index * size : 0);
  out.data.assign(begin, begin + size);
  return out;
}

Matrix Identity(std::int64_t n) {
  Matrix out = Empty(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    out.At(i, i) = 1;
  }
  return out;
}

Matrix Transposed(const Matrix& a) {
  Matrix out = Empty(a.columns, a.rows);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) {
      out.At(c, r) = a.At(r, c);
    }
  }
  return out;
}

Matrix Product(const Matrix& a, const Matrix& b) {
  Matrix out = Empty(a.rows, b.columns);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < b.columns; ++c) {
      for (std::int64_t k = 0; k < a.columns; ++k) {
        out.At(r, c) += a.At(r, k) * b.At(k, c);
      }
    }
  }
  return out;
}

Matrix Plus(const Matrix& a, const Matrix& b) {
  return Combined(a, b, [](double x, double y) { return x + y; });
}

Matrix Minus(const Matrix& a, const Matrix& b) {
  return Combined(a, b, [](double x, double y) { return x - y; });
}

Matrix TrianglePart(const Matrix& a, bool lower, bool unit) {
  Matrix out = Empty(a.rows, a.columns);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) {
      const bool inside = lower ? c <= r : c >= r;
      out.At(r, c) = inside ? a.At(r, c) : 0.0;
    }
    out.At(r, r) = unit ? 1.0 : out.At(r, r);
  }
  return out;
}

Matrix SolveSquare(Matrix a, Matrix b) {
  for (std::int64_t pivot = 0; pivot < a.rows; ++pivot) {
    std::int64_t best = pivot;
    for (std::int64_t r = pivot + 1; r < a.rows; ++r) {
      best = std::fabs(a.At(r, pivot)) > std::fabs(a.At(best, pivot)) ? r : best;
    }
    ExchangeRows(a, pivot, best);
    ExchangeRows(b, pivot, best);
    for (std::int64_t r = 0; r < a.rows; ++r) {
      if (r != pivot) {
        const double factor = a.At(r, pivot) / a.At(pivot, pivot);
        SubtractRow(a, pivot, r, factor);
        SubtractRow(b, pivot, r, factor);
      }
    }
  }
  for (std::int64_t r = 0; r < b.rows; ++r) {
    for (std::int64_t c = 0; c < b.columns; ++c) {
      b.At(r, c) /= a.At(r, r);
    }
  }
  return b;
}

Matrix PseudoInverse(const Matrix& a) {
  const Matrix t = Transposed(a);
  if (a.rows >= a.columns) {
    return SolveSquare(Product(t, a), t);
  }
  return Transposed(SolveSquare(Product(a, t), a));
}

}  // namespace drydock::strategies
