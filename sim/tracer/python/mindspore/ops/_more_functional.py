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
    return F.clamp(input, min_val, max_val)


def leaky_relu(input, alpha=0.2):
    """The larger one of x and alpha * x; the smaller one where alpha is above 1."""
    choose = op("Minimum" if alpha > 1 else "Maximum")
    return choose(op("Mul")(Tensor(alpha, input.dtype), input), input)


def softmin(x, axis=-1, *, dtype=None):
    from mindspore.ops import functional as F
    return F.softmax(-x, axis, dtype=dtype)


def tanhshrink(input):
    from mindspore.ops import functional as F
    return input - F.tanh(input)


def threshold(input, thr, value):
    from mindspore.ops import functional as F
    return F.where(input > thr, input, F.cast(value, input.dtype))


def vstack(inputs):
    from mindspore.ops import functional as F
    return F.concat([F.reshape(x, (1, -1)) if x.ndim < 2 else x for x in inputs], 0)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The Euclidean norm; others are Unsupported."""
    from mindspore.ops import functional as F
    if ord not in (None, 2, 2.0, "fro"):
        raise Unsupported("mindspore.ops.norm.ord", "norms other than the Euclidean one are not supported")
    x = A if dtype is None else F.cast(A, dtype)
    return F.sqrt(F.sum(F.square(x), dim, keepdim))


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


def all(input, axis=None, keep_dims=False):
    """True where every element of the axes is."""
    return _reduced("ReduceAll", input, axis, keep_dims)


def any(input, axis=None, keep_dims=False):
    return _reduced("ReduceAny", input, axis, keep_dims)


def _reduced(name, input, axis, keep_dims):
    from mindspore.ops import functional as F
    return op(name, keep_dims=keep_dims)(F.cast(input, mstype.bool_), () if axis is None else axis)


NAMES = ("all", "any", "add_flags", "reshard", "tuple_len", "dyn_shape", "hardtanh", "leaky_relu", "softmin", "tanhshrink", "threshold",
         "vstack", "norm", "normal", "uniform", "repeat_interleave")
