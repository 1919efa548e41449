"""Functions whose operator has no entry in the table: the form of their results is known here, so networks that use them are recorded.

Each call is one operator under its own name. The summary counts it (`operator-without-rule`, `unknown-operator`), and
--strict refuses it; its gradient is one kernel that keeps all operands.
Example: ops.hardswish(x) records 'HSwish', whose result has the shape of x.
"""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._recording import tracing, values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops.primitive import attr_value


def record(name, tensors, types, **attrs):
    """One operator with results of the given (shape, element type); one tensor or a tuple of them."""
    operands = [value for value in tensors if value is not None]
    if not any(isinstance(value, Tensor) for value in operands) and tensors:
        raise user_error(TypeError, name + ":operand-type", "'%s' takes tensors, not %s" % (name, type(tensors[0]).__name__))
    results = tracing.apply(name, operands, {key: attr_value(value) for key, value in attrs.items()}, types=types)
    return results[0] if len(results) == 1 else tuple(results)


def _like(name, dtype=None):
    """A function of one tensor whose result has its shape; further arguments are settings."""
    def function(input, *args, **kwargs):
        others = [value for value in list(args) + list(kwargs.values()) if isinstance(value, Tensor)]
        settings = [value for value in args if not isinstance(value, Tensor)]
        return record(name, [input] + others, [(input.shape, dtype or input.dtype)], settings=settings)

    function.__name__ = name
    return function


# Name -> operator; the result has the shape and element type of the first operand.
_SAME = {"hardswish": "HSwish", "hswish": "HSwish", "bernoulli": "BernoulliExt", "tensor_scatter_elements": "TensorScatterElements", "scatter": "Scatter",
         "scatter_add": "ScatterAddExt", "inverse": "MatrixInverse", "logit": "Logit", "sinc": "Sinc",
         "trapz": "Trapz", "renorm": "Renorm", "index_add": "IndexAdd", "index_fill": "IndexFill", "index_put": "IndexPut",
         "masked_scatter": "MaskedScatter", "alpha_dropout": "AlphaDropout", "feature_alpha_dropout": "FeatureAlphaDropout",
         "cosh_": "Cosh", "lp_normalize": "LpNormalize", "local_response_norm": "LRN", "lrn": "LRN", "channel_shuffle": "ChannelShuffle",
         "deg2rad": "Deg2Rad", "rad2deg": "Rad2Deg", "cholesky_inverse": "CholeskyInverse", "fmax": "Fmax", "fmin": "Fmin",
         "heaviside": "Heaviside", "copysign": "Copysign", "xlogy": "Xlogy", "select_scatter": "SelectScatter",
         "diagonal_scatter": "DiagonalScatter", "slice_scatter": "SliceScatter", "matrix_exp": "MatrixExp"}
_TRUTH = {"isnan": "IsNan", "isinf": "IsInf", "isneginf": "IsNegInf", "isposinf": "IsPosInf", "signbit": "Signbit",
          "isreal": "IsReal"}


def bucketize(input, boundaries, *, right=False):
    return record("Bucketize", [input], [(input.shape, mstype.int32)], right=right)


def searchsorted(sorted_sequence, values, *, out_int32=False, right=False, side=None, sorter=None):
    return record("SearchSorted", [sorted_sequence, values], [(values.shape, mstype.int32 if out_int32 else mstype.int64)])


def _drawn(name, size, dtype, **attrs):
    """A tensor of random numbers; what draws them is an operator without operands."""
    shape = values.shape_of_argument(size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size)
    return record(name, [], [(shape, mstype.dtype_of(dtype, mstype.float32))], **attrs)


def rand(*size, dtype=None, seed=None, generator=None, device=None):
    return _drawn("RandExt", size, dtype)


def randn(*size, dtype=None, seed=None, generator=None, device=None):
    return _drawn("Randn", size, dtype)


def randint(low, high=None, size=None, seed=None, *, dtype=None, generator=None, device=None):
    """Numbers below one bound, or between two."""
    if size is None or not isinstance(size, (tuple, list)) and isinstance(high, (tuple, list)):
        low, high, size = 0, low, high if isinstance(high, (tuple, list)) else size
    return _drawn("RandInt", (tuple(size),), dtype or mstype.int64, low=low, high=high)


