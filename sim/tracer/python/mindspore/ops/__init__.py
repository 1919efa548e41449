"""mindspore.ops: primitives, functional forms, gradients."""
from mindspore._drydock import names
from mindspore._drydock.lazy import submodule
from mindspore.ops import operations  # noqa: F401
from mindspore.ops.composite import (GradOperation, HyperMap, Map, MultitypeFuncGraph, grad,  # noqa: F401
                                     value_and_grad)
from mindspore.ops.operations._python_ops import *  # noqa: F401,F403
from mindspore.ops.primitive import (Primitive, PrimitiveWithCheck, PrimitiveWithInfer, _primexpr,  # noqa: F401
                                     constexpr, prim_attr_register)


_OF_KERNELS = frozenset(("custom_info_register", "CpuRegOp", "AiCPURegOp", "AkgGpuRegOp", "AkgAscendRegOp", "TBERegOp", "CustomRegOp",
                         "DataType"))


def __getattr__(name):
    """ops.X is the primitive, ops.x the functional form; one object per name."""
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    found = submodule(__name__, name)
    if found is not None:
        return found
    if names.is_hidden(__name__, name):
        raise names.missing((__name__,), name)
    if name in _OF_KERNELS:
        from mindspore.ops import op_info_register
        found = getattr(op_info_register, name)
    elif name.strip("_")[:1].isupper():
        found = getattr(operations, name)
    else:
        from mindspore.ops import functional
        found = getattr(functional, name)
    if not names.lacks((__name__,), name):
        globals()[name] = found
    return found


def _add_attr(fn, **attrs):
    """The function; operators recorded inside of it carry the attributes."""
    from mindspore._drydock.session import session
    from mindspore.ops.primitive import attr_value

    def tagged(*args, **kwargs):
        saved = session.extra_attrs
        session.extra_attrs = dict(saved, **{name: attr_value(value) for name, value in attrs.items()})
        try:
            return fn(*args, **kwargs)
        finally:
            session.extra_attrs = saved

    return tagged


def _get_cache_prim(cls):
    from mindspore.ops import _primitive_cache
    return _primitive_cache._get_cache_prim(cls)


def shard(fn, in_strategy, out_strategy=None, parameter_plan=None, device="Ascend", level=0):
    from mindspore.parallel.shard import shard as function
    return function(fn, in_strategy, out_strategy, parameter_plan, device, level)
