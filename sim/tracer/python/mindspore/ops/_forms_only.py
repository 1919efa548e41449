"""Functions of which the form of the results is known, and no rule: random numbers, windows, factors of matrices, statistics without
what is no number, volumes and planes that are taken apart. See ops/_unruled.py.
"""
from mindspore._drydock.errors import user_error
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops import _shapes, _unruled
from mindspore.ops.primitive import operator as op


def _shape(shape):
    return tuple(shape.tolist()) if isinstance(shape, Tensor) else values.shape_of_argument(shape)


# -- windows ----------------------------------------------------------------------------------------
def _window(name, operator_name):
    def function(window_length, periodic=True, *, dtype=None):
        length = int(window_length.item()) if isinstance(window_length, Tensor) else window_length
        if isinstance(length, bool) or not isinstance(length, int) or length < 0:
            raise user_error(ValueError, name + ":length", "%s() takes a length from 0 on, not %r" % (name, window_length))
        return _unruled.record(operator_name, [], [((length,), mstype.dtype_of(dtype, mstype.float32))], periodic=periodic)

    function.__name__ = name
    return function


bartlett_window, blackman_window = _window("bartlett_window", "BartlettWindow"), _window("blackman_window", "BlackmanWindow")


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None):
    if isinstance(window_length, bool) or not isinstance(window_length, int) or window_length < 0:
        raise user_error(ValueError, "hamming_window:length", "hamming_window() takes a length from 0 on, not %r" % (window_length,))
    return _unruled.record("HammingWindow", [], [((window_length,), mstype.dtype_of(dtype, mstype.float32))], periodic=periodic, alpha=alpha,
                           beta=beta)


# -- random numbers ---------------------------------------------------------------------------------
def standard_laplace(shape, seed=None):
    return _unruled.record("StandardLaplace", [], [(_shape(shape), mstype.float32)])


def laplace(shape, mean, lambda_param, seed=None):
    return standard_laplace(shape) * lambda_param + mean


def random_gamma(shape, alpha, seed=None):
    return _unruled.record("RandomGamma", [alpha], [(_shape(shape) + alpha.shape, alpha.dtype)])


def poisson(shape, mean, seed=None):
    return _unruled.record("Poisson", [mean], [(_shapes.broadcast("poisson", [_shape(shape), mean.shape]), mstype.int32)])


def random_poisson(shape, rate, seed=None, dtype=mstype.float32):
    return _unruled.record("RandomPoisson", [rate], [(_shape(shape) + rate.shape, mstype.dtype_of(dtype))])


def random_categorical(logits, num_sample, seed=0, dtype=mstype.int64):
    return _unruled.record("RandomCategorical", [logits], [((logits.shape[0], num_sample), mstype.dtype_of(dtype))])


def multinomial_with_replacement(x, seed, offset, numsamples, replacement=False):
    return _unruled.record("MultinomialWithReplacement", [x], [(x.shape[:-1] + (numsamples,), mstype.int64)], replacement=replacement)


def choice_with_mask(input_x, count=256, seed=None):
    return op("RandomChoiceWithMask", count=count)(input_x)


# -- statistics -------------------------------------------------------------------------------------
def nanmedian(input, axis=-1, keepdims=False):
    axis %= input.ndim
    shape = input.shape[:axis] + ((1,) if keepdims else ()) + input.shape[axis + 1:]
    return _unruled.record("Median", [input], [(shape, input.dtype), (shape, mstype.int64)], axis=axis, ignore_nan=True)


def nanquantile(input, q, axis=None, keepdims=False):
    count = q.shape if isinstance(q, Tensor) else ()
    if axis is None:
        shape = (1,) * input.ndim if keepdims else ()
    else:
        axis %= input.ndim
        shape = input.shape[:axis] + ((1,) if keepdims else ()) + input.shape[axis + 1:]
    return _unruled.record("Quantile", [input] + ([q] if isinstance(q, Tensor) else []), [(count + shape, input.dtype)], ignore_nan=True)


