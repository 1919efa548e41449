"""Functional forms of operators (ops.x, F.x, Tensor.x)."""
import functools as _functools
import sys as _sys

from mindspore._drydock import arguments as _arguments
from mindspore._drydock.errors import Unsupported as _Unsupported, user_error as _user_error
from mindspore._recording import values as _values
from mindspore.common import dtype as _mstype
from mindspore.common.tensor import Tensor as _Tensor
from mindspore.ops.operations._python_ops import constant as _constant
from mindspore.ops.primitive import attr_value as _attr_value, cast as _cast, operator as _op


def _as_tensor(x):
    return x if isinstance(x, _Tensor) else _Tensor(x)


def _unary(name):
    def function(input):
        return _op(name)(_as_tensor(input))

    function.__name__ = name.lower()
    return function


def _binary(name):
    def function(input, other):
        return _op(name)(input, other)

    function.__name__ = name.lower()
    return function


for _function, _name in (
        ("relu", "ReLU"), ("sigmoid", "Sigmoid"), ("tanh", "Tanh"), ("silu", "SiLU"), ("exp", "Exp"),
        ("log", "Log"), ("sqrt", "Sqrt"), ("rsqrt", "Rsqrt"), ("square", "Square"), ("neg", "Neg"),
        ("negative", "Neg"), ("abs", "Abs"), ("absolute", "Abs"), ("reciprocal", "Reciprocal"),
        ("sin", "Sin"), ("cos", "Cos"), ("erf", "Erf"), ("floor", "Floor"), ("sign", "Sign"),
        ("logical_not", "LogicalNot"), ("zeros_like", "ZerosLike"), ("ones_like", "OnesLike"),
        ("stop_gradient", "StopGradient"), ("fast_gelu", "FastGeLU")):
    globals()[_function] = _unary(_name)
for _function, _name in (
        ("add", "Add"), ("sub", "Sub"), ("subtract", "Sub"), ("mul", "Mul"), ("multiply", "Mul"),
        ("tensor_add", "Add"), ("tensor_sub", "Sub"), ("tensor_mul", "Mul"), ("tensor_pow", "Pow"),
        ("floor_div", "FloorDiv"), ("floor_divide", "FloorDiv"), ("floor_mod", "FloorMod"),
        ("pow", "Pow"), ("maximum", "Maximum"), ("minimum", "Minimum"), ("equal", "Equal"), ("eq", "Equal"),
        ("not_equal", "NotEqual"), ("ne", "NotEqual"), ("less", "Less"), ("lt", "Less"),
        ("less_equal", "LessEqual"), ("le", "LessEqual"), ("greater", "Greater"), ("gt", "Greater"),
        ("greater_equal", "GreaterEqual"), ("ge", "GreaterEqual"), ("logical_and", "LogicalAnd"),
        ("logical_or", "LogicalOr"), ("bias_add", "BiasAdd"), ("assign", "Assign"),
        ("assign_add", "AssignAdd"), ("assign_sub", "AssignSub")):
    globals()[_function] = _binary(_name)


def depend(value, expr):
    from mindspore.ops.operations import _python_ops
    return _python_ops.Depend()(value, expr)


def div(input, other, *, rounding_mode=None):
    if rounding_mode == "floor":
        return _op("FloorDiv")(input, other)
    if rounding_mode is not None:
        return _op("DivMod")(input, other, rounding_mode)
    return _op("Div")(input, other)


true_divide = divide = tensor_div = div


def cast(input_x, dtype):
    if isinstance(input_x, (bool, int, float)):
        return _Tensor(input_x, dtype)
    return _op("Cast")(input_x, _mstype.dtype_of(dtype))


def shape(input_x):
    return input_x.shape


def dtype(input_x):
    return input_x.dtype


def rank(input_x):
    return input_x.ndim


def size(input_x):
    return input_x.size


def is_tensor(obj):
    return isinstance(obj, _Tensor)


# -- shapes -----------------------------------------------------------------------------------------
def reshape(input, shape):
    return _op("Reshape")(input, tuple(shape) if isinstance(shape, (tuple, list)) else shape)


def transpose(input, input_perm):
    input_perm = range(input.ndim - 1, -1, -1) if input_perm is None else input_perm
    return _op("Transpose")(input, tuple(input_perm))


