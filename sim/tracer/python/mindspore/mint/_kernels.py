"""Functions of mindspore.mint that are one kernel of their own, where mindspore.ops composes others; their form is known, not a rule."""
from mindspore._drydock.errors import user_error
from mindspore.common import dtype as mstype
from mindspore.ops import _shapes, _unruled
from mindspore.ops.primitive import operator as op


def addmv(input, mat, vec, *, beta=1, alpha=1):
    shape = _shapes.broadcast("addmv", [input.shape, mat.shape[:1]])
    return _unruled.record("Addmv", [input, mat, vec], [(shape, input.dtype)], beta=beta, alpha=alpha)


def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    shape = (batch1.shape[1], batch2.shape[2])
    return _unruled.record("Addbmm", [input, batch1, batch2], [(shape, input.dtype)], beta=beta, alpha=alpha)


def mv(input, vec):
    if input.ndim != 2 or vec.shape != input.shape[1:]:
        raise user_error(ValueError, "mv:shape", "mv() takes a matrix and a vector that fit each other, not %s and %s" % (input.shape, vec.shape))
    return _unruled.record("Mv", [input, vec], [(input.shape[:1], input.dtype)])


def vdot(input, other):
    if input.ndim != 1 or input.shape != other.shape:
        raise user_error(ValueError, "vdot:shape", "vdot() takes two rows of one length, not %s and %s" % (input.shape, other.shape))
    return _unruled.record("Vdot", [input, other], [((), input.dtype)])


def exp2(input):
    return _unruled.record("Exp2", [input], [(input.shape, input.dtype if input.dtype.kind == "float" else mstype.float32)])


def bitwise_not(input):
    return _unruled.record("BitwiseNot", [input], [(input.shape, input.dtype)])


def _reduced(input, dim, keepdim):
    dims = range(input.ndim) if dim is None or dim == () else [one % input.ndim for one in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    return tuple(1 if axis in dims else extent for axis, extent in enumerate(input.shape) if keepdim or axis not in dims)


def nansum(input, dim=None, keepdim=False, *, dtype=None):
    kind = mstype.dtype_of(dtype, mstype.int64 if input.dtype.kind in ("int", "bool", "uint") else input.dtype)
    return _unruled.record("Nansum", [input], [(_reduced(input, dim, keepdim), kind)])


def kthvalue(input, k, dim=-1, keepdim=False):
    shape = _reduced(input, dim, keepdim)
    return _unruled.record("KthValue", [input], [(shape, input.dtype), (shape, mstype.int64)], k=k)


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    lead = _shapes.broadcast("triangular_solve", [b.shape[:-2], A.shape[:-2]])
    return _unruled.record("TriangularSolve", [b, A], [(lead + b.shape[-2:], b.dtype), (lead + A.shape[-2:], A.dtype)], upper=upper,
                           transpose=transpose)


def arctan2(input, other):
    return op("Atan2")(input, other)


NAMES = ("addmv", "addbmm", "mv", "vdot", "exp2", "bitwise_not", "nansum", "kthvalue", "triangular_solve", "arctan2")
