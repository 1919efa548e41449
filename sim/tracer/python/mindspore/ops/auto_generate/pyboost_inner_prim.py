"""The same functions under the names of the reference's eager kernels, `<function>_impl`."""


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from mindspore.ops import auto_generate
    return getattr(auto_generate, name)
