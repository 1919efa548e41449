#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "strategies/rules/common/array_math.h"
#include "strategies/rules/common/common_gradients.h"
#include "strategies/rules/common/common_rules.h"

/// Cholesky factor of the last two dimensions, which stay whole. Source: mindspore
/// ops_info/batch_parallel_info.cc.
namespace drydock::strategies {
namespace {

using Gradients = Result<std::vector<ValueId>>;

Status ExpectSquare(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectFloating(op, 0));
  DRYDOCK_RETURN_IF_ERROR(ExpectRank(op, 0, 2, std::string::npos));
  const Shape& shape = op.inputs[0].shape;
  if (shape[shape.size() - 1] == shape[shape.size() - 2]) {
    return {};
  }
  return FailOp(
      op, "shape-mismatch",
      "'" + std::string(op.op) + "' takes square matrices, but its input is " + TupleText(shape));
}

Result<std::vector<TensorType>> InferCholesky(const OpView& op) {
  DRYDOCK_RETURN_IF_ERROR(ExpectInputs(op, 1, 1));
  DRYDOCK_RETURN_IF_ERROR(ExpectSquare(op));
  return std::vector<TensorType>{op.inputs[0]};
}

Result<ShardRule> ShardCholesky(const OpView& op, const Strategy& /*strategy*/) {
  const std::size_t rank = op.inputs[0].shape.size();
  const std::size_t whole[] = {rank - 2, rank - 1};
  return AxisLocalRule(op, whole, "a matrix dimension of '" + std::string(op.op) + "'");
}

/// Last two dimensions exchanged.
Result<ValueId> Transposed(const GradientContext& context, ValueId value) {
  const auto rank = std::ssize(context.TypeOf(value).shape);
  std::vector<std::int64_t> order = {};
  for (std::int64_t d = 0; d < rank; ++d) {
    order.push_back(d);
  }
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return context.Emit("Transpose", {value}, {{"input_perm", order}});
}

/// The kernel takes lower factors.
Gradients GradientOfCholesky(const GradientContext& context) {
  DRYDOCK_TRY(const bool upper, BoolAttr(context.node.attrs, "upper", false));
  ValueId factor = ResultOf(context);
  ValueId gradient = OutputGradient(context);
  if (upper) {
    DRYDOCK_TRY(factor, Transposed(context, factor));
    DRYDOCK_TRY(gradient, Transposed(context, gradient));
  }
  DRYDOCK_TRY(const ValueId result, context.Emit("CholeskyGrad", {factor, gradient}));
  return std::vector<ValueId>{result};
}

/// A square matrix of the batch.
class SquareMatrix {
 public:
  explicit SquareMatrix(std::size_t n) : n_(n), data_(n * n, 0.0) {}
  SquareMatrix(const double* data, std::size_t n) : n_(n), data_(data, data + n * n) {}
  [[nodiscard]] double At(std::size_t i, std::size_t j) const { return data_[i * n_ + j]; }
  double& At(std::size_t i, std::size_t j) { return data_[i * n_ + j]; }
  [[nodiscard]] std::size_t n() const { return n_; }
  [[nodiscard]] const std::vector<double>& data() const { return data_; }

