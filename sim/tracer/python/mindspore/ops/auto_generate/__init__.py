"""The same primitives and functions under the reference's generated-module name."""
from mindspore._drydock.lazy import submodule


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from mindspore import ops
    from mindspore._drydock import names
    from mindspore.ops import _fallback
    if names.is_hidden(__name__, name):
        raise names.missing((__name__,), name)
    found = submodule(__name__, name) or _fallback.instance(name) or _fallback.implementation(name)
    return found or getattr(ops, name)