def randperm(n, *, seed=0, offset=0, dtype=None, generator=None, device=None):
    return _drawn("RandpermExt", ((n,),), dtype or mstype.int64)


def rand_like(input, seed=None, *, dtype=None, device=None):
    return record("RandLikeExt", [input], [(input.shape, mstype.dtype_of(dtype, input.dtype))])


def randn_like(input, seed=None, *, dtype=None, device=None):
    return record("RandnLike", [input], [(input.shape, mstype.dtype_of(dtype, input.dtype))])


def randint_like(input, low, high=None, seed=None, *, dtype=None, device=None):
    return record("RandIntLike", [input], [(input.shape, mstype.dtype_of(dtype, input.dtype))], low=low, high=high)


def multinomial(input, num_samples, replacement=True, seed=None, *, generator=None):
    return record("MultinomialExt", [input], [(input.shape[:-1] + (num_samples,), mstype.int64)], replacement=replacement)


def diag(input, diagonal=0):
    """The diagonal of a matrix, or a matrix with that diagonal."""
    if input.ndim == 1:
        side = input.shape[0] + abs(diagonal)
        return record("DiagExt", [input], [((side, side), input.dtype)], diagonal=diagonal)
    return diagonal_of(input, diagonal)


def diagonal_of(input, offset=0, dim1=0, dim2=1):
    rows, columns = input.shape[dim1], input.shape[dim2]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    others = tuple(extent for dim, extent in enumerate(input.shape) if dim not in (dim1 % input.ndim, dim2 % input.ndim))
    return record("Diagonal", [input], [(others + (length,), input.dtype)], offset=offset)


def median(input, axis=-1, keepdims=False, *, dim=None, keepdim=None):
    axis = (axis if dim is None else dim) % input.ndim
    keep = keepdims if keepdim is None else keepdim
    shape = input.shape[:axis] + ((1,) if keep else ()) + input.shape[axis + 1:]
    return record("MedianDim", [input], [(shape, input.dtype), (shape, mstype.int64)], axis=axis)


def quantile(input, q, axis=None, keepdims=False):
    count = q.shape if isinstance(q, Tensor) else ()
    shape = count + (() if axis is None else input.shape[:axis % input.ndim] + input.shape[axis % input.ndim + 1:])
    return record("Quantile", [input], [(shape, input.dtype)])


def svd(input, full_matrices=False, compute_uv=True):
    rows, columns = input.shape[-2:]
    rank = min(rows, columns)
    of_values = (input.shape[:-2] + (rank,), input.dtype)
    if not compute_uv:
        return record("Svd", [input], [of_values])
    wide = (rows, columns) if full_matrices else (rank, rank)
    return record("Svd", [input], [of_values] + [(input.shape[:-2] + (side, extent), input.dtype)
                                                 for side, extent in zip((rows, columns), wide)])


def view_as_real(input):
    part = mstype.float32 if input.dtype is mstype.complex64 else mstype.float64
    return record("ViewAsReal", [input], [(input.shape + (2,), part)])


def det(input):
    return record("MatrixDeterminant", [input], [(input.shape[:-2], input.dtype)])


def logdet(input):
    return record("LogMatrixDeterminant", [input], [(input.shape[:-2], input.dtype)])


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The loss of every sequence and what its gradient needs, then their mean or sum."""
    lengths = [value if isinstance(value, Tensor) else Tensor(list(value), mstype.int64) for value in (input_lengths, target_lengths)]
    batch = log_probs.shape[1:2]
    longest = targets.shape[1] if targets.ndim == 2 else max(targets.shape[0] // max(1, values.count(batch)), 1)
    alpha = batch + (log_probs.shape[0], 2 * longest + 1)
    loss, alphas = record("CTCLossV2", [log_probs, targets] + lengths, [(batch, log_probs.dtype), (alpha, log_probs.dtype)], blank=blank)
    if reduction != "none":
        from mindspore.ops import functional as F
        loss = F.mean(loss) if reduction == "mean" else F.sum(loss)
    return loss, alphas


def resized(name, input, shape, **attrs):
    return record(name, [input], [(tuple(shape), input.dtype)], **attrs)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Blocks of a plane as columns."""
    kernel, dilation, padding, stride = (_pair(value) for value in (kernel_size, dilation, padding, stride))
    blocks = 1
    for side, k, d, p, s in zip(input.shape[-2:], kernel, dilation, padding, stride):
        blocks *= (side + 2 * p - d * (k - 1) - 1) // s + 1
    lead = input.shape[:-3]
    return record("Im2ColExt", [input], [(lead + (input.shape[-3] * values.count(kernel), blocks), input.dtype)], kernel_size=kernel)


