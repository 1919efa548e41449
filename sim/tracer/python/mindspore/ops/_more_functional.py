"""Rarer functional forms, made of operators of the table."""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops.primitive import attr_value, operator as op


def add_flags(fn=None, **flags):
    """The function with flags of the compiler, which none of ours reads; also a decorator."""
    if fn is None:
        return lambda function: add_flags(function, **flags)
    if hasattr(fn, "add_flags"):
        fn.add_flags(**flags)
    return fn


def reshard(tensor, layout):
    from mindspore.parallel.shard import reshard as function
    return function(tensor, layout)


def tuple_len(x):
    return len(x)


def dyn_shape(input_x):
    """The shape as a tensor of whole numbers."""
    return Tensor(list(input_x.shape), mstype.int64)


def hardtanh(input, min_val=-1.0, max_val=1.0):
    if min_val >= max_val:
        raise user_error(ValueError, "hardtanh:range", "min_val must be smaller than max_val")
    from mindspore.ops import functional as F
    return F.minimum(F.maximum(input, min_val), max_val)


def leaky_relu(input, alpha=0.2):
    """The larger one of x and alpha * x; the smaller one where alpha is above 1."""
    choose = op("Minimum" if alpha > 1 else "Maximum")
    return choose(op("Mul")(Tensor(alpha, input.dtype), input), input)


def softmin(x, axis=-1, *, dtype=None):
    from mindspore.ops import functional as F
    return F.softmax(-1 * x, axis, dtype=dtype)


def tanhshrink(input):
    from mindspore.ops import functional as F
    return input - F.tanh(input)


def threshold(input, thr, value):
    from mindspore.ops import functional as F
    return F.select(input > thr, input, op("FillV2")(input.shape, Tensor(value, input.dtype)))


