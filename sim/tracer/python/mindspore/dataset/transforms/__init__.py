"""Transforms of any column."""
import enum

from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.dataset.mapping import Operation, apply
from mindspore.dataset.rows import Column


class TypeCast(Operation):
    """Another element type."""

    def __init__(self, data_type):
        self._dtype = mstype.dtype_of(data_type)

    def columns(self, inputs):
        return [Column(c.shape, self._dtype) for c in inputs]


class OneHot(Operation):
    """A label as a vector of classes."""

    def __init__(self, num_classes, smoothing_rate=0.0):
        self._classes = num_classes

    def columns(self, inputs):
        return [Column(c.shape + (self._classes,), mstype.float32 if c.dtype.kind == "float" else c.dtype)
                for c in inputs]


class Compose(Operation):
    """Several operations one after the other."""

    def __init__(self, transforms):
        self._transforms = transforms

    def columns(self, inputs):
        return apply(self._transforms, inputs)


class PadEnd(Operation):
    """Filled up to a shape; None keeps a dimension."""

    def __init__(self, pad_shape, pad_value=None):
        self._shape = tuple(pad_shape)

    def columns(self, inputs):
        return [Column(tuple(extent if wanted is None else wanted for wanted, extent in zip(self._shape, c.shape)), c.dtype)
                for c in inputs]


class Duplicate(Operation):
    """The column twice."""

    def columns(self, inputs):
        return [c for c in inputs for _ in range(2)]


class Concatenate(Operation):
    """All columns behind each other, with something before and behind."""

    def __init__(self, axis=0, prepend=None, append=None):
        self._more = sum(len(part) for part in (prepend, append) if part is not None)

    def columns(self, inputs):
        extent = sum(c.shape[0] for c in inputs) + self._more
        return [Column((extent,) + inputs[0].shape[1:], inputs[0].dtype)]


class Relational(enum.Enum):
    """Comparisons of Mask."""

    EQ, NE, GT, GE, LT, LE = range(6)


class Mask(Operation):
    """Which elements compare as asked."""

    def __init__(self, operator, constant, dtype=mstype.bool_):
        self._dtype = mstype.dtype_of(dtype)

    def columns(self, inputs):
        return [Column(c.shape, self._dtype) for c in inputs]


class Slice(Operation):
    """Parts of the dimensions, by position or by slice."""

    def __init__(self, *slices):
        self._slices = slices

    def columns(self, inputs):
        return [Column(self._cut(c.shape), c.dtype) for c in inputs]

    def _cut(self, shape):
        extents = list(shape)
        for dim, part in enumerate(self._slices):
            if isinstance(part, slice):
                extents[dim] = len(range(*part.indices(shape[dim])))
            elif isinstance(part, (list, tuple)):
                extents[dim] = len(part)
            elif isinstance(part, int) and not isinstance(part, bool):
                extents[dim] = 1
        return tuple(extents)


class _Same(Operation):
    """No change of form."""

    def __init__(self, *args, **kwargs):
        return None


class RandomApply(_Same):
    pass


class RandomChoice(_Same):
    pass


class RandomOrder(_Same):
    pass


class Fill(_Same):
    """Every element the same."""


__getattr__ = module_getattr(__name__)
