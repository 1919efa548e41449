"""Functions of mindspore.numpy that are made in another way than those of mindspore.ops.

Source: mindspore/python/mindspore/numpy/array_ops.py, math_ops.py, array_creations.py (which operators, in which order).
"""
import math

from mindspore._drydock.errors import Unsupported, user_error
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops.operations._python_ops import constant
from mindspore.ops.primitive import cast, operator as op


def _ops():
    from mindspore import ops
    return ops


def _tensor(x):
    """Numbers and lists of numbers as tensors of 32 bits."""
    if isinstance(x, Tensor):
        return x
    made = Tensor(x)
    narrow = {mstype.float64: mstype.float32, mstype.int64: mstype.int32}.get(made.dtype)
    return Tensor(x, narrow) if narrow is not None else made


def _must_be_tensor(name, *values):
    for value in values:
        if not isinstance(value, Tensor):
            raise user_error(TypeError, "numpy.%s:operand-type" % name, "%s() takes tensors, not %s" % (name, type(value).__name__))


def _expand(x, rank):
    return op("Reshape")(x, (1,) * (rank - x.ndim) + x.shape) if x.ndim < rank else op("Reshape")(x, x.shape)


def _axes(axis, rank):
    if axis is None:
        return tuple(range(rank))
    return tuple(one % rank for one in axis) if isinstance(axis, (tuple, list)) else (axis % rank,)


def _typed(result, dtype):
    return result if dtype is None else cast(result, mstype.dtype_of(dtype))


# -- shapes -----------------------------------------------------------------------------------------
def _at_least(rank):
    def function(*arys):
        _must_be_tensor("atleast_%dd" % rank, *arys)
        made = [_expand(one, rank) for one in arys]
        return made[0] if len(made) == 1 else made

    function.__name__ = "atleast_%dd" % rank
    return function


atleast_1d, atleast_2d = _at_least(1), _at_least(2)


def atleast_3d(*arys):
    made = [_ops().atleast_3d(one) for one in arys]
    return made[0] if len(made) == 1 else made


def _splitter(axis):
    def function(x, indices_or_sections):
        from mindspore import numpy
        return numpy.split(x, indices_or_sections, axis)

    return function


vsplit, hsplit, dsplit = _splitter(0), _splitter(1), _splitter(2)


def flipud(m):
    return _ops().flip(m, (0,))


def fliplr(m):
    return _ops().flip(m, (1,))


def append(arr, values, axis=None):
    ops = _ops()
    _must_be_tensor("append", arr, values)
    if axis is None:
        arr, values, axis = ops.reshape(arr, (-1,)), ops.reshape(values, (-1,)), 0
    if arr.ndim != values.ndim:
        raise user_error(ValueError, "numpy.append:rank", "append() takes tensors of equally many dimensions, not %s and %s"
                         % (arr.shape, values.shape))
    return ops.concat((arr, values), axis)


def rollaxis(x, axis, start=0):
    """The dimension in front of another one."""
    _must_be_tensor("rollaxis", x)
    rank = x.ndim
    axis, start = axis % rank, start + rank if start < 0 else start
    if 0 <= start - axis <= 1:
        return x
    order = [dim for dim in range(rank) if dim != axis]
    order.insert(start - (start > axis), axis)
    return _ops().transpose(x, tuple(order))


def broadcast_arrays(*args):
    from mindspore.ops import _shapes
    _must_be_tensor("broadcast_arrays", *args)
    shape = _shapes.broadcast("broadcast_arrays", [one.shape for one in args])
    return [one if one.shape == shape else _ops().broadcast_to(one, shape) for one in args]


def ix_(*args):
    """Each row along a dimension of its own."""
    _must_be_tensor("ix_", *args)
    if any(one.ndim != 1 for one in args):
        raise user_error(ValueError, "numpy.ix_:rank", "ix_() takes tensors of one dimension")
    return tuple(_ops().reshape(one, (1,) * i + one.shape + (1,) * (len(args) - i - 1)) for i, one in enumerate(args))


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """The function on every row of a dimension."""
    ops, rank, shape = _ops(), arr.ndim, arr.shape
    axis %= rank
    rows = ops.reshape(ops.moveaxis(arr, axis, -1), (-1, shape[axis]))
    made = ops.concat([op("ExpandDims")(func1d(rows[i], *args, **kwargs), 0) for i in range(rows.shape[0])], 0)
    result = ops.reshape(made, shape[:axis] + shape[axis + 1:] + made.shape[1:])
    more = result.ndim - rank + 1
    if more < 1:
        return result
    return ops.moveaxis(result, tuple(range(rank - 1, result.ndim)), tuple(range(axis, axis + more)))