def permute(input, axis):
    return _op("Transpose")(input, tuple(axis))


def swapaxes(input, axis0, axis1):
    return input.swapaxes(axis0, axis1)


def expand_dims(input_x, axis):
    return _op("ExpandDims")(input_x, axis)


unsqueeze = expand_dims


def squeeze(input, axis=None):
    axes = () if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    return _op("Squeeze", axis=axes)(input)


def flatten(input, order="C", *, start_dim=1, end_dim=-1):
    dims = input.shape
    begin, end = start_dim % (len(dims) or 1), end_dim % (len(dims) or 1)
    if not dims:
        return reshape(input, (1,))
    if begin == 1 and end == len(dims) - 1 and len(dims) > 1:
        return _op("Flatten")(input)
    return reshape(input, dims[:begin] + (_values.count(dims[begin:end + 1]),) + dims[end + 1:])


def broadcast_to(input, shape):
    return _op("BroadcastTo", shape=tuple(shape))(input)


def tile(input, dims):
    return _op("Tile")(input, tuple(dims) if isinstance(dims, (tuple, list)) else (dims,))


def concat(tensors, axis=0):
    return _op("Concat", axis=axis)(tuple(tensors))


def cat(tensors, axis=0):
    return concat(tensors, axis)


def stack(tensors, axis=0):
    return _op("Stack", axis=axis)(tuple(tensors))


