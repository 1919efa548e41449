"""Functional forms that compute: products of matrices and vectors, sums without what is no number, norms, activations, shifts of bits.

Source: mindspore/python/mindspore/ops/function/math_func.py and nn_func.py (which operators, in which order).
"""
import math

from mindspore._drydock.errors import Unsupported, user_error
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops import _shapes, _unruled
from mindspore.ops.operations._python_ops import constant
from mindspore.ops.primitive import cast, operator as op


def _f():
    from mindspore.ops import functional
    return functional


def _tensors(name, *values):
    for value in values:
        if not isinstance(value, Tensor):
            raise user_error(TypeError, name + ":operand-type", "%s() takes tensors, not %s" % (name, type(value).__name__))


# -- products ---------------------------------------------------------------------------------------
def _times(factor, x):
    """A product with 1 is left out, as the reference's compiler does."""
    return x if factor == 1 else factor * x


def addmv(input, mat, vec, *, beta=1, alpha=1):
    _tensors("addmv", input, mat, vec)
    return _times(beta, input) + _times(alpha, _f().mv(mat, vec))


def addr(x, vec1, vec2, *, beta=1, alpha=1):
    _tensors("addr", x, vec1, vec2)
    F = _f()
    column, row = F.reshape(vec1, (vec1.size, 1)), F.reshape(vec2, (1, vec2.size))
    return _times(beta, x) + _times(alpha, op("MatMul")(column, row))


def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """The sum of the products of a batch, and the input."""
    product = op("BatchMatMul")(batch1, batch2)
    return _times(beta, input) + _times(alpha, product.sum(axis=0))


def vecdot(x, y, *, axis=-1):
    _tensors("vecdot", x, y)
    rank = max(x.ndim, y.ndim)
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise user_error(ValueError, "vecdot:axis", "axis %r of vecdot() is no dimension of tensors of %d" % (axis, rank))
    x = op("Conj")(x) if x.dtype.kind == "complex" else x
    return (x * y).sum(axis=axis)


def bidense(input1, input2, weight, bias=None):
    """x1 @ W[o] @ x2 for every output o, as one product and a sum."""
    F = _f()
    _tensors("bidense", input1, input2, weight)
    shape = input1.shape
    if shape[:-1] != input2.shape[:-1]:
        raise user_error(ValueError, "bidense:shape", "bidense() takes inputs that differ in their last dimension only, not %s and %s"
                         % (shape, input2.shape))
    if len(shape) != 2:
        input1, input2 = F.reshape(input1, (-1, shape[-1])), F.reshape(input2, (-1, input2.shape[-1]))
    outputs = weight.shape[0]
    columns = F.reshape(F.transpose(weight, (1, 2, 0)), (shape[-1], -1))
    product = F.reshape(op("MatMul")(input1, columns), (input1.shape[0], input2.shape[-1], outputs))
    result = (F.transpose(product, (2, 0, 1)) * input2).sum(2).swapaxes(0, 1)
    if bias is not None:
        result = op("BiasAdd")(result, bias)
    return F.reshape(result, shape[:-1] + (-1,)) if len(shape) != 2 else result


def cov(input, *, correction=1, fweights=None, aweights=None):
    """Covariances of rows."""
    F = _f()
    if input.ndim > 2:
        raise user_error(ValueError, "cov:rank", "cov() takes tensors of up to two dimensions, not of %d" % input.ndim)
    if fweights is not None or aweights is not None:
        raise Unsupported("mindspore.ops.cov.weights", "cov() with weights is not supported")
    x = F.reshape(input, (1, -1)) if input.ndim < 2 else input
    x = cast(x, mstype.float32) if x.dtype in (mstype.float16, mstype.bfloat16) else x
    count = x.shape[1]
    centred = x - op("ExpandDims")(x.sum(1) / Tensor(float(count), mstype.float32), 1)
    product = op("MatMul")(centred, F.transpose(centred, (1, 0)))
    freed = op("Cast")(op("ClampScalar")(Tensor(count - correction, mstype.int64), min=0), mstype.float32)
    return F.squeeze(op("Div")(product, freed))