def apply_over_axes(func, a, axes):
    result = _tensor(a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        made = func(result, axis=axis)
        result = _ops().expand_dims(made, axis) if made.ndim != result.ndim else made
    return result


# -- constants --------------------------------------------------------------------------------------
def _window(first, *parts):
    """A window of cosines: first + sum of factor * cos(number * 2 pi i / (M - 1))."""
    def function(M):
        if isinstance(M, bool) or not isinstance(M, int):
            raise user_error(TypeError, "numpy.window:M", "a window takes a whole number of points, not %r" % (M,))
        if M <= 1:
            return constant((max(0, M),), 1, mstype.float32)
        return Tensor([first + sum(factor * math.cos(number * 2 * math.pi * i / (M - 1)) for number, factor in parts) for i in range(M)],
                      mstype.float32)

    return function


hanning, hamming, blackman = _window(0.5, (1, -0.5)), _window(0.54, (1, -0.46)), _window(0.42, (1, -0.5), (2, 0.08))


def bartlett(M):
    if M <= 1:
        return constant((max(0, M),), 1, mstype.float32)
    return Tensor([1 - abs(2.0 * i - (M - 1)) / (M - 1) for i in range(M)], mstype.float32)


def tri(N, M=None, k=0, dtype=mstype.float32):
    columns = N if M is None else M
    return _ops().tril(constant((N, columns), 1, mstype.dtype_of(dtype)), k)


def diag_indices(n, ndim=2):
    return [Tensor(list(range(n)), mstype.int32)] * ndim


def tril_indices_from(arr, k=0):
    return _of_matrix("tril_indices", arr, k)


def triu_indices_from(arr, k=0):
    return _of_matrix("triu_indices", arr, k)


def _of_matrix(name, arr, k):
    from mindspore import numpy
    if arr.ndim != 2:
        raise user_error(ValueError, "numpy.%s_from:rank" % name, "%s_from() takes a matrix, not a tensor of shape %s" % (name, arr.shape))
    return getattr(numpy, name)(arr.shape[-2], k=k, m=arr.shape[-1])


def indices(dimensions, dtype=mstype.int32, sparse=False):
    """The position of every element in each dimension."""
    rows = [Tensor(list(range(extent)), mstype.dtype_of(dtype)) for extent in dimensions]
    found = list(ix_(*rows))
    return found if sparse else [_ops().tile(one, tuple(extent if one.shape[dim] == 1 else 1 for dim, extent in enumerate(dimensions)))
                                 for one in found]


class _Grid:
    """numpy.mgrid and numpy.ogrid: slices of numbers as rows of coordinates."""

    def __init__(self, sparse):
        self._sparse = sparse

    @staticmethod
    def _row(part):
        start, step = part.start or 0, 1 if part.step is None else part.step
        if isinstance(step, complex):
            count = int(abs(step))
            wide = (part.stop - start) / (count - 1) if count > 1 else 0.0
            return Tensor([start + i * wide for i in range(count)], mstype.float32)
        return Tensor([start + i * step for i in range(max(0, math.ceil((part.stop - start) / step)))])

    def __getitem__(self, key):
        ops = _ops()
        if isinstance(key, slice):
            return self._row(key)
        rows = list(ix_(*[self._row(part) for part in key]))
        if self._sparse:
            return rows
        extents = [row.size for row in rows]
        return ops.stack([ops.tile(row, tuple(extent if row.shape[dim] == 1 else 1 for dim, extent in enumerate(extents))) for row in rows])


mgrid, ogrid = _Grid(False), _Grid(True)


def vander(x, N=None, increasing=False):
    """Powers of a row."""
    x = _tensor(x)
    count = x.size if not N else N
    powers = range(count) if increasing else range(count - 1, -1, -1)
    return op("Pow")(op("ExpandDims")(x, 1), op("ExpandDims")(Tensor(list(powers), x.dtype), 0))


# -- element by element -----------------------------------------------------------------------------
def fabs(x, dtype=None):
    return _typed(op("Abs")(x), dtype)


def bitwise_not(x, dtype=None):
    return _typed(op("Invert")(x), dtype)


def positive(a, dtype=None):
    """Two negations."""
    _must_be_tensor("positive", a)
    return _typed(op("Neg")(op("Neg")(a)), dtype)


def exp2(x, dtype=None):
    return _typed(op("Pow")(2, _tensor(x)), dtype)


def cbrt(x, dtype=None):
    x = _tensor(x)
    x = cast(x, mstype.promote(x.dtype, mstype.float32))
    size = op("Abs")(x)
    return _typed(op("Mul")(op("Div")(size, x), op("Pow")(size, 1.0 / 3.0)), dtype)


def arctan2(x1, x2, dtype=None):
    x1, x2 = (one if one.dtype.kind == "float" else cast(one, mstype.float32) for one in (_tensor(x1), _tensor(x2)))
    return _typed(op("Atan2")(x1, x2), dtype)


def around(a, decimals=0):
    if isinstance(decimals, bool) or not isinstance(decimals, int):
        raise user_error(TypeError, "numpy.around:decimals", "decimals must be a whole number, not %r" % (decimals,))
    if decimals < 0:
        raise user_error(ValueError, "numpy.around:decimals", "decimals must not be negative, but is %d" % decimals)
    a = a if isinstance(a, Tensor) else Tensor(a)
    return op("Round")(a) if not decimals else op("RealDiv")(op("Round")(a * 10 ** decimals), 10 ** decimals)


def fix(x):
    """Towards zero."""
    _must_be_tensor("fix", x)
    x = x if x.dtype.kind == "float" else cast(x, mstype.float32)
    down, up = op("Floor")(x), op("Neg")(op("Floor")(op("Neg")(x)))
    return op("Select")(op("Less")(x, constant(x.shape, 0, x.dtype)), up, down)


def ediff1d(ary, to_end=None, to_begin=None):
    ops = _ops()
    _must_be_tensor("ediff1d", ary)
    row = ops.reshape(ary, (-1,))
    count = row.shape[0] - 1
    between = op("Sub")(ops.slice(row, (1,), (count,)), ops.slice(row, (0,), (count,)))
    before, behind = ((cast(ops.reshape(_tensor(one), (-1,)), ary.dtype),) if one is not None else () for one in (to_begin, to_end))
    return op("Concat", axis=0)(before + (between,) + behind)


def gradient(f, *varargs, axis=None, edge_order=1):
    """Differences of neighbours along each dimension: half of those two apart, whole ones at the edges."""
    ops = _ops()
    _must_be_tensor("gradient", f)
    if edge_order != 1:
        raise Unsupported("mindspore.numpy.gradient.edge_order")
    f = f if f.dtype.kind == "float" else cast(f, mstype.float32)
    axes = _axes(axis, f.ndim)
    steps = (1,) * len(axes) if not varargs else varargs * len(axes) if len(varargs) == 1 else varargs
    if len(steps) != len(axes):
        raise user_error(ValueError, "numpy.gradient:steps", "gradient() takes one step, or one for each of %d dimensions" % len(axes))
    found = []
    for dim, step in zip(axes, steps):
        end = f.shape[dim]
        if end < 2:
            raise user_error(ValueError, "numpy.gradient:extent", "gradient() needs two elements in dimension %d" % dim)

        def between(begin, stop, dim=dim):
            first, size = [0] * f.ndim, list(f.shape)
            first[dim], size[dim] = begin, stop - begin
            return ops.slice(f, tuple(first), tuple(size))
        parts = [between(1, 2) - between(0, 1), between(end - 1, end) - between(end - 2, end - 1)]
        if end > 2:
            parts.insert(1, (between(2, end) - between(0, end - 2)) * 0.5)
        found.append(ops.concat(parts, dim) / step)
    return found[0] if len(found) == 1 else found


# -- facts ------------------------------------------------------------------------------------------
def isscalar(element):
    return isinstance(element, (bool, int, float, complex, str))


def array_str(a):
    _must_be_tensor("array_str", a)
    return str(a)


def promote_types(type1, type2):
    return mstype.promote(mstype.dtype_of(type1), mstype.dtype_of(type2))


def result_type(*arrays_and_dtypes):
    found = None
    for one in arrays_and_dtypes:
        kind = one.dtype if isinstance(one, Tensor) else _tensor(one).dtype if isinstance(one, (int, float, list, tuple)) else mstype.dtype_of(one)
        found = kind if found is None else mstype.promote(found, kind)
    return found


NAMES = ("atleast_1d", "atleast_2d", "atleast_3d", "vsplit", "hsplit", "dsplit", "flipud", "fliplr", "append", "rollaxis",
         "broadcast_arrays", "ix_", "apply_along_axis", "apply_over_axes", "hanning", "hamming", "blackman", "bartlett", "tri",
         "diag_indices", "tril_indices_from", "triu_indices_from", "indices", "mgrid", "ogrid", "vander", "fabs", "bitwise_not",
         "positive", "exp2", "cbrt", "arctan2", "around", "fix", "ediff1d", "gradient", "isscalar", "array_str", "promote_types",
         "result_type")