def image_patches(input, kernel, strides, rates, padding):
    """Blocks of a plane as channels of a smaller plane; `padding` "same" reaches over the rim, "valid" does not."""
    plane = [-(-side // s) if str(padding).lower() == "same" else (side - r * (k - 1) - 1) // s + 1
             for side, k, s, r in zip(input.shape[-2:], kernel, strides, rates)]
    shape = (input.shape[0], input.shape[1] * values.count(kernel)) + tuple(plane)
    return record("ExtractImagePatches", [input], [(shape, input.dtype)], kernel_size=kernel)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns back into a plane; where blocks overlap their elements are summed."""
    channels = input.shape[-2] // values.count(_pair(kernel_size))
    return record("Col2ImExt", [input], [(input.shape[:-2] + (channels,) + _pair(output_size), input.dtype)], kernel_size=_pair(kernel_size))


def _pair(value, count=2):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def moe_token_permute(tokens, indices, num_out_tokens=None, padded_mode=False):
    copies = indices.shape[1] if indices.ndim == 2 else 1
    rows = num_out_tokens or tokens.shape[0] * copies
    return record("MoeTokenPermute", [tokens, indices], [((rows,) + tokens.shape[1:], tokens.dtype),
                                                         ((tokens.shape[0] * copies,), mstype.int32)])


def moe_token_unpermute(permuted_tokens, sorted_indices, probs=None, padded_mode=False, restore_shape=None):
    rows = probs.shape[0] if probs is not None else sorted_indices.shape[0]
    return record("MoeTokenUnpermute", [permuted_tokens, sorted_indices, probs],
                  [((rows,) + permuted_tokens.shape[1:], permuted_tokens.dtype)])


def count_nonzero(x, axis=(), keep_dims=False, dtype=mstype.int32, *, dim=None):
    from mindspore.ops import functional as F
    return F.reduce_sum(F.cast(F.not_equal(x, 0), dtype), axis if dim is None else dim, keep_dims)


def intopk(x1, x2, k):
    return record("InTopK", [x1, x2], [(x2.shape, mstype.bool_)], k=k)


def cross(input, other, dim=None):
    return record("Cross", [input, other], [(input.shape, input.dtype)])


def deformable_conv2d(x, weight, offsets, kernel_size, strides, padding, bias=None, dilations=(1, 1, 1, 1), groups=1,
                      deformable_groups=1, modulated=True):
    shape = (x.shape[0], weight.shape[0]) + offsets.shape[2:]
    return record("DeformableConv2d", [x, weight, offsets, bias], [(shape, x.dtype)])


def vmap(fn, in_axes=0, out_axes=0):
    raise Unsupported("mindspore.ops.vmap")


_NAMED = {"diagonal": diagonal_of, "bucketize": bucketize, "searchsorted": searchsorted, "rand": rand, "randn": randn, "randint": randint,
          "randperm": randperm, "rand_like": rand_like, "randn_like": randn_like, "randint_like": randint_like,
          "multinomial": multinomial, "diag": diag, "median": median, "quantile": quantile, "svd": svd, "view_as_real": view_as_real,
          "det": det, "logdet": logdet, "ctc_loss": ctc_loss, "unfold": unfold, "fold": fold, "moe_token_permute": moe_token_permute,
          "moe_token_unpermute": moe_token_unpermute, "count_nonzero": count_nonzero, "intopk": intopk, "cross": cross,
          "deformable_conv2d": deformable_conv2d, "vmap": vmap}
NAMES = dict(_NAMED, **{name: _like(operator) for name, operator in _SAME.items()})
NAMES.update({name: _like(operator, mstype.bool_) for name, operator in _TRUTH.items()})