 private:
  std::size_t n_;
  std::vector<double> data_;
};

SquareMatrix TransposeOf(const SquareMatrix& a) {
  SquareMatrix out(a.n());
  for (std::size_t i = 0; i < a.n(); ++i) {
    for (std::size_t j = 0; j < a.n(); ++j) {
      out.At(j, i) = a.At(i, j);
    }
  }
  return out;
}

SquareMatrix Half(const SquareMatrix& a) {
  SquareMatrix out(a.n());
  for (std::size_t i = 0; i < a.n(); ++i) {
    for (std::size_t j = 0; j < a.n(); ++j) {
      out.At(i, j) = 0.5 * (a.At(i, j) + a.At(j, i));
    }
  }
  return out;
}

SquareMatrix LowerFactor(const SquareMatrix& a) {
  SquareMatrix out(a.n());
  for (std::size_t i = 0; i < a.n(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = a.At(i, j);
      for (std::size_t k = 0; k < j; ++k) {
        rest -= out.At(i, k) * out.At(j, k);
      }
      out.At(i, j) = i == j ? std::sqrt(rest) : rest / out.At(j, j);
    }
  }
  return out;
}

/// Solves transpose(l) * x = b for lower triangular l.
SquareMatrix SolveTransposed(const SquareMatrix& l, const SquareMatrix& b) {
  SquareMatrix out(l.n());
  for (std::size_t column = 0; column < l.n(); ++column) {
    for (std::size_t i = l.n(); i-- > 0;) {
      double rest = b.At(i, column);
      for (std::size_t k = i + 1; k < l.n(); ++k) {
        rest -= l.At(k, i) * out.At(k, column);
      }
      out.At(i, column) = rest / l.At(i, i);
    }
  }
  return out;
}

/// With P = lower half of transpose(L) * dL, diagonal halved: the symmetric part of
/// transpose(L)^-1 * P * L^-1.
SquareMatrix FactorGradient(const SquareMatrix& l, const SquareMatrix& dl) {
  SquareMatrix p(l.n());
  for (std::size_t i = 0; i < l.n(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t k = i; k < l.n(); ++k) {
        p.At(i, j) += l.At(k, i) * (k >= j ? dl.At(k, j) : 0.0);
      }
      p.At(i, j) *= i == j ? 0.5 : 1.0;
    }
  }
  const SquareMatrix left = SolveTransposed(l, p);
  return Half(TransposeOf(SolveTransposed(l, TransposeOf(left))));
}

/// f(matrix number of the batch), all results in one array of `shape`.
template <typename F>
NdArray ForEachMatrix(const Shape& shape, F f) {
  NdArray out{.shape = shape};
  const auto n = static_cast<std::size_t>(shape.back());
  const auto count = static_cast<std::size_t>(FilledArray(shape, 0.0).data.size());
  for (std::size_t begin = 0; begin < count; begin += n * n) {
    const SquareMatrix result = f(begin, n);
    out.data.insert(out.data.end(), result.data().begin(), result.data().end());
  }
  return out;
}

/// The reference reads one half of a symmetric matrix; here both halves count alike, so that
/// gradients are symmetric.
Result<std::vector<NdArray>> EvaluateCholesky(const EvaluateContext& context) {
  DRYDOCK_TRY(const bool upper, BoolAttr(context.attrs, "upper", false));
  const NdArray& a = context.inputs[0];
  return std::vector<NdArray>{ForEachMatrix(a.shape, [&](std::size_t begin, std::size_t n) {
    SquareMatrix factor = LowerFactor(Half(SquareMatrix(a.data.data() + begin, n)));
    return upper ? TransposeOf(factor) : factor;
  })};
}

Result<std::vector<NdArray>> EvaluateCholeskyGrad(const EvaluateContext& context) {
  const NdArray& l = context.inputs[0];
  const NdArray& dl = context.inputs[1];
  return std::vector<NdArray>{ForEachMatrix(l.shape, [&](std::size_t begin, std::size_t n) {
    return FactorGradient(SquareMatrix(l.data.data() + begin, n),
                          SquareMatrix(dl.data.data() + begin, n));
  })};
}

/// n^3 / 3 for each matrix.
double CholeskyFlops(const OpView& op) {
  const Shape& shape = op.inputs[0].shape;
  return Elements(op.inputs[0]) * static_cast<double>(shape.empty() ? 1 : shape.back()) / 3.0;
}

DRYDOCK_OP(Cholesky, .family = "axis_local", .signature = "Cholesky()(input_x, #upper=False)",
           .infer = InferCholesky, .shard = ShardCholesky, .gradient = GradientOfCholesky,
           .evaluate = EvaluateCholesky, .flops = CholeskyFlops, .cost = CostFamily::kSoftmax,
           .accepts_layout = true, .example = "()((2, 4, 4))");
DRYDOCK_OP(CholeskyGrad, .family = "gradient", .signature = "CholeskyGrad()(x, grad)",
           .infer = InferFirst, .gradient = GradientNotNeeded, .evaluate = EvaluateCholeskyGrad,
           .flops = CholeskyFlops);

}  // namespace
}  // namespace drydock::strategies
