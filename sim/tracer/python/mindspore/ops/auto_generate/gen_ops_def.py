"""The same primitives and functions under the reference's generated-module name."""


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from mindspore.ops import auto_generate
    return getattr(auto_generate, name)
