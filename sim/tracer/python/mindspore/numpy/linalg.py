"""mindspore.numpy.linalg: functions whose operators have no entry in the table; the form of their results is known."""
from mindspore._drydock.lazy import module_getattr
from mindspore.ops import _unruled


def solve(a, b):
    return _unruled.record("Solve", [a, b], [(b.shape, b.dtype)])


def inv(a):
    return _unruled.record("MatrixInverse", [a], [(a.shape, a.dtype)])


def det(a):
    return _unruled.det(a)


def svd(a, full_matrices=True, compute_uv=True):
    return _unruled.svd(a, full_matrices, compute_uv)


def matrix_power(a, n):
    from mindspore.numpy import _sums
    return _sums.matrix_power(a, n)


def norm(x, ord=None, axis=None, keepdims=False):
    from mindspore import ops
    return ops.norm(x, ord, axis, keepdims)


__getattr__ = module_getattr(__name__)