def split(tensor, split_size_or_sections, axis=0):
    extent = tensor.shape[axis]
    if isinstance(split_size_or_sections, int):
        size_ = split_size_or_sections
        if size_ > 0 and extent % size_ == 0:
            return _results(_op("Split", axis=axis, output_num=extent // size_)(tensor))
        sections = [size_] * (extent // size_) + [extent % size_]
    else:
        sections = list(split_size_or_sections)
    parts, begin = [], 0
    for length in sections:
        parts.append(narrow(tensor, axis, begin, length))
        begin += length
    return tuple(parts)


def chunk(input, chunks, axis=0):
    return split(input, -(-input.shape[axis] // chunks), axis)


def _results(value):
    return value if isinstance(value, tuple) else (value,)


def narrow(input, axis, start, length):
    axis %= input.ndim
    begin = [0] * input.ndim
    end = list(input.shape)
    begin[axis], end[axis] = start, start + length
    return strided_slice(input, tuple(begin), tuple(end), (1,) * input.ndim)


def strided_slice(input_x, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0,
                  new_axis_mask=0, shrink_axis_mask=0):
    return _op("StridedSlice", begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask,
               new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask)(
                   input_x, tuple(begin), tuple(end), tuple(strides))


def slice(input_x, begin, size):
    return _op("Slice")(input_x, tuple(begin), tuple(size))


# -- reductions -------------------------------------------------------------------------------------
def _reduction(name):
    def function(input, axis=None, keepdims=False, *, dim=None, keep_dims=None, keepdim=None, dtype=None):
        axis = dim if axis is None and dim is not None else axis
        keep = keep_dims if keep_dims is not None else keepdim if keepdim is not None else keepdims
        if dtype is not None:
            input = _cast(input, _mstype.dtype_of(dtype))
        return _op(name, keep_dims=keep)(input, () if axis is None else axis)

    return function


def sum(input, dim=None, keepdim=False, *, axis=None, keepdims=None, dtype=None):
    """The kernel of mint.sum; an empty tuple means all dimensions."""
    dim = axis if dim is None and axis is not None else dim
    if dtype is not None:
        input = _cast(input, _mstype.dtype_of(dtype))
    keep = keepdim if keepdims is None else keepdims
    return _op("SumExt")(input, None if dim in ((), []) else dim, keep)


reduce_sum = _reduction("ReduceSum")
mean = reduce_mean = _reduction("ReduceMean")
amax = reduce_max = _reduction("ReduceMax")
amin = reduce_min = _reduction("ReduceMin")
prod = reduce_prod = _reduction("ReduceProd")


def _extreme(whole, along, sign):
    def function(input, axis=None, keepdims=False, *, initial=None, where=None):
        if initial is not None or where is not None:
            raise _Unsupported("mindspore.ops.%s.initial" % whole, "initial and where are not recorded")
        if axis is None or input.ndim == 0:
            return input if input.ndim == 0 else _whole(whole, input), _Tensor(0, _mstype.int64)
        index, value = _op(along, axis=axis, keep_dims=keepdims)(input)
        return value, index

    function.__name__ = whole.lower()
    function.__doc__ = "The %s elements and where they are." % sign
    return function


def _whole(name, input):
    """The one extreme of a tensor; a reduction where the table has no kernel of its own for it."""
    from mindspore.ops import _table
    return _op(name)(input) if _table.has_operator(name) else _op("Reduce" + name, keep_dims=False)(input, ())


max, min = _extreme("Max", "ArgMaxWithValue", "largest"), _extreme("Min", "ArgMinWithValue", "least")


def softmax(input, axis=-1, *, dtype=None):
    if dtype is not None:
        input = _cast(input, _mstype.dtype_of(dtype))
    return _op("Softmax", axis=axis)(input)


def log_softmax(logits, axis=-1):
    return _op("LogSoftmax", axis=axis)(logits)


def cumsum(x, axis, dtype=None):
    x, axis = (reshape(x, (-1,)), 0) if axis is None else (x, axis)
    return _op("CumSum")(x if dtype is None else _cast(x, _mstype.dtype_of(dtype)), axis)


def topk(input, k, dim=None, largest=True, sorted=True):
    if dim not in (None, -1, input.ndim - 1) or not largest:
        raise _Unsupported("mindspore.ops.topk.dim")
    return _op("TopK", sorted=sorted)(input, k)


# -- products ---------------------------------------------------------------------------------------
def matmul(input, other):
    """Matrix product with numpy's rules: two matrices, or stacks of matrices that broadcast."""
    if input.ndim < 2 or other.ndim < 2:
        return _vector_product(input, other)
    return _op("MatMulExt")(input, other)


def _vector_product(a, b):
    if a.ndim == 0 or b.ndim == 0:
        raise _user_error(ValueError, "matmul:scalar", "matmul takes tensors of at least one dimension")
    left = expand_dims(a, 0) if a.ndim == 1 else a
    right = expand_dims(b, 1) if b.ndim == 1 else b
    product = matmul(left, right)
    if b.ndim == 1:
        product = squeeze(product, -1)
    if a.ndim == 1:
        product = squeeze(product, -1 if b.ndim == 1 else -2)
    return product


def bmm(input_x, mat2):
    return _op("BatchMatMul")(input_x, mat2)


def mm(input, mat2):
    return _op("MatMul")(input, mat2)


def dense(input, weight, bias=None):
    return _op("Dense")(input, weight, bias)


# -- activation, normalisation, losses ----------------------------------------------------------------
def gelu(input, approximate="none"):
    """x * (1 + erf(x / sqrt(2))) / 2, written out as in the reference unless the approximation is asked for."""
    if approximate == "tanh":
        return _op("GeLU")(input)
    root = _Tensor(2.0 ** 0.5, input.dtype)
    bell = _op("Add")(_op("Erf")(_op("Div")(input, root)), _Tensor(1.0, input.dtype))
    return _op("Mul")(_op("Mul")(input, bell), _Tensor(0.5, input.dtype))


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    axis = input.ndim - len(normalized_shape)
    weight = _constant(normalized_shape, 1, input.dtype) if weight is None else weight
    bias = _constant(normalized_shape, 0, input.dtype) if bias is None else bias
    return _op("LayerNorm", begin_norm_axis=axis, begin_params_axis=axis, epsilon=eps)(input, weight, bias)[0]


def rms_norm(input, gamma, epsilon=1e-6):
    return _op("RmsNorm", epsilon=epsilon)(input, gamma)


def dropout(input, p=0.5, training=True, seed=None):
    if not training or p == 0:
        return input
    return _op("Dropout", keep_prob=1.0 - p)(input)[0]


def one_hot(indices, depth, on_value=1, off_value=0, axis=-1):
    on_value = on_value if isinstance(on_value, _Tensor) else _Tensor(on_value, _mstype.int64)
    off_value = off_value if isinstance(off_value, _Tensor) else _Tensor(off_value, on_value.dtype)
    return _op("OneHot", axis=axis)(indices, depth, on_value, off_value)


def gather(input_params, input_indices, axis, batch_dims=0):
    return _op("Gather", batch_dims=batch_dims)(input_params, input_indices, axis)


def gather_elements(input, dim, index):
    return _op("GatherD")(input, dim, index)


gather_d = gather_elements


def embedding(input, weight):
    return _op("Embedding")(input, weight)


def select(condition, input, other):
    return _op("Select")(condition, input, other)


def where(condition, input, other):
    """Select after broadcasting the three operands."""
    from mindspore.ops import _shapes
    parts = [_as_tensor(v) for v in (condition, input, other)]
    target = _shapes.broadcast("where", [p.shape for p in parts])
    spread = [p if p.shape == target else broadcast_to(p, target) for p in parts]
    return _op("Select")(*spread)


def masked_fill(input_x, mask, value):
    value = value if isinstance(value, _Tensor) else _Tensor(value, input_x.dtype)
    return _op("MaskedFill")(input_x, mask, value)


def clamp(input, min=None, max=None):
    if isinstance(min, _Tensor) or isinstance(max, _Tensor):
        return _between(input, min, max)
    return _op("ClampScalar")(input, min=min, max=max)


def _between(x, least, most):
    """Bounds that are tensors take two operators; where there is none, none."""
    if least is not None:
        x = _op("Maximum")(x, least)
    return x if most is None else _op("Minimum")(x, most)


clip = clamp


def clip_by_value(x, clip_value_min=None, clip_value_max=None):
    """Of a tensor, or of each of several."""
    if isinstance(x, (tuple, list)):
        return type(x)(clip_by_value(one, clip_value_min, clip_value_max) for one in x)
    if clip_value_min is None and clip_value_max is None:
        raise _user_error(ValueError, "clip_by_value:bounds", "clip_by_value() needs clip_value_min or clip_value_max")
    return _between(x, *(bound if bound is None or not isinstance(bound, (int, float)) else _Tensor(bound, x.dtype)
                         for bound in (clip_value_min, clip_value_max)))


def mse_loss(input, target, reduction="mean"):
    from mindspore.ops import _losses
    return _losses.reduce_loss(square(input - target), reduction)  # noqa: F821 (made above)


def addn(x):
    return _op("AddN")(x)


# -- constants --------------------------------------------------------------------------------------
def fill(type, shape, value):
    return _constant(shape, value, type)


def full(size, fill_value, *, dtype=None):
    return _constant(size, fill_value, dtype or _mstype.dtype_of(type(fill_value)
                                                                   if isinstance(fill_value, (bool, int, float))
                                                                   else fill_value.dtype))


def zeros(size, dtype=None):
    return _constant(size, 0, dtype)


def ones(shape=None, dtype=None, *, size=None):
    return _constant(size if shape is None else shape, 1, dtype)


def eye(n, m=None, dtype=None):
    from mindspore.ops.operations import _python_ops
    return _python_ops.Eye()(n, m, _mstype.dtype_of(dtype, _mstype.float32))


_LONG_RANGE = 1 << 16  # numbers that no list of Python's is made for


def arange(start=0, end=None, step=1, *, dtype=None):
    start, end = (0, start) if end is None else (start, end)
    for number in (start, end, step):
        if isinstance(number, _Tensor):
            raise _Unsupported("mindspore.ops.arange.tensor", "arange() of tensors is not supported")
    count = int(-(-(end - start) // step))
    if count > _LONG_RANGE:
        whole = all(isinstance(number, int) for number in (start, end, step))
        dtype = dtype or (_mstype.int64 if whole else _mstype.float32)
        numpy = _sys.modules.get("numpy")
        return _Tensor(shape=(count,), dtype=dtype) if numpy is None else _Tensor(start + numpy.arange(count) * step, dtype)
    numbers = [start + i * step for i in range(count)]
    return _Tensor(numbers, dtype) if numbers else _Tensor(shape=(0,), dtype=dtype or _mstype.int64)


tuple_to_array = lambda x: _Tensor(list(x))  # noqa: E731
make_range = lambda *args: tuple(range(*args))  # noqa: E731
scalar_to_tensor = lambda x, dtype=_mstype.float32: _Tensor(x, dtype)  # noqa: E731
identity = lambda x: x  # noqa: E731
partial = _functools.partial


def print_(*args):
    return None


def tensordump(file_name, tensor, mode="out"):
    from mindspore.ops.operations import TensorDump
    TensorDump(mode)(file_name, tensor)


def cast_attr(value):
    return _attr_value(value)


def all_reduce_sum(tensor, group):
    return _op("AllReduce", op="sum", group=group)(tensor)


def _square_sum(x):
    """Sum of squares, as a vector of one element; over ranks its parts are summed before the root."""
    total = _cast(_op("ReduceSum")(_op("Square")(x), ()), _mstype.float32)
    part = _op("ExpandDims").add_prim_attr("grad_scale", True)
    return part(total, 0)


def clip_by_global_norm(x, clip_norm=1.0, use_norm=None):
    """x * clip_norm / max(norm of all, clip_norm). Source: mindspore/python/mindspore/ops/function/clip_func.py."""
    if use_norm is not None:
        raise _user_error(ValueError, "clip_by_global_norm:use_norm", "use_norm must be None")
    if isinstance(clip_norm, bool) or not isinstance(clip_norm, (int, float)) or clip_norm <= 0:
        raise _user_error(ValueError, "clip_by_global_norm:clip_norm", "clip_norm must be a number above 0, not %r"
                          % (clip_norm,))
    limit = _Tensor([float(clip_norm)], _mstype.float32)
    norm = _op("Sqrt")(addn(tuple(_square_sum(grad) for grad in x)))
    norm = _op("Select")(_op("GreaterEqual")(norm, limit), norm, limit)
    return tuple(_cast(_op("Div")(_times(grad, limit, clip_norm), norm), grad.dtype) for grad in x)


def _times(grad, limit, clip_norm):
    return grad if clip_norm == 1 else _op("Mul")(grad, limit)


def _norm(x, kind):
    total = _op("ReduceSum")(_op("Pow")(x, _Tensor(float(kind), x.dtype)), ())
    return _cast(_op("Pow")(total, _Tensor(1.0 / kind, x.dtype)), x.dtype)


def clip_by_norm(x, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """x * max_norm / norm of all; the step of a larger norm. Source: mindspore/python/mindspore/ops/function/clip_func.py."""
    tensors = [x] if isinstance(x, _Tensor) else list(x)
    if norm_type == float("inf"):
        raise _Unsupported("mindspore.ops.clip_by_norm.norm_type", "clip_by_norm of the largest element is not recorded")
    total = _norm(_op("Stack", axis=0)(tuple(_norm(one, norm_type) for one in tensors)), norm_type)
    factor = _op("Muls")(_op("Reciprocal")(_op("Add")(total, _Tensor(1e-6, total.dtype))), other=float(max_norm))
    factor = depend(factor, _op("Less")(factor, _Tensor(1.0, factor.dtype)))
    clipped = [_op("Mul")(factor, one) for one in tensors]
    return clipped[0] if isinstance(x, _Tensor) else type(x)(clipped) if isinstance(x, (tuple, list)) else clipped


for _name, _function in list(globals().items()):
    if not _name.startswith("_"):
        globals()[_name] = _arguments.fitted("mindspore.ops", _name, _function)

_LOSSES = ("cross_entropy", "nll_loss", "l1_loss", "huber_loss", "kl_div", "binary_cross_entropy",
           "binary_cross_entropy_with_logits", "smooth_l1_loss", "soft_margin_loss", "margin_ranking_loss", "cosine_embedding_loss",
           "hinge_embedding_loss", "gaussian_nll_loss", "multilabel_soft_margin_loss", "triplet_margin_loss")


def __getattr__(name):
    """Other operators of the table under their snake-case name; stubs for the rest."""
    from mindspore._drydock import names
    from mindspore.ops import _fallback
    if names.is_hidden(__name__, name):
        raise names.missing((__name__,), name)
    if name in _LOSSES:
        from mindspore.ops import _losses
        return getattr(_losses, name)
    if not names.lacks(_fallback.PLACES, name):
        found = _fallback.made_of_others(name)
        if found is not None:
            return _arguments.fitted("mindspore.ops", name, found)
    return _arguments.fitted("mindspore.ops", name, _fallback.functional(name))
