"""Functions that few networks use: compositions of operators, and operators whose form alone is known (see _unruled.py)."""
import itertools
import math

from mindspore._drydock.errors import user_error
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops import _unruled
from mindspore.ops.primitive import operator as op


def _f():
    from mindspore.ops import functional
    return functional


# -- compositions -----------------------------------------------------------------------------------
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True if all elements are near their partners."""
    return _f().all(_f().isclose(input, other, rtol, atol, equal_nan))


def pows(x, y):
    return op("Pow")(x, y)


def chunk_ext(input, chunks, dim=0):
    return _f().chunk(input, chunks, dim)


def linear(x, w, b=None):
    return _f().dense(x, w, b)


def pad_ext(input, pad, mode="constant", value=0.0):
    return _f().pad(input, pad, mode, value)


def logsigmoid(x):
    F = _f()
    return F.log(F.sigmoid(x))


def frac(x):
    return op("Mod")(x, Tensor(1, x.dtype))


def scalar_to_array(input_x):
    return Tensor(input_x)


def tensor_floordiv(x, y):
    return op("FloorDiv")(x, y)


def identity(x):
    return x


def repeat_elements(x, rep, axis=0):
    return _f().repeat_interleave(x, rep, axis)


def vector_norm(x, ord=2, axis=None, keepdims=False, *, dim=None, keepdim=None, dtype=None):
    """(sum of |x| ** ord) ** (1 / ord); the largest |x| for infinity."""
    F = _f()
    x = x if dtype is None else F.cast(x, dtype)
    axes = axis if dim is None else dim
    axes = tuple(range(x.ndim)) if axes is None else axes
    keep = keepdims if keepdim is None else keepdim
    size = F.abs(x)
    if ord in (math.inf, -math.inf):
        return op("ReduceMax" if ord > 0 else "ReduceMin", keep_dims=keep)(size, axes)
    if ord == 0:
        return F.reduce_sum(F.cast(F.not_equal(x, 0), x.dtype), axes, keep)
    if ord == 1:
        return F.reduce_sum(size, axes, keep)
    return F.pow(F.reduce_sum(F.pow(size, ord), axes, keep), 1.0 / ord)


def tensor_dot(x1, x2, axes):
    """Products summed over the last `axes` dimensions of the first and the first of the second, or over pairs of dimensions."""
    F = _f()
    if isinstance(axes, int):
        axes = (tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes)))
    first, second = (tuple(part) if isinstance(part, (tuple, list)) else (part,) for part in axes)
    first, second = tuple(a % x1.ndim for a in first), tuple(a % x2.ndim for a in second)
    rows = tuple(a for a in range(x1.ndim) if a not in first)
    columns = tuple(a for a in range(x2.ndim) if a not in second)
    inner = values.count([x1.shape[a] for a in first])
    if inner != values.count([x2.shape[a] for a in second]):
        raise user_error(ValueError, "tensor_dot:shape", "dimensions %s of %s and %s of %s do not fit each other"
                         % (first, x1.shape, second, x2.shape))
    left = F.reshape(F.transpose(x1, rows + first), (-1, inner))
    right = F.reshape(F.transpose(x2, second + columns), (inner, -1))
    return F.reshape(op("MatMul")(left, right), tuple(x1.shape[a] for a in rows) + tuple(x2.shape[a] for a in columns))


# -- forms ------------------------------------------------------------------------------------------
def cartesian_prod(*inputs):
    """Every choice of one element of each row."""
    rows = values.count([x.shape[0] for x in inputs])
    return _unruled.record("CartesianProd", list(inputs), [((rows,) if len(inputs) == 1 else (rows, len(inputs)), inputs[0].dtype)])


def combinations(input, r=2, with_replacement=False):
    """Every choice of `r` elements of a row."""
    chosen = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = sum(1 for _ in chosen(range(input.shape[0]), r))
    return _unruled.record("Combinations", [input], [((rows, r), input.dtype)], r=r)


def angle(input):
    real = {mstype.complex64: mstype.float32, mstype.complex128: mstype.float64}
    result = real.get(input.dtype, input.dtype if input.dtype.kind == "float" else mstype.float32)
    return _unruled.record("Angle", [input], [(input.shape, result)])


def histc(input, bins=100, min=0.0, max=0.0):
    return _unruled.record("Histogram", [input], [((bins,), input.dtype)], bins=bins)


def qr(input, mode="reduced"):
    """An orthogonal matrix and an upper triangle."""
    rows, columns = input.shape[-2:]
    inner = rows if mode == "complete" else min(rows, columns)
    lead = input.shape[:-2]
    return _unruled.record("Qr", [input], [(lead + (rows, inner), input.dtype), (lead + (inner, columns), input.dtype)])


def hann_window(window_length, periodic=True, *, dtype=None):
    return _unruled.record("HannWindow", [], [((window_length,), mstype.dtype_of(dtype, mstype.float32))], periodic=periodic)


def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None):
    return _unruled.record("KaiserWindow", [], [((window_length,), mstype.dtype_of(dtype, mstype.float32))], periodic=periodic)


def stft(x, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="REFLECT", normalized=False, onesided=None,
         return_complex=None):
    """Spectra of windows: frequencies times frames, as complex numbers or as pairs."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = x.shape[-1] + (2 * (n_fft // 2) if center else 0)
    is_complex = x.dtype in (mstype.complex64, mstype.complex128)
    half = not is_complex if onesided is None else onesided
    shape = x.shape[:-1] + (n_fft // 2 + 1 if half else n_fft, 1 + (length - n_fft) // hop)
    wide = x.dtype in (mstype.float64, mstype.complex128)
    if is_complex if return_complex is None else return_complex:
        kind = (shape, mstype.complex128 if wide else mstype.complex64)
    else:
        kind = (shape + (2,), mstype.float64 if wide else mstype.float32)
    return _unruled.record("STFT", [x, window], [kind], n_fft=n_fft, hop_length=hop)


def apply_rotary_pos_emb_(query, key, cos, sin, position_ids=None, cos_format=0):
    return _unruled.record("ApplyRotaryPosEmb", [query, key, cos, sin, position_ids], [(query.shape, query.dtype), (key.shape, key.dtype)])


def speed_fusion_attention(query, key, value, head_num, input_layout, **settings):
    """Attention, the statistics of its softmax (8 numbers a row), and what its dropout is drawn by."""
    places = {"BSH": (0, 1), "SBH": (1, 0), "BNSD": (0, 2), "BSND": (0, 1)}
    if input_layout not in places:
        raise user_error(ValueError, "speed_fusion_attention:input_layout", "input_layout must be one of %s, not %r"
                         % (", ".join(places), input_layout))
    batch, row = (query.shape[dim] for dim in places[input_layout])
    statistics = ((batch, head_num, row, 8), mstype.float32)
    number = ((1,), mstype.int64)
    given = [settings.get(key) for key in ("pse", "padding_mask", "atten_mask")]
    return _unruled.record("SpeedFusionAttention", [query, key, value] + given,
                           [(query.shape, query.dtype), statistics, statistics, ((0,), query.dtype), number, number, number],
                           head_num=head_num, input_layout=input_layout)


def _in_place(name):
    def function(input, *settings, **named):
        return _unruled.record(name, [input], [(input.shape, input.dtype)])

    function.__name__ = name
    return function


inplace_uniform, inplace_normal = _in_place("InplaceUniform"), _in_place("InplaceNormal")

NAMES = ("allclose", "pows", "chunk_ext", "linear", "pad_ext", "logsigmoid", "frac", "scalar_to_array", "tensor_floordiv", "identity",
         "repeat_elements", "vector_norm", "tensor_dot", "cartesian_prod", "combinations", "angle", "histc", "qr", "hann_window",
         "kaiser_window", "stft", "apply_rotary_pos_emb_", "speed_fusion_attention", "inplace_uniform", "inplace_normal")
