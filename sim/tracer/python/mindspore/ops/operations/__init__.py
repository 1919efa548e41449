"""Primitive classes by name; made on first use from the operator table."""
from mindspore.ops.operations._python_ops import *  # noqa: F401,F403
from mindspore.ops.primitive import (Primitive, PrimitiveWithCheck, PrimitiveWithInfer,  # noqa: F401
                                     prim_attr_register)


_more = {}  # classes that MindSpore has in other modules than this one


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from mindspore._drydock import names
    from mindspore._drydock.lazy import submodule
    found = submodule(__name__, name)
    if found is not None:
        return found
    if names.is_hidden(__name__, name):
        raise names.missing((__name__,), name)
    return class_of(name)


def class_of(name):
    """The class of an operator, also of one that only a module of this package, or of its neighbours, has."""
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from mindspore._drydock import names
    from mindspore._drydock.lazy import stub
    from mindspore.ops._fallback import PLACES
    from mindspore.ops._table import primitive_class
    if name in _more:
        return _more[name]
    if name == "identity":
        return _Itself
    if name == "Custom":
        from mindspore.ops.operations._custom import Custom
        return Custom
    if name == "RepeatInterleaveTensor":
        from mindspore.ops.operations._repeat import RepeatInterleaveTensor
        return RepeatInterleaveTensor
    if name in ("NeighborExchange", "NeighborExchangeV2"):
        from mindspore.ops.operations import _exchange
        return getattr(_exchange, name)
    made = primitive_class(name)
    if made is None:
        from mindspore.ops.operations import _forms, _rare_forms
        made = _forms.FORMS.get(name) or _rare_forms.FORMS.get(name) or primitive_class(_rare_forms.RENAMED.get(name, name))
    if made is None:
        if name[:1].isupper() or name[:2].strip("_")[:1].isupper():
            stub("mindspore.ops." + name, PLACES)
            made = unknown_class(name)
        else:
            return stub("mindspore.ops." + name, PLACES)
    (_more if names.lacks((__name__,), name) else globals())[name] = made
    return made


class _Itself(Primitive):
    """P.identity()(x) is x."""

    def __init__(self):
        super().__init__("identity")

    def __call__(self, x):
        return x


def unknown_class(name):
    """A class for an operator without an entry: making one and subclassing it works, calling it is Unsupported."""
    def __init__(self, *args, **kwargs):
        Primitive.__init__(self, type(self).__name__)

    made = type(name, (Primitive,), {"__init__": __init__, "__module__": __name__, "is_gap": True})
    return made
