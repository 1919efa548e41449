"""mindspore.ops.function: the functions of mindspore.ops under the name of the package that they lie in."""
import importlib


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from mindspore import ops
    from mindspore._drydock import names
    if names.is_module(__name__ + "." + name):
        return importlib.import_module(__name__ + "." + name)
    if names.lacks((__name__,), name):
        raise names.missing((__name__,), name)
    return getattr(ops, name)