def vander(x, N=None):
    """Powers of a row, the highest first."""
    _tensors("vander", x)
    if x.ndim != 1:
        raise user_error(ValueError, "vander:rank", "vander() takes a tensor of one dimension, not of %d" % x.ndim)
    count = x.shape[0] if N is None else N
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise user_error(ValueError, "vander:N", "N of vander() must be a positive number, not %r" % (N,))
    powers = Tensor(list(range(count - 1, -1, -1)), mstype.int64)
    return op("Pow")(op("ExpandDims")(x, 1), op("ExpandDims")(powers, 0))


# -- sums and norms ---------------------------------------------------------------------------------
def _axes(axis):
    return () if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


def nansum(input, axis=None, keepdims=False, *, dtype=None):
    """The sum of what is a number: zeros in the other places first."""
    F = _f()
    _tensors("nansum", input)
    if input.dtype.kind == "complex":
        raise user_error(TypeError, "nansum:type", "nansum() takes no complex numbers")
    x = cast(input, mstype.int64) if input.dtype is mstype.bool_ else input
    cleaned = op("MaskedFill")(x, F.isnan(x), Tensor(0, x.dtype))
    total = op("ReduceSum", keep_dims=keepdims)(cleaned, _axes(axis))
    return total if dtype is None else cast(total, mstype.dtype_of(dtype))


def dist(input, other, p=2):
    """The norm of the difference."""
    _tensors("dist", input, other)
    difference = input - other
    if difference.ndim == 0:
        return op("Abs")(difference)
    from mindspore.ops.operations import _rare_forms
    return _rare_forms.LpNorm(axis=0, p=p)(_f().reshape(difference, (-1,)))


def matrix_norm(A, ord="fro", axis=(-2, -1), keepdims=False, *, dtype=None):
    """Of the matrices in two dimensions; norms that need singular values are Unsupported."""
    F = _f()
    if A.ndim < 2 or len(axis) != 2 or axis[0] % A.ndim == axis[1] % A.ndim:
        raise user_error(ValueError, "matrix_norm:axis", "matrix_norm() takes two different dimensions of %s, not %r" % (A.shape, axis))
    row, column = (dim % A.ndim for dim in axis)
    x = A if dtype is None else cast(A, mstype.dtype_of(dtype))
    if ord == "fro":
        result = F.sqrt(op("ReduceSum")(F.square(x), tuple(axis)))
    elif ord in (math.inf, -math.inf):
        sums = op("ReduceSum")(F.abs(x), column)
        result = _extreme(sums, row - 1 if row > column else row, ord > 0)
    elif ord in (1, -1):
        sums = F.abs(x).sum(row)
        result = _extreme(sums, column - 1 if column > row else column, ord > 0)
    elif ord in (2, -2, "nuc"):
        raise Unsupported("mindspore.ops.matrix_norm.ord", "matrix_norm() with ord %r is not supported" % (ord,))
    else:
        raise user_error(ValueError, "matrix_norm:ord", "ord of matrix_norm() cannot be %r" % (ord,))
    if keepdims:
        result = F.reshape(result, tuple(1 if dim in (row, column) else extent for dim, extent in enumerate(A.shape)))
    return result


def _extreme(x, axis, largest):
    return op("ArgMaxWithValue" if largest else "ArgMinWithValue", axis=axis)(x)[1]


# -- element by element -----------------------------------------------------------------------------
def arccos(input):
    return op("ACos")(input)


def arccosh(input):
    return op("Acosh")(input)


def arcsin(x):
    return op("Asin")(x)


def arcsinh(input):
    return op("Asinh")(input)


def arctan(input):
    return op("Atan")(input)


def arctan2(input, other):
    return op("Atan2")(input, other)


def arctanh(input):
    return op("Atanh")(input)


def i0(input):
    return op("BesselI0")(input)


def tensor_exp(input):
    return op("Exp")(input)


def tensor_expm1(input):
    return op("Expm1")(input)


def _comparison(name, operator_name):
    def function(input, other):
        return op(operator_name)(input, other)

    function.__name__ = name
    return function


