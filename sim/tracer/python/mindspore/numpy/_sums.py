"""Sums, statistics without what is no number, and products of mindspore.numpy.

Source: mindspore/python/mindspore/numpy/math_ops.py, logic_ops.py (which operators, in which order).
"""
import math

from mindspore._drydock.errors import Unsupported, user_error
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.numpy._more import _axes, _expand, _must_be_tensor, _ops, _tensor, _typed
from mindspore.ops.operations._python_ops import constant
from mindspore.ops.primitive import cast, operator as op


def _is_nan(x):
    return _ops().isnan(x) if x.dtype.kind == "float" else constant(x.shape, 0, mstype.bool_)


def _reduced(name, x, axis, keepdims):
    return op(name, keep_dims=bool(keepdims))(x, _axes(axis, x.ndim))


def _without_nan(x, value):
    return op("Select")(_is_nan(x), constant(x.shape, value, x.dtype), x)


def _sum_without_nan(x, axis, keepdims):
    return _reduced("ReduceSum", _without_nan(x, 0), axis, keepdims)


def nansum(a, axis=None, dtype=None, keepdims=False):
    a = _tensor(a)
    return cast(_sum_without_nan(_without_nan(a, 0), axis, keepdims), a.dtype if dtype is None else mstype.dtype_of(dtype))


def nanmax(a, axis=None, dtype=None, keepdims=False):
    a = _tensor(a)
    return _typed(_reduced("ReduceMax", _without_nan(a, -9.223372036854775808e18), axis, keepdims), dtype)


def nanmin(a, axis=None, dtype=None, keepdims=False):
    a = _tensor(a)
    return _typed(_reduced("ReduceMin", _without_nan(a, 9.223372036854775807e18), axis, keepdims), dtype)


def _count(a, axis, keepdims):
    known = op("Select")(_is_nan(a), constant(a.shape, 0, a.dtype), constant(a.shape, 1, a.dtype))
    return _reduced("ReduceSum", known, axis, keepdims)


def nanmean(a, axis=None, dtype=None, keepdims=False):
    a = _tensor(a)
    return op("RealDiv")(nansum(a, axis, dtype or mstype.float32, keepdims), _count(a, axis, keepdims))


def _nan_variance(a, axis, ddof, keepdims):
    power = op("Pow")(op("Sub")(a, nanmean(a, axis, None, True)), 2)
    return op("RealDiv")(_sum_without_nan(power, axis, keepdims), op("Sub")(_count(a, axis, keepdims), ddof))


def nanvar(a, axis=None, dtype=None, ddof=0, keepdims=False):
    return cast(_nan_variance(_tensor(a), axis, ddof, keepdims), mstype.dtype_of(dtype, mstype.float32))


def nanstd(a, axis=None, dtype=None, ddof=0, keepdims=False):
    return cast(op("Sqrt")(_nan_variance(_tensor(a), axis, ddof, keepdims)), mstype.dtype_of(dtype, mstype.float32))


def nancumsum(a, axis=None, dtype=None):
    return _without_nan(_tensor(a), 0).cumsum(axis, dtype)


def ptp(x, axis=None, keepdims=False):
    """The largest minus the least element."""
    _must_be_tensor("ptp", x)
    return _reduced("ReduceMax", x, axis, keepdims) - _reduced("ReduceMin", x, axis, keepdims)


def average(x, axis=None, weights=None, returned=False):
    _must_be_tensor("average", x)
    if weights is None:
        result, total = _reduced("ReduceMean", x, axis, False), None
        if returned:
            count = math.prod(x.shape[dim] for dim in _axes(axis, x.ndim))
            total = constant(result.shape, count, x.dtype)
    else:
        _must_be_tensor("average", weights)
        if weights.shape != x.shape:
            if weights.ndim != 1 or not isinstance(axis, int):
                raise user_error(ValueError, "numpy.average:weights", "weights %s do not fit a tensor of shape %s" % (weights.shape, x.shape))
            weights = _ops().reshape(weights, tuple(extent if dim == axis % x.ndim else 1 for dim, extent in enumerate(x.shape)))
        total = _reduced("ReduceSum", weights, axis, False)
        result = op("RealDiv")(_reduced("ReduceSum", op("Mul")(x, weights), axis, False), total)
    if not returned:
        return result
    return result, total if total.shape == result.shape else _ops().broadcast_to(total, result.shape)


def sometrue(a, axis=None, keepdims=False):
    a = _tensor(a)
    return op("ReduceAny", keep_dims=bool(keepdims))(op("NotEqual")(a, 0), _axes(axis, a.ndim))


def array_equal(a1, a2, equal_nan=False):
    a1, a2 = _tensor(a1), _tensor(a2)
    if a1.shape != a2.shape:
        return Tensor(False)
    same = op("Equal")(a1, a2)
    if equal_nan:
        same = op("LogicalOr")(same, op("LogicalAnd")(_is_nan(a1), _is_nan(a2)))
    return same.all()


