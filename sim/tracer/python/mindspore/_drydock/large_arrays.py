"""Constants of numpy that no machine has the memory for, and that nobody reads.

A mask of 131,072 x 131,072 numbers, `Tensor(np.tril(np.ones((n, n), np.int8)))`, takes 52 GB while it is made. The original pays
that in every process; here a Tensor of that size keeps its shape only. So from 4 GiB on `np.ones` and `np.full` give one number
that is repeated (stride 0), and the lower or upper triangle of such an array is a view of one row that moves by one element from
row to row: the same numbers in a few hundred KB. Both can be read like any array, and not be written to.
"""
import functools
import importlib.machinery
import sys

LEAST_BYTES = 1 << 32


def _bytes(numpy, shape, dtype):
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    total = numpy.dtype(dtype).itemsize
    for extent in extents:
        total *= int(extent)
    return total


def _is_large(numpy, shape, dtype):
    try:
        return _bytes(numpy, shape, dtype) >= LEAST_BYTES
    except (TypeError, ValueError):  # for the original to refuse
        return False


def _ones(numpy, original):
    @functools.wraps(original)
    def ones(shape, dtype=None, order="C", **others):
        if others or not _is_large(numpy, shape, dtype):
            return original(shape, dtype, order, **others)
        return numpy.broadcast_to(original((), dtype), shape)
    return ones


def _full(numpy, original):
    @functools.wraps(original)
    def full(shape, fill_value, dtype=None, order="C", **others):
        value = numpy.asarray(fill_value, dtype)
        if others or value.ndim or not _is_large(numpy, shape, value.dtype):
            return original(shape, fill_value, dtype, order, **others)
        return numpy.broadcast_to(value, shape)
    return full


def _triangle(numpy, original, lower):
    """Element (i, j) depends on j - i only: it is element rows - 1 + j - i of a line."""
    @functools.wraps(original)
    def triangle(m, k=0):
        if not isinstance(m, numpy.ndarray) or m.ndim != 2 or m.nbytes < LEAST_BYTES or any(m.strides):
            return original(m, k)
        rows, columns = m.shape
        line = numpy.zeros(rows + columns - 1, m.dtype)
        border = min(max(rows + k if lower else rows - 1 + k, 0), len(line))
        line[slice(None, border) if lower else slice(border, None)] = m[0, 0]
        step = line.itemsize
        return numpy.lib.stride_tricks.as_strided(line[rows - 1:], m.shape, (-step, step), writeable=False)
    return triangle


def patch(numpy):
    for name, made in (("ones", _ones), ("full", _full)):
        setattr(numpy, name, made(numpy, getattr(numpy, name)))
    numpy.tril = _triangle(numpy, numpy.tril, True)
    numpy.triu = _triangle(numpy, numpy.triu, False)


class _Finder:
    """Patches numpy when it is imported: most scripts of the quick kind never do."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname != "numpy" or path is not None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        sys.meta_path.remove(_Finder)
        module.__spec__.loader = module.__loader__ = self._inner
        self._inner.exec_module(module)
        patch(module)


def install():
    if "numpy" in sys.modules:
        patch(sys.modules["numpy"])
    elif _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