tensor_gt, tensor_ge = _comparison("tensor_gt", "Greater"), _comparison("tensor_ge", "GreaterEqual")
tensor_lt, tensor_le = _comparison("tensor_lt", "Less"), _comparison("tensor_le", "LessEqual")
tensor_mod, tensor_muls = _comparison("tensor_mod", "FloorMod"), _comparison("tensor_muls", "Muls")


def positive(input):
    _tensors("positive", input)
    return input


def ldexp(x, other):
    return op("Mul")(x, op("Pow")(2.0, other))


def sgn(input):
    _tensors("sgn", input)
    if input.dtype.kind == "complex":
        raise Unsupported("mindspore.ops.sgn.complex", "sgn() of complex numbers is not supported")
    return op("Sign")(input)


def _shift(name, operator_name):
    def function(input, other):
        for one in (input, other):
            if not isinstance(one, Tensor) and (isinstance(one, bool) or not isinstance(one, int)):
                raise user_error(TypeError, name + ":operand-type", "%s() takes tensors and whole numbers, not %r" % (name, one))
        if not isinstance(input, Tensor) and not isinstance(other, Tensor):
            raise user_error(TypeError, name + ":operand-type", "one of the operands of %s() must be a Tensor" % name)
        if not isinstance(input, Tensor):
            input = Tensor(input, other.dtype)
        elif not isinstance(other, Tensor):
            other = Tensor(other, input.dtype)
        return op(operator_name)(input, other)

    function.__name__ = name
    return function


bitwise_left_shift, bitwise_right_shift = _shift("bitwise_left_shift", "LeftShift"), _shift("bitwise_right_shift", "RightShift")


def lcm(input, other):
    """The least common multiples: one operator without a rule."""
    shape = _shapes.broadcast("lcm", [input.shape, other.shape])
    return _unruled.record("Lcm", [input, other], [(shape, mstype.promote(input.dtype, other.dtype))])


def logcumsumexp(input, axis):
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise user_error(TypeError, "logcumsumexp:axis", "axis of logcumsumexp() must be a whole number, not %r" % (axis,))
    return _unruled.record("CumulativeLogsumexp", [input, Tensor(axis, mstype.int64)], [(input.shape, input.dtype)])


# -- activation -------------------------------------------------------------------------------------
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3):
    """x where it is positive; elsewhere a share of it that is drawn for each element."""
    _tensors("rrelu", input)
    for name, bound in (("lower", lower), ("upper", upper)):
        if not isinstance(bound, (int, float)):
            raise user_error(TypeError, "rrelu:" + name, "%s of rrelu() must be a number, not %r" % (name, bound))
    if lower > upper:
        raise user_error(ValueError, "rrelu:bounds", "upper of rrelu() must not be smaller than lower: %s and %s" % (upper, lower))
    F = _f()
    sign = op("Sign")(input)
    negative, not_negative = F.clamp(sign, None, 0), F.clamp(sign, 0, None)
    drawn = F.uniform(input.shape, Tensor(lower, mstype.float32), Tensor(upper, mstype.float32))
    share = negative * cast(drawn, input.dtype) * -1
    return (share + not_negative) * input


