"""mindspore.mint.nn.functional: the functional forms of mindspore.ops under PyTorch's names."""
_NAMES = {"linear": "dense"}


def softmax(input, dim=None, dtype=None):
    from mindspore.ops import functional
    return functional.softmax(input, -1 if dim is None else dim, dtype=dtype)


def pad(input, pad, mode="constant", value=0):
    """Pairs of widths from the last dimension on."""
    from mindspore.ops.primitive import operator
    if mode == "constant":
        return operator("PadV3", mode=mode)(input, tuple(pad), value)
    return operator("PadV3", mode=mode)(input, tuple(pad))


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    from mindspore import ops
    return getattr(ops, _NAMES.get(name, name))
