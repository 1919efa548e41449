"""mindspore.numpy: functions that have a form in mindspore.ops, under numpy's names, and numpy's constants and element types."""
from mindspore._drydock import arguments, names
from mindspore._drydock.lazy import module_getattr, submodule

_NAMES = {"concatenate": "concat", "power": "pow", "absolute": "abs", "mod": "floor_mod", "remainder": "floor_mod", "repeat": "repeat_interleave",
          "ravel": "flatten", "outer": "ger"}
_CONSTANTS = {"pi": 3.141592653589793, "inf": float("inf"), "PINF": float("inf"), "NINF": float("-inf"), "nan": float("nan"),
              "newaxis": None}
_TYPES = ("float16", "float32", "float64", "float_", "int8", "int16", "int32", "int64", "int_", "uint", "uint8", "uint16", "uint32", "uint64",
          "bool_")


def split(x, indices_or_sections, axis=0):
    """Equal parts, or parts between the given positions."""
    from mindspore import ops
    extent = x.shape[axis]
    if isinstance(indices_or_sections, int):
        return list(ops.split(x, extent // indices_or_sections, axis))
    edges = [0] + list(indices_or_sections) + [extent]
    return list(ops.split(x, [b - a for a, b in zip(edges, edges[1:])], axis))


def array_split(x, indices_or_sections, axis=0):
    """Parts whose sizes differ by one at most, the larger ones first."""
    from mindspore import ops
    if not isinstance(indices_or_sections, int):
        return split(x, indices_or_sections, axis)
    size, more = divmod(x.shape[axis], indices_or_sections)
    return list(ops.split(x, [size + 1] * more + [size] * (indices_or_sections - more), axis))


def array(obj, dtype=None, copy=True, ndmin=0):
    from mindspore import Tensor
    made = Tensor(obj, dtype)
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape) if ndmin > made.ndim else made


def asarray(a, dtype=None):
    return array(a, dtype)


def asfarray(a, dtype=None):
    import mindspore
    return array(a, mindspore.float32 if dtype is None else dtype)


def take(a, indices, axis=None, mode="clip"):
    """Elements along an axis, or of the flattened tensor."""
    from mindspore import Tensor, ops
    indices = indices if isinstance(indices, Tensor) else Tensor(indices)
    return ops.gather(a.reshape((-1,)), indices, 0) if axis is None else ops.gather(a, indices, axis)


def select(condlist, choicelist, default=0):
    """The choice of the first condition that holds, element by element."""
    from mindspore import ops
    found = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        found = ops.where(condition, choice, found)
    return found


def pad(arr, pad_width, mode="constant", stat_length=None, constant_values=0, end_values=0, reflect_type="even"):
    """One width for all sides, a pair for all dimensions, or a pair for each."""
    from mindspore import ops
    if mode not in ("constant", "reflect", "edge") or not isinstance(constant_values, (int, float)):
        from mindspore._drydock.errors import Unsupported
        raise Unsupported("mindspore.numpy.pad.mode")
    pair = (pad_width, pad_width) if isinstance(pad_width, int) else tuple(pad_width)
    pairs = [pair] * arr.ndim if not isinstance(pair[0], (tuple, list)) else list(pair)
    pairs = pairs * arr.ndim if len(pairs) == 1 else pairs
    widths = tuple(width for pair in reversed(pairs) for width in pair)
    if mode == "constant":
        return ops.pad(arr, widths, mode, constant_values)
    return ops.pad(arr, widths, {"edge": "replicate"}.get(mode, mode))


def where(condition, x=None, y=None):
    """Any numbers are a condition here."""
    from mindspore import ops
    if condition.dtype.kind != "bool":
        condition = ops.not_equal(condition, 0)
    return ops.where(condition, x, y)


def swapaxes(x, axis1, axis2):
    return x.swapaxes(axis1, axis2)


def ravel(x):
    return x.reshape((-1,))


def copy(a):
    return a


def empty(shape, dtype=None):
    from mindspore import ops
    return ops.zeros(shape, dtype)


def rot90(a, k=1, axes=(0, 1)):
    from mindspore import ops
    for _ in range(k % 4):
        a = ops.flip(a.swapaxes(*axes), (axes[0],))
    return a


def isin(element, test_elements, invert=False):
    from mindspore import Tensor, ops
    tests = test_elements if isinstance(test_elements, Tensor) else Tensor(test_elements)
    found = ops.any(ops.equal(ops.expand_dims(element, -1), tests.reshape((-1,))), -1)
    return ops.logical_not(found) if invert else found


def in1d(ar1, ar2, invert=False):
    return isin(ar1.reshape((-1,)), ar2, invert)


def take_along_axis(arr, indices, axis):
    from mindspore import ops
    return ops.gather_elements(arr, axis, indices)


def diagflat(v, k=0):
    from mindspore import ops
    return ops.diag(v.reshape((-1,)), k)


def _triangle(n, k, m, lower):
    """Positions of a triangle, row by row; they follow from the extents alone."""
    from mindspore import Tensor
    pairs = [(i, j) for i in range(n) for j in range(n if m is None else m) if (j - i <= k if lower else j - i >= k)]
    return tuple(Tensor([pair[dim] for pair in pairs]) for dim in (0, 1))


def tril_indices(n, k=0, m=None):
    return _triangle(n, k, m, True)


def triu_indices(n, k=0, m=None):
    return _triangle(n, k, m, False)


def rand(*shape, dtype=None):
    from mindspore.ops import _unruled
    return _unruled.rand(*shape, dtype=dtype)


def randn(*shape, dtype=None):
    from mindspore.ops import _unruled
    return _unruled.randn(*shape, dtype=dtype)


def randint(minval, maxval=None, shape=None, dtype=None):
    from mindspore.ops import _unruled
    low, high = (0, minval) if maxval is None else (minval, maxval)
    return _unruled.randint(low, high, shape or (1,), dtype=dtype)


def corrcoef(x, y=None, rowvar=True, dtype=None):
    """Correlations of the rows: covariances over the products of the deviations."""
    from mindspore import ops
    rows = x if y is None else ops.concat((x.reshape((-1, x.shape[-1])), y.reshape((-1, y.shape[-1]))), 0)
    rows = rows.reshape((1, -1)) if rows.ndim < 2 else rows if rowvar else rows.transpose((1, 0))
    centred = rows - ops.mean(rows, 1, True)
    covariance = ops.matmul(centred, centred.transpose((1, 0)))
    deviation = ops.sqrt(ops.reduce_sum(ops.square(centred), 1))
    return covariance / (ops.expand_dims(deviation, 1) * ops.expand_dims(deviation, 0))


def unravel_index(indices, shape, order="C"):
    """Positions in every dimension of positions in the flattened tensor."""
    found, rest = [], indices
    for extent in reversed(shape):
        found.insert(0, rest % extent)
        rest = rest // extent
    return tuple(found)


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    import mindspore
    from mindspore._drydock.lazy import Stub
    if names.is_hidden(__name__, name):
        raise names.missing((__name__,), name)
    if name in ("_more", "_sums"):
        raise AttributeError(name)  # it is being imported
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name in _TYPES:
        return getattr(mindspore.dtype, name)
    from mindspore.ops import functional
    for module in (submodule(__name__, "_more"), submodule(__name__, "_sums")):
        if name in module.NAMES:
            return arguments.fitted(__name__, name, getattr(module, name))
    found = getattr(functional, _NAMES.get(name, name), None) if name.islower() or name in _NAMES else None
    if found is None or isinstance(found, Stub):
        return module_getattr(__name__)(name)
    found = arguments.fitted(__name__, name, found)
    if not names.lacks((__name__,), name):
        globals()[name] = found
    return found
