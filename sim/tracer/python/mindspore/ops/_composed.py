"""Functional forms that are compositions of operators of the table, under the names of mindspore.ops and mindspore.mint."""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops import _unruled
from mindspore.ops.operations._python_ops import constant
from mindspore.ops.primitive import operator as op


def _f():
    from mindspore.ops import functional
    return functional


def _axes(dims):
    return tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)


def flip(input, dims):
    return op("ReverseV2")(input, _axes(dims))


def cumprod(input, dim, dtype=None):
    return op("CumProd")(input if dtype is None else _f().cast(input, dtype), dim)


def full_like(input, fill_value, *, dtype=None, device=None):
    return constant(input.shape, fill_value, mstype.dtype_of(dtype, input.dtype))


def empty_like(input, *, dtype=None, device=None):
    return constant(input.shape, 0, mstype.dtype_of(dtype, input.dtype))


def linspace(start, end, steps, *, dtype=None):
    if isinstance(start, Tensor) or isinstance(end, Tensor):
        return op("LinSpace")(start, end, steps)
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    return Tensor([float(start + i * step) for i in range(steps)], mstype.dtype_of(dtype, mstype.float32))


def logspace(start, end, steps, base=10, *, dtype=mstype.float32):
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    return Tensor([float(base) ** (start + i * step) for i in range(steps)], dtype)


def argsort(input, axis=-1, descending=False, *, dim=None, stable=False):
    return op("SortExt")(input, axis if dim is None else dim, descending, stable)[1]


def sort(input, axis=-1, descending=False, *, dim=None, stable=False):
    return op("SortExt")(input, axis if dim is None else dim, descending, stable)


def unbind(input, dim=0):
    return op("Unstack", axis=dim, num=input.shape[dim])(input)


def var(input, axis=None, ddof=0, keepdims=False, *, dim=None, correction=None, keepdim=None):
    """As Tensor.var() has it, step by step."""
    F = _f()
    axis, keep = axis if dim is None else dim, keepdims if keepdim is None else keepdim
    axes = () if axis is None else tuple(a % input.ndim for a in _axes(axis))
    freed = int(ddof) if correction is None else correction
    count = values.count([input.shape[a] for a in axes or range(input.ndim)]) - freed
    centred = F.pow(input - F.reduce_mean(input, axes, True), 2)
    return op("Div")(F.reduce_sum(centred, axes, keep), Tensor(max(count, 1), input.dtype))


def std(input, axis=None, ddof=0, keepdims=False, *, dim=None, correction=None, keepdim=None):
    return _f().pow(var(input, axis, ddof, keepdims, dim=dim, correction=correction, keepdim=keepdim), 0.5)


def std_mean(input, axis=None, ddof=0, keepdims=False, **others):
    dim, keep = others.get("dim", axis), others.get("keepdim", keepdims)
    return std(input, axis, ddof, keepdims, **others), _f().reduce_mean(input, () if dim is None else dim, keep)


def var_mean(input, axis=None, ddof=0, keepdims=False, **others):
    dim, keep = others.get("dim", axis), others.get("keepdim", keepdims)
    return var(input, axis, ddof, keepdims, **others), _f().reduce_mean(input, () if dim is None else dim, keep)


def logsumexp(input, axis=None, keep_dims=False, *, dim=None, keepdim=None):
    F = _f()
    axis, keep = axis if dim is None else dim, keep_dims if keepdim is None else keepdim
    largest = F.reduce_max(input, axis, True)
    total = F.log(F.sum(F.exp(input - largest), axis, keep))
    return total + (largest if keep else F.squeeze(largest, axis))


def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    return _scaled(input, beta) + _scaled(_f().matmul(mat1, mat2), alpha)


def baddbmm(input, batch1, batch2, beta=1, alpha=1):
    return _scaled(input, beta) + _scaled(_f().bmm(batch1, batch2), alpha)


def _scaled(tensor, factor):
    return tensor if factor == 1 else tensor * factor


def clone(input):
    return input


def dot(input, other):
    return _f().reduce_sum(input * other)


def ger(input, vec2):
    return _f().expand_dims(input, 1) * _f().expand_dims(vec2, 0)


def t(input):
    return _f().transpose(input, (1, 0)) if input.ndim == 2 else input


def trace(input):
    return op("TraceV2")(input)


def log2(input):
    return op("Div")(_f().log(input), Tensor(0.6931471805599453, input.dtype))


def log10(input):
    return op("Div")(_f().log(input), Tensor(2.302585092994046, input.dtype))


def logaddexp(input, other):
    return _f().log(_f().exp(input) + _f().exp(other))


def logaddexp2(input, other):
    return log2(_f().pow(2.0, input) + _f().pow(2.0, other))


def logical_xor(input, other):
    return _f().not_equal(_f().cast(input, mstype.bool_), _f().cast(other, mstype.bool_))


def float_power(input, exponent):
    return _f().pow(_f().cast(input, mstype.float64), exponent)


def fmod(input, other):
    return op("FmodTensor" if isinstance(other, Tensor) else "FmodScalar")(input, other)


def hstack(tensors):
    return _f().concat(tensors, 0 if tensors[0].ndim < 2 else 1)


column_stack = hstack


def dstack(tensors):
    return _f().concat([_f().reshape(x, x.shape + (1,)) if x.ndim == 2 else x for x in tensors], 2)


def diff(x, n=1, axis=-1, prepend=None, append=None, *, dim=None):
    F = _f()
    axis = axis if dim is None else dim
    for _ in range(n):
        length = x.shape[axis] - 1
        x = F.narrow(x, axis, 1, length) - F.narrow(x, axis, 0, length)
    return x


def isclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    return op("IsClose", rtol=rtol, atol=atol, equal_nan=equal_nan)(input, other)


def moveaxis(x, source, destination):
    order = [dim for dim in range(x.ndim) if dim not in [s % x.ndim for s in _axes(source)]]
    for target, dim in sorted(zip([d % x.ndim for d in _axes(destination)], [s % x.ndim for s in _axes(source)])):
        order.insert(target, dim)
    return _f().transpose(x, tuple(order))


movedim = moveaxis


def meshgrid(*inputs, indexing="xy"):
    tensors = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)) else inputs
    return op("Meshgrid", indexing=indexing)(tuple(tensors))


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    F = _f()
    length = F.sqrt(F.reduce_sum(F.square(x1), dim)) * F.sqrt(F.reduce_sum(F.square(x2), dim))
    return F.reduce_sum(x1 * x2, dim) / F.maximum(length, eps)


def gumbel_softmax(logits, tau=1.0, hard=False, dim=-1):
    F = _f()
    noise = -F.log(-F.log(_unruled.rand_like(logits)))
    soft = F.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    top = op("Argmax", axis=dim)(soft)
    shown = F.one_hot(top, logits.shape[dim], Tensor(1.0, logits.dtype), Tensor(0.0, logits.dtype), dim)
    return shown - F.stop_gradient(soft) + soft


def pixel_shuffle(input, upscale_factor):
    factor, (channels, height, width) = upscale_factor, input.shape[-3:]
    return _blocks(input, (channels // factor ** 2, factor, factor, height, width), (0, 3, 1, 4, 2),
                   (channels // factor ** 2, height * factor, width * factor))


def pixel_unshuffle(input, downscale_factor):
    factor, (channels, height, width) = downscale_factor, input.shape[-3:]
    return _blocks(input, (channels, height // factor, factor, width // factor, factor), (0, 2, 4, 1, 3),
                   (channels * factor ** 2, height // factor, width // factor))


def _blocks(input, parts, order, result):
    F, lead = _f(), input.shape[:-3]
    offset = len(lead)
    x = F.reshape(input, lead + parts)
    return F.reshape(F.transpose(x, tuple(range(offset)) + tuple(offset + dim for dim in order)), lead + result)


def glu(x, axis=-1, *, dim=None):
    first, second = _f().chunk(x, 2, axis if dim is None else dim)
    return first * _f().sigmoid(second)


def einsum(equation, *operands):
    """Products of two operands at a time, as a batched matrix product; sums over letters that only one of them has before."""
    from mindspore.ops._einsum import einsum as function
    return function(equation, *operands)


def sequence_mask(lengths, maxlen=None):
    if maxlen is None:
        raise Unsupported("mindspore.ops.sequence_mask.maxlen", "sequence_mask() without maxlen needs the values of lengths")
    return _f().less(Tensor(list(range(maxlen)), lengths.dtype), _f().expand_dims(lengths, -1))


def batch_dot(x1, x2, axes=None):
    return _f().matmul(x1, x2)


def take(input, index, dim=None):
    flat = _f().reshape(input, (-1,)) if dim is None else input
    return _f().gather(flat, index, 0 if dim is None else dim)


def mixed_precision_cast(dtype, x):
    """Tensors of floating numbers in the given type; tuples element by element."""
    if isinstance(x, (tuple, list)):
        return type(x)(mixed_precision_cast(dtype, one) for one in x)
    return _f().cast(x, dtype) if isinstance(x, Tensor) and x.dtype.kind == "float" else x


def numel(input):
    return input.size


def is_floating_point(input):
    return input.dtype.kind == "float"


def is_complex(input):
    return input.dtype.kind == "complex"


def normalize(input, p=2.0, dim=1, eps=1e-12):
    if p != 2.0:
        raise Unsupported("mindspore.mint.nn.functional.normalize.p", "norms other than the Euclidean one are not supported")
    norm = _f().sqrt(_f().reduce_sum(_f().square(input), dim, True))
    return input / _f().maximum(norm, eps)


def instance_norm(input, weight=None, bias=None, eps=1e-5):
    """Every plane of every sample by its own mean and variance."""
    F, axes = _f(), tuple(range(2, input.ndim))
    mean = F.reduce_mean(input, axes, True)
    spread = F.reduce_mean(F.square(input - mean), axes, True)
    result = (input - mean) * F.rsqrt(spread + eps)
    shape = (1, -1) + (1,) * len(axes)
    if weight is not None:
        result = result * F.reshape(weight, shape) + F.reshape(bias, shape)
    return result


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    F, channels = _f(), (input.shape[1],)
    weight = F.ones(channels, input.dtype) if weight is None else weight
    bias = F.zeros(channels, input.dtype) if bias is None else bias
    return op("GroupNorm")(input, num_groups, weight, bias, eps)[0]


def pad(input_x, padding, mode="constant", value=None):
    """Pairs of widths from the last dimension on."""
    if isinstance(padding, Tensor):
        padding = padding.tolist()
    if mode not in ("constant", "reflect", "replicate", "circular", "edge"):
        raise user_error(ValueError, "pad:mode", "mode of pad() cannot be %r" % (mode,), "use 'constant', 'reflect', 'replicate' or 'circular'")
    if mode == "constant":
        return op("PadV3", mode=mode)(input_x, tuple(padding), 0 if value is None else value)
    return op("PadV3", mode={"replicate": "edge"}.get(mode, mode))(input_x, tuple(padding))


NAMES = tuple(name for name in dict(globals()) if not name.startswith("_") and name not in (
    "values", "Unsupported", "user_error", "mstype", "Tensor", "constant", "op"))
