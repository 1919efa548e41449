"""mindspore.mint.linalg: norms and factors of matrices."""
from mindspore._drydock.lazy import module_getattr
from mindspore.ops import _rare, _unruled

vector_norm = _rare.vector_norm


def qr(A, mode="reduced"):
    return _rare.qr(A, mode)


def inv(input):
    return _unruled.record("MatrixInverse", [input], [(input.shape, input.dtype)])


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    from mindspore import ops
    return ops.norm(A, ord, dim, keepdim, dtype=dtype)


__getattr__ = module_getattr(__name__)
