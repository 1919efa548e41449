"""Transforms of any column."""
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.dataset.mapping import Operation, apply
from mindspore.dataset.rows import Column


class TypeCast(Operation):
    """Another element type."""

    def __init__(self, output_type):
        self._dtype = mstype.dtype_of(output_type)

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


class _Same(Operation):
    """No change of form."""

    def __init__(self, *args, **kwargs):
        return None


class RandomApply(_Same):
    pass


class RandomChoice(_Same):
    pass


__getattr__ = module_getattr(__name__)