def array_equiv(a1, a2):
    a1, a2 = _tensor(a1), _tensor(a2)
    pairs = zip(reversed(a1.shape), reversed(a2.shape))
    return op("Equal")(a1, a2).all() if all(a == b or 1 in (a, b) for a, b in pairs) else Tensor(False)


# -- products ---------------------------------------------------------------------------------------
def _rows_by_rows(a, b):
    """Products of all rows of one with all rows of the other."""
    if a.shape[-1] != b.shape[-1]:
        raise user_error(ValueError, "numpy.dot:shape", "dimensions %d and %d do not fit each other" % (a.shape[-1], b.shape[-1]))
    ops = _ops()
    product = op("MatMul", transpose_b=True)(ops.reshape(a, (-1, a.shape[-1])), ops.reshape(b, (-1, b.shape[-1])))
    return ops.reshape(product, a.shape[:-1] + b.shape[:-1])


def inner(a, b):
    return op("Mul")(a, b) if a.ndim == 0 or b.ndim == 0 else _rows_by_rows(a, b)


def _dot(a, b):
    if a.ndim == 0 or b.ndim == 0:
        return op("Mul")(a, b)
    return _rows_by_rows(a, b.swapaxes(-1, -2) if b.ndim >= 2 else b)


def multi_dot(arrays):
    """A chain of products in the order that takes the fewest of them."""
    ops = _ops()
    parts = [_tensor(one) for one in arrays]
    if len(parts) < 2:
        raise user_error(ValueError, "numpy.multi_dot:count", "multi_dot() takes at least two arrays")
    if len(parts) == 2:
        return _dot(*parts)
    shape = ()
    if parts[0].ndim == 1:
        parts[0] = ops.reshape(parts[0], (1, -1))
    else:
        shape += parts[0].shape[:1]
    if parts[-1].ndim == 1:
        parts[-1] = ops.reshape(parts[-1], (-1, 1))
    else:
        shape += parts[-1].shape[1:]
    extents = [one.shape[0] for one in parts] + [parts[-1].shape[1]]
    return ops.reshape(_chain(parts, _best_cuts(extents), 0, len(parts) - 1), shape)


def _best_cuts(extents):
    """{(first, last): where a chain of matrices is cut}."""
    count = len(extents) - 1
    cost, cuts = {(i, i): 0 for i in range(count)}, {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            choices = [(cost[i, k] + cost[k + 1, j] + extents[i] * extents[k + 1] * extents[j + 1], k) for k in range(i, j)]
            cost[i, j], cuts[i, j] = min(choices)
    return cuts


def _chain(parts, cuts, first, last):
    if first == last:
        return parts[first]
    at = cuts[first, last]
    return _dot(_chain(parts, cuts, first, at), _chain(parts, cuts, at + 1, last))


def matrix_power(a, n):
    from mindspore import numpy
    a = _tensor(a)
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise user_error(ValueError, "numpy.matrix_power:n", "n of matrix_power() must be a whole number from 0 on, not %r" % (n,))
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise user_error(ValueError, "numpy.matrix_power:shape", "matrix_power() takes square matrices, not %s" % (a.shape,))
    if n == 0:
        return numpy.broadcast_to(numpy.eye(a.shape[-1], dtype=a.dtype), a.shape)
    result = a
    for _ in range(n - 1):
        result = _ops().matmul(result, a)
    return result


def kron(a, b):
    """Each element of the first times the second, by repetition."""
    ops, a, b = _ops(), _tensor(a), _tensor(b)
    rank = max(a.ndim, b.ndim)
    if rank == 0:
        return op("Mul")(a, b)
    a, b = _expand(a, rank), _expand(b, rank)
    shape = tuple(x * y for x, y in zip(a.shape, b.shape))
    first = ops.tile(ops.reshape(a, a.shape + (1,) * rank), (1,) * rank + b.shape)
    first = ops.reshape(ops.moveaxis(first, tuple(range(rank, 2 * rank)), tuple(range(1, 2 * rank, 2))), shape)
    return op("Mul")(first, ops.tile(b, a.shape))


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, dtype=None):
    """Covariances of rows."""
    ops = _ops()
    if fweights is not None or aweights is not None:
        raise Unsupported("mindspore.numpy.cov.weights", "cov() with weights is not supported")

    def rows(x):
        x = _expand(cast(_tensor(x), mstype.float32), 2)
        return x.swapaxes(0, 1) if not rowvar and x.shape[0] != 1 else x
    m = rows(m)
    if y is not None:
        m = ops.concat((m, rows(y)), 0)
    freed = (0 if bias else 1) if ddof is None else ddof
    m = m - op("ExpandDims")(average(m, 1), -1)
    return _typed(ops.squeeze(op("RealDiv")(_dot(m, ops.transpose(m, (1, 0))), Tensor(float(m.shape[1] - freed), mstype.float32))), dtype)


NAMES = ("nansum", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nancumsum", "ptp", "average", "sometrue", "array_equal",
         "array_equiv", "inner", "multi_dot", "matrix_power", "kron", "cov")