def lp_pool1d(x, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp_pool(1, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(x, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp_pool(2, x, norm_type, kernel_size, stride, ceil_mode)


def _lp_pool(count, x, norm_type, kernel_size, stride, ceil_mode):
    """(sum of |x| ** p over a window) ** (1 / p): from the mean of the window."""
    F, name = _f(), "lp_pool%dd" % count
    if isinstance(norm_type, bool) or not isinstance(norm_type, (int, float)) or norm_type == 0:
        raise user_error(ValueError, name + ":norm_type", "norm_type of %s() must be a number other than 0, not %r" % (name, norm_type))
    kernel = tuple(kernel_size) if isinstance(kernel_size, (tuple, list)) else (kernel_size,) * count
    lead = x.ndim == 2 and count == 1
    powers = F.pow(op("ExpandDims")(x, 0) if lead else x, float(norm_type))
    steps = kernel if stride is None else tuple(stride) if isinstance(stride, (tuple, list)) else (stride,) * count
    if ceil_mode:
        pooled = getattr(F, "avg_pool%dd" % count)(powers, kernel, stride=steps, padding=0, ceil_mode=True)
    else:  # the mean of a volume of one layer
        for _ in range(3 - count):
            powers = op("ExpandDims")(powers, 2)
        volume = (1,) * (3 - count)
        pooled = op("AvgPool3D", kernel_size=volume + kernel, strides=volume + steps, pad_mode="valid")(powers)
        pooled = op("Squeeze", axis=tuple(range(2, 5 - count)))(pooled)
    pooled = op("Squeeze", axis=(0,))(pooled) if lead else pooled
    return F.pow(op("Sign")(pooled) * F.relu(F.abs(pooled)) * math.prod(kernel), 1.0 / norm_type)


def conv3d_transpose(inputs, weight, pad_mode="valid", padding=0, stride=1, dilation=1, group=1, output_padding=0):
    for name, one in (("inputs", inputs), ("weight", weight)):
        if one.ndim != 5:
            raise user_error(ValueError, "conv3d_transpose:" + name, "%s of conv3d_transpose() must have 5 dimensions, not %d" % (name, one.ndim))
    from mindspore.ops.operations import _rare_forms
    return _rare_forms.Conv3DTranspose(inputs.shape[1], weight.shape[1], weight.shape[2:5], 1, pad_mode, padding, stride, dilation, group,
                                       output_padding)(inputs, weight)


def fills(x, value):
    """A tensor of the same shape, full of one number."""
    if isinstance(value, Tensor):
        raise Unsupported("mindspore.ops.fills.value", "fills() with a tensor is not supported")
    if not isinstance(value, (int, float)):
        raise user_error(TypeError, "fills:value", "value of fills() must be a number, not %r" % (value,))
    return constant(x.shape, float(value), x.dtype)


# -- matrices of which the form alone is known -----------------------------------------------------
def matrix_power(input, n):
    return _unruled.record("MatrixPower", [input], [(input.shape, input.dtype)], n=n)


def matrix_determinant(input):
    return _f().det(input)


def slogdet(input):
    """Sign and logarithm of the determinant."""
    return _unruled.record("LogMatrixDeterminant", [input], [(input.shape[:-2], input.dtype)] * 2)


log_matrix_determinant = slogdet


def matrix_solve(matrix, rhs, adjoint=False):
    return _unruled.record("MatrixSolve", [matrix, rhs], [(rhs.shape, rhs.dtype)], adjoint=adjoint)


def cholesky_solve(input, input2, upper=False):
    return _unruled.record("CholeskySolve", [input, input2], [(input.shape, input.dtype)], upper=upper)


def mvlgamma(input, p):
    return _unruled.record("Mvlgamma", [input], [(input.shape, input.dtype)], p=p)


def _bessel(name, operator_name):
    def function(x):
        _tensors(name, x)
        return _unruled.record(operator_name, [x], [(x.shape, x.dtype)])

    function.__name__ = name
    return function


bessel_k0, bessel_k0e = _bessel("bessel_k0", "BesselK0"), _bessel("bessel_k0e", "BesselK0e")
bessel_k1, bessel_k1e = _bessel("bessel_k1", "BesselK1"), _bessel("bessel_k1e", "BesselK1e")
bessel_y0, bessel_y1 = _bessel("bessel_y0", "BesselY0"), _bessel("bessel_y1", "BesselY1")


NAMES = ("addmv", "addr", "addbmm", "vecdot", "bidense", "cov", "vander", "nansum", "dist", "matrix_norm", "arccos",
         "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "i0", "tensor_exp", "tensor_expm1", "tensor_gt", "tensor_ge",
         "tensor_lt", "tensor_le", "tensor_mod", "tensor_muls", "positive", "ldexp", "sgn", "bitwise_left_shift",
         "bitwise_right_shift", "lcm", "logcumsumexp", "rrelu", "lp_pool1d", "lp_pool2d",
         "conv3d_transpose", "fills", "matrix_power", "matrix_determinant", "slogdet", "log_matrix_determinant", "matrix_solve",
         "cholesky_solve", "mvlgamma", "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1")