def pdist(input, p=2.0):
    """Distances of all pairs of rows."""
    rows = input.shape[-2]
    return _unruled.record("Pdist", [input], [(input.shape[:-2] + (rows * (rows - 1) // 2,), input.dtype)], p=p)


# -- matrices ---------------------------------------------------------------------------------------
def orgqr(input, input2):
    return _unruled.record("Orgqr", [input, input2], [(input.shape, input.dtype)])


def ormqr(input, tau, other, left=True, transpose=False):
    return _unruled.record("Ormqr", [input, tau, other], [(other.shape, other.dtype)], left=left, transpose=transpose)


def geqrf(input):
    rows, columns = input.shape[-2:]
    return _unruled.record("Geqrf", [input], [(input.shape, input.dtype), (input.shape[:-2] + (min(rows, columns),), input.dtype)])


def lu_solve(b, LU_data, LU_pivots):
    return _unruled.record("LuSolve", [b, LU_data, LU_pivots], [(b.shape, b.dtype)])


def _complex(kind):
    return {mstype.float32: mstype.complex64, mstype.float64: mstype.complex128}.get(kind, kind)


def eigvals(A):
    """Numbers that are complex, whatever the matrices are."""
    return _unruled.record("Eig", [A], [(A.shape[:-1], _complex(A.dtype)), (A.shape, _complex(A.dtype))], compute_v=False)[0]


def eig(A):
    return _unruled.record("Eig", [A], [(A.shape[:-1], _complex(A.dtype)), (A.shape, _complex(A.dtype))], compute_v=True)


def polygamma(n, input):
    return _unruled.record("Polygamma", [n, input] if isinstance(n, Tensor) else [input], [(input.shape, input.dtype)])


# -- planes and volumes -----------------------------------------------------------------------------
def affine_grid(theta, size, align_corners=False):
    """Places of a plane or of a volume: its extents, and a coordinate for each dimension."""
    extents = _shape(size)
    if len(extents) not in (4, 5) or theta.shape != (extents[0], len(extents) - 2, len(extents) - 1):
        raise user_error(ValueError, "affine_grid:shape", "theta %s and size %s of affine_grid() do not fit each other" % (theta.shape, extents))
    return _unruled.record("AffineGrid", [theta], [(extents[:1] + extents[2:] + (len(extents) - 2,), theta.dtype)],
                           align_corners=align_corners)


def col2im(input_x, output_size, kernel_size, dilation, padding_value, stride):
    """Columns back into planes."""
    sides = _shape(output_size)
    return _unruled.record("Col2Im", [input_x], [(input_x.shape[:2] + sides, input_x.dtype)], kernel_size=_unruled._pair(kernel_size))


def _fractional(count):
    def function(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        name = "fractional_max_pool%dd" % count
        if (output_size is None) == (output_ratio is None):
            raise user_error(ValueError, name + ":size", "%s() takes either output_size or output_ratio" % name)
        lead = input.ndim == count + 1
        x = op("ExpandDims")(input, 0) if lead else input
        sides = x.shape[-count:]
        if output_size is None:
            ratios = (output_ratio,) * count if isinstance(output_ratio, (int, float)) else tuple(output_ratio)
            wanted = tuple(int(side * ratio) for side, ratio in zip(sides, ratios))
        else:
            wanted = (output_size,) * count if isinstance(output_size, int) else tuple(output_size)
        samples = _random_samples
        if samples is None:
            samples = _unruled.rand(*x.shape[:2], count, dtype=x.dtype if x.dtype.kind == "float" else None)
        operator_name = "FractionalMaxPoolWithFixedKsize" if count == 2 else "FractionalMaxPool3DWithFixedKsize"
        shape = x.shape[:2] + wanted
        found = _unruled.record(operator_name, [x, samples], [(shape, x.dtype), (shape, mstype.int64)], ksize=kernel_size)
        if lead:
            found = tuple(op("Squeeze", axis=(0,))(one) for one in found)
        return found if return_indices else found[0]

    function.__name__ = "fractional_max_pool%dd" % count
    return function


fractional_max_pool2d, fractional_max_pool3d = _fractional(2), _fractional(3)

NAMES = ("bartlett_window", "blackman_window", "hamming_window", "standard_laplace", "laplace", "random_gamma", "poisson", "random_poisson",
         "random_categorical", "multinomial_with_replacement", "choice_with_mask", "nanmedian", "nanquantile", "pdist", "orgqr", "ormqr",
         "geqrf", "lu_solve", "eig", "eigvals", "polygamma", "affine_grid", "col2im", "fractional_max_pool2d", "fractional_max_pool3d")