def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta * x)) / beta, x itself above the threshold."""
    from mindspore.ops import functional as F
    return F.select(input * beta > threshold, input, 1 / beta * op("Softplus")(beta * input))


def vstack(inputs):
    from mindspore.ops import functional as F
    return F.concat([F.reshape(x, (1, -1)) if x.ndim < 2 else x for x in inputs], 0)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """Norms of vectors (one dimension) and matrices (two), written out as in the reference; spectral ones are Unsupported."""
    from mindspore.ops import functional as F
    x = A if dtype is None else F.cast(A, dtype)
    axes = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dim is None and (ord is None or (ord, x.ndim) in (("fro", 2), (2, 1))):
        whole = F.sqrt(F.reduce_sum(F.square(x), axes))
        return F.reshape(whole, (1,) * x.ndim) if keepdim else whole
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdim)
    if len(axes) != 2 or ord == "nuc" or ord in (2, -2):
        raise Unsupported("mindspore.ops.norm.ord", "norms by singular values, and of more than two dimensions, are not supported")
    found = _matrix_norm(x, ord, axes)
    if not keepdim:
        return found
    kept = [axis % x.ndim for axis in axes]
    return F.reshape(found, tuple(1 if i in kept else extent for i, extent in enumerate(x.shape)))


def _vector_norm(x, ord, axes, keepdim):
    from mindspore.ops import functional as F
    if ord is None:
        return F.sqrt(F.reduce_sum(F.square(x), axes, keepdim))
    if ord in (float("inf"), -float("inf")):
        return (F.max if ord > 0 else F.min)(F.abs(x), axes[0], keepdim)[0]
    if ord == 0:
        return F.cast(x != 0, x.dtype).sum(axes, keepdims=keepdim)
    if isinstance(ord, int) and ord < 0:
        return F.sum(F.abs(x) ** ord, axes, keepdim) ** (1.0 / ord)
    return F.reduce_sum(F.abs(x) ** ord, axes, keepdim) ** (1.0 / ord)


def _matrix_norm(x, ord, axes):
    from mindspore.ops import functional as F
    row, column = (axis % x.ndim for axis in axes)
    if ord in (1, -1):
        return (F.max if ord > 0 else F.min)(F.abs(x).sum(row), column - (column > row))[0]
    if ord in (float("inf"), -float("inf")):
        return (F.max if ord > 0 else F.min)(F.reduce_sum(F.abs(x), column), row - (row > column))[0]
    return F.sqrt(F.reduce_sum(F.square(x), axes))


def normal(shape, mean, stddev, seed=None):
    return op("StandardNormal")(tuple(shape)) * stddev + mean


def uniform(shape, minval, maxval, seed=None, dtype=mstype.float32):
    return op("UniformReal")(tuple(shape)) * (maxval - minval) + minval


def repeat_interleave(input, repeats, axis=None, *, dim=None, output_size=None):
    """Every element as often as `repeats` says, a number or one for each element along the dimension."""
    dim = axis if dim is None else dim
    times = attr_value(repeats)
    if isinstance(times, int):
        return op("RepeatInterleaveInt")(input, times, dim, output_size)
    if len(times) == 1:
        return op("RepeatInterleaveInt")(input, times[0], dim, output_size)
    if not isinstance(repeats, Tensor):
        repeats = Tensor(list(times), mstype.int64)
    return op("RepeatInterleaveTensor")(input, repeats, dim, sum(times))


def hardsigmoid(input):
    return op("HSigmoid")(input)


def hardshrink(input, lambd=0.5):
    return op("HShrink", lambd=lambd)(input)


def celu(x, alpha=1.0):
    from mindspore.ops import operations as P
    return P.CeLU(alpha)(x)


def exp2(input):
    return op("Pow")(Tensor(2.0, mstype.float16 if input.dtype is mstype.float16 else mstype.float32), input)


def remainder(input, other):
    from mindspore.ops import functional as F
    return input - F.tensor_floordiv(input, other) * other


def mv(mat, vec):
    from mindspore.ops import functional as F
    return F.matmul(mat, F.reshape(vec, (vec.shape[0], 1))).T[0]


def inner(input, other):
    from mindspore.ops import functional as F
    return input * other if 0 in (input.ndim, other.ndim) else F.tensor_dot(input, other, (-1, -1))


def kron(input, other):
    """Blocks: the second tensor times each element of the first."""
    if 0 in (input.ndim, other.ndim):
        return input * other
    dims = max(input.ndim, other.ndim)
    rows, columns = ((1,) * (dims - x.ndim) + x.shape for x in (input, other))
    spread = lambda extents, first: tuple(item for extent in extents for item in ((extent, 1) if first else (1, extent)))
    product = input.reshape(spread(rows, True)) * other.reshape(spread(columns, False))
    return product.reshape(tuple(a * b for a, b in zip(rows, columns)))


def roll(input, shifts, dims=None):
    listed = lambda value: tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return op("Roll")(input, listed(shifts), None if dims is None or dims == () else listed(dims))


def rot90(input, k, dims):
    """Turned by quarters in the plane of two dimensions."""
    from mindspore.ops import functional as F
    first, second = (dim % input.ndim for dim in dims)
    if len(dims) != 2 or first == second:
        raise user_error(ValueError, "rot90:dims", "dims of rot90() must be two different dimensions, not %s" % (dims,))
    turned = lambda x, dim: op("ReverseV2", axis=(dim,))(x)
    if k % 4 == 0:
        return input
    if k % 4 == 2:
        return turned(turned(input, first), second)
    axes = list(range(input.ndim))
    axes[first], axes[second] = second, first
    return F.transpose(turned(input, second), tuple(axes)) if k % 4 == 1 else turned(F.transpose(input, tuple(axes)), second)


def all(input, axis=None, keep_dims=False):
    """True where every element of the axes is."""
    return _reduced("ReduceAll", input, axis, keep_dims)


def any(input, axis=None, keep_dims=False):
    return _reduced("ReduceAny", input, axis, keep_dims)


def _reduced(name, input, axis, keep_dims):
    from mindspore.ops import functional as F
    return op(name, keep_dims=keep_dims)(F.cast(input, mstype.bool_), () if axis is None else axis)


NAMES = ("all", "any", "add_flags", "reshard", "tuple_len", "dyn_shape", "hardtanh", "leaky_relu", "softmin", "tanhshrink", "threshold", "softplus",
         "vstack", "norm", "normal", "uniform", "repeat_interleave", "hardsigmoid", "hardshrink", "celu", "exp2", "remainder", "mv",
         "inner", "kron", "roll", "rot90")
